package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// noon is when everything happens in tests.
var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// called is what one call of the command came to.
type called struct {
	code           int
	stdout, stderr string
}

// call calls the command in a directory, with no environment but HOME.
func call(t *testing.T, dir string, args ...string) called {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := App{
		Args: args, Stdout: &stdout, Stderr: &stderr, Dir: dir,
		Getenv: func(string) string { return "" },
		Now:    func() time.Time { return noon },
	}
	code := a.Run(context.Background())
	return called{code, stdout.String(), stderr.String()}
}

// projectDir returns a new directory that is the root of a project, without symlinks on the way.
func projectDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	return dir
}

// TestHelp compares the help of each command with a golden file, and checks that it is complete.
func TestHelp(t *testing.T) {
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			words := strings.Fields(c.name)
			got := call(t, t.TempDir(), append(words, "--help")...)
			require.Equal(t, exitOK, got.code, got.stderr)
			require.Empty(t, got.stderr)
			for _, part := range []string{"\nUsage:\n  sdd-eval " + c.name, "\nExamples:\n  ", "\nExit codes:\n  0 "} {
				require.Contains(t, got.stdout, part)
			}
			for line := range strings.Lines(got.stdout) {
				require.LessOrEqual(t, len(line), 121, line)
			}
			golden.Equal(t, "testdata/help/"+strings.Join(words, "-")+".golden", got.stdout)
			require.Equal(t, got, call(t, t.TempDir(), append([]string{"help"}, words...)...),
				"both ways to ask for help say the same")
			require.Equal(t, got, call(t, t.TempDir(), append(words, "-h")...))
		})
	}
	for name := range groups {
		got := call(t, t.TempDir(), name, "--help")
		require.Equal(t, exitOK, got.code, got.stderr)
		golden.Equal(t, "testdata/help/"+name+".golden", got.stdout)
		require.Equal(t, got, call(t, t.TempDir(), "help", name))
	}
	overview := call(t, t.TempDir(), "--help")
	require.Equal(t, exitOK, overview.code)
	golden.Equal(t, "testdata/help/overview.golden", overview.stdout)
	require.Equal(t, overview, call(t, t.TempDir(), "help"))
	bare := call(t, t.TempDir())
	require.Equal(t, called{exitUsage, "", overview.stdout}, bare, "a script that names no command must not look green")
}

// TestExamples parses the examples in the help: each must be a valid command line.
func TestExamples(t *testing.T) {
	for _, c := range commands() {
		for line := range strings.Lines(c.examples) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
			line = strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "source <("), ")")
			line, _, _ = strings.Cut(line, " > ")
			words := strings.Fields(line)
			words = words[max(slices.Index(words, "sdd-eval"), 0):] // without variables
			require.GreaterOrEqual(t, len(words), 2, line)
			found, rest, err := lookupCommand(words[1:])
			require.NoError(t, err)
			require.Equal(t, []string{"sdd-eval", c.name}, []string{words[0], found.name})
			f, _ := c.flags(&App{})
			require.NoError(t, f.Parse(rest), line)
			require.NoError(t, c.check(f), line)
		}
	}
}

