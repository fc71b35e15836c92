//go:build !unix

package supervise

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// terminateGroup does nothing: the system has no signal for it. The kill follows after the grace.
func terminateGroup(*os.Process) {}

func killGroup(p *os.Process) { _ = p.Kill() }

func exitOf(state *os.ProcessState) Exit { return Exit{Code: state.ExitCode()} }
