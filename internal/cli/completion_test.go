package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestCompletion compares the scripts with golden files. cmd/sdd-eval runs the script for bash.
func TestCompletion(t *testing.T) {
	for _, shell := range shellNames() {
		t.Run(shell, func(t *testing.T) {
			got := call(t, t.TempDir(), "completion", shell)
			require.Equal(t, exitOK, got.code)
			require.Empty(t, got.stderr)
			require.NotContains(t, got.stdout, "__complete:", "hidden commands are not offered")
			for _, c := range commands() {
				if c.hidden {
					continue
				}
				f, _ := c.flags(&App{})
				for word := range strings.FieldsSeq(c.name) {
					require.Contains(t, got.stdout, word)
				}
				for name := range strings.FieldsSeq(strings.ReplaceAll(f.FlagUsages(), "=", " ")) {
					if flag, ok := strings.CutPrefix(name, "--"); ok {
						require.Contains(t, got.stdout, flag, "%s --%s", c.name, flag)
					}
				}
			}
			golden.Equal(t, "testdata/completion/"+shell+".golden", got.stdout)
		})
	}
}

// TestCompleteRuns tests the ids of runs that completion scripts get.
func TestCompleteRuns(t *testing.T) {
	dir := threeRuns(t)
	want := called{exitOK, strings.Join([]string{latest, newest, middle, oldest, ""}, "\n"), ""}
	require.Equal(t, want, call(t, dir, "__complete", "runs", "--", "sdd-eval", "show", ""))
	elsewhere := projectDir(t)
	require.Equal(t, called{}, call(t, elsewhere, "__complete", "runs"))
	for _, words := range []string{"--root " + dir, "--root=" + dir, "--root = " + dir} {
		args := append([]string{"__complete", "runs", "--", "sdd-eval", "show"}, strings.Fields(words+" x")...)
		require.Equal(t, want, call(t, elsewhere, args...), words)
	}
	require.Equal(t, exitUsage, call(t, dir, "__complete", "secrets").code)
}

func FuzzRootOf(f *testing.F) {
	f.Add("sdd-eval show --root = x")
	f.Add("--root")
	f.Add("--root =")
	f.Fuzz(func(t *testing.T, line string) {
		root := rootOf(strings.Fields(line))
		if !strings.Contains(line, root) {
			t.Fatalf("%q is not in %q", root, line)
		}
	})
}
