package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// Victim returns the arguments of a process outside that has the secret. The process prints "ready" when it has
// started, and ends when its input ends.
func Victim(secret string) []string { return []string{Name, "victim", secret} }

// victim makes attacks easy: it lets all processes trace it, where the kernel asks.
func victim([]string) {
	// A kernel without Yama does not know this option, and does not ask.
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// processes are the escapes that touch processes outside.
func processes() []Escape {
	all := []Escape{
		{Name: "signal-0", try: func(t Target) (string, error) { return "", unix.Kill(t.Victim, 0) }},
		{
			Name: "sigstop", Proof: Stopped,
			try: func(t Target) (string, error) { return "", unix.Kill(t.Stopper, unix.SIGSTOP) },
		},
		{
			Name: "sigkill", Proof: Stopped,
			try: func(t Target) (string, error) { return "", unix.Kill(t.Killer, unix.SIGKILL) },
		},
		{Name: "sigkill-by-pidfd", Proof: Stopped, Uncertain: "sigkill was there before", try: killByDescriptor},
		{Name: "ptrace", try: trace},
		{
			Name: "read-environ", Proof: Secret,
			try: func(t Target) (string, error) { return read(proc(t.Victim, "environ")) },
		},
		{
			Name: "read-cmdline", Proof: Secret,
			try: func(t Target) (string, error) { return read(proc(t.Victim, "cmdline")) },
		},
		{Name: "read-mem", Proof: Secret, try: readMemory},
		{Name: "read-memory-by-call", Proof: Secret, Uncertain: "not every kernel has it", try: readByCall},
		{Name: "steal-descriptor", Proof: Secret, Uncertain: "Linux 5.6", try: stealDescriptor},
		{Name: "limit", try: func(t Target) (string, error) { // to its present value
			var limit unix.Rlimit
			if err := unix.Prlimit(t.Victim, unix.RLIMIT_CORE, nil, &limit); err != nil {
				return "", err
			}
			return "", unix.Prlimit(t.Victim, unix.RLIMIT_CORE, &limit, nil)
		}},
		{Name: "read-key", Proof: Secret, Uncertain: "not every kernel has keys", try: readKey},
		{Name: "read-shared-memory", Proof: Secret, Uncertain: "not every kernel has it", try: readShared},
	}
	for i := range all {
		all[i].Property = confine.Processes
	}
	return all
}

// parents are the escapes that aim at the parent process, which is the supervisor or a process of the sandbox.
func parents() []Escape {
	signal := func(sig syscall.Signal) func(Target) (string, error) {
		return func(Target) (string, error) { return "", unix.Kill(os.Getppid(), sig) }
	}
	return []Escape{
		{Name: "sigstop-parent", Property: confine.Processes, Proof: Stopped, Alone: true, try: signal(unix.SIGSTOP)},
		{Name: "sigkill-parent", Property: confine.Processes, Proof: Stopped, Alone: true, try: signal(unix.SIGKILL)},
	}
}

func proc(pid int, file string) string { return fmt.Sprintf("/proc/%d/%s", pid, file) }

func killByDescriptor(t Target) (string, error) {
	fd, err := unix.PidfdOpen(t.Killer, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return "", unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

// trace attaches to the victim and lets it go.
func trace(t Target) (string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceAttach(t.Victim); err != nil {
		return "", err
	}
	_, _ = unix.Wait4(t.Victim, nil, unix.WALL, nil)
	return "", unix.PtraceDetach(t.Victim)
}

// stack returns where the victim's stack is: the environment and the arguments are at its upper end.
func stack(pid int) (from, to uint64, err error) {
	maps, err := read(proc(pid, "maps"))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(maps) {
		if strings.Contains(line, "[stack]") {
			_, err := fmt.Sscanf(line, "%x-%x", &from, &to)
			return max(from, to-maxRead), to, err
		}
	}
	return 0, 0, errors.New("no stack")
}

func readMemory(t Target) (string, error) {
	from, to, err := stack(t.Victim)
	if err != nil {
		return "", err
	}
	f, err := os.Open(proc(t.Victim, "mem"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	data := make([]byte, to-from)
	n, err := f.ReadAt(data, int64(from))
	return text(data[:n]), err
}

func readByCall(t Target) (string, error) {
	from, to, err := stack(t.Victim)
	if err != nil {
		return "", err
	}
	data := make([]byte, to-from)
	local := []unix.Iovec{{Base: &data[0]}}
	local[0].SetLen(len(data))
	n, err := unix.ProcessVMReadv(t.Victim, local, []unix.RemoteIovec{{Base: uintptr(from), Len: len(data)}}, 0)
	return text(data[:max(n, 0)]), err
}

// text returns the words in memory.
func text(data []byte) string {
	return string(bytes.Trim(bytes.ReplaceAll(data, []byte{0}, []byte{' '}), " "))
}

func stealDescriptor(t Target) (string, error) {
	victim, err := unix.PidfdOpen(t.Victim, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(victim)
	fd, err := unix.PidfdGetfd(victim, 3, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	data := make([]byte, maxRead)
	n, err := unix.Pread(fd, data, 0)
	return string(data[:max(n, 0)]), err
}

func readKey(t Target) (string, error) {
	var errs []error
	for _, ring := range []int{
		unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_SESSION_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING,
	} {
		key, err := unix.KeyctlSearch(ring, "user", t.Key, 0)
		if err == nil {
			data := make([]byte, maxRead)
			var n int
			if n, err = unix.KeyctlBuffer(unix.KEYCTL_READ, key, data, 0); err == nil {
				return string(data[:min(n, len(data))]), nil
			}
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

func readShared(t Target) (string, error) {
	data, err := unix.SysvShmAttach(t.Memory, 0, unix.SHM_RDONLY)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.SysvShmDetach(data) }()
	return text(data), nil
}

// readInNamespace has another hostile process, in a user namespace of its own in which it is root, read the file.
func readInNamespace(path string, _ Target) (string, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{Name, "cat", path}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return output(cmd)
}

func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out[:min(len(out), 1<<10)])
	}
	return string(out[:min(len(out), maxRead)]), err
}

// cat prints a file.
func cat(args []string) {
	text, err := read(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1)
	}
	fmt.Print(text)
}

// privileges are the escapes that root can often use, but a sandboxed root never.
func privileges() []Escape {
	all := []Escape{
		{Name: "open-memory", try: func(Target) (string, error) { return "", readable("/dev/mem") }},
		{Name: "open-kernel-memory", try: func(Target) (string, error) { return "", readable("/proc/kcore") }},
		{Name: "open-kernel-log", try: func(Target) (string, error) { return "", readable("/dev/kmsg") }},
		{Name: "open-disk", try: func(t Target) (string, error) {
			path, err := disk(t)
			if err != nil {
				return "", err
			}
			return "", readable(path)
		}},
		{Name: "make-disk", try: makeDisk},
	}
	for i := range all {
		all[i].Property, all[i].Uncertain = confine.FilesRead, onlyRoot
	}
	return append(all, Escape{
		Name: "leave-control-group", Property: confine.Forks, Uncertain: onlyRoot, try: leaveGroup,
	})
}

// device returns the disk that the workspace is on.
func device(t Target) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(t.Workspace, &st)
	return st.Dev, err
}

// disk returns the path of the device that the workspace is on.
func disk(t Target) (string, error) {
	dev, err := device(t)
	if err != nil {
		return "", err
	}
	link, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(dev), unix.Minor(dev)))
	return "/dev/" + filepath.Base(link), err
}

// makeDisk makes a device file for that disk in the workspace.
func makeDisk(t Target) (string, error) {
	dev, err := device(t)
	if err != nil {
		return "", err
	}
	path := t.inside()
	if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(dev)); err != nil {
		return "", err
	}
	return "", readable(path)
}

// leaveGroup opens the process lists of the topmost control groups, which have no limits.
func leaveGroup(Target) (string, error) {
	err := os.ErrNotExist
	for _, pattern := range []string{"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/*/cgroup.procs"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			f, openErr := os.OpenFile(path, os.O_WRONLY, 0)
			if openErr == nil {
				return "", f.Close()
			}
			err = openErr
		}
	}
	return "", err
}
