package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mcpagent"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mutated"
	"github.com/sdd-eval/sdd-eval/internal/testkit/usermodule"
)

// bin is a directory with the built command, for PATH.
var bin string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

// linked keeps the command's code in the test binary. The go command caches results by the binary's content: without
// the code in it, a result from before a change would be used after it.
var linked = main

// linkedToo does the same for what modules of users import.
var linkedToo = evaltest.Describe

// root is the directory of this module.
const root = "../.."

func testMain(m *testing.M) int {
	if linked == nil || linkedToo == nil {
		panic("no command to test")
	}
	flag.Parse()
	if testing.Short() {
		return 0 // the command is a process of its own
	}
	dir, remove, err := mutated.Dir("sdd-eval-bin-")
	if err == nil {
		defer remove()
		bin = dir
		err = buildCommand()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the command:", err)
		return 1
	}
	return m.Run()
}

// buildCommand builds the command, unless it is there.
func buildCommand() error {
	path := filepath.Join(bin, "sdd-eval")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	build := exec.Command("go", "build", "-o", path, ".")
	build.Stderr = os.Stderr
	if flags := mutated.Flags(); flags != "" {
		build.Env = append(os.Environ(), "GOFLAGS="+flags)
	}
	if err := build.Run(); err != nil {
		return err
	}
	return mcpagent.Install(bin)
}

// goDirs are the go command's directories, which scripts share although each has a home of its own.
var goDirs = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		return nil, err
	}
	var dirs map[string]string
	err = json.Unmarshal(out, &dirs)
	return dirs, err
})

// toolchains is where cargo finds compilers, though HOME is a new one.
var toolchains = filepath.Join(os.Getenv("HOME"), ".rustup")

// TestScript runs what a person could type: the files of testdata/script. They have, besides testscript's own commands,
//
//	exits CODE COMMAND...   the command exits with the code
//	rundir NAME             NAME is set to the last line of stdout, which has to be the directory of a run
//	count N STRING FILE     the string occurs N times in the file
//	module NAME [TOOL...]   makes go.mod of a module with that name, which uses this one without downloads
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       golden.Updating(),
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("BIN", bin)
			h, err := helper.Find()
			if err != nil {
				return err
			}
			e.Setenv("HELPER", h.Path)                           // the scripted agent, if a link to it has that name
			e.Setenv("SECRET", "sk-test-"+"not-a-real-key-1234") // of the presets in the scripts
			e.Setenv("HOME", home)
			script := strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")
			e.Vars = append(e.Vars, mutated.Environ("TestScript/"+script)...)
			e.Setenv("RUSTUP_HOME", toolchains)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			dirs, err := goDirs()
			if err != nil {
				return err
			}
			for name, dir := range dirs {
				e.Setenv(name, dir)
			}
			return os.MkdirAll(home, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"rundir": setRunDir,
			"count":  count,
			"module": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 1 {
					ts.Fatalf("usage: module NAME [TOOL...]")
				}
				ts.Check(usermodule.Write(ts.MkAbs("."), root, args[0], args[1:]...))
			},
		},
		Condition: func(c string) (bool, error) {
			path, ok := strings.CutPrefix(c, "free:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", c)
			}
			_, err := os.Lstat(path)
			return errors.Is(err, fs.ErrNotExist), nil
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case exited:
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func setRunDir(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: rundir NAME")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	dir := lines[len(lines)-1]
	if info, err := os.Stat(filepath.Join(dir, "manifest.json")); err != nil || !info.Mode().IsRegular() {
		ts.Fatalf("the last line of stdout is not a run directory: %q", dir)
	}
	ts.Setenv(args[0], dir)
	ts.Setenv(args[0]+"_ID", filepath.Base(dir))
}

func count(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: count N STRING FILE")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := bytes.Count([]byte(ts.ReadFile(args[2])), []byte(args[1])); got != want {
		ts.Fatalf("%q occurs in %s %d times, want %d", args[1], args[2], got, want)
	}
}

// project makes a directory with a playbook.
func project(t *testing.T, playbook string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(playbook), 0o644))
	return dir
}

