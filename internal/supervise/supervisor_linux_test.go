package supervise

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/lockdown"
)

// TestSendOrderToWhoEnds: who has the whole order may have ended as soon as it is sent, as a supervisor does that
// cannot execute the program: what it reported is still to be read.
func TestSendOrderToWhoEnds(t *testing.T) {
	for range 1_000 {
		ours, theirs, err := socketPair()
		require.NoError(t, err)
		go func() {
			defer theirs.Close()
			_, _, _, _ = receiveOrder(theirs)
		}()
		err = sendOrder(ours, askRun, []byte("text"))
		require.NoError(t, ours.Close())
		require.NoError(t, err)
	}
}

func FuzzSpec(f *testing.F) {
	f.Add("/bin/true", "", false, "true", "PATH=/bin", "")
	f.Add("/b\xffn", "/dir", true, "sh\n-c\n\n", "A=\nB=\xfe", "/usr\n/lib")
	f.Fuzz(func(t *testing.T, path, dir string, flag bool, args, env, paths string) {
		if strings.Contains(path+dir+args+env+paths, "\x00") {
			t.Skip() // Command.check refuses it
		}
		want := &spec{
			path: path, dir: dir, scratch: dir + "/tmp",
			limits: Limits{Threads: len(path), Memory: 1 << 40, Disk: int64(len(dir)), Dirs: []string{dir}},
			args:   strings.Split(args, "\n"), env: []string{}, files: []int{5, 6, 7, 8},
		}
		if env != "" {
			want.env = strings.Split(env, "\n")
		}
		if paths != "" {
			want.group = &controlGroup{dirs: []string{paths, dir}, unified: flag}
			want.rules = &lockdown.Rules{
				Files: flag, Offline: !flag, Unconnected: flag, Namespaces: !flag,
				Read: strings.Split(paths, "\n"), Write: []string{paths}, List: []string{},
				Devices: []string{path, dir}, Fixed: []string{dir, path}, Connect: []string{dir},
			}
		}
		got, err := decodeSpec(want.encode(), want.files)
		require.NoError(t, err)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(spec{}, controlGroup{})); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestDecodeSpecErrors(t *testing.T) {
	const head, tail = "/\x00\x00\x000\x000\x000\x000\x00false\x00false\x00", "0\x000\x00"
	tests := []struct {
		name, text string
		files      int
		want       string
	}{
		{"nothing", "", 4, "spec is truncated"},
		{"few-fields", "a\x00b\x00", 4, "spec is truncated"},
		{"no-number", "/\x00\x00\x00many\x00", 4, `spec has the bad number "many"`},
		{"arguments-missing", head + "2\x00true\x00", 4, "spec is truncated"},
		{"more-arguments-than-bytes", head + "2000000000\x00true\x00", 4, "spec is truncated"},
		{"negative", head + "-2\x00", 4, `spec has the bad number "-2"`},
		{"more", head + tail + "x", 4, "spec has 1 bytes too many"},
		{
			"group-without-directory", "/\x00\x00\x000\x000\x000\x000\x00true\x000\x00false\x00", 4,
			"spec has a control group without a directory",
		},
		{"no-streams", head + tail, 2, "spec has 2 files"},
		{"no-directory", head + tail, 3, "spec has 3 files"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeSpec([]byte(tt.text), make([]int, tt.files))
			require.EqualError(t, err, tt.want)
		})
	}
}

// TestChildren: both ways of finding children find the same. The second is for kernels without the first.
func TestChildren(t *testing.T) {
	cmd := exec.Command("cat") // until its input ends
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	assert.Contains(t, children(), cmd.Process.Pid)
	assert.Contains(t, childrenByStat(), cmd.Process.Pid)
	assert.NotContains(t, childrenByStat(), os.Getpid())
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	assert.NotContains(t, children(), cmd.Process.Pid)
	assert.NotContains(t, childrenByStat(), cmd.Process.Pid)
}

// TestExplainClosesStderr, whatever the reason that the supervisor did not start a child.
func TestExplainClosesStderr(t *testing.T) {
	refusing := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(refusing, "pids.events"), []byte("max 7\n"), 0o600))
	tests := []struct {
		name  string
		group *controlGroup
		cause error
		want  string
	}{
		{
			"refused", &controlGroup{dirs: []string{refusing}}, io.EOF,
			"limit processes: more than the 5 threads that are allowed",
		},
		{"silent", nil, os.ErrDeadlineExceeded, "it did not answer in 30s"},
		{"ended", nil, io.EOF, "exit status 0: no memory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &lifeline{supervisor: exec.Command("/bin/sh", "-c", "echo no memory >&2")}
			require.NoError(t, l.startWithStderr())
			require.NoError(t, l.supervisor.Wait())
			stderr := l.stderr
			tr := &tree{lifeline: l, group: tt.group, limits: Limits{Threads: 5}}
			require.ErrorContains(t, tr.explain(silence{tt.cause}), tt.want)
			require.ErrorIs(t, stderr.Close(), os.ErrClosed)
		})
	}
}
