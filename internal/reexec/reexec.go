// Package reexec lets our own binary, be it sdd-eval or a user's test binary, be the small programs that a run needs beside
// its agent, so that none has to be installed: a relay, a prober, a hook and the like.
package reexec

import (
	"os"
	"syscall"
)

// Any is the number of arguments of a program that takes any.
const Any = -1

// Register makes this process a program if that is what it was started as: with word as its first argument and n behind it.
// It is for functions called init, which run before anything that the binary is there for. The program gets the arguments
// behind the word and returns the exit code.
//
// It is the first argument that counts and not the zeroth, because wrappers that confine do not hand that on. Nothing else
// is looked at, so that other processes pay nothing and go test's cache learns of no environment variable. The process ends
// by the bare system call: what a binary does at its exit, such as a race report, takes time and is not for the program.
func Register(word string, n int, program func(args []string) int) {
	if len(os.Args) > 1 && os.Args[1] == word && (n == Any || len(os.Args) == 2+n) {
		syscall.Exit(program(os.Args[2:]))
	}
}