// TestUsage tests the errors of wrong command lines. They all exit with 2 and print no result.
func TestUsage(t *testing.T) {
	tests := []struct {
		name string
		args string
		want string
	}{
		{"unknown command", "ini", "unknown command \"ini\", did you mean \"init\"?\nnext: sdd-eval help"},
		{"nothing like a command", "frobnicate", "unknown command \"frobnicate\"\nnext: sdd-eval help"},
		{"hidden commands are not offered", "complete", "unknown command \"complete\"\nnext: sdd-eval help"},
		{
			"unknown flag", "init --nmae x",
			"init: unknown flag --nmae, did you mean \"--name\"?\nnext: sdd-eval init --help",
		},
		{"one dash", "init -name x", "init: unknown flag -name, did you mean \"--name\"?\nnext: sdd-eval init --help"},
		{"flag before the command", "--root . list", "unknown flag --root before the command\nnext: sdd-eval help"},
		{"argument after version", "--version now", "unexpected argument \"now\" after --version\nnext: sdd-eval help"},
		{"missing flag", "clean", "clean: --keep N is required\nnext: sdd-eval clean --help"},
		{"missing value", "init --name", "init: --name needs a value: --name NAME\nnext: sdd-eval init --help"},
		{"empty value", "init --name=", "init: --name: the value is empty\nnext: sdd-eval init --help"},
		{"twice", "init --name a --name b", "init: --name b: duplicate flag\nnext: sdd-eval init --help"},
		{
			"unknown choice", "init --name a --schema lcoal",
			"init: --schema lcoal: unknown value, did you mean \"local\"?\nnext: sdd-eval init --help",
		},
		{
			"group alone", "cassette",
			"cassette: missing command: use show, diff, verify, prune, migrate, import or export\n" +
				"next: sdd-eval help cassette",
		},
		{
			"nothing of the group", "cassette shwo x",
			"cassette: unknown command \"shwo\", did you mean \"show\"?\nnext: sdd-eval help cassette",
		},
		{"flag in a group", "cassette --full", "cassette: unknown command \"--full\"\nnext: sdd-eval help cassette"},
		{"too much for help", "help run now", "help: unexpected argument \"now\"\nnext: sdd-eval help run"},
		{
			"no such choice", "run --playbook p --mode x",
			"run: --mode x: use live, record, missing or replay\nnext: sdd-eval run --help",
		},
		{
			"unknown format", "report --run latest --format md,pdf",
			"report: --format md,pdf: use " + strings.Join(report.Names(), ", ") +
				", human or github\nnext: sdd-eval report --help",
		},
		{
			"format twice", "report --run latest --format md,md",
			"report: --format md,md: duplicate value \"md\"\nnext: sdd-eval report --help",
		},
		{
			"no number", "clean --keep many",
			"clean: --keep many: use a whole number of at least 0\nnext: sdd-eval clean --help",
		},
		{
			"negative", "clean --keep=-1",
			"clean: --keep -1: use a whole number of at least 0\nnext: sdd-eval clean --help",
		},
		{
			"nothing at a time", "run --playbook p --parallel 0",
			"run: --parallel 0: use a whole number of at least 1\nnext: sdd-eval run --help",
		},
		{
			"value for a switch", "init --name a --force=maybe",
			"init: --force maybe: use true or false\nnext: sdd-eval init --help",
		},
		{"unexpected argument", "list all", "list: unexpected argument \"all\"\nnext: sdd-eval list --help"},
		{"too many arguments", "show a b c", "show: unexpected argument \"c\"\nnext: sdd-eval show --help"},
		{"no files", "validate", "validate: FILE is missing\nnext: sdd-eval validate --help"},
		{
			"neither playbook nor run", "run",
			"run: give either a playbook FILE, --from DIR, --resume RUN_ID or --again RUN_ID\n" +
				"next: sdd-eval run --help",
		},
		{
			"both playbook and run", "run --playbook p --resume r",
			"run: give either a playbook FILE, --from DIR, --resume RUN_ID or --again RUN_ID\n" +
				"next: sdd-eval run --help",
		},
		{
			"unknown shell", "completion tcsh",
			"completion: unknown shell \"tcsh\": use bash, zsh or fish\nnext: sdd-eval completion --help",
		},
		{"help on nothing", "help ini", "unknown command \"ini\", did you mean \"init\"?\nnext: sdd-eval help"},
	}
	names := make(map[string]bool)
	for _, tt := range tests {
		require.False(t, names[tt.name], tt.name)
		names[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, t.TempDir(), strings.Fields(tt.args)...)
			require.Equal(t, called{exitUsage, "", "sdd-eval: " + tt.want + "\n"}, got)
		})
	}
}

func TestVersion(t *testing.T) {
	for _, word := range []string{"version", "--version"} {
		got := call(t, t.TempDir(), word)
		require.Equal(t, exitOK, got.code)
		require.Empty(t, got.stderr)
		require.Regexp(t, `^sdd-eval `+regexp.QuoteMeta(engine.Version)+` \([^ ()]+, go[^ ]+( .*)?\)\n$`, got.stdout)
	}
}

// TestStdoutFails: a command whose output cannot be written fails.
func TestStdoutFails(t *testing.T) {
	var stderr bytes.Buffer
	a := App{
		Args: []string{"--version"}, Stdout: brokenWriter{}, Stderr: &stderr, Dir: t.TempDir(),
		Getenv: func(string) string { return "" }, Now: time.Now,
	}
	require.Equal(t, exitHarness, a.Run(context.Background()))
	require.Contains(t, stderr.String(), errBroken.Error())
}

var errBroken = errors.New("broken pipe of a test")

