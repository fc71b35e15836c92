package confine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// TestHeld: what the kinds hold on a machine that has them, at least.
func TestHeld(t *testing.T) {
	for kind, holds := range map[confine.Kind][]confine.Property{
		confine.None:     {},
		confine.Bwrap:    confine.Properties(),
		confine.Landlock: {confine.FilesRead, confine.FilesWritten, confine.Processes, confine.Network},
	} {
		t.Run(string(kind), func(t *testing.T) {
			held, err := open(t, kind).Held(t.Context())
			require.NoError(t, err)
			t.Log(held)
			assert.Equal(t, kind, held.Kind)
			assert.Subset(t, held.Holds, holds)
			assert.ElementsMatch(t, confine.Properties(), append(held.Holds, held.Open...))
		})
	}
}

func TestHeldString(t *testing.T) {
	all := confine.Properties()
	tests := []struct {
		name string
		held confine.Held
		want string
	}{
		{name: "all", held: confine.Held{Kind: confine.Bwrap, Version: "0.8.0", Holds: all}, want: "bwrap 0.8.0"},
		{
			name: "some", held: confine.Held{Kind: confine.Landlock, Version: "ABI 7", Holds: all[:2], Open: []confine.Property{confine.FileModes, confine.Sockets}},
			want: "landlock ABI 7 (open: file modes, unix sockets)",
		},
		{name: "no-version", held: confine.Held{Kind: confine.Wrapper, Open: []confine.Property{confine.Forks}}, want: "command (open: fork bombs)"},
		{name: "none", held: confine.Held{Kind: confine.None, Open: all}, want: "none"},
		{name: "zero", want: "unused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.held.String()) })
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		name    string
		kind    confine.Kind
		command []string
		want    string
	}{
		{name: "unknown", kind: "jail", want: `unknown kind of sandbox "jail"`},
		{name: "empty", want: `unknown kind of sandbox ""`},
		{name: "wrapper-without-command", kind: confine.Wrapper, want: `a sandbox of kind "command" has a command, and those of other kinds have none`},
		{name: "command-of-another", kind: confine.Auto, command: []string{"srt"}, want: `a sandbox of kind "command" has a command, and those of other kinds have none`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := confine.New(tt.kind, tt.command)
			assert.EqualError(t, err, tt.want)
		})
	}
	_, err := confine.ParseKind("jail")
	assert.EqualError(t, err, `unknown kind of sandbox "jail": it is one of auto, bwrap, landlock, command, none`)
	kind, err := confine.ParseKind("command")
	assert.NoError(t, err)
	assert.Equal(t, confine.Wrapper, kind)
}

const install = "install bubblewrap (Debian: apt-get install bubblewrap), or "

