package confine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
		confine.None:  {},
		confine.Bwrap: confine.AllProperties(),
		confine.Landlock: {
			confine.FilesRead, confine.FilesWritten, confine.SetIDs, confine.Processes, confine.Sockets,
			confine.Network, confine.Namespaces, confine.Interfaces,
		},
	} {
		t.Run(string(kind), func(t *testing.T) {
			properties, err := open(t, kind).Properties(t.Context())
			require.NoError(t, err)
			t.Log(properties)
			assert.Equal(t, kind, properties.Kind)
			assert.Subset(t, properties.Holds, holds)
			assert.ElementsMatch(t, confine.AllProperties(), append(properties.Holds, properties.Open...))
		})
	}
}

func TestHeldString(t *testing.T) {
	all := confine.AllProperties()
	tests := []struct {
		name       string
		properties confine.Properties
		want       string
	}{
		{
			name: "all", properties: confine.Properties{Kind: confine.Bwrap, Version: "0.8.0", Holds: all},
			want: "bwrap 0.8.0",
		},
		{
			name: "some",
			properties: confine.Properties{
				Kind: confine.Landlock, Version: "ABI 7", Holds: all[:2],
				Open: []confine.Property{confine.FileModes, confine.Sockets},
			},
			want: "landlock ABI 7 (open: file modes, unix sockets)",
		},
		{
			name:       "no-version",
			properties: confine.Properties{Kind: confine.Wrapper, Open: []confine.Property{confine.Forks}},
			want:       "command (open: fork bombs)",
		},
		{name: "none", properties: confine.Properties{Kind: confine.None, Open: all}, want: "none"},
		{name: "zero", want: "unused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.properties.String()) })
	}
}

func TestNew(t *testing.T) {
	const commandOfWrapper = `a sandbox of kind "command" needs a command, and no other kind takes one`
	tests := []struct {
		name    string
		kind    confine.Kind
		command []string
		want    string
	}{
		{name: "unknown", kind: "jail", want: `unknown kind of sandbox "jail"`},
		{name: "empty", want: `unknown kind of sandbox ""`},
		{name: "wrapper-without-command", kind: confine.Wrapper, want: commandOfWrapper},
		{name: "command-of-another", kind: confine.Auto, command: []string{"srt"}, want: commandOfWrapper},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := confine.New(tt.kind, tt.command)
			assert.EqualError(t, err, tt.want)
		})
	}
	_, err := confine.ParseKind("jail")
	assert.EqualError(t, err, `unknown kind of sandbox "jail"; available: auto, bwrap, landlock, command, none`)
	kind, err := confine.ParseKind("command")
	assert.NoError(t, err)
	assert.Equal(t, confine.Wrapper, kind)
}

const install = "install bubblewrap (Debian: apt-get install bubblewrap), or "

// TestUnavailable: a kind that does not work is an error, each time, and nothing starts. Since Landlock works here,
// there is no advice to run without a sandbox.
func TestUnavailable(t *testing.T) {
	const prefix = "the sandbox %s does not work on this machine: %[1]s: "
	broken := "#!/bin/sh\n[ \"$1\" = --version ] && echo bubblewrap 0.8.0 && exit\n" +
		"echo 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
	tests := []struct {
		name    string
		kind    confine.Kind
		command []string
		bwrap   string // the script that is bwrap in PATH, or empty
		want    string
	}{
		{
			name: "no-bwrap", kind: confine.Bwrap,
			want: "bwrap is not in PATH",
		},
		{
			name: "no-namespaces", kind: confine.Bwrap, bwrap: broken,
			want: "bwrap: No permissions to create new namespace",
		},
		{
			name: "no-wrapper", kind: confine.Wrapper, command: []string{"no-such-wrapper"},
			want: `"no-such-wrapper": executable file not found in $PATH (PATH=$BIN)`,
		},
		{
			name: "deaf-wrapper", kind: confine.Wrapper, command: []string{"/bin/echo", "hello"},
			want: "the sandbox probe failed: exit code 0: hello $HELPER $KEY prober",
		},
		{
			name: "failing-wrapper", kind: confine.Wrapper, command: []string{"/bin/sh", "-c", "echo no >&2; exit 3"},
			want: "the sandbox probe failed: exit code 3: no",
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
				_, err = s.Properties(t.Context())
				var unavailable *confine.UnavailableError
				require.ErrorAs(t, err, &unavailable)
				text := strings.NewReplacer(p.Path, "$HELPER", helper.Key(), "$KEY", bin, "$BIN").Replace(err.Error())
				assert.Equal(t, fmt.Sprintf(prefix, tt.kind)+tt.want, text)
				assert.Equal(t, install+"use the kind that works here: "+
					"--sandbox landlock, EVALTEST_SANDBOX=landlock with go test", unavailable.Advice())
			}
			_, err = s.Start(t.Context(), supervise.Command{Path: "/bin/true"}, confine.Policy{})
			assert.ErrorAs(t, err, new(*confine.UnavailableError))
		})
	}
	none := &confine.UnavailableError{
		Kind: confine.Auto, Reasons: []string{"bwrap: bwrap is not in PATH", "landlock: it is off"},
	}
	assert.EqualError(t, none, "no sandbox works on this machine: bwrap: bwrap is not in PATH; landlock: it is off")
	assert.Equal(t, install+"run agents and tests with all your rights: "+
		"--sandbox none, EVALTEST_SANDBOX=none with go test", none.Advice())
}

