// Package clitest tests command-line tools.
//
//	func TestList(t *testing.T) {
//		tool := clitest.Build(t, "../cmd/shop")
//		r := clitest.Command(t, tool, "list", "--json").Run() // has to exit with 0 within 30 seconds
//		var items []struct{ Name string }
//		r.JSON(&items)
//		require.Len(t, items, 3)
//	}
//
// A tool runs with empty standard input, without a terminal, and with a new environment instead of the test's. It has a
// timeout, and no process that it started survives it, whatever sessions and process groups it made (on systems other
// than Linux, processes that leave the tool's process group survive).
//
// When a test fails, the log has each command that the test ran: where and how it ran, how it ended, what it printed,
// and how to run it by hand. Values that look like credentials are masked in the log.
//
// A test that runs a tool depends on more than the go command can track. So its result never comes from go test's
// cache. The package does not test agents: see package evaltest.
package clitest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

const (
	// DefaultTimeout is the timeout of a [Cmd] whose Timeout is 0.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxOutput is the limit, in bytes per stream, of a [Cmd] whose MaxOutput is 0.
	DefaultMaxOutput = 4 << 20
	// AnyEnd is a [Cmd.ExitCode] that allows any end of the tool: any exit code, a signal, a timeout.
	AnyEnd = -1

	// reportTime is how long before go test's own deadline tools are killed, so that the test can still report it.
	reportTime = time.Second
)

// Cmd is a tool with its arguments, to be run. The zero values of its fields suit most tests.
type Cmd struct {
	// Dir is the tool's working directory, relative to the test's. The default is the test's.
	Dir string
	// Env are additional variables, "NAME=value". Every tool gets PATH, LANG, LC_* and TZ of the test, and HOME and
	// TMPDIR, which are new and empty directories of the test (on Windows USERPROFILE and TEMP, and what programs need
	// there). If a name occurs several times, the last one counts. Nothing else is inherited.
	Env []string
	// Stdin is the tool's standard input. By default it is empty: a tool that reads gets the end of file at once.
	Stdin string
	// Timeout is how long the tool may run. Then the tool and all processes that it started are killed. The default is
	// [DefaultTimeout].
	Timeout time.Duration
	// ExitCode is the code with which the tool must exit. [AnyEnd] allows all codes, signals and timeouts.
	ExitCode int
	// MaxOutput is how many bytes the tool may print to each of its two streams. More than that is dropped and fails
	// the test. The default is [DefaultMaxOutput].
	MaxOutput int

	t    testing.TB
	name string
	args []string
}

// Command returns the tool name with these arguments. A name with a slash is a path, relative to the test's directory.
// Other names are looked up in the PATH of the tool's environment.
func Command(t testing.TB, name string, args ...string) *Cmd {
	if name == "" {
		panic("clitest.Command: the name is empty")
	}
	return &Cmd{t: t, name: name, args: args}
}

// Run runs the tool and returns the result. It fails the test and ends it if the tool cannot be started, times out,
// does not end as [Cmd.ExitCode] says, or prints too much. It may be called again.
func (c *Cmd) Run() *Result {
	c.t.Helper()
	r, err := c.run()
	if err != nil {
		door.Of(c.t).Fatalf("clitest: %v", err)
	}
	c.t.Cleanup(func() {
		c.t.Helper()
		if c.t.Failed() && !r.shown {
			door.Of(c.t).Logf("clitest: this test ran\n%s", r)
		}
	})
	if problem := r.problem(c.ExitCode); problem != "" {
		r.fatal(problem)
	}
	return r
}

// keepOutOfCache keeps the result of the test out of go test's cache. Every test that runs a program needs it.
func keepOutOfCache() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	root, err := project.ModuleRoot(dir)
	if err != nil { // go test starts tests in the directory of their package, which is in a module
		return fmt.Errorf("%w: has the test changed its directory? Set Cmd.Dir instead", err)
	}
	return project.KeepOutOfCache(root)
}

