//go:build unix && !linux

package supervise

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func exitOf(state *os.ProcessState) Exit {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return Exit{Code: state.ExitCode()}
	}
	return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
}