// TestAuto: without bubblewrap it is Landlock.
func TestAuto(t *testing.T) {
	properties, err := open(t, confine.Auto).Properties(t.Context())
	require.NoError(t, err)
	assert.Equal(t, confine.Bwrap, properties.Kind)
	t.Setenv("PATH", t.TempDir())
	properties, err = open(t, confine.Auto).Properties(t.Context())
	require.NoError(t, err)
	assert.Equal(t, confine.Landlock, properties.Kind)
}

// TestInterrupted: a caller that gives up waiting does not decide the result for others.
func TestInterrupted(t *testing.T) {
	s := open(t, confine.Landlock)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	_, err := s.Properties(ctx)
	require.ErrorIs(t, err, enough)
	_, err = s.Properties(t.Context())
	require.NoError(t, err)
}

// TestWrapper: a user's command gets the program as arguments and the policy in variables. It is found to confine
// nothing.
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
	properties, err := s.Properties(t.Context())
	require.NoError(t, err)
	assert.Equal(t, confine.Wrapper, properties.Kind)
	assert.Subset(t, properties.Open, []confine.Property{
		confine.FilesRead, confine.FilesWritten, confine.FileModes, confine.Processes, confine.Sockets, confine.Network,
	})
}

// TestDocumentedWrapper: the script in docs/confinement.md works, and has the properties that the page says it has.
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
	properties, err := s.Properties(t.Context())
	require.NoError(t, err)
	t.Log(properties)
	assert.Subset(t, properties.Holds, []confine.Property{confine.FilesWritten, confine.Processes, confine.Network})
	assert.Contains(t, properties.Open, confine.FilesRead)
}

// TestMemoryBackedWorkspace: a workspace may lie in /dev/shm, where other files remain hidden.
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
				Path: "sh", Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}, Stderr: &stderr,
				Args: []string{"sh", "-c", `echo > new && [ -c /dev/null ] && ! cat "$0" 2>/dev/null`, other.Name()},
			}, confine.Policy{Write: []string{ws}})
			require.NoError(t, err)
			exit, err := p.Wait()
			require.NoError(t, err)
			assert.Equal(t, supervise.Exit{}, exit, stderr.String())
			assert.NoError(t, os.Remove(filepath.Join(ws, "new")))
		})
	}
}

