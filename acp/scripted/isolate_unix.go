//go:build unix

package scripted

import (
	"os/exec"
	"syscall"
)

// isolate gives the command a process group, all of which is killed when its context is done.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
