package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// regexpFinished finds the only time that a test does not set.
var regexpFinished = regexp.MustCompile(`finished   .* UTC`)

// The runs of the project that threeRuns makes, the newest first.
const (
	newest = "20260131-120002-shop-three"
	middle = "20260131-120001-shop-two"
	oldest = "20260131-120000-demo-one"
)

// threeRuns returns a project with a run in which all went well, one that was interrupted and one with failures.
func threeRuns(t *testing.T) string {
	t.Helper()
	dir := projectDir(t)
	step := result.Step{Name: "tests", Position: "shop.yaml:12", Outcome: result.Fail, Reason: "exit code 1"}
	half := 0.5
	makeRun(t, dir, oldest, rundir.StateFinished, result.Unit{Outcome: result.Completed, Stop: "completed-by-limit"},
		result.Unit{Outcome: result.Completed})
	makeRun(t, dir, middle, rundir.StateInterrupted, result.Unit{Outcome: result.Pass})
	makeRun(t, dir, newest, rundir.StateFinished,
		result.Unit{Outcome: result.Fail, Steps: []result.Step{step}, Evaluations: []result.Evaluation{{
			Name: "stays-offline", Outcome: result.Fail, Score: &half, Position: "shop.yaml:20",
			Reason: "never: \x1b[31mWebFetch",
		}}},
		result.Unit{
			Outcome: result.Error, Reason: "start the agent: not found\nlook for it", Next: "npm install agent",
			Attempts: []string{"429"}, Warnings: []string{"the cassette is old"},
		})
	return dir
}

// makeRun makes a run of two units, of which those that are given have ended.
func makeRun(t *testing.T, dir, id string, state rundir.State, units ...result.Unit) {
	t.Helper()
	created, err := time.Parse("20060102-150405", id[:15])
	require.NoError(t, err)
	name := strings.Split(id, "-")[2]
	m := rundir.Manifest{
		RunID: id, CreatedAt: created, Tool: tool, Playbook: rundir.Playbook{Path: name + ".yaml"}, Name: name,
		Mode: "live", Sandbox: "none", Variants: []rundir.Variant{{ID: "a"}, {ID: "b"}},
		Cases:  []rundir.Case{{ID: "task", Variants: []string{"a", "b"}}},
		Judges: map[string][]string{"task": {"tests-pass"}}, Evaluators: true,
		Trials: 1, Need: 1, Units: []string{name + "/task/a/1", name + "/task/b/1"}, Jobs: []string{"report"},
	}
	switch {
	case units[0].Outcome == result.Completed:
		m.Judges = map[string][]string{"task": nil}
	case len(units[0].Evaluations) > 0:
		m.Judges["task"] = []string{units[0].Evaluations[0].Name}
	}
	r, err := rundir.Create(dir, m, []byte(validPlaybook), new(secret.Set))
	require.NoError(t, err)
	for i, u := range units {
		u.ID, u.Case, u.Variant, u.Trial = m.Units[i], "task", m.Variants[i].ID, 1
		u.Started, u.Duration = created, result.Duration(time.Duration(i+1)*70*time.Second)
		if u.Outcome == result.Pass {
			u.Evaluations = []result.Evaluation{{Name: "tests-pass", Outcome: result.Pass, Score: new(1.0)}}
		}
		require.NoError(t, r.Append(u))
	}
	if state == rundir.StateFinished {
		require.NoError(t, r.AppendJob(result.Job{ID: "report", Outcome: result.Pass, Started: created, Duration: 1e8}))
		require.NoError(t, r.WriteFile("report.md", []byte("# Report\n")))
	}
	require.NoError(t, r.Finish(state))
	require.NoError(t, r.Close())
}

func TestList(t *testing.T) {
	dir := threeRuns(t)
	got := call(t, dir, "list")
	require.Equal(t, exitOK, got.code)
	require.Empty(t, got.stderr)
	golden.Equal(t, "testdata/list.golden", got.stdout)
	require.Equal(t, got, call(t, t.TempDir(), "list", "--root", dir))
}

func TestListOfNoRuns(t *testing.T) {
	dir := projectDir(t)
	require.Equal(t, called{exitOK, "", "no runs below " + dir + " yet\nnext: sdd-eval run --help\n"},
		call(t, dir, "list"))
}

// TestListUnreadable: a run that cannot be read is listed as such, and does not hide other runs.
func TestListUnreadable(t *testing.T) {
	dir := threeRuns(t)
	manifest := filepath.Join(dir, ".llman", "sdd-eval", "runs", middle, "manifest.json")
	require.NoError(t, os.WriteFile(manifest, []byte("{"), 0o644))
	got := call(t, dir, "list")
	require.Equal(t, exitOK, got.code)
	require.Regexp(t, middle+` +2026-01-31 12:00:01 +unreadable +\?`, got.stdout)
	require.Contains(t, got.stdout, oldest)
	require.Contains(t, got.stderr, middle+": ")
}

