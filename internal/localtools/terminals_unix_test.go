//go:build unix

package localtools_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/localtools"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

const systemPath = "/usr/bin:/bin"

// terminals returns terminals in the scene's workspace in which the programs may run.
func (s scene) terminals(t testing.TB, allow ...string) *localtools.Terminals {
	t.Helper()
	return s.configured(t, localtools.TerminalConfig{Env: []string{"PATH=" + systemPath}, Allow: allow})
}

func (s scene) configured(t testing.TB, c localtools.TerminalConfig) *localtools.Terminals {
	t.Helper()
	terminals := localtools.NewTerminals(s.files, c)
	t.Cleanup(func() { assert.NoError(t, terminals.Close()) })
	return terminals
}

// script is a command of /bin/sh, given with arguments and so not taken for a line.
func script(text string) localtools.Spec {
	return localtools.Spec{Command: "sh", Args: []string{"-c", text}}
}

// run runs a command to its end.
func run(t testing.TB, terminals *localtools.Terminals, s localtools.Spec) localtools.Output {
	t.Helper()
	id, err := terminals.Create(s)
	require.NoError(t, err)
	_, err = terminals.Wait(t.Context(), id)
	require.NoError(t, err)
	out, err := terminals.Output(id)
	require.NoError(t, err)
	require.NotNil(t, out.Exit)
	require.NoError(t, terminals.Release(id))
	return out
}

// printed waits until the command has printed the text.
func printed(t testing.TB, terminals *localtools.Terminals, id, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		out, err := terminals.Output(id)
		require.NoError(t, err)
		return out.Text == text
	}, time.Minute, time.Millisecond)
}

func TestTerminalLife(t *testing.T) {
	s := newScene(t)
	terminals := s.terminals(t, "sh")
	require.NoError(t, syscall.Mkfifo(filepath.Join(s.ws, "go on"), 0o600))
	id, err := terminals.Create(script(`echo one; echo two >&2; cat "go on"; echo three; exit 3`))
	require.NoError(t, err)
	printed(t, terminals, id, "one\ntwo\n")
	out, err := terminals.Output(id)
	require.NoError(t, err)
	assert.Nil(t, out.Exit, "the command runs")

	exits := make(chan supervise.Exit)
	for range 5 {
		go func() {
			exit, err := terminals.Wait(context.Background(), id)
			assert.NoError(t, err)
			exits <- exit
		}()
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.ws, "go on"), nil, 0))
	for range 5 {
		assert.Equal(t, supervise.Exit{Code: 3}, <-exits)
	}
	out, err = terminals.Output(id)
	require.NoError(t, err)
	want := localtools.Output{Text: "one\ntwo\nthree\n", Exit: &supervise.Exit{Code: 3}}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestKillKeepsTheTerminal(t *testing.T) {
	terminals := newScene(t).terminals(t, "sh")
	id, err := terminals.Create(script(`echo ready; sleep 60`))
	require.NoError(t, err)
	printed(t, terminals, id, "ready\n")
	for range 2 { // the second finds nothing to kill
		require.NoError(t, terminals.Kill(id))
		out, err := terminals.Output(id)
		require.NoError(t, err)
		assert.Equal(t, localtools.Output{Text: "ready\n", Exit: &supervise.Exit{Code: -1, Signal: "SIGTERM"}}, out)
	}
}

func TestReleaseEndsAndForgets(t *testing.T) {
	terminals := newScene(t).configured(t, localtools.TerminalConfig{
		Env: []string{"PATH=" + systemPath}, Allow: []string{"sh"}, Grace: 50 * time.Millisecond,
	})
	id, err := terminals.Create(script(`trap '' TERM; echo ready; while :; do sleep 60; done`))
	require.NoError(t, err)
	printed(t, terminals, id, "ready\n")
	waited := make(chan error)
	go func() {
		exit, err := terminals.Wait(context.Background(), id)
		if err == nil {
			assert.Equal(t, supervise.Exit{Code: -1, Signal: "SIGKILL"}, exit)
		}
		waited <- err
	}()
	require.NoError(t, terminals.Release(id))
	if err := <-waited; err != nil {
		require.ErrorIs(t, err, localtools.ErrNoTerminal, "the wait began after the release")
	}

	_, err = terminals.Output(id)
	require.ErrorIs(t, err, localtools.ErrNoTerminal)
	_, err = terminals.Wait(t.Context(), id)
	require.ErrorIs(t, err, localtools.ErrNoTerminal)
	require.ErrorIs(t, terminals.Kill(id), localtools.ErrNoTerminal)
	require.ErrorIs(t, terminals.Release(id), localtools.ErrNoTerminal)
}

