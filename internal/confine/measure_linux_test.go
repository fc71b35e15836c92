package confine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// ofAnotherVersion is a sandbox that works, with probers of another version, which fail.
type ofAnotherVersion struct{ method }

func (m ofAnotherVersion) confine(c *supervise.Command, v view) error {
	c.Args = []string{c.Path, "0123456789abcdef", helper.Prober}
	return m.method.confine(c, v)
}

// late is a sandbox that works, with probers that begin when files were counted for the first time.
type late struct{ method }

func (m late) confine(c *supervise.Command, v view) error {
	c.Args = append([]string{"sh", "-c", `sleep 1.2; exec "$@"`, "sh", c.Path}, c.Args[1:]...)
	c.Path = "/bin/sh"
	return m.method.confine(c, v)
}

// TestDiskOfBusyMachine: where others free more of the disk than a prober fills, it is found out only when the files
// are counted. A prober that got no processor until they were stays until the second time, which takes this long.
func TestDiskOfBusyMachine(t *testing.T) {
	t.Parallel()
	others := filepath.Join(t.TempDir(), "others")
	require.NoError(t, os.WriteFile(others, make([]byte, 64<<20), 0o600))
	freed := time.AfterFunc(500*time.Millisecond, func() { _ = os.Remove(others) })
	defer freed.Stop()
	own := t.TempDir()
	i := slices.IndexFunc(bounds, func(b bound) bool { return b.property == Disk })
	asks := bounds[i].asks
	asks.Own = own
	holds, err := tryLimit(t.Context(), late{landlock{}}, bounds[i].limits, asks)
	require.NoError(t, err)
	assert.True(t, holds)
}

// TestSocketNames: whatever the length of TMPDIR, and of the random parts of names, the socket has a name that the
// system takes.
func TestSocketNames(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "socket-names-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(base)) })
	for _, length := range []int{78, 79, 80, 81} {
		dir := filepath.Join(base, strings.Repeat("d", length-len(base)-1))
		require.NoError(t, os.Mkdir(dir, 0o700))
		t.Setenv("TMPDIR", dir)
		for range 10 {
			targets, err := newTargets()
			require.NoError(t, err, "a TMPDIR of %d bytes", length)
			targets.remove()
		}
	}
}

// TestProberFails: if a prober fails, the sandbox may work, and there is no advice to run without one.
func TestProberFails(t *testing.T) {
	for kind, m := range map[Kind]method{Bwrap: bwrap{}, Landlock: landlock{}} {
		t.Run(string(kind), func(t *testing.T) {
			_, err := measure(t.Context(), kind, ofAnotherVersion{m})
			require.Error(t, err)
			e := &UnavailableError{Kind: Auto}
			e.add(kind, err)
			assert.EqualError(t, e, "the sandbox could not be tested on this machine: "+string(kind)+
				": the sandbox probe failed: exit code 3: sdd-eval-helper: the helper has version "+
				helper.Key()+"; want version 0123456789abcdef")
			assert.Empty(t, e.Advice())
		})
	}
}

// TestProbeTimeout: a sandbox whose probe took too long may work, too.
func TestProbeTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, errors.New("it took too long"))
	defer cancel()
	_, err := measure(ctx, Landlock, landlock{})
	e := &UnavailableError{Kind: Auto}
	e.add(Landlock, err)
	assert.EqualError(t, e, "the sandbox could not be tested on this machine: landlock: it took too long")
	assert.Empty(t, e.Advice())
}

// TestNoTargets: that the targets of probers cannot be made says nothing about any sandbox.
func TestNoTargets(t *testing.T) {
	t.Setenv("TMPDIR", "/no/such/directory")
	for _, kind := range []Kind{Auto, Bwrap, Landlock} {
		s, err := New(kind, nil)
		require.NoError(t, err)
		_, err = s.Properties(t.Context())
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, "test the sandbox: ")
		_, isUnavailable := errors.AsType[*UnavailableError](err)
		assert.False(t, isUnavailable)
	}
}

// TestLongTemporaryDirectory: names of sockets are short, and the user's directory for temporary files need not be.
func TestLongTemporaryDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Setenv("TMPDIR", dir)
	for kind, m := range map[Kind]method{Bwrap: bwrap{}, Landlock: landlock{}} {
		t.Run(string(kind), func(t *testing.T) {
			_, err := measure(t.Context(), kind, m)
			require.NoError(t, err)
		})
	}
}