func TestShow(t *testing.T) {
	dir := threeRuns(t)
	for _, id := range []string{oldest, middle, newest} {
		t.Run(id, func(t *testing.T) {
			got := call(t, dir, "show", id)
			require.Equal(t, exitOK, got.code, got.stderr)
			finished := regexpFinished.ReplaceAllString(got.stdout, "finished   NOW UTC")
			golden.Equal(t, "testdata/show/"+id+".golden", finished+"--- stderr\n"+got.stderr)
		})
	}
}

// TestProblems: the problems of a run are shown, so that it does not look like a good one.
func TestProblems(t *testing.T) {
	dir := threeRuns(t)
	r, err := rundir.Resume(dir, oldest, nil)
	require.NoError(t, err)
	require.NoError(t, r.Finish(rundir.StateFinished, "a secret was found in \x1b[31mjobs.jsonl"))
	require.NoError(t, r.Close())
	require.Regexp(t, `(?m)^`+oldest+` .* finished, 1 problem +2 completed +demo.yaml$`,
		call(t, dir, "list").stdout)
	got := call(t, dir, "show", oldest)
	require.Equal(t, exitOK, got.code)
	require.Contains(t, got.stdout, "\nproblem    a secret was found in ␛[31mjobs.jsonl\n")
}

func TestFindRun(t *testing.T) {
	dir := threeRuns(t)
	tests := []struct{ name, id, want, err string }{
		{"whole id", oldest, oldest, ""},
		{"beginning", "20260131-120001", middle, ""},
		{"latest", "latest", newest, ""},
		{
			"beginning of several", "20260131", "",
			"is ambiguous: 3 runs begin with it, such as " + newest + " and " + middle,
		},
		{"none", "2027", "", "no run \"2027\"; the newest is " + newest},
		{"path", "../runs/" + oldest, "", "no run "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := findRun(dir, tt.id)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
	got := call(t, projectDir(t), "show", "latest")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.stderr, "no runs below")
}

func TestClean(t *testing.T) {
	dir := threeRuns(t)
	require.Equal(t, called{exitOK, middle + "\n" + oldest + "\n", "removed 2 runs\n"},
		call(t, dir, "clean", "--keep", "1"))
	require.Equal(t, called{exitOK, "", "removed 0 runs\n"}, call(t, dir, "clean", "--keep", "1"))
	require.Equal(t, called{exitOK, newest + "\n", "removed 1 run\n"}, call(t, dir, "clean", "--keep", "0"))
	require.Equal(t, exitUsage, call(t, dir, "clean").code, "how many to keep is nothing to guess")
}

// TestBrokenResults: the error about a line that this program did not write names its place and the next command.
func TestBrokenResults(t *testing.T) {
	dir := threeRuns(t)
	file := filepath.Join(dir, ".llman", "sdd-eval", "runs", newest, "results.jsonl")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	forged := strings.Replace(string(data), "}\n", `,"outcome":"pass"}`+"\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(forged), 0o644))
	const next = "\nnext: remove that line, then repeat what it recorded: sdd-eval run --resume " + newest
	for _, args := range [][]string{{"show", newest}, {"report", "--run", newest}, {"run", "--resume", newest}} {
		said := file + `:1: duplicate key "outcome"`
		if args[0] == "report" {
			said = "report on run " + newest + ": " + said
		}
		if args[0] == "run" {
			said = "resume run: " + said
		}
		require.Equal(t, called{exitHarness, "", "sdd-eval: " + said + next + "\n"}, call(t, dir, args...))
		elsewhere := call(t, projectDir(t), append(args, "--root", dir)...)
		require.Equal(t, "sdd-eval: "+said+next+" --root "+dir+"\n", elsewhere.stderr)
	}
}

// TestReportFormats: the command, its help, completion, `show` and docs/reports.md know each format.
func TestReportFormats(t *testing.T) {
	dir := threeRuns(t)
	docs, err := os.ReadFile("../../docs/reports.md")
	require.NoError(t, err)
	help, completion := call(t, dir, "report", "--help"), call(t, dir, "completion", "bash")
	for _, f := range report.Formats {
		path := filepath.Join(dir, ".llman", "sdd-eval", "runs", newest, f.File)
		wrote := call(t, dir, "report", "--run", newest, "--format", f.Name)
		if f.Name == report.SkillCreator || f.Name == report.PluginEvals { // the run has none of it
			require.Equal(t, exitUsage, wrote.code)
		} else {
			require.Equal(t, path+"\n", wrote.stdout)
			if !f.Asked {
				require.Contains(t, call(t, dir, "show", newest).stdout, "/"+f.File+"\n")
			}
		}
		require.Regexp(t, `(?s)LIST of .*\b`+f.Name+`\b`, help.stdout)
		require.Regexp(t, `--format\).*\b`+f.Name+`\b`, completion.stdout)
		require.Contains(t, string(docs), fmt.Sprintf("\n| `%s` | `%s` | ", f.File, f.Name))
	}
}
