//go:build unix

package unit

import (
	"os"
	"os/exec"
	"syscall"
)

// Hand gives a process that will carry out a unit the lock of its worker, and a process group of its own: what a
// terminal tells the worker, such as to end, is not for the process, which its worker tells.
func Hand(cmd *exec.Cmd, lock *os.File) {
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// keep keeps the worker's lock, the first file after the streams, for this process alone: what it starts has it not.
func keep() { syscall.CloseOnExec(3) }
