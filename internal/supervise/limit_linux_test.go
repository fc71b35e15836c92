package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/lockdown"
)

// TestMaxThreads: a tree may be as large as its limit, and is killed when it is larger. No control group is left
// behind.
func TestMaxThreads(t *testing.T) {
	tests := []struct {
		name, script string
		limit        int
		grows        bool
	}{
		{name: "as-large-as-it-may-be", script: "sleep 0.2 & sleep 0.2 & wait", limit: 8},
		{name: "larger", script: "for i in 1 2 3 4 5 6; do sleep 60 & done; wait", limit: 3, grows: true},
		{name: "far-larger", script: "for i in `seq 99`; do sleep 60 & done; wait", limit: 3, grows: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Start(t.Context(), Command{
				Path: "/bin/sh", Args: []string{"sh", "-c", tt.script}, Env: []string{"PATH=/usr/bin:/bin"},
				Limits: Limits{Threads: tt.limit},
			})
			require.NoError(t, err)
			exit, err := p.Wait()
			if !tt.grows {
				require.NoError(t, err)
				assert.Equal(t, Exit{}, exit)
			} else {
				assert.ErrorContains(t, err, "limit processes: ")
			}
			for _, parent := range groupParents().dirs {
				left, err := filepath.Glob(filepath.Join(parent, fmt.Sprintf("%s%d-*", groupPrefix, os.Getpid())))
				require.NoError(t, err)
				assert.Empty(t, left)
			}
		})
	}
}

// TestRemoveLeftGroups: only groups of processes that are gone are removed, and not those of processes in another
// container, which cannot be seen from here.
func TestRemoveLeftGroups(t *testing.T) {
	const inside = "SDD_EVAL_TEST_GROUPS"
	if parent := os.Getenv(inside); parent != "" {
		fmt.Println(groupName(1))
		removeLeftGroups(parent)
		return
	}
	parent, ours := t.TempDir(), pidNamespace()
	require.NotEmpty(t, ours)
	const gone = 1 << 30
	name := func(pid int, namespace string) string { return fmt.Sprintf("%s%d-1-%s", groupPrefix, pid, namespace) }
	keep := []string{name(os.Getpid(), ours), name(gone, "1"), name(gone, ""), groupPrefix + "x-1-" + ours, "other-1"}
	left := name(gone, ours)
	for _, name := range append(keep, filepath.Join(left, groupPrefix+"5-1-1", groupPrefix+"6-1-2")) {
		require.NoError(t, os.MkdirAll(filepath.Join(parent, name), 0o755))
	}
	removeLeftGroups(parent)
	require.ElementsMatch(t, keep, names(t, parent))

	// Our process has another id there, or none.
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), inside+"="+parent)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this machine allows no user namespaces")
	}
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), groupPrefix+"1-1-", "it runs in a namespace")
	require.NotContains(t, string(out), name(1, ours), "it is another one")
	require.ElementsMatch(t, keep, names(t, parent))
}

func names(t *testing.T, dir string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

// TestEnclosure: a command that makes no enclosure is an error, however soon it ends.
func TestEnclosure(t *testing.T) {
	for range 20 {
		_, err := Start(t.Context(), Command{Path: "/bin/true", Enclosure: []string{"/bin/false"}})
		require.ErrorContains(t, err, "start /bin/true: false did not start the supervisor (")
	}
	_, err := Start(t.Context(), Command{Path: "/bin/true", Enclosure: []string{"/no/such/wall"}})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestLimitFromTheStart: the kernel limits the child before it can start anything. Our own limit does not change.
func TestLimitFromTheStart(t *testing.T) {
	limit := func(maxThreads int) (soft string) {
		t.Helper()
		var out bytes.Buffer
		p, err := Start(t.Context(), Command{
			Path: "/bin/cat", Args: []string{"cat", "/proc/self/limits"}, Stdout: &out,
			Limits: Limits{Threads: maxThreads},
		})
		require.NoError(t, err)
		exit, err := p.Wait()
		require.NoError(t, err)
		require.Equal(t, Exit{}, exit)
		_, rest, found := strings.Cut(out.String(), "Max processes ")
		require.True(t, found, out.String())
		return strings.Fields(rest)[0]
	}
	own, err := os.ReadFile("/proc/self/limits")
	require.NoError(t, err)
	assert.Contains(t, strings.Join(strings.Fields(string(own)), " "), "Max processes "+limit(0)+" ")
	few, err := strconv.Atoi(limit(50))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, few, hardLimit(50))
	assert.LessOrEqual(t, few, hardLimit(50)+100_000, "and as many as the system has threads")
}

// TestJoin: a thread that is locked down starts a process in a group of version 2.
func TestJoin(t *testing.T) {
	var g *controlGroup
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		dir := filepath.Join(root, "sdd-eval-test-"+strconv.Itoa(os.Getpid()))
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err == nil && os.Mkdir(dir, 0o755) == nil {
			g = &controlGroup{dirs: []string{dir}, unified: true}
			t.Cleanup(func() { assert.NoError(t, os.Remove(dir)) })
			break
		}
	}
	if g == nil {
		t.Skip("no control group of version 2 can be made here")
	}
	t.Cleanup(EndIdle) // the rules limit files of this whole process, and idle supervisors were started before
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	done := make(chan error)
	go func() {
		done <- func() error {
			defer w.Close()
			runtime.LockOSThread()
			attr := &syscall.ProcAttr{Files: []uintptr{0, w.Fd(), 2}, Sys: &syscall.SysProcAttr{}}
			join, err := g.join(attr.Sys)
			if err != nil {
				return err
			}
			if err := lockdown.Thread(lockdown.Rules{}); err != nil {
				return err
			}
			pid, err := syscall.ForkExec("/bin/cat", []string{"cat", "/proc/self/cgroup"}, attr)
			if err != nil {
				return err
			}
			defer func() { _, _ = syscall.Wait4(pid, nil, 0, nil) }()
			return join(pid)
		}()
	}()
	require.NoError(t, <-done)
	groups, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Contains(t, string(groups), "0::/"+filepath.Base(g.dirs[0])+"\n")
}
