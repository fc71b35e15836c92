package clitest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

const (
	buildTimeout = 10 * time.Minute
	// keptBuilds is how long a program is kept after its last use.
	keptBuilds = 24 * time.Hour
)

// builds has what this process has built, by directory and package.
var builds struct {
	sync.Mutex
	done map[[2]string]build
}

type build struct {
	path string
	err  error
}

// Build builds the Go command pkg, an import path or a directory such as "../cmd/shop", with the environment of the
// test, and returns its absolute path. It builds a command once for all tests of a process. Go compiles and links only
// what changed since. If the command cannot be built, Build fails the test and ends it.
//
// Programs are kept in .evaltest/bin below the module's root, under names made from their content, so that processes
// which build different versions at the same time do not mix them up.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		door.Of(t).Fatalf("clitest.Build: %v", err)
	}
	// The go command does not track the sources: a cached result would be that of an old tool.
	if err := keepOutOfCache(); err != nil {
		door.Of(t).Fatalf("clitest.Build: %v", err)
	}
	builds.Lock()
	defer builds.Unlock()
	key := [2]string{dir, pkg}
	b, ok := builds.done[key]
	if !ok {
		if builds.done == nil {
			builds.done = make(map[[2]string]build)
		}
		b.path, b.err = buildCommand(dir, pkg)
		builds.done[key] = b
	}
	if b.err != nil {
		door.Of(t).Fatalf("clitest.Build: %v", b.err)
	}
	return b.path
}

func buildCommand(dir, pkg string) (path string, err error) {
	own, err := project.OwnDir(dir)
	if err != nil {
		return "", err
	}
	tree := disk.Tree(filepath.Dir(own))
	bin, err := tree.Follow(filepath.Join(own, "bin"))
	if err != nil {
		return "", err
	}
	fresh := filepath.Join(bin, "new-"+rand.Text())
	if err := tree.MkdirAll(fresh); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, tree.RemoveAll(fresh)) }()
	last := filepath.Join(fresh, programName(dir, pkg))
	if err := putLast(tree, bin, last); err != nil {
		return "", err
	}
	if err := goBuild(dir, pkg, fresh); err != nil {
		return "", err
	}
	if info, err := os.Stat(last); err == nil && info.ModTime().Equal(unbuilt) { // the program has another name
		if err := tree.Remove(last); err != nil {
			return "", err
		}
	}
	programs, err := os.ReadDir(fresh)
	if err != nil {
		return "", err
	}
	if len(programs) != 1 {
		return "", fmt.Errorf("%s has %d commands, want 1", pkg, len(programs))
	}
	name := programs[0].Name()
	content, err := os.ReadFile(filepath.Join(fresh, name))
	if err != nil {
		return "", err
	}
	target := filepath.Join(bin, contentName(content))
	path = filepath.Join(target, name)
	if err := tree.Rename(fresh, target); err != nil {
		if _, statErr := os.Stat(path); statErr != nil { // not because the program exists
			return "", err
		}
	}
	now := time.Now()
	if err := tree.Chtimes(target, now); err != nil {
		return "", err
	}
	return path, removeOld(tree, bin, now.Add(-keptBuilds))
}

// contentName returns the name of the directory for a program.
func contentName(program []byte) string { return fmt.Sprintf("%x", sha256.Sum256(program))[:16] }

