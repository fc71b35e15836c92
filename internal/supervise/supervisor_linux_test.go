package supervise

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func FuzzSpec(f *testing.F) {
	f.Add("/bin/true", "", false, "true", "PATH=/bin")
	f.Add("/b\xffn", "/dir", true, "sh\n-c\n\n", "A=\nB=\xfe")
	f.Fuzz(func(t *testing.T, path, dir string, dirFile bool, args, env string) {
		if strings.Contains(path+dir+args+env, "\x00") {
			t.Skip() // Command.check refuses it
		}
		want := &spec{path: path, dir: dir, dirFile: dirFile, scratch: dir + "/tmp", args: strings.Split(args, "\n"), env: []string{}}
		if env != "" {
			want.env = strings.Split(env, "\n")
		}
		var wire bytes.Buffer
		require.NoError(t, want.send(&wire))
		got, err := receiveSpec(&wire)
		require.NoError(t, err)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(spec{})); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		assert.Zero(t, wire.Len(), "bytes left")
	})
}

func TestReceiveSpecErrors(t *testing.T) {
	tests := []struct {
		name, wire, want string
	}{
		{"nothing", "", "EOF"},
		{"cut", "\x05\x00\x00\x00ab", "unexpected EOF"},
		{"few-fields", "\x01\x00\x00\x00a", "spec of 1 fields"},
		{"arguments-missing", "\x0a\x00\x00\x00/\x00\x00true\x00\x002", "spec with 2 arguments in 5 fields"},
		{"negative", "\x0b\x00\x00\x00/\x00\x00true\x00\x00-2", "spec with -2 arguments in 5 fields"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := receiveSpec(strings.NewReader(tt.wire))
			require.EqualError(t, err, tt.want)
		})
	}
}

// TestChildren holds the two ways of finding children together; the second is for kernels without the first.
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
