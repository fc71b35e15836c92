package evaltest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// falseGreenDir has a directory for each way in which tools like this one have shown green what is not. Each is a
// project of its own; package cmd/sdd-eval runs the same ones through the command.
const falseGreenDir = "testdata/false-green"

// falseGreen is an entry of suites.json there.
type falseGreen struct {
	Name   string   `json:"name"` // of the directory
	Reason string   `json:"reason"`
	File   string   `json:"file"` // the playbook; default: suite.yaml
	Mode   string   `json:"mode"`
	Env    []string `json:"env"`
	// Exit is the exit code of `sdd-eval run`.
	Exit int `json:"exit"`
	// Passes are the subtests that pass, and should.
	Passes []string `json:"passes"`
	// NotIn says why it does not exist in one of the doors, "go test" or "sdd-eval".
	NotIn map[string]string `json:"not_in"`
}

func falseGreens(t *testing.T) []falseGreen {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(falseGreenDir, "suites.json"))
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var suites []falseGreen
	require.NoError(t, d.Decode(&suites))
	var listed []string
	for _, s := range suites {
		require.NotEmpty(t, s.Reason, s.Name)
		listed = append(listed, s.Name)
	}
	entries, err := os.ReadDir(falseGreenDir)
	require.NoError(t, err)
	var there []string
	for _, e := range entries {
		if e.IsDir() {
			there = append(there, e.Name())
		}
	}
	require.ElementsMatch(t, there, listed, "each directory is listed once")
	return suites
}

// event is a line of `go test -json`.
type event struct{ Action, Package, Test, Output string }

// TestFalseGreen runs each suite as `go test -json` does: the package fails, and no test passes that should not.
func TestFalseGreen(t *testing.T) {
	t.Parallel()
	suites := falseGreens(t)
	m := newModule(t)
	suite := m.compile("./evals")
	for _, s := range suites {
		if s.NotIn["go test"] != "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			project := module{t, t.TempDir()}
			require.NoError(t, os.CopyFS(project.dir, os.DirFS(filepath.Join(falseGreenDir, s.Name))))
			project.write("go.mod", "module example.com/shop\n")
			events, code := project.testJSON(suite.bin, append(s.Env, "EVALTEST_MODE="+s.Mode))
			require.NotZero(t, code, s.Reason)
			last := events[len(events)-1]
			require.Equal(t, "fail", last.Action, "%s: %v", s.Reason, last)
			require.Empty(t, last.Test, "the last word is the package's")
			for _, e := range events {
				if e.Test == "" {
					continue
				}
				require.NotEqual(t, "skip", e.Action, "%s: %s", s.Reason, e.Test)
				if e.Action == "pass" {
					require.Contains(t, s.Passes, strings.TrimPrefix(e.Test, "TestEvals/suite/"), s.Reason)
				}
			}
			golden.Equal(t, filepath.Join(falseGreenDir, s.Name, "go-test.golden"),
				"# "+s.Reason+"\n"+shownLines(events))
		})
	}
}

// TestGoTestJSON holds what the suites are run by to `go test -json` itself, which would link each of them anew.
func TestGoTestJSON(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.remove("evals/greet.yaml")
	require.NoError(t, os.CopyFS(m.path("evals"), os.DirFS(filepath.Join(falseGreenDir, "scores-zero"))))
	env := []string{"EVALTEST_MODE=live", "EVALTEST_SANDBOX=none"}
	out, code := m.goTest(env, "-json", "./evals")
	require.Equal(t, 1, code, out)
	want := m.events(out)
	suite := m.compile("./evals")
	got, code := module{t, m.path("evals")}.testJSON(suite.bin, env)
	require.Equal(t, 1, code)
	require.Equal(t, shownLines(want), shownLines(got))
	actions := func(events []event) (actions []string) {
		for _, e := range events {
			if e.Action != "output" {
				actions = append(actions, e.Action+" "+e.Package+" "+e.Test)
			}
		}
		return actions
	}
	require.Equal(t, actions(want), actions(got))
}

// testJSON runs a compiled suite in the module's root as `go test -json` runs it.
func (m module) testJSON(bin string, env []string, args ...string) (events []event, code int) {
	m.t.Helper()
	out, code := m.run(append(env, "EVALTEST_SANDBOX=none"), converter(),
		append([]string{"-t", "-p", "example.com/shop/evals", bin, "-test.v=test2json", "-test.paniconexit0"},
			args...)...)
	return m.events(out), code
}

func (m module) events(out string) []event {
	m.t.Helper()
	var events []event
	for line := range strings.Lines(out) {
		var e event
		require.NoError(m.t, json.Unmarshal([]byte(line), &e), out)
		events = append(events, e)
	}
	require.NotEmpty(m.t, events)
	return events
}

// shownLines returns how each test ended and what it printed, in the order in which they ended.
func shownLines(events []event) string {
	said := make(map[string]string)
	var b strings.Builder
	for _, e := range events {
		switch e.Action {
		case "output":
			if text := strings.TrimLeft(e.Output, " "); !strings.HasPrefix(text, "=== ") &&
				!strings.HasPrefix(text, "--- ") {
				said[e.Test] += e.Output
			}
		case "pass", "fail", "skip":
			if e.Test != "" {
				fmt.Fprintf(&b, "%s %s\n%s", e.Action, e.Test, said[e.Test])
			}
		}
	}
	return ourLine.ReplaceAllString(b.String(), "agent.go:N:")
}

// ourLine is where this package reports what no line of a test is the cause of.
var ourLine = regexp.MustCompile(`\bagent\.go:\d+:`)
