//go:build !unix

package scripted

import "os/exec"

// isolate does nothing: without process groups only the command itself is killed when its context is done.
func isolate(*exec.Cmd) {}
