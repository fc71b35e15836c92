package supervise_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

func TestExit(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want supervise.Exit
		text string
	}{
		{"success", []string{"exit", "0"}, supervise.Exit{}, "exit code 0"},
		{"code", []string{"exit", "3"}, supervise.Exit{Code: 3}, "exit code 3"},
		{"largest-code", []string{"exit", "255"}, supervise.Exit{Code: 255}, "exit code 255"},
		{"terminated", []string{"signal", "15"}, supervise.Exit{Code: -1, Signal: "SIGTERM"}, "killed by SIGTERM"},
		{"killed", []string{"signal", "9"}, supervise.Exit{Code: -1, Signal: "SIGKILL"}, "killed by SIGKILL"},
		{"real-time", []string{"signal", "40"}, supervise.Exit{Code: -1, Signal: "signal 40"}, "killed by signal 40"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, command(t, tt.args...))
			for range 2 { // Wait may be called again
				exit, err := p.Wait()
				require.NoError(t, err)
				assert.Equal(t, tt.want, exit)
			}
			assert.Equal(t, tt.text, tt.want.String())
		})
	}
}

func TestChildGetsWhatItWasGivenAndNothingElse(t *testing.T) {
	t.Setenv("SUPERVISE_TEST", "not for the child")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	c := command(t, "describe", "", "two words", "not\xffutf-8")
	c.Dir = dir
	long := "LONG=" + strings.Repeat("l", 100_000)
	c.Env = []string{"A=b=c", "EMPTY=", "BYTES=\xfe", long, "GODEBUG=x=y", "GOMAXPROCS=0"}
	var out bytes.Buffer
	c.Stdout = &out
	_, err = start(t, c).Wait()
	require.NoError(t, err)
	want := `args ["supervise-test-child" "describe" "" "two words" "not\xffutf-8"]` + "\n" +
		`env ["A=b=c" "EMPTY=" "BYTES=\xfe" "` + long + `" "GODEBUG=x=y" "GOMAXPROCS=0"]` + "\n" +
		"dir " + dir + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestChildIsLikeAnyOther: the supervisor's own signal handling and limits do not affect the child.
func TestChildIsLikeAnyOther(t *testing.T) {
	for _, c := range []struct {
		name   string
		ignore []os.Signal
	}{
		{"as we were started", nil},
		{"as nohup starts us", []os.Signal{syscall.SIGHUP}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.ignore) > 0 {
				supervise.EndIdle() // idle supervisors were started before
				signal.Ignore(c.ignore...)
				t.Cleanup(func() { supervise.EndIdle(); signal.Reset(c.ignore...) })
			}
			const script = `grep -E '^Sig(Ign|Blk|Cgt)' /proc/self/status; ulimit -a`
			plain, err := exec.Command("sh", "-c", script).Output()
			require.NoError(t, err)
			var out bytes.Buffer
			_, err = start(t, supervise.Command{
				Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: os.Environ(), Stdout: &out,
			}).Wait()
			require.NoError(t, err)
			if diff := cmp.Diff(string(plain), out.String()); diff != "" {
				t.Errorf("-plain +supervised\n%s", diff)
			}
		})
	}
}

// TestChildGetsNoStrayDescriptors that we, or those who started us, have left open.
func TestChildGetsNoStrayDescriptors(t *testing.T) {
	stray, err := syscall.Dup(0) // without close-on-exec
	require.NoError(t, err)
	defer syscall.Close(stray)
	var out bytes.Buffer
	_, err = start(t, supervise.Command{
		Path: "/bin/ls", Args: []string{"ls", "/proc/self/fd"}, Stdout: &out,
	}).Wait()
	require.NoError(t, err)
	assert.Equal(t, "0\n1\n2\n3\n", out.String(), "3 is the directory that ls reads")
}

