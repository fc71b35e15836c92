// Package program is the helper: all programs that package helper names, in one. It only starts them; each has its own
// package.
package program

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/claude/hook"
	"github.com/sdd-eval/sdd-eval/internal/gocache"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy/relay"
)

// programs are the programs that exist on every system. Each gets the arguments after its name and returns the exit
// code.
var programs = map[string]func(args []string) int{
	helper.Relay: relay.Main, helper.Server: relay.Server, helper.GoCache: gocache.Main, helper.Hook: hook.Main,
	helper.Agent: agent, helper.Check: check,
}

// The exit codes of a helper that does not start a program.
const (
	exitUsage   = 2
	exitVersion = 3
)

// Main runs the program that the process's arguments name, and ends the process by the bare system call: what a binary
// does at exit, such as a race report, takes time.
func Main(args []string) { syscall.Exit(run(args)) }

func run(args []string) int {
	if filepath.Base(os.Args[0]) == helper.Agent { // a link of that name
		return agent(args)
	}
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "sdd-eval-helper: this program is started by tests that use sdd-eval, not by people")
		return exitUsage
	}
	key, name, rest := args[0], args[1], args[2:]
	if key != helper.Key() {
		fmt.Fprintf(os.Stderr, "sdd-eval-helper: the helper has version %s; want version %s\n",
			helper.Key(), key)
		return exitVersion
	}
	program := programs[name]
	if program == nil {
		program = systemPrograms[name]
	}
	if program == nil {
		fmt.Fprintf(os.Stderr, "sdd-eval-helper: unknown program %q\n", name)
		return exitUsage
	}
	return program(rest)
}

func agent(args []string) int { return scripted.Main(args, os.Stdin, os.Stdout, os.Stderr) }

// check prints the key.
func check([]string) int {
	fmt.Println(helper.Key())
	return 0
}
