package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An oracle's archive has a plugin with evals and our recordings of them in plugin/, what the model says in model.yaml,
// flags of both tools in flags, what `claude plugin eval` came to in original, with its exit code, and in differs the
// lines in which we come to something else, each with its reason.
const oracles = "testdata/oracle/*.txtar"

// oracle is such an archive.
type oracle struct {
	file    string
	archive *txtar.Archive
}

func readOracles(t *testing.T) (all []oracle) {
	t.Helper()
	files, err := filepath.Glob(oracles)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		all = append(all, oracle{file, archive})
	}
	return all
}

func (o oracle) name() string { return strings.TrimSuffix(filepath.Base(o.file), ".txtar") }

func (o oracle) text(name string) string {
	for _, f := range o.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// flags are those of a tool, original or ours.
func (o oracle) flags(tool string) []string {
	for line := range strings.Lines(o.text("flags")) {
		if rest, ok := strings.CutPrefix(line, tool+":"); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

// unpack writes the plugin into a new project.
func (o oracle) unpack(t *testing.T) (dir string) {
	t.Helper()
	dir = projectDir(t)
	for _, f := range o.archive.Files {
		if strings.HasPrefix(f.Name, "plugin/") {
			file := filepath.Join(dir, filepath.FromSlash(f.Name))
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, f.Data, 0o644))
		}
	}
	return dir
}

// aggregates is as much of an aggregate-result.json as both tools must agree in.
type aggregates struct {
	Cases []struct {
		Name string
		Arms map[string][]struct {
			Score   float64
			Error   *string
			Graders []struct {
				Name     string
				Passed   bool
				WithOnly bool
			}
		}
	}
}

// verdicts returns a line for each grader of each trial, and for the score of that.
func verdicts(t *testing.T, data []byte) (lines []string) {
	t.Helper()
	var a aggregates
	require.NoError(t, json.Unmarshal(data, &a), string(data))
	for _, c := range a.Cases {
		for arm, runs := range c.Arms {
			for i, run := range runs {
				unit := fmt.Sprintf("%s/%s/%d", c.Name, arm, i+1)
				if run.Error != nil && len(run.Graders) == 0 { // a session that a limit ended has some there
					lines = append(lines, unit+": error")
					continue
				}
				for _, g := range run.Graders {
					said := map[bool]string{true: "pass", false: "fail"}[g.Passed]
					if g.WithOnly {
						said += ", an indicator"
					}
					lines = append(lines, fmt.Sprintf("%s: %s: %s", unit, g.Name, said))
				}
				lines = append(lines, fmt.Sprintf("%s: score %.3f", unit, run.Score))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// exited is the line of a tool's exit code.
func exited(code int) string { return fmt.Sprintf("exit %d", code) }

// ours returns the verdicts of all runs in a project, which ended with a code.
func ours(t *testing.T, dir string, code int) (lines []string) {
	t.Helper()
	runs, err := filepath.Glob(filepath.Join(dir, ".llman/sdd-eval/runs/*/manifest.json"))
	require.NoError(t, err)
	require.NotEmpty(t, runs)
	for _, manifest := range runs {
		run := filepath.Dir(manifest)
		got := call(t, dir, "report", "--run", filepath.Base(run), "--format", "plugin-evals")
		require.Contains(t, []int{exitOK, exitFailed, exitHarness}, got.code, got.stderr)
		data, err := os.ReadFile(filepath.Join(run, "aggregate-result.json"))
		require.NoError(t, err)
		said := verdicts(t, data)
		failed := slices.ContainsFunc(said, func(line string) bool { return strings.HasSuffix(line, ": error") })
		assert.Equal(t, failed, strings.Contains(string(data), `"partial": true`), "an error makes it partial")
		lines = append(lines, said...)
	}
	slices.Sort(lines)
	return append(lines, exited(code))
}

// agree expects the same verdicts as those of the original, but for the lines that the archive gives a reason for.
func (o oracle) agree(t *testing.T, original, ours []string) {
	t.Helper()
	var reasons []string
	for line := range strings.Lines(o.text("differs")) {
		what, reason, _ := strings.Cut(strings.TrimSpace(line), " # ")
		assert.NotEmpty(t, reason, "%s: differs: %s: has no reason", o.file, what)
		reasons = append(reasons, what)
	}
	var differ []string
	for _, line := range original {
		if !slices.Contains(ours, line) {
			differ = append(differ, "- "+line)
		}
	}
	for _, line := range ours {
		if !slices.Contains(original, line) {
			differ = append(differ, "+ "+line)
		}
	}
	slices.Sort(differ)
	slices.Sort(reasons)
	assert.Equal(t, reasons, differ, o.file)
}

// TestPluginOracle replays our recordings, and compares what they come to with what Claude Code's own command came to.
// `make test-oracle` asks that command, and records.
func TestPluginOracle(t *testing.T) {
	for _, o := range readOracles(t) {
		t.Run(o.name(), func(t *testing.T) {
			t.Parallel()
			dir := o.unpack(t)
			got := call(t, dir, append([]string{"run", "--from", "plugin", "--mode", "replay"}, o.flags("ours")...)...)
			o.agree(t, strings.Split(strings.TrimSpace(o.text("original")), "\n"), ours(t, dir, got.code))
		})
	}
}
