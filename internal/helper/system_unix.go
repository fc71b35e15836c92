//go:build unix

package helper

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a process group, which is killed when the command's context ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// ours reports whether a file belongs to this user.
func ours(info fs.FileInfo) bool { return owner(info) == os.Geteuid() }

// root reports whether a file belongs to root.
func root(info fs.FileInfo) bool { return owner(info) == 0 }

func owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}