// TestUnavailable: what does not work is an error, each time, and nothing starts. Since Landlock works here, no advice is to
// confine nothing.
func TestUnavailable(t *testing.T) {
	broken := "#!/bin/sh\n[ \"$1\" = --version ] && echo bubblewrap 0.8.0 && exit\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
	tests := []struct {
		name    string
		kind    confine.Kind
		command []string
		bwrap   string // the script in PATH under that name; empty: there is none
		want    string
	}{
		{
			name: "no-bwrap", kind: confine.Bwrap,
			want: "the sandbox bwrap does not work on this machine: bwrap: bwrap is not in PATH",
		},
		{
			name: "no-namespaces", kind: confine.Bwrap, bwrap: broken,
			want: "the sandbox bwrap does not work on this machine: bwrap: bwrap: No permissions to create new namespace",
		},
		{
			name: "no-wrapper", kind: confine.Wrapper, command: []string{"no-such-wrapper"},
			want: `the sandbox command does not work on this machine: command: "no-such-wrapper": executable file not found in $PATH (PATH=$BIN)`,
		},
		{
			name: "deaf-wrapper", kind: confine.Wrapper, command: []string{"/bin/echo", "hello"},
			want: "the sandbox command does not work on this machine: command: a process in it did not do its work: exit code 0: hello $HELPER $KEY prober",
		},
		{
			name: "failing-wrapper", kind: confine.Wrapper, command: []string{"/bin/sh", "-c", "echo no >&2; exit 3"},
			want: "the sandbox command does not work on this machine: command: a process in it did not do its work: exit code 3: no",
		},
	}
	p, err := helper.Find()
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bin := t.TempDir()
			t.Setenv("PATH", bin)
			if tt.bwrap != "" {
				require.NoError(t, os.WriteFile(filepath.Join(bin, "bwrap"), []byte(tt.bwrap), 0o755))
			}
			s, err := confine.New(tt.kind, tt.command)
			require.NoError(t, err)
			for range 2 {
				_, err = s.Held(t.Context())
				var unavailable *confine.UnavailableError
				require.ErrorAs(t, err, &unavailable)
				assert.Equal(t, tt.want, strings.NewReplacer(p.Path, "$HELPER", helper.Key(), "$KEY", bin, "$BIN").Replace(err.Error()))
				assert.Equal(t, install+"use the kind that works here: --sandbox landlock, EVALTEST_SANDBOX=landlock with go test", unavailable.Advice())
			}
			_, err = s.Start(t.Context(), supervise.Command{Path: "/bin/true"}, confine.Policy{})
			assert.ErrorAs(t, err, new(*confine.UnavailableError))
		})
	}
	none := &confine.UnavailableError{Kind: confine.Auto, Reasons: []string{"bwrap: bwrap is not in PATH", "landlock: it is off"}}
	assert.EqualError(t, none, "no sandbox works on this machine: bwrap: bwrap is not in PATH; landlock: it is off")
	assert.Equal(t, install+"let agents and tests run with all of your rights: --sandbox none, EVALTEST_SANDBOX=none with go test", none.Advice())
}

// TestAuto: without bubblewrap it is Landlock.
func TestAuto(t *testing.T) {
	held, err := open(t, confine.Auto).Held(t.Context())
	require.NoError(t, err)
	assert.Equal(t, confine.Bwrap, held.Kind)
	t.Setenv("PATH", t.TempDir())
	held, err = open(t, confine.Auto).Held(t.Context())
	require.NoError(t, err)
	assert.Equal(t, confine.Landlock, held.Kind)
}

// TestInterrupted: who gives up waiting for the result does not decide it.
func TestInterrupted(t *testing.T) {
	s := open(t, confine.Landlock)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	_, err := s.Held(ctx)
	require.ErrorIs(t, err, enough)
	_, err = s.Held(t.Context())
	require.NoError(t, err)
}

// TestWrapper: the command of a user's gets the program, and the policy in variables. That it confines nothing is seen.
func TestWrapper(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "wrapper")
	require.NoError(t, os.WriteFile(script, []byte(`#!/bin/sh
echo "$1: $EVALTEST_SANDBOX_WRITE $EVALTEST_SANDBOX_HIDE" >&2
[ "$EVALTEST_SANDBOX_NETWORK" = no ] && case :$EVALTEST_SANDBOX_READ: in *:/usr:*) ;; *) exit 9;; esac
shift
exec "$@"
`), 0o755))
	s, err := confine.New(confine.Wrapper, []string{script, "an option"})
	require.NoError(t, err)
	ws := filepath.Join(dir, "ws")
	require.NoError(t, os.Mkdir(ws, 0o755))
	var out, stderr bytes.Buffer
	p, err := s.Start(t.Context(), supervise.Command{
		Path: "sh", Args: []string{"sh", "-c", `pwd; echo "$0 $1 $NAME"; exit 7`, "a b", "c"}, Dir: ws,
		Env: []string{"PATH=/usr/bin:/bin", "NAME=value"}, Stdout: &out, Stderr: &stderr,
	}, confine.Policy{Write: []string{ws}})
	require.NoError(t, err)
	exit, err := p.Wait()
	require.NoError(t, err)
	assert.Equal(t, supervise.Exit{Code: 7}, exit)
	assert.Equal(t, ws+"\na b c value\n", out.String())
	said, hidden, _ := strings.Cut(stderr.String(), ws)
	assert.Equal(t, "an option: ", said)
	if os.Getuid() == 0 {
		assert.Contains(t, hidden, "/etc/shadow")
	}
	held, err := s.Held(t.Context())
	require.NoError(t, err)
	assert.Equal(t, confine.Wrapper, held.Kind)
	assert.Subset(t, held.Open, []confine.Property{
		confine.FilesRead, confine.FilesWritten, confine.FileModes, confine.Processes, confine.Sockets, confine.Network,
	})
}

