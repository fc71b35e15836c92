//go:build amd64 || arm64

package lockdown

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// rulesVariable has the rules by which the test binary locks itself down before it tries everything.
const rulesVariable = "LOCKDOWN_TEST_RULES"

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(rulesVariable); ok {
		if err := tryAll(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		syscall.Exit(0) // not os.Exit, at which the race detector waits a second
	}
	os.Exit(m.Run())
}

// tryAll prints the result of each attempt, on the thread that is locked down.
func tryAll(text string) error {
	var r Rules
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := Thread(r); err != nil {
		return err
	}
	results := make(map[string]string)
	for name, try := range attempts {
		results[name] = "done"
		if err := try(); err != nil {
			errno, ok := errors.AsType[unix.Errno](err)
			if !ok {
				return fmt.Errorf("%s: %w", name, err)
			}
			results[name] = unix.ErrnoName(errno)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}

// attempts are made in the working directory, which has a directory for each field of Rules that has paths.
var attempts = map[string]func() error{
	"read":            func() error { return reads("outside/file") },
	"read-read":       func() error { return reads("read/file") },
	"read-write":      func() error { return reads("write/file") },
	"read-list":       func() error { return reads("list/file") },
	"list":            func() error { return lists("outside") },
	"list-list":       func() error { return lists("list") },
	"write-read":      func() error { return os.WriteFile("read/file", nil, 0o600) },
	"write-write":     func() error { return os.WriteFile("write/new", nil, 0o600) },
	"write-list":      func() error { return os.WriteFile("list/new", nil, 0o600) },
	"link-out":        func() error { return os.Link("write/file", "outside/link") },
	"link-in":         func() error { return os.Link("outside/file", "write/link") },
	"node":            func() error { return unix.Mknod("write/node", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) },
	"null":            func() error { return os.WriteFile(os.DevNull, []byte("x"), 0) },
	"mount":           func() error { return unix.Mount("none", "write", "tmpfs", 0, "") },
	"chroot":          func() error { return unix.Chroot("write") },
	"inet":            func() error { return sockets(unix.AF_INET) },
	"unix":            func() error { return sockets(unix.AF_UNIX) },
	"connect-connect": func() error { return connects("connect/socket") },
	"connect-write":   func() error { return connects("write/socket") },
	"uring":           func() error { return call(unix.SYS_IO_URING_SETUP, 1) },
	"shared":          func() error { return call(unix.SYS_SHMGET, 0, 4096, 0o600) },
	"renice":          func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 19) },
	"limit-other": func() error {
		return unix.Prlimit(os.Getppid(), unix.RLIMIT_CPU, nil, new(unix.Rlimit))
	},
	"signal":   func() error { return unix.Kill(os.Getppid(), 0) },
	"set-uid":  func() error { return noNewPrivileges() },
	"capable":  func() error { return capable() },
	"core":     func() error { return coreSize() },
	"vast":     func() error { return vast() },
	"unlocked": func() error { return unlocked() },
}

func reads(path string) error { _, err := os.ReadFile(path); return err }
func lists(path string) error { _, err := os.ReadDir(path); return err }

func sockets(domain int) error {
	fd, err := unix.Socket(domain, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

func connects(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

func call(number uintptr, args ...uintptr) error {
	args = append(args, 0, 0, 0)
	if _, _, errno := unix.Syscall(number, args[0], args[1], args[2]); errno != 0 {
		return errno
	}
	return nil
}

// noNewPrivileges, capable, coreSize and vast return nil if the thread has what it should have lost.
func noNewPrivileges() error {
	if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || on == 1 {
		return unix.EPERM
	}
	return nil
}

func capable() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil || data == ([2]unix.CapUserData{}) {
		return unix.EPERM
	}
	return nil
}

func coreSize() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit == (unix.Rlimit{}) {
		return unix.EPERM
	}
	return nil
}

// vast is about files that take days to search, since they seem to be so large.
func vast() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil || limit.Max <= maxFile {
		return unix.EPERM
	}
	return nil
}

// unlocked reads a file that this thread may not read, on another thread, which has kept its rights.
func unlocked() error {
	done := make(chan error)
	go func() { done <- reads("outside/file") }()
	return <-done
}

// TestThread: what a thread that is locked down can and cannot do.
func TestThread(t *testing.T) {
	if ABI() < MinABI {
		t.Skipf("this kernel has ABI %d of Landlock", ABI())
	}
	always := map[string]string{ // whatever the rules
		"uring": "ENOSYS", "set-uid": "EPERM", "capable": "EPERM", "core": "EPERM", "vast": "EPERM", "mount": "EPERM",
		"chroot": "EPERM", "node": "EPERM",
	}
	if ABI() >= abiScopes {
		always["signal"] = "EPERM"
	}
	files := map[string]string{
		"read": "EACCES", "read-list": "EACCES", "list": "EACCES", "write-read": "EACCES", "write-list": "EACCES",
		"link-out": "EACCES", "link-in": "EXDEV", "node": "EACCES", "shared": "ENOSYS", "limit-other": "EPERM",
	}
	if ABI() >= abiResolveUnix {
		files["connect-write"] = "EACCES"
	}
	network := map[string]string{"inet": "EACCES"}
	tests := []struct {
		name    string
		rules   Rules
		refused []map[string]string // and nothing else
	}{
		{name: "none", refused: []map[string]string{always}},
		{name: "offline", rules: Rules{Offline: true}, refused: []map[string]string{always, network}},
		{name: "files", rules: Rules{Files: true}, refused: []map[string]string{always, files}},
		{name: "both", rules: Rules{Files: true, Offline: true}, refused: []map[string]string{always, files, network}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"outside", "read", "write", "list", "connect"} {
				require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name, "file"), nil, 0o644))
			}
			for _, name := range []string{"write", "connect"} {
				l, err := net.Listen("unix", filepath.Join(dir, name, "socket"))
				require.NoError(t, err)
				defer l.Close()
			}
			if tt.rules.Files {
				tt.rules.Read = []string{filepath.Join(dir, "read"), "/gone"}
				tt.rules.Write = []string{filepath.Join(dir, "write")}
				tt.rules.List, tt.rules.Devices = []string{filepath.Join(dir, "list")}, []string{os.DevNull}
				tt.rules.Connect = []string{filepath.Join(dir, "connect")}
			}
			want := make(map[string]string)
			for name := range attempts {
				want[name] = "done"
			}
			for _, refused := range tt.refused {
				maps.Copy(want, refused)
			}
			assert.Equal(t, want, locked(t, dir, tt.rules))
		})
	}
}

// locked returns the results of the attempts of a process that locks itself down.
func locked(t *testing.T, dir string, r Rules) (results map[string]string) {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), rulesVariable+"="+string(text))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.NoError(t, json.Unmarshal(out, &results), "%s", out)
	return results
}

func TestHandledFiles(t *testing.T) {
	assert.Equal(t, uint64(1<<14-1), handledFiles(2))
	assert.Equal(t, uint64(1<<15-1), handledFiles(3))
	assert.Equal(t, uint64(1<<15-1), handledFiles(4))
	assert.Equal(t, uint64(1<<16-1), handledFiles(8))
	assert.Equal(t, uint64(1<<17-1), handledFiles(9))
}
