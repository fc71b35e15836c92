package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mcpagent"
)

// bin has the command as a user has it: built, in a directory of PATH.
var bin string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

// linked keeps the command's code in the test binary, by whose content go test's cache knows it: else results from before
// a change would be served after it.
var linked = main

func testMain(m *testing.M) int {
	if linked == nil {
		panic("there is no command to test")
	}
	dir, err := os.MkdirTemp("", "sdd-eval-bin-")
	if err == nil {
		defer os.RemoveAll(dir)
		bin = dir
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "sdd-eval"), ".")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err == nil {
		err = mcpagent.Install(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the command:", err)
		return 1
	}
	return m.Run()
}

// TestScript runs what a person could type: the files of testdata/script. They have, besides testscript's own commands,
//
//	exits CODE COMMAND...   the command exits with the code
//	rundir NAME             NAME is set to the last line of stdout, which has to be the directory of a run
//	count N STRING FILE     the string stands N times in the file
func TestScript(t *testing.T) {
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
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} { // home is a new one
				out, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				e.Setenv(name, strings.TrimSpace(string(out)))
			}
			return os.MkdirAll(home, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"rundir": setRunDir,
			"count":  count,
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
		ts.Fatalf("the last line of stdout is no run directory: %q", dir)
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
		ts.Fatalf("%q is in %s %d times, want %d", args[1], args[2], got, want)
	}
}