// TestDocumentedWrapper: the script in docs/confinement.md works, and holds what is said there.
func TestDocumentedWrapper(t *testing.T) {
	page, err := os.ReadFile("../../docs/confinement.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```sh\n#!")
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "```")
	script := filepath.Join(t.TempDir(), "confine.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!"+text), 0o755))
	s, err := confine.New(confine.Wrapper, []string{script})
	require.NoError(t, err)
	held, err := s.Held(t.Context())
	require.NoError(t, err)
	t.Log(held)
	assert.Subset(t, held.Holds, []confine.Property{confine.FilesWritten, confine.Processes, confine.Network})
	assert.Contains(t, held.Open, confine.FilesRead)
}

// TestMemoryBackedWorkspace: a workspace may lie in /dev/shm, beside what else is there.
func TestMemoryBackedWorkspace(t *testing.T) {
	const memory = "/dev/shm"
	ws, err := os.MkdirTemp(memory, "sdd-eval-confine-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(ws)
	other, err := os.CreateTemp(memory, "sdd-eval-confine-")
	require.NoError(t, err)
	defer os.Remove(other.Name())
	for _, kind := range []confine.Kind{confine.Bwrap, confine.Landlock} {
		t.Run(string(kind), func(t *testing.T) {
			var stderr bytes.Buffer
			p, err := open(t, kind).Start(t.Context(), supervise.Command{
				Path: "sh", Args: []string{"sh", "-c", `echo > new && [ -c /dev/null ] && ! cat "$0" 2>/dev/null`, other.Name()},
				Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}, Stderr: &stderr,
			}, confine.Policy{Write: []string{ws}})
			require.NoError(t, err)
			exit, err := p.Wait()
			require.NoError(t, err)
			assert.Equal(t, supervise.Exit{}, exit, stderr.String())
			assert.NoError(t, os.Remove(filepath.Join(ws, "new")))
		})
	}
}

func open(t *testing.T, kind confine.Kind) *confine.Sandbox {
	t.Helper()
	s, err := confine.New(kind, nil)
	require.NoError(t, err)
	return s
}

// TestSoakForkBomb lets a fork bomb grow to what it may have. It is killed as a whole then, unless it has gone out by
// itself.
func TestSoakForkBomb(t *testing.T) {
	for _, kind := range []confine.Kind{confine.Landlock, confine.Bwrap} {
		t.Run(string(kind), func(t *testing.T) {
			s, err := confine.New(kind, nil)
			require.NoError(t, err)
			held, err := s.Held(t.Context())
			require.NoError(t, err)
			if !slices.Contains(held.Holds, confine.Forks) {
				require.NotZero(t, os.Getuid(), "root can have control groups")
			}
			for range soak.Size(1, 100) {
				var stderr bytes.Buffer // of who confines, or of a shell that cannot fork
				p, err := s.Start(t.Context(), supervise.Command{
					Path: "/bin/sh", Args: []string{"sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 1"}, Dir: "/",
					MaxThreads: 200, Stderr: &stderr,
				}, confine.Policy{})
				if err == nil { // else it was faster than the report that it had been started
					_, err = p.Wait()
				} else {
					require.Zero(t, os.Getuid(), "%v: %s", err, &stderr)
				}
				if os.Getuid() == 0 { // with a control group, so that it is known in any case
					require.ErrorContains(t, err, "more", "%s", &stderr)
				}
			}
		})
	}
}