func TestCloseEndsEverything(t *testing.T) {
	s := newScene(t)
	terminals := localtools.NewTerminals(s.files, localtools.TerminalConfig{
		Env: []string{"PATH=" + systemPath}, Allow: []string{"sh"},
	})
	// A pipe that all the processes hold, as a descriptor of theirs, through a FIFO.
	fifo := filepath.Join(s.ws, "held")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer r.Close()
	for range 3 {
		id, err := terminals.Create(script(`exec 9>held; sleep 60 & (sleep 60 &) ; echo ready; wait`))
		require.NoError(t, err)
		printed(t, terminals, id, "ready\n")
	}
	require.NoError(t, terminals.Close())
	require.NoError(t, r.SetReadDeadline(time.Now().Add(time.Minute)))
	n, err := r.Read(make([]byte, 1))
	assert.Zero(t, n)
	require.ErrorContains(t, err, "EOF", "no process holds the pipe any more")

	_, err = terminals.Create(script(`true`))
	require.EqualError(t, err, "terminals closed")
	require.NoError(t, terminals.Close(), "again")
}

func TestWaitEndsWithItsContext(t *testing.T) {
	terminals := newScene(t).terminals(t, "sleep")
	id, err := terminals.Create(localtools.Spec{Command: "sleep", Args: []string{"60"}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = terminals.Wait(ctx, id)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOutputLimits(t *testing.T) {
	limit := func(n int64) *int64 { return &n }
	tests := []struct {
		name      string
		limit     *int64
		maximum   int64
		want      string
		truncated bool
	}{
		{name: "default", want: "äöü\n"},
		{name: "wide", limit: limit(100), want: "äöü\n"},
		{name: "within-a-character", limit: limit(4), want: "ü\n", truncated: true},
		{name: "none", limit: limit(0), want: "", truncated: true},
		{name: "maximum", limit: limit(1 << 40), maximum: 3, want: "ü\n", truncated: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			terminals := newScene(t).configured(t, localtools.TerminalConfig{
				Env: []string{"PATH=" + systemPath}, Allow: []string{"echo"}, MaxOutput: tt.maximum,
			})
			out := run(t, terminals, localtools.Spec{Command: "echo", Args: []string{"äöü"}, OutputByteLimit: tt.limit})
			assert.Equal(t, tt.want, out.Text)
			assert.Equal(t, tt.truncated, out.Truncated)
		})
	}
	negative := localtools.Spec{Command: "echo x", OutputByteLimit: limit(-1)}
	_, err := newScene(t).terminals(t, "echo").Create(negative)
	require.EqualError(t, err, "the output limit must not be negative")
}

func TestMuchOutput(t *testing.T) {
	terminals := newScene(t).terminals(t, "head")
	out := run(t, terminals, localtools.Spec{Command: "head", Args: []string{"-c", "100000000", "/dev/zero"}})
	assert.True(t, out.Truncated)
	assert.Len(t, out.Text, localtools.DefaultMaxOutput)
}

// TestSoakOutputOfAnySize has a command print far more than is kept: the memory does not grow with it.
func TestSoakOutputOfAnySize(t *testing.T) {
	terminals, limit, size := newScene(t).terminals(t, "head"), int64(4096), strconv.Itoa(soak.Size(64<<20, 8<<30))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := run(t, terminals,
		localtools.Spec{Command: "head", Args: []string{"-c", size, "/dev/zero"}, OutputByteLimit: &limit})
	runtime.ReadMemStats(&after)
	assert.Len(t, out.Text, int(limit))
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "all that was ever allocated")
}

// TestGrandchildHoldsThePipe has a command leave children behind that hold its output and ignore SIGTERM: its end is
// the end.
func TestGrandchildHoldsThePipe(t *testing.T) {
	terminals := newScene(t).terminals(t, "sh")
	out := run(t, terminals, script(`trap '' TERM; sleep 86400 & (sleep 86400 &) ; echo done; exit 3`))
	assert.Equal(t, localtools.Output{Text: "done\n", Exit: &supervise.Exit{Code: 3}}, out)
}

func TestCommands(t *testing.T) {
	tests := []struct {
		name, reason string
		allow        []string
		spec         localtools.Spec
		want         string // output
		err          string // in place of an output
	}{
		{
			name: "arguments", reason: "nothing in them is interpreted",
			spec: localtools.Spec{Command: "echo", Args: []string{"a  b", "$HOME", "&&", "*"}},
			want: "a  b $HOME && *\n",
		},
		{name: "line", spec: localtools.Spec{Command: `echo 'a  b' "c"\ d`}, want: "a  b c d\n"},
		{
			name: "line-with-operator", spec: localtools.Spec{Command: "echo hi && pwd"},
			err: `run "echo" denied: character 9: "&&": shell operators are not supported, ` +
				`quote it to pass it as text; whole shell lines run only if sh is allowed`,
		},
		{
			name: "line-for-the-shell", allow: []string{"sh"},
			spec: localtools.Spec{Command: "echo hi && echo $((1+1)) | cat"}, want: "hi\n2\n",
		},
		{name: "empty", spec: localtools.Spec{Command: "  "}, err: `run "" denied: empty command`},
		{
			name: "not-allowed", spec: localtools.Spec{Command: "sed", Args: []string{"p"}},
			err: `run "sed" denied: not one of the allowed commands: echo, gone, link, pwd`,
		},
		{name: "path-of-path", spec: localtools.Spec{Command: "/bin/echo", Args: []string{"x"}}, want: "x\n"},
		{
			name: "path-elsewhere", reason: "the base name says nothing about what is there",
			spec: localtools.Spec{Command: "$BASE/dir/echo", Args: []string{"x"}},
			err:  `run "$BASE/dir/echo" denied: not in a directory of PATH`,
		},
		{
			name: "path-in-the-workspace",
			spec: localtools.Spec{Command: "$WS/bin/echo", Args: []string{"x"}},
			err:  `run "$WS/bin/echo" denied: not in a directory of PATH`,
		},
		{
			name: "relative-path", spec: localtools.Spec{Command: "./echo", Args: []string{"x"}},
			err: `run "./echo" denied: not in a directory of PATH`,
		},
		{
			name: "link-into-the-workspace", spec: localtools.Spec{Command: "link", Args: []string{"x"}},
			err: `run "link" denied: a program in the workspace`,
		},
		{
			name: "not-there", spec: localtools.Spec{Command: "gone", Args: []string{"x"}},
			err: `"gone": executable file not found in $PATH (PATH=$BASE/tools:` + systemPath + `)`,
		},
		{name: "cwd", spec: localtools.Spec{Command: "pwd", Args: []string{"-P"}, Cwd: "$WS/sub"}, want: "$WS/sub\n"},
		{name: "default-cwd", spec: localtools.Spec{Command: "pwd", Args: []string{"-P"}}, want: "$WS\n"},
		{
			name: "cwd-outside", spec: localtools.Spec{Command: "pwd", Args: []string{"-P"}, Cwd: "$BASE/dir"},
			err: `run "$BASE/dir" denied: working directory: outside the workspace`,
		},
		{
			name: "cwd-by-a-link-out", spec: localtools.Spec{Command: "pwd", Args: []string{"-P"}, Cwd: "$WS/out"},
			err: `run "$WS/out" denied: outside the workspace`,
		},
		{
			name: "cwd-is-a-file", spec: localtools.Spec{Command: "pwd", Args: []string{"-P"}, Cwd: "$WS/a.txt"},
			err: `run $WS/a.txt: not a directory`,
		},
		{
			name: "cwd-is-a-fifo", spec: localtools.Spec{Command: "pwd", Args: []string{"-P"}, Cwd: "$WS/fifo"},
			err: `run $WS/fifo: not a directory`,
		},
		{
			name: "no-cwd", spec: localtools.Spec{Command: "pwd", Args: []string{"-P"}, Cwd: "$WS/nothing"},
			err: `run $WS/nothing: no such file or directory`,
		},
	}
	s := newScene(t)
	for _, dir := range []string{"dir", "ws/bin", "tools"} {
		require.NoError(t, os.MkdirAll(filepath.Join(s.base, dir), 0o755))
	}
	const planted = "#!/bin/sh\necho planted\n"
	require.NoError(t, os.WriteFile(filepath.Join(s.base, "dir", "echo"), []byte(planted), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(s.ws, "bin", "echo"), []byte(planted), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(s.ws, "bin", "echo"), filepath.Join(s.base, "tools", "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(s.ws, "fifo"), 0o600))
	s.link(t, "../dir", "out")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.denied.all = nil
			terminals := s.configured(t, localtools.TerminalConfig{
				Env:   []string{"PATH=" + s.base + "/tools:" + systemPath},
				Allow: append([]string{"echo", "gone", "link", "pwd"}, tt.allow...),
			})
			tt.spec.Command, tt.spec.Cwd = s.expand(tt.spec.Command), s.expand(tt.spec.Cwd)
			if tt.err != "" {
				_, err := terminals.Create(tt.spec)
				require.EqualError(t, err, s.expand(tt.err), tt.reason)
				s.checkDenied(t, localtools.OpRun, err)
				return
			}
			out := run(t, terminals, tt.spec)
			assert.Equal(t, s.expand(tt.want), out.Text, tt.reason)
			assert.Equal(t, supervise.Exit{}, *out.Exit)
			s.checkDenied(t, localtools.OpRun, nil)
		})
	}
}

// TestConfinedCommands holds that nothing but the sandbox limits what a confined command is: there is no list.
func TestConfinedCommands(t *testing.T) {
	s := newScene(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.ws, "sub", "tool"), []byte("#!/bin/sh\necho \"$0 $*\"\n"), 0o755))
	var started []supervise.Command
	terminals := s.configured(t, localtools.TerminalConfig{
		Env: []string{"PATH=" + systemPath}, Confined: true,
		Start: func(ctx context.Context, c supervise.Command) (*supervise.Process, error) {
			started = append(started, c)
			return supervise.Start(ctx, c)
		},
	})
	for _, tt := range []struct {
		spec localtools.Spec
		want string
	}{
		{localtools.Spec{Command: "WORD=word; echo $WORD | grep w; rm -f gone & wait"}, "word\n"},
		{localtools.Spec{Command: "echo", Args: []string{"$HOME", ";", "a  b"}}, "$HOME ; a  b\n"},
		{localtools.Spec{Command: "./sub/tool", Args: []string{"a  b", "*"}}, "./sub/tool a  b *\n"},
		{localtools.Spec{Command: "./tool x", Cwd: s.ws + "/sub"}, "./tool x\n"},
		{localtools.Spec{Command: s.ws + "/sub/tool", Args: []string{"x"}}, s.ws + "/sub/tool x\n"},
	} {
		out := run(t, terminals, tt.spec)
		assert.Equal(t, tt.want, out.Text, "%v", tt.spec)
		assert.Equal(t, supervise.Exit{}, *out.Exit, "%v", tt.spec)
	}
	for _, c := range started {
		assert.NotContains(t, c.Path, s.ws, "we look up nothing in the workspace: the sandbox does")
	}
	s.checkDenied(t, localtools.OpRun, nil)

	out := run(t, terminals, localtools.Spec{Command: "./gone", Args: []string{"x"}})
	assert.Equal(t, 127, out.Exit.Code)
	_, err := terminals.Create(localtools.Spec{Command: "gone", Args: []string{"x"}})
	require.ErrorIs(t, err, exec.ErrNotFound)
	_, err = terminals.Create(localtools.Spec{Command: " "})
	require.EqualError(t, err, `run "" denied: empty command`)
	s.checkDenied(t, localtools.OpRun, err)
}