// run runs the tool like Run, but does not check the result. An error says that the tool did not run.
func (c *Cmd) run() (*Result, error) {
	if err := keepOutOfCache(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	if c.MaxOutput < 0 {
		panic("clitest: Cmd.MaxOutput is negative")
	}
	limit := cmp.Or(c.MaxOutput, DefaultMaxOutput)
	stdout, stderr := &stream{limit: limit}, &stream{limit: limit}
	own := home(c.t)
	command := supervise.Command{
		Path: c.name, Args: append([]string{c.name}, c.args...), Dir: dir, Env: environment(own, c.Env),
		Stdout: stdout, Stderr: stderr,
	}
	if c.Stdin != "" {
		command.Stdin = strings.NewReader(c.Stdin)
	}
	if command.Path, err = command.Program(); err != nil {
		return nil, err
	}
	r := &Result{t: c.t, command: command, home: own, env: c.Env, stdin: c.Stdin}
	r.timeout, r.near = c.timeout()
	if err := r.run(); err != nil {
		return nil, err
	}
	r.Stdout, r.droppedOut = string(stdout.buf), stdout.dropped
	r.Stderr, r.droppedErr = string(stderr.buf), stderr.dropped
	return r, nil
}

// run runs the tool and kills it when its time is up.
func (r *Result) run() error {
	start := time.Now()
	p, err := supervise.Start(context.Background(), r.command) // a test's own context has ended when its cleanups run
	if err != nil {
		return err
	}
	timer := time.NewTimer(r.timeout)
	defer timer.Stop()
	select {
	case <-p.Done():
	case <-timer.C:
		r.TimedOut = true
		_, _ = p.Kill() // Wait returns the same
	}
	exit, err := p.Wait()
	r.Duration, r.ExitCode, r.Signal, r.err = time.Since(start), exit.Code, exit.Signal, err
	return nil
}

// timeout returns how long the tool may run, and whether go test's own deadline makes that shorter.
func (c *Cmd) timeout() (timeout time.Duration, near bool) {
	timeout = cmp.Or(c.Timeout, DefaultTimeout)
	t, ok := c.t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return timeout, false
	}
	if deadline, ok := t.Deadline(); ok && time.Until(deadline)-reportTime < timeout {
		return max(time.Until(deadline)-reportTime, 0), true
	}
	return timeout, false
}

// homes has the directory of each test that has run a tool, with its HOME and TMPDIR.
var homes struct {
	sync.Mutex
	dirs map[testing.TB]string
}

// home returns the test's directory for tools. All tools that a test runs share it.
func home(t testing.TB) string {
	homes.Lock()
	defer homes.Unlock()
	if dir := homes.dirs[t]; dir != "" {
		return dir
	}
	dir := t.TempDir()
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			door.Of(t).Fatalf("clitest: %v", err)
		}
	}
	if homes.dirs == nil {
		homes.dirs = make(map[testing.TB]string)
	}
	homes.dirs[t] = dir
	t.Cleanup(func() {
		homes.Lock()
		defer homes.Unlock()
		delete(homes.dirs, t)
	})
	return dir
}

// environment returns the variables of a tool whose directories are in dir. Those in extra take precedence. Each
// variable occurs once: of several, some programs take the first and some the last.
func environment(dir string, extra []string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if inherited(name) {
			env = append(env, kv)
		}
	}
	for _, name := range homeNames {
		env = append(env, name+"="+filepath.Join(dir, "home"))
	}
	for _, name := range tmpNames {
		env = append(env, name+"="+filepath.Join(dir, "tmp"))
	}
	env = append(env, extra...)
	slices.Reverse(env)
	seen := make(map[string]bool)
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		again := seen[name]
		seen[name] = true
		return again
	})
	slices.Reverse(env)
	return env
}

var homeNames, tmpNames, systemNames = func() (home, tmp, system []string) {
	if runtime.GOOS == "windows" {
		return []string{"USERPROFILE", "HOME"}, []string{"TEMP", "TMP"},
			[]string{"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR"}
	}
	return []string{"HOME"}, []string{"TMPDIR"}, nil
}()

// inherited reports whether tools get this variable of the test's environment.
func inherited(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.Contains([]string{"PATH", "LANG", "TZ"}, name) || strings.HasPrefix(name, "LC_") ||
		slices.Contains(systemNames, name)
}

// stream keeps the beginning of a tool's output and drops the rest. It reads everything, so that the tool does not
// block.
type stream struct {
	limit   int // in bytes
	buf     []byte
	dropped int64
}

// Write implements [io.Writer]. It never fails.
func (s *stream) Write(p []byte) (int, error) {
	n := min(len(p), s.limit-len(s.buf))
	s.buf = append(s.buf, p[:n]...)
	s.dropped += int64(len(p) - n)
	return len(p), nil
}