// TestWorkspace: a process finds its workspace where the sandbox says, and works there.
func TestWorkspace(t *testing.T) {
	ws := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(ws, "sub"), 0o755))
	sub, err := os.Open(filepath.Join(ws, "sub"))
	require.NoError(t, err)
	defer sub.Close()
	for _, kind := range []confine.Kind{confine.Bwrap, confine.Landlock, confine.None} {
		t.Run(string(kind), func(t *testing.T) {
			box := open(t, kind)
			properties, err := box.Properties(t.Context())
			require.NoError(t, err)
			seen := properties.Seen(ws)
			if _, err := os.Lstat(confine.WorkspacePath); kind == confine.Bwrap && err != nil {
				require.Equal(t, confine.WorkspacePath, seen)
			} else {
				require.Equal(t, ws, seen)
			}
			for _, c := range []supervise.Command{{Dir: filepath.Join(ws, "sub")}, {DirFile: sub}} {
				var out bytes.Buffer
				c.Path, c.Args = "sh", []string{"sh", "-c", `pwd; echo new > "$0"/file && cat ../file`, seen}
				c.Env, c.Stdout, c.Stderr = []string{"PATH=/usr/bin:/bin"}, &out, &out
				p, err := box.Start(t.Context(), c, confine.Policy{Write: []string{ws}, Workspace: ws})
				require.NoError(t, err)
				_, err = p.Wait()
				require.NoError(t, err)
				assert.Equal(t, seen+"/sub\nnew\n", out.String())
				assert.NoError(t, os.Remove(filepath.Join(ws, "file")))
			}
		})
	}
	_, err = open(t, confine.Bwrap).Start(t.Context(), supervise.Command{Path: "/bin/true"},
		confine.Policy{Read: []string{ws}, Workspace: ws})
	require.ErrorContains(t, err, "is not one of the directories to write")
}

// TestOutputEnds: the output of a child that closes it ends, whatever goes on running around the child.
func TestOutputEnds(t *testing.T) {
	for _, kind := range []confine.Kind{confine.Bwrap, confine.Landlock, confine.None} {
		t.Run(string(kind), func(t *testing.T) {
			start := time.Now()
			p, err := open(t, kind).Start(t.Context(), supervise.Command{
				Path: "/bin/sh", Args: []string{"sh", "-c", "echo said; exec >&-; exec sleep 60"}, Dir: "/",
				PipeStdin: true, PipeStdout: true,
			}, confine.Policy{})
			require.NoError(t, err)
			said, err := io.ReadAll(p.Stdout)
			require.NoError(t, err)
			require.Equal(t, "said\n", string(said))
			require.Less(t, time.Since(start), 45*time.Second, "it ended with the child")
			_, err = p.Kill()
			require.NoError(t, err)
		})
	}
}

func open(t *testing.T, kind confine.Kind) *confine.Sandbox {
	t.Helper()
	s, err := confine.New(kind, nil)
	require.NoError(t, err)
	return s
}

// TestSoakForkBomb lets a fork bomb grow to its limit. Then the whole tree is killed, unless it has ended by itself.
func TestSoakForkBomb(t *testing.T) {
	for _, kind := range []confine.Kind{confine.Landlock, confine.Bwrap} {
		t.Run(string(kind), func(t *testing.T) {
			s, err := confine.New(kind, nil)
			require.NoError(t, err)
			properties, err := s.Properties(t.Context())
			require.NoError(t, err)
			if !slices.Contains(properties.Holds, confine.Forks) {
				require.NotZero(t, os.Getuid(), "root can have control groups")
			}
			for range soak.Size(1, 100) {
				var stderr bytes.Buffer // of the sandbox, or of a shell that cannot fork
				p, err := s.Start(t.Context(), supervise.Command{
					Path: "/bin/sh", Args: []string{"sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 1"}, Dir: "/",
					Limits: supervise.Limits{Threads: 200}, Stderr: &stderr,
				}, confine.Policy{})
				if err == nil { // otherwise the bomb was faster than the report that it had started
					_, err = p.Wait()
				} else {
					require.Zero(t, os.Getuid(), "%v: %s", err, &stderr)
				}
				if os.Getuid() == 0 { // with a control group, which always reports it
					require.ErrorContains(t, err, "limit processes: ", "%s", &stderr)
				}
			}
		})
	}
}

// TestTrust: what another process measured is not measured again, and only of a kind that the sandbox may be.
func TestTrust(t *testing.T) {
	measured := confine.Properties{
		Kind: confine.Landlock, Version: "as measured", Holds: []confine.Property{confine.Sockets},
	}
	s, err := confine.New(confine.Auto, nil)
	require.NoError(t, err)
	require.NoError(t, s.Trust(measured))
	got, err := s.Properties(t.Context())
	require.NoError(t, err)
	require.Equal(t, measured, got)
	s, err = confine.New(confine.Bwrap, nil)
	require.NoError(t, err)
	require.EqualError(t, s.Trust(measured), "a sandbox of kind bwrap is not one of kind landlock")
}
