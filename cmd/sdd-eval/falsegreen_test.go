package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// falseGreenDir has the suites that package evaltest runs through go test, too, and describes.
const falseGreenDir = "../../evaltest/testdata/false-green"

// TestFalseGreen runs each suite that must not be green: the exit code says what it is instead, and never 0.
func TestFalseGreen(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(falseGreenDir, "suites.json"))
	require.NoError(t, err)
	var suites []struct {
		Name, Reason, File, Mode string
		Env                      []string
		Exit                     int
		NotIn                    map[string]string `json:"not_in"`
	}
	require.NoError(t, json.Unmarshal(data, &suites))
	require.NotEmpty(t, suites)
	for _, s := range suites {
		if s.NotIn["sdd-eval"] != "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, []int{1, 2, 3}, s.Exit)
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(falseGreenDir, s.Name))))
			c := command(dir, "run", "--playbook", cmp.Or(s.File, "suite.yaml"), "--mode", s.Mode)
			c.Env = append(c.Env, s.Env...)
			var stderr bytes.Buffer
			c.Stderr = &stderr
			err := c.Run()
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				t.Fatalf("%s: green: %v\n%s", s.Reason, err, &stderr)
			}
			require.Equal(t, s.Exit, exit.ExitCode(), "%s\n%s", s.Reason, &stderr)
			require.Equal(t, s.Exit == 2, len(runs(t, dir)) == 0, "nothing runs where something is wrong with the playbook")
			golden.Equal(t, filepath.Join(falseGreenDir, s.Name, "sdd-eval.golden"), "# "+s.Reason+"\n"+stable(stderr.Bytes(), dir))
		})
	}
}

// changing is what differs from run to run: how long it took, and its id.
var changing = regexp.MustCompile(`\(\d+\.\d+s\)|\b\d{8}-\d{6}-[a-z0-9]+-[a-z0-9]+\b`)

func stable(out []byte, dir string) string {
	out = bytes.ReplaceAll(out, []byte(dir), []byte("$PROJECT"))
	return string(changing.ReplaceAllFunc(out, func(s []byte) []byte {
		if s[0] == '(' {
			return []byte("(0.0s)")
		}
		return []byte("$RUN")
	}))
}
