package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
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

// TestHelp holds the help of each command to a golden file, and to what help has to have.
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
			require.Equal(t, got, call(t, t.TempDir(), append([]string{"help"}, words...)...), "both ways to ask for help say the same")
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

// TestExamples parses the examples in the help: each is a command line that the command would take.
func TestExamples(t *testing.T) {
	for _, c := range commands() {
		for line := range strings.Lines(c.examples) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
			line = strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "source <("), ")")
			line, _, _ = strings.Cut(line, " > ")
			words := strings.Fields(line)
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

// TestUsage holds what the command says of command lines that are wrong. They all exit 2 and print no result.
func TestUsage(t *testing.T) {
	tests := []struct {
		name string
		args string
		want string
	}{
		{"unknown command", "ini", "unknown command \"ini\", did you mean \"init\"?\nnext: sdd-eval help"},
		{"nothing like a command", "frobnicate", "unknown command \"frobnicate\"\nnext: sdd-eval help"},
		{"hidden commands are not offered", "complete", "unknown command \"complete\"\nnext: sdd-eval help"},
		{"unknown flag", "init --nmae x", "init: unknown flag --nmae, did you mean \"--name\"?\nnext: sdd-eval init --help"},
		{"one dash", "init -name x", "init: unknown flag -name, did you mean \"--name\"?\nnext: sdd-eval init --help"},
		{"flag before the command", "--root . list", "unknown flag --root before the command\nnext: sdd-eval help"},
		{"argument after version", "--version now", "unexpected argument \"now\" after --version\nnext: sdd-eval help"},
		{"missing flag", "init", "init: --name NAME is required\nnext: sdd-eval init --help"},
		{"missing value", "init --name", "init: --name needs a value: --name NAME\nnext: sdd-eval init --help"},
		{"empty value", "init --name=", "init: --name: the value is empty\nnext: sdd-eval init --help"},
		{"twice", "init --name a --name b", "init: --name b: the flag is given twice\nnext: sdd-eval init --help"},
		{"unknown choice", "init --name a --schema lcoal", "init: --schema lcoal: unknown value, did you mean \"local\"?\nnext: sdd-eval init --help"},
		{"group alone", "cassette", "cassette: use show, diff, verify, prune, migrate, import or export\nnext: sdd-eval help cassette"},
		{"nothing of the group", "cassette shwo x", "cassette: unknown command \"shwo\", did you mean \"show\"?\nnext: sdd-eval help cassette"},
		{"flag in a group", "cassette --full", "cassette: unknown command \"--full\"\nnext: sdd-eval help cassette"},
		{"too much for help", "help run now", "help: unexpected argument \"now\"\nnext: sdd-eval help run"},
		{"no such choice", "run --playbook p --mode x", "run: --mode x: use live, record, missing or replay\nnext: sdd-eval run --help"},
		{"unknown format", "report --run latest --format md,pdf", "report: --format md,pdf: use md, json, html, junit or github\nnext: sdd-eval report --help"},
		{"format twice", "report --run latest --format md,md", "report: --format md,md: \"md\" is given twice\nnext: sdd-eval report --help"},
		{"no number", "clean --keep many", "clean: --keep many: use a whole number of at least 0\nnext: sdd-eval clean --help"},
		{"negative", "clean --keep=-1", "clean: --keep -1: use a whole number of at least 0\nnext: sdd-eval clean --help"},
		{"nothing at a time", "run --playbook p --parallel 0", "run: --parallel 0: use a whole number of at least 1\nnext: sdd-eval run --help"},
		{"value for a switch", "init --name a --force=maybe", "init: --force maybe: use true or false\nnext: sdd-eval init --help"},
		{"unexpected argument", "list all", "list: unexpected argument \"all\"\nnext: sdd-eval list --help"},
		{"missing argument", "show", "show: RUN_ID is missing\nnext: sdd-eval show --help"},
		{"too many arguments", "show a b", "show: unexpected argument \"b\"\nnext: sdd-eval show --help"},
		{"no files", "validate", "validate: FILE is missing\nnext: sdd-eval validate --help"},
		{"neither playbook nor run", "run", "run: give one of --playbook FILE and --resume RUN_ID\nnext: sdd-eval run --help"},
		{"both playbook and run", "run --playbook p --resume r", "run: give one of --playbook FILE and --resume RUN_ID\nnext: sdd-eval run --help"},
		{"unknown shell", "completion tcsh", "completion: unknown shell \"tcsh\": use bash, zsh or fish\nnext: sdd-eval completion --help"},
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
	got := call(t, t.TempDir(), "--version")
	require.Equal(t, exitOK, got.code)
	require.Empty(t, got.stderr)
	require.Regexp(t, `^sdd-eval `+regexp.QuoteMeta(engine.Version)+` \([^ ()]+, go[^ ]+( .*)?\)\n$`, got.stdout)
}

// TestStdoutFails holds that a result which nobody got is no success.
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

// TestExitCode holds what an error means for the exit code.
func TestExitCode(t *testing.T) {
	live, done := context.Background(), canceled()
	require.Equal(t, exitHarness, exitCode(live, context.Canceled), "an error that nobody explained is ours")
	require.Equal(t, exitInterrupted, exitCode(done, context.Canceled))
	require.Equal(t, exitUsage, exitCode(done, usageError("no")), "what was wrong before the signal still is")
	require.Equal(t, exitFailed, exitCode(live, &exitError{code: exitFailed}))
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