// command returns the built command with arguments, in a directory, with an environment that no test shares.
func command(dir string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(bin, "sdd-eval"), args...)
	c.Dir = dir
	// These tests are not about sandboxes, which take time.
	c.Env = append(os.Environ(), "CLAUDE_PROJECT_DIR="+dir, "CI=", "EVALTEST_SANDBOX=none",
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return c
}

// runs returns the directories of runs in a project.
func runs(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, ".llman", "sdd-eval", "runs", "[0-9]*", "manifest.json"))
	require.NoError(t, err)
	for i := range all {
		all[i] = filepath.Dir(all[i])
	}
	return all
}

// TestDemo runs the playbook for newcomers to its end: it needs no agent, and nothing judges it.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	demo, err := filepath.Abs("../../fixtures/playbooks/demo.yaml")
	require.NoError(t, err)
	c := command(dir, "run", "--playbook", demo)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	require.NoError(t, c.Run(), "%s", &stderr)
	run := strings.TrimSuffix(stdout.String(), "\n")
	require.Equal(t, runs(t, dir), []string{run}, "the run's directory is the only line of stdout")
	require.Contains(t, stderr.String(), "\n2 completed\n")

	file := func(name string) string {
		data, err := os.ReadFile(filepath.Join(run, filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(data)
	}
	for _, variant := range []string{"sdd-fake", "legacy-fake"} {
		require.Contains(t, file("variants/"+variant+"/workspace/reorder/plan.go"), "a.PackSize - 1",
			"the agent has fixed the bug")
		require.Contains(t, file("variants/"+variant+"/artifacts/workspace.diff"), "+++ b/reorder/plan.go")
		require.Contains(t, file("results.jsonl"), `"unit":"demo/task/`+variant+`/1"`)
	}
	require.NotEqual(t, file("variants/sdd-fake/workspace/AGENTS.md"), file("variants/legacy-fake/workspace/AGENTS.md"))
	require.Contains(t, file("report.md"), "completed")
}

// falseGreenDir has the suites. Package evaltest describes them, and runs them through go test.
const falseGreenDir = "../../evaltest/testdata/false-green"

// TestFalseGreen runs each suite that must not be green: the exit code is the suite's, and never 0.
func TestFalseGreen(t *testing.T) {
	t.Parallel()
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
			c.Env = append(append(c.Env, s.Env...), mutated.Environ(t.Name())...)
			var stderr bytes.Buffer
			c.Stderr = &stderr
			err := c.Run()
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				t.Fatalf("%s: green: %v\n%s", s.Reason, err, &stderr)
			}
			require.Equal(t, s.Exit, exit.ExitCode(), "%s\n%s", s.Reason, &stderr)
			require.Equal(t, s.Exit == 2, len(runs(t, dir)) == 0,
				"nothing runs where something is wrong with the playbook")
			golden.Equal(t, filepath.Join(falseGreenDir, s.Name, "sdd-eval.golden"),
				"# "+s.Reason+"\n"+stable(stderr.Bytes(), dir))
		})
	}
}

// changing matches what differs from run to run: how long it took, and its id; row a row of the table of variants, and
// took the time there.
var (
	changing = regexp.MustCompile(`\(\d+\.\d+s\b|\b\d{8}-\d{6}-[a-z0-9]+-[a-z0-9]+\b`)
	row      = regexp.MustCompile(`(?m)^variant  .* cost$|^[a-z]  +\d.*$`)
	took     = regexp.MustCompile(` [0-9.]+m?s `)
)

func stable(out []byte, dir string) string {
	out = bytes.ReplaceAll(out, []byte(dir), []byte("$PROJECT"))
	out = row.ReplaceAllFunc(out, func(line []byte) []byte {
		line = took.ReplaceAll(line, []byte(" 0ms "))
		return regexp.MustCompile("   +").ReplaceAll(line, []byte("  "))
	})
	return string(changing.ReplaceAllFunc(out, func(s []byte) []byte {
		if s[0] == '(' {
			return []byte("(0.0s")
		}
		return []byte("$RUN")
	}))
}