func TestDirFileIsTheDirectoryEvenWhenItMoves(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(base, "one"), 0o755))
	dir, err := os.Open(filepath.Join(base, "one"))
	require.NoError(t, err)
	defer dir.Close()
	require.NoError(t, os.Rename(filepath.Join(base, "one"), filepath.Join(base, "two")))
	require.NoError(t, os.Mkdir(filepath.Join(base, "one"), 0o755))

	c := command(t, "describe")
	c.Dir, c.DirFile = "/nowhere", dir
	var out bytes.Buffer
	c.Stdout = &out
	_, err = start(t, c).Wait()
	require.NoError(t, err)
	assert.Contains(t, out.String(), "dir "+filepath.Join(base, "two")+"\n")
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755))
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("text"), 0o644))

	tests := []struct {
		name    string
		command supervise.Command
		want    string
		is      error
	}{
		{
			name:    "not-in-path",
			command: supervise.Command{Path: "no-such-agent", Env: []string{"PATH=/usr/bin:" + dir}},
			want: `start no-such-agent: "no-such-agent": executable file not found in $PATH ` +
				`(PATH=/usr/bin:` + dir + `)`,
			is: exec.ErrNotFound,
		},
		{
			name:    "not-executable-in-path",
			command: supervise.Command{Path: "plain", Env: []string{"PATH=" + dir}},
			want:    `start plain: "plain": executable file not found in $PATH (PATH=` + dir + `)`,
			is:      exec.ErrNotFound,
		},
		{
			name:    "relative-path-entries-do-not-count",
			command: supervise.Command{Path: "testdata", Env: []string{"PATH=.::bin"}},
			want:    `start testdata: "testdata": executable file not found in $PATH (PATH=.::bin)`,
			is:      exec.ErrNotFound,
		},
		{
			name:    "no-such-file",
			command: supervise.Command{Path: "/no/such/agent"},
			want:    "start /no/such/agent: exec: no such file or directory",
			is:      fs.ErrNotExist,
		},
		{
			name:    "not-executable",
			command: supervise.Command{Path: plain},
			want:    "start " + plain + ": exec: permission denied",
			is:      fs.ErrPermission,
		},
		{
			name:    "no-interpreter",
			command: supervise.Command{Path: script},
			want: "start " + script + ": exec: no such file or directory " +
				"(the file exists: check the interpreter or loader that it names)",
			is: fs.ErrNotExist,
		},
		{
			name:    "no-such-directory",
			command: supervise.Command{Path: "/bin/sh", Dir: "/no/such/dir"},
			want:    "start /bin/sh: chdir /no/such/dir: no such file or directory",
			is:      fs.ErrNotExist,
		},
		{
			name:    "directory-is-a-file",
			command: supervise.Command{Path: "/bin/sh", Dir: plain},
			want:    "start /bin/sh: chdir " + plain + ": not a directory",
			is:      syscall.ENOTDIR,
		},
		{name: "nothing", want: "start : no program given"},
		{
			name:    "nul-in-argument",
			command: supervise.Command{Path: "/bin/sh", Args: []string{"sh", "a\x00b"}},
			want:    `start /bin/sh: argument "a\x00b" has a NUL byte`,
		},
		{
			name:    "bad-variable",
			command: supervise.Command{Path: "/bin/sh", Env: []string{"NAME"}},
			want:    `start /bin/sh: environment variable "NAME": want NAME=value without NUL bytes`,
		},
		{
			name:    "arguments-too-long",
			command: supervise.Command{Path: "/bin/sh", Args: []string{"sh", strings.Repeat("x", 1<<20)}},
			want:    "start /bin/sh: exec: argument list too long",
			is:      syscall.E2BIG,
		},
	}
	noLeaks(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.command.PipeStdin, tt.command.PipeStdout = true, true
			_, err := supervise.Start(t.Context(), tt.command)
			require.EqualError(t, err, tt.want)
			if tt.is != nil {
				assert.ErrorIs(t, err, tt.is)
			}
		})
	}
}

func TestStartAfterTheContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := supervise.Start(ctx, command(t, "exit", "0"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestPipes(t *testing.T) {
	noLeaks(t)
	c := command(t, "cat")
	c.PipeStdin, c.PipeStdout = true, true
	p := start(t, c)
	lines := bufio.NewReader(p.Stdout)
	for _, line := range []string{"one\n", "two\n"} {
		_, err := io.WriteString(p.Stdin, line)
		require.NoError(t, err)
		got, err := lines.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, line, got)
	}
	require.NoError(t, p.Stdin.Close())
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	assert.Empty(t, rest)
	exit, err := p.Wait()
	require.NoError(t, err)
	assert.Equal(t, supervise.Exit{}, exit)
}

func TestStreamsAreCopied(t *testing.T) {
	noLeaks(t)
	c := command(t, "cat")
	c.Stdin = strings.NewReader(strings.Repeat("text", 100_000))
	var out bytes.Buffer
	c.Stdout = &out
	_, err := start(t, c).Wait()
	require.NoError(t, err)
	assert.Equal(t, 400_000, out.Len())
}

// TestLastWordsAreKept: output that fits into the kernel's pipe is there after Wait, though nobody has read before.
func TestLastWordsAreKept(t *testing.T) {
	for _, n := range []int{1, 64 << 10, 128<<10 - 1} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			c := command(t, "answer", strconv.Itoa(n))
			c.PipeStdout = true
			p := start(t, c)
			_, err := p.Wait()
			require.NoError(t, err)
			got, err := io.ReadAll(p.Stdout)
			require.NoError(t, err)
			assert.Len(t, got, n)
		})
	}
}

// TestOutputEndsWhenTheChildClosesIt, though the child and its supervisor live on.
func TestOutputEndsWhenTheChildClosesIt(t *testing.T) {
	c := command(t, "mute")
	c.PipeStdin, c.PipeStdout = true, true
	p := start(t, c)
	got, err := io.ReadAll(p.Stdout)
	require.NoError(t, err)
	assert.Empty(t, got)
	select {
	case <-p.Done():
		t.Error("the child has ended")
	default:
	}
}

