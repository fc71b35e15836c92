//go:build unix

package unit

import "syscall"

// keep keeps the worker's lock, the first file after the streams, for this process alone: what it starts has it not.
func keep() { syscall.CloseOnExec(3) }