// brokenWriter takes nothing.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// TestExitCode tests the exit codes of errors.
func TestExitCode(t *testing.T) {
	live, done := context.Background(), canceled()
	require.Equal(t, exitHarness, exitCode(live, context.Canceled), "an error without a code is one of the harness")
	require.Equal(t, exitInterrupted, exitCode(done, context.Canceled))
	require.Equal(t, exitUsage, exitCode(done, usageError("no")), "the error came before the signal")
	require.Equal(t, exitFailed, exitCode(live, &exitError{code: exitFailed}))
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestReportExits: `report` ends with the same exit code as `run` did, and its reports have the same outcome.
func TestReportExits(t *testing.T) {
	const (
		pass, fail, broken       = result.Pass, result.Fail, result.Error
		skip, completed, missing = result.Skip, result.Completed, result.NotRun
	)
	reports, ran := result.Job{Outcome: pass}, result.Job{Outcome: pass, Commands: 1}
	tests := []struct {
		name, reason string
		units        [2]result.Outcome
		job          result.Job
		state        rundir.State // empty: finished
		problems     []string
		want         result.Outcome
		code         int
	}{
		{name: "pass", units: [2]result.Outcome{pass, pass}, job: reports, want: pass, code: exitOK},
		{name: "fail", units: [2]result.Outcome{pass, fail}, job: reports, want: fail, code: exitFailed},
		{name: "error", units: [2]result.Outcome{pass, broken}, job: reports, want: broken, code: exitHarness},
		{
			name: "error and fail", reason: "error comes before failure", units: [2]result.Outcome{fail, broken},
			job: reports, want: broken, code: exitHarness,
		},
		{name: "some skipped", units: [2]result.Outcome{skip, pass}, job: reports, want: pass, code: exitOK},
		{
			name: "all skipped", reason: "it would look like success", units: [2]result.Outcome{skip, skip},
			job: reports, want: broken, code: exitHarness,
		},
		{
			name: "all skipped but a command", units: [2]result.Outcome{skip, skip}, job: ran, want: completed,
			code: exitOK,
		},
		{name: "unjudged", units: [2]result.Outcome{completed, completed}, job: reports, want: completed, code: exitOK},
		{
			name: "pass and completed", reason: "what nothing judged is no pass",
			units: [2]result.Outcome{pass, completed}, job: ran, want: completed, code: exitOK,
		},
		{
			name: "pass, job skipped", units: [2]result.Outcome{pass, pass}, job: result.Job{Outcome: skip}, want: pass,
			code: exitOK,
		},
		{
			name: "pass, job failed", units: [2]result.Outcome{pass, pass}, job: result.Job{Outcome: fail, Commands: 1},
			want: fail, code: exitFailed,
		},
		{
			name: "pass, job broke", units: [2]result.Outcome{pass, pass}, job: result.Job{Outcome: broken},
			want: broken, code: exitHarness,
		},
		{
			name: "skipped, job failed", units: [2]result.Outcome{skip, skip},
			job: result.Job{Outcome: fail, Commands: 1}, want: fail, code: exitFailed,
		},
		{
			name: "interrupted", units: [2]result.Outcome{pass, missing}, job: reports, state: rundir.StateInterrupted,
			want: missing, code: exitHarness,
		},
		{
			name: "not run", reason: "a test with -run leaves some out", units: [2]result.Outcome{pass, missing},
			job: reports, want: missing, code: exitHarness,
		},
		{
			name: "job not run", units: [2]result.Outcome{pass, pass}, job: result.Job{Outcome: missing}, want: missing,
			code: exitHarness,
		},
		{
			name: "interrupted after the last of it", reason: "nobody knows what was still to come",
			units: [2]result.Outcome{pass, pass}, job: reports, state: rundir.StateInterrupted,
			want: missing, code: exitHarness,
		},
		{
			name: "problem", units: [2]result.Outcome{pass, pass}, job: reports,
			problems: []string{"a secret was found"}, want: broken, code: exitHarness,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := projectDir(t)
			run := endedRun(t, dir, tt.units, tt.job, tt.state, tt.problems)
			got := call(t, dir, "report", "--run", "latest")
			require.Equal(t, tt.code, got.code, "%s\n%s", tt.reason, got.stderr)
			require.Contains(t, got.stdout, filepath.Join(run, "report.junit.xml"),
				"the reports are there whatever they say")
			require.Equal(t, tt.code == exitOK, got.stderr == "", got.stderr)
			data, err := os.ReadFile(filepath.Join(run, "report.json"))
			require.NoError(t, err)
			var rep struct{ Outcome result.Outcome }
			require.NoError(t, json.Unmarshal(data, &rep))
			require.Equal(t, tt.want, rep.Outcome, tt.reason)

			got = call(t, dir, "report", "--run", "latest", "--format", "github")
			require.Equal(t, exitOK, got.code, "the run has failed already")
			require.Equal(t, tt.code == exitOK, got.stdout == "", got.stdout)
		})
	}
}