// TestPlantedPath: a program in the workspace is not run for its name, even where PATH says so, and whoever says so.
func TestPlantedPath(t *testing.T) {
	s := newScene(t)
	tools := filepath.Join(s.base, "tools")
	require.NoError(t, os.Mkdir(tools, 0o755))
	for path, text := range map[string]string{
		filepath.Join(tools, "git"): "real",
		filepath.Join(s.ws, "git"):  "planted",
	} {
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho "+text+"\n"), 0o755))
	}
	path := "PATH=" + s.ws + ":" + tools + ":" + systemPath
	built := environ.ForChild(environ.Spec{Environ: []string{path}, Workspace: s.ws})
	terminals := s.configured(t, localtools.TerminalConfig{Env: built, Allow: []string{"git", "sh"}})
	for _, spec := range []localtools.Spec{
		{Command: "git", Args: []string{"status"}},
		{Command: "git", Args: []string{"status"}, Env: []string{"PATH=" + s.ws}},
		{Command: "git status"},
		{Command: "git status", Env: []string{"PATH=" + s.ws, "GIT_EXEC_PATH=" + s.ws}},
	} {
		assert.Equal(t, "real\n", run(t, terminals, spec).Text, "%v", spec)
	}

	_, err := s.configured(t, localtools.TerminalConfig{Env: []string{path}, Allow: []string{"git"}}).Create(
		localtools.Spec{Command: "git", Args: []string{"status"}})
	require.EqualError(t, err, `run "git" denied: a program in the workspace`)
}