func TestStop(t *testing.T) {
	tests := []struct {
		name, reason string
		child        string
		noStdin      bool
		want         supervise.Exit
		grace        time.Duration // default: so long that a wait for it would end the test
	}{
		{
			name: "end-of-input", reason: "a child that ends when its input does is not signalled",
			child: "cat", want: supervise.Exit{},
		},
		{
			name: "sigterm", reason: "a child that does not read its input is asked by signal",
			child: "polite", grace: 2 * time.Second, want: supervise.Exit{Code: -1, Signal: "SIGTERM"},
		},
		{
			name: "sigterm-at-once", reason: "without a pipe to close there is nothing to wait for before the signal",
			child: "polite", noStdin: true, want: supervise.Exit{Code: -1, Signal: "SIGTERM"},
		},
		{
			name: "sigkill", reason: "a child that ignores both is killed",
			child: "stubborn", grace: 50 * time.Millisecond, want: supervise.Exit{Code: -1, Signal: "SIGKILL"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			noLeaks(t)
			c := command(t, tt.child)
			c.PipeStdin, c.PipeStdout, c.Grace = !tt.noStdin, true, time.Hour
			if tt.grace > 0 {
				c.Grace = tt.grace
			}
			p := start(t, c)
			if tt.child != "cat" {
				ready(t, p)
			}
			exit, err := p.Stop(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tt.want, exit, tt.reason)
		})
	}
}

func TestStopSkipsToTheKillWhenItsContextEnds(t *testing.T) {
	c := command(t, "stubborn")
	c.PipeStdin, c.PipeStdout, c.Grace = true, true, time.Hour
	p := start(t, c)
	ready(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	exit, err := p.Stop(ctx)
	require.NoError(t, err)
	assert.Equal(t, supervise.Exit{Code: -1, Signal: "SIGKILL"}, exit)
}

func TestStopFromManySides(t *testing.T) {
	c := command(t, "stubborn")
	c.PipeStdin, c.PipeStdout, c.Grace = true, true, 50*time.Millisecond
	p := start(t, c)
	ready(t, p)
	exits := make(chan supervise.Exit)
	for i := range 8 {
		go func() {
			if i%2 == 0 {
				exit, _ := p.Stop(context.Background())
				exits <- exit
				return
			}
			exit, _ := p.Wait()
			exits <- exit
		}()
	}
	for range 8 {
		assert.Equal(t, supervise.Exit{Code: -1, Signal: "SIGKILL"}, <-exits)
	}
}

func TestContextStopsTheChild(t *testing.T) {
	noLeaks(t)
	cause := errors.New("the unit is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := command(t, "polite")
	c.PipeStdout = true
	p, err := supervise.Start(ctx, c)
	require.NoError(t, err)
	ready(t, p)
	cancel(cause)
	exit, err := p.Wait()
	require.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "stopped: the unit is over")
	assert.Equal(t, supervise.Exit{Code: -1, Signal: "SIGTERM"}, exit)
}

// TestFloodIsHeldBackAndThenDrained: while the child runs, output that nobody reads blocks it; Stop lets it write on,
// so that it can end in its own way, and bounds what is kept.
func TestFloodIsHeldBackAndThenDrained(t *testing.T) {
	noLeaks(t)
	c := command(t, "flood")
	c.PipeStdin, c.PipeStdout, c.Grace = true, true, lifetime
	p := start(t, c)
	_, err := io.ReadFull(p.Stdout, make([]byte, 1<<20)) // it floods
	require.NoError(t, err)
	exit, err := p.Stop(t.Context())
	require.NoError(t, err)
	assert.Equal(t, supervise.Exit{}, exit)
	kept, err := io.ReadAll(p.Stdout)
	require.ErrorIs(t, err, supervise.ErrDropped)
	assert.LessOrEqual(t, len(kept), 1<<20)
}

func TestMisuse(t *testing.T) {
	c := command(t, "cat")
	c.Stdin, c.PipeStdin = strings.NewReader("x"), true
	assert.Panics(t, func() { _, _ = supervise.Start(t.Context(), c) })
}

// ready waits for the child's first line.
func ready(t testing.TB, p *supervise.Process) {
	t.Helper()
	line := make([]byte, len("ready\n"))
	_, err := io.ReadFull(p.Stdout, line)
	require.NoError(t, err)
	require.Equal(t, "ready\n", string(line))
}

// noLeaks fails the test if it ends with more goroutines or descriptors than it has now.
func noLeaks(t *testing.T) {
	t.Helper()
	// The first child makes descriptors that stay: the poller's.
	_, err := start(t, command(t, "exit", "0")).Wait()
	require.NoError(t, err)
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	supervise.EndIdle()
	fds, goroutines := descriptors(), runtime.NumGoroutine()
	t.Cleanup(func() {
		supervise.EndIdle()
		assert.Equal(t, fds, descriptors(), "descriptors")
		// A goroutine that closed the channel we waited for may have its last instruction to go.
		for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
			if time.Now().After(end) {
				stacks := make([]byte, 1<<20)
				t.Errorf("%d goroutines, before there were %d:\n%s", runtime.NumGoroutine(), goroutines,
					stacks[:runtime.Stack(stacks, true)])
				return
			}
		}
	})
}