// endedRun makes a run of two cases with evaluators and a job, and returns its directory.
func endedRun(
	t *testing.T, dir string, units [2]result.Outcome, job result.Job, state rundir.State, problems []string,
) string {
	t.Helper()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	m := rundir.Manifest{
		CreatedAt: at, Name: "shop", Mode: "live", Sandbox: "none", Variants: []rundir.Variant{{ID: "a"}},
		Cases:  []rundir.Case{{ID: "one", Variants: []string{"a"}}, {ID: "two", Variants: []string{"a"}}},
		Trials: 1, Need: 1, Judges: map[string][]string{"one": nil, "two": nil},
		Units: []string{"shop/one/a/1", "shop/two/a/1"}, Jobs: []string{"job"}, Evaluators: true,
	}
	for i, o := range units {
		if o != result.Completed && o != result.NotRun {
			m.Judges[m.Cases[i].ID] = []string{"judge"}
		}
	}
	r, err := rundir.Create(dir, m, []byte(validPlaybook), new(secret.Set))
	require.NoError(t, err)
	for i, o := range units {
		if o == result.NotRun {
			continue
		}
		u := result.Unit{ID: m.Units[i], Case: m.Cases[i].ID, Variant: "a", Trial: 1, Outcome: o, Started: at}
		if o != result.Completed {
			u.Evaluations = []result.Evaluation{{Name: "judge", Outcome: o, Score: new(1.0)}}
		}
		require.NoError(t, r.Append(u))
	}
	if job.Outcome != result.NotRun {
		job.ID, job.Started = "job", at
		require.NoError(t, r.AppendJob(job))
	}
	if state == "" {
		state = rundir.StateFinished
	}
	require.NoError(t, r.Finish(state, problems...))
	require.NoError(t, r.Close())
	return r.Dir()
}

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name, reason, want string
		got                string
	}{
		{
			"run in another mode", "what was given is given again",
			"sdd-eval run --playbook 'my plays/q.yaml' --mode record --cassettes alt --root .. --config-dir c " +
				"--sandbox none --parallel 4 --llm-judge",
			runOptions{
				playbook: "my plays/q.yaml", mode: "replay", cassettes: "alt", root: "..", configDir: "c",
				sandbox: "none", parallel: 4, llmJudge: true,
			}.command(engine.Record),
		},
		{
			"run with no flags", "", "sdd-eval run --playbook q.yaml --mode live",
			runOptions{playbook: "q.yaml", mode: "replay", parallel: 0}.command(engine.Live),
		},
		{
			"resume", "the run knows its playbook, its mode and its cassettes",
			"sdd-eval run --resume id --root '$p' --sandbox none",
			runOptions{
				playbook: "q.yaml", mode: "replay", cassettes: "alt", root: "$p", sandbox: "none",
			}.resumption("id"),
		},
		{
			"overwrite a playbook", "", "sdd-eval init --name demo --force --root x --schema local",
			initOptions{name: "demo", root: "x", schema: "local"}.overwriting(),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, tt.got, tt.reason) })
	}
}

// TestResumed: the commands that a resumed run suggests name its own playbook and its own cassettes.
func TestResumed(t *testing.T) {
	dir := projectDir(t)
	const id = "20260131-120000-shop"
	_, err := rundir.Create(dir, rundir.Manifest{
		RunID: id, Tool: tool, Playbook: rundir.Playbook{Path: "my plays/q.yaml"}, Cassettes: "alt",
		Name: "shop", Mode: "replay", Sandbox: "none", Variants: []rundir.Variant{{ID: "a"}},
		Cases:  []rundir.Case{{ID: "task", Variants: []string{"a"}}},
		Trials: 1, Need: 1, Units: []string{"shop/task/a/1"}, Judges: map[string][]string{"task": nil},
	}, []byte(validPlaybook), new(secret.Set))
	require.NoError(t, err)
	a := &App{Dir: filepath.Join(dir, "sub"), secrets: new(secret.Set)}
	before, err := a.former(dir, runOptions{resume: id[:9], root: ".."}, id[:9])
	require.NoError(t, err)
	require.Equal(t, id, before.options.resume)
	require.False(t, before.over)
	playbook := filepath.Join(dir, "my plays", "q.yaml")
	require.Equal(t, "sdd-eval run --playbook '"+playbook+"' --mode record --cassettes alt --root ..",
		before.options.command(engine.Record))
}
