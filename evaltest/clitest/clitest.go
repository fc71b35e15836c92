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
// A tool runs with empty standard input, without a terminal, and with an environment that is built, not inherited. It
// has a timeout, and nothing that it started survives it, whatever sessions and process groups it made (on systems
// other than Linux, processes that leave the tool's process group do).
//
// When a test fails, the log says of each command that it ran where and how it ran, how it ended, what it printed, and
// how to run it by hand. Values that look like credentials are masked there.
//
// A test that runs a tool depends on more than the go command can track. Its result therefore never comes from go
// test's cache.
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

	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

const (
	// DefaultTimeout is the timeout of a [Cmd] whose Timeout is 0.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxOutput is the limit, in bytes per stream, of a [Cmd] whose MaxOutput is 0.
	DefaultMaxOutput = 4 << 20
	// AnyEnd is a [Cmd.ExitCode] that leaves it to the test how the tool may end.
	AnyEnd = -1

	// reportTime is what is left of the time before go test's own deadline, at which a test can say nothing any more.
	reportTime = time.Second
)

// Cmd is a tool with its arguments, to be run. The zero values of its fields suit most tests.
type Cmd struct {
	// Dir is the tool's working directory. The default is that of the test. Relative ones begin there.
	Dir string
	// Env are variables, "NAME=value", beside those that every tool gets: PATH, LANG, LC_* and TZ as they are, and HOME
	// and TMPDIR, which are new and empty directories of the test (on Windows USERPROFILE and TEMP, with what programs
	// cannot do without). If a name occurs several times, the last one counts. Nothing else is inherited.
	Env []string
	// Stdin is what the tool can read. The default is empty: a tool that reads gets the end of file at once.
	Stdin string
	// Timeout is how long the tool may run; the default is [DefaultTimeout]. Then the tool and everything it started
	// are killed.
	Timeout time.Duration
	// ExitCode is the code with which the tool has to end. [AnyEnd] allows all codes, signals and timeouts.
	ExitCode int
	// MaxOutput is how many bytes the tool may print to each of its two streams; the default is [DefaultMaxOutput].
	// Anything more is read and dropped, and fails the test.
	MaxOutput int

	t    testing.TB
	name string
	args []string
}

// Command returns the tool called name with these arguments. A name with a slash is a path, relative to the test's
// directory; another one is looked up in the PATH of the tool's environment.
func Command(t testing.TB, name string, args ...string) *Cmd {
	if name == "" {
		panic("clitest.Command: a command needs a name")
	}
	return &Cmd{t: t, name: name, args: args}
}

// Run runs the tool and returns what it did. It fails the test and ends it if the tool cannot be started, times out,
// ends otherwise than [Cmd.ExitCode] says, or prints too much. It may be called again.
func (c *Cmd) Run() *Result {
	c.t.Helper()
	r, err := c.run()
	if err != nil {
		c.t.Fatalf("clitest: %v", err)
	}
	c.t.Cleanup(func() {
		c.t.Helper()
		if c.t.Failed() && !r.shown {
			c.t.Logf("clitest: this test ran\n%s", r)
		}
	})
	if problem := r.problem(c.ExitCode); problem != "" {
		r.fatal(problem)
	}
	return r
}

// keepOutOfCache is for every test that runs something.
func keepOutOfCache() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	root, err := project.ModuleRoot(dir)
	if err != nil { // the go command tests packages of modules
		return fmt.Errorf("%w: has the test changed its directory? Set Cmd.Dir instead", err)
	}
	return project.KeepOutOfCache(root)
}

// run is Run without a verdict. An error says that the tool did not run.
func (c *Cmd) run() (*Result, error) {
	if err := keepOutOfCache(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	if c.MaxOutput < 0 {
		panic("clitest: a Cmd's MaxOutput is negative")
	}
	limit := cmp.Or(c.MaxOutput, DefaultMaxOutput)
	stdout, stderr := &stream{limit: limit}, &stream{limit: limit}
	own := home(c.t)
	command := supervise.Command{
		Path: c.name, Args: append([]string{c.name}, c.args...), Dir: dir, Env: environment(own, c.Env), Stdout: stdout, Stderr: stderr,
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

// run waits for the end of the tool, or makes one.
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
		_, _ = p.Kill() // Wait says the same
	}
	exit, err := p.Wait()
	r.Duration, r.ExitCode, r.Signal, r.err = time.Since(start), exit.Code, exit.Signal, err
	return nil
}

// timeout returns how long the tool may run, and whether that is because go test's own deadline is near.
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

// home returns the test's directory: a tool finds what it left there when the same test runs it again.
func home(t testing.TB) string {
	homes.Lock()
	defer homes.Unlock()
	if dir := homes.dirs[t]; dir != "" {
		return dir
	}
	dir := t.TempDir()
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatalf("clitest: %v", err)
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

// environment returns the variables of a tool whose directories are in dir, each of them once: of several of a name some
// programs take the first, and some the last. Those in extra win.
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
		return []string{"USERPROFILE", "HOME"}, []string{"TEMP", "TMP"}, []string{"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR"}
	}
	return []string{"HOME"}, []string{"TMPDIR"}, nil
}()

// inherited reports whether tools get a variable of ours.
func inherited(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.Contains([]string{"PATH", "LANG", "TZ"}, name) || strings.HasPrefix(name, "LC_") || slices.Contains(systemNames, name)
}

// stream keeps the beginning of what a tool prints, and drops the rest: a tool must not block because its output is not
// read.
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