// programName returns the name that the program of a package most likely has.
func programName(dir, pkg string) string {
	name := filepath.Base(filepath.Join(dir, filepath.FromSlash(pkg)))
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// unbuilt is the modification time of a program that go has neither built nor found up to date.
var unbuilt = time.Unix(1e9, 0)

// putLast copies the program with the same name that was used last to path, where go does not link it again if it is
// up to date. A program that is not what its directory is named after is passed over.
func putLast(tree disk.Tree, bin, path string) error {
	programs, _ := filepath.Glob(filepath.Join(bin, "*", filepath.Base(path))) // none if the name has brackets
	var newest string
	var used time.Time
	for _, program := range programs {
		if info, err := os.Stat(filepath.Dir(program)); err == nil && info.ModTime().After(used) {
			newest, used = program, info.ModTime()
		}
	}
	content, err := os.ReadFile(newest)
	if err != nil || contentName(content) != filepath.Base(filepath.Dir(newest)) {
		return nil
	}
	if err := tree.Create(path, content, 0o755); err != nil {
		return err
	}
	return tree.Chtimes(path, unbuilt)
}

// goBuild builds pkg into the directory to, with the go command that go test has put into PATH.
func goBuild(dir, pkg, to string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	out := &stream{limit: DefaultMaxOutput}
	p, err := supervise.Start(ctx, supervise.Command{
		Path: "go", Args: []string{"go", "build", "-o", to + string(filepath.Separator), pkg},
		Dir: dir, Env: os.Environ(), Stdout: out, Stderr: out,
	})
	if err != nil {
		return err
	}
	exit, err := p.Wait()
	if err == nil && exit != (supervise.Exit{}) {
		err = errors.New(exit.String())
	}
	if err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", pkg, dir, err, out.buf)
	}
	return nil
}

// removeOld removes the programs that have not been used since then.
func removeOld(tree disk.Tree, bin string, then time.Time) error {
	entries, err := os.ReadDir(bin)
	for _, e := range entries {
		info, statErr := e.Info()
		if statErr == nil && info.ModTime().Before(then) { // on an error, another process has removed it
			err = errors.Join(err, tree.RemoveAll(filepath.Join(bin, e.Name())))
		}
	}
	return err
}

// Require skips the test, with the reason, unless the program name, in PATH or a path, exists and exits with code 0
// within timeout when it is run with these arguments like a [Cmd]. It returns the program's path.
//
// If the environment variable CI is set, to other values than 0 and false, the test fails instead of being skipped: a
// suite that CI silently skips looks like one that passes. The `requires` of playbooks follow the same rule. To skip a
// test in CI, too, call t.Skip.
//
//	gemini := clitest.Require(t, "gemini", []string{"--version"}, 10*time.Second)
func Require(t testing.TB, name string, args []string, timeout time.Duration) string {
	t.Helper()
	c := Command(t, name, args...)
	c.Timeout, c.ExitCode = timeout, AnyEnd
	path, err := exec.LookPath(name)
	if err != nil {
		if err := keepOutOfCache(); err != nil { // it may be installed the next time
			door.Of(t).Fatalf("clitest: %v", err)
		}
		unavailable(t, fmt.Sprintf("%v (PATH=%s)\nnext: install %s", err, os.Getenv("PATH"), name))
	}
	if path, err = filepath.Abs(path); err != nil {
		door.Of(t).Fatalf("clitest: %v", err)
	}
	r, err := c.run()
	if err != nil {
		unavailable(t, err.Error())
	}
	if problem := r.problem(0); problem != "" {
		unavailable(t, fmt.Sprintf("%s %s\n%s", name, problem, r))
	}
	return path
}

// unavailable ends the test.
func unavailable(t testing.TB, reason string) {
	t.Helper()
	if testrun.InCI(os.Getenv) {
		door.Of(t).Fatalf("clitest.Require: CI is set, so this is an error: %s", reason)
	}
	door.Of(t).Skipf("clitest.Require: %s", reason)
}

// MinimalPath returns a value for PATH with only these programs: a new directory of the test with a link to each. A
// name with a slash is a path, whose last element becomes the link's name. Other names are looked up in the test's
// PATH. A program that is not found fails the test.
//
//	cmd := clitest.Command(t, tool, "query", "hello")
//	cmd.Env = []string{"PATH=" + clitest.MinimalPath(t, "sh", "node")}
//
// Programs find other files as usual. A script that begins with `#!/usr/bin/env node` needs node, but not env.
func MinimalPath(t testing.TB, names ...string) string {
	t.Helper()
	dir, missing := t.TempDir(), false
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, filepath.Base(path)))
		}
		if err != nil {
			door.Of(t).Errorf("clitest.MinimalPath: %v", err)
			missing = true
		}
	}
	if missing {
		t.FailNow()
	}
	return dir
}