func TestCommandEnvironment(t *testing.T) {
	s := newScene(t)
	terminals := s.configured(t, localtools.TerminalConfig{
		Env: []string{"HOME=/h", "PATH=" + systemPath}, Allow: []string{"env"},
	})
	out := run(t, terminals, localtools.Spec{
		Command: "env", Env: []string{"CLAUDECODE=1", "LD_PRELOAD=/ws/x.so", "PATH=/ws", "GIT_SSH_COMMAND=x"},
	})
	assert.Equal(t, "CLAUDECODE=1\nHOME=/h\nPATH="+systemPath+"\n", out.Text)
	var want []localtools.Denied
	for _, name := range []string{"LD_PRELOAD", "PATH", "GIT_SSH_COMMAND"} {
		want = append(want, localtools.Denied{
			Op: localtools.OpEnv, Path: name, Reason: "agents may not set it; the command runs without",
		})
	}
	if diff := cmp.Diff(want, s.denied.all); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestSoakCwdSwappedInBetween has the working directory change places with a link to the outside.
func TestSoakCwdSwappedInBetween(t *testing.T) {
	s := newScene(t)
	terminals := s.terminals(t, "pwd")
	in := func(name string) string { return filepath.Join(s.ws, name) }
	s.link(t, "../dir", "link")
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				for _, step := range [][2]string{{"sub", "own"}, {"link", "sub"}, {"sub", "link"}, {"own", "sub"}} {
					assert.NoError(t, os.Rename(in(step[0]), in(step[1])))
				}
			}
		}
	})
	ran, rounds := 0, soak.Size(5, 200)
	for end := time.Now().Add(10 * time.Minute); ran < rounds && time.Now().Before(end); {
		id, err := terminals.Create(localtools.Spec{Command: "pwd", Args: []string{"-P"}, Cwd: in("sub")})
		if err != nil {
			continue
		}
		ran++
		_, err = terminals.Wait(t.Context(), id)
		require.NoError(t, err)
		out, err := terminals.Output(id)
		require.NoError(t, err)
		require.Contains(t, []string{in("sub") + "\n", in("own") + "\n"}, out.Text)
		require.NoError(t, terminals.Release(id))
	}
	close(stop)
	swapper.Wait()
	assert.Equal(t, rounds, ran)
}

func TestTerminalsAreCounted(t *testing.T) {
	terminals := newScene(t).terminals(t, "true")
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		_, err = terminals.Create(localtools.Spec{Command: "true"})
	}
	require.EqualError(t, err, fmt.Sprintf("%d terminals are open: release some", n-1))
	require.NoError(t, terminals.Release("terminal-1"))
	id, err := terminals.Create(localtools.Spec{Command: "true"})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(id, "terminal-"))
}

// TestNotStarted holds that a command which does not start takes no place.
func TestNotStarted(t *testing.T) {
	terminals := newScene(t).terminals(t, "nothing")
	for range 1000 {
		_, err := terminals.Create(localtools.Spec{Command: "nothing"})
		require.ErrorContains(t, err, "nothing")
	}
}
