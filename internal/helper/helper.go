// Package helper finds the program that works beside an agent: it supervises children, relays to MCP servers, and does
// what else the constants name. It is a program of its own, and not the user's test binary started again, so no child
// runs the init functions of a user's packages.
//
//	p, err := helper.Find()
//	...
//	argv := p.Command(helper.Relay, socket)
//
// The command sdd-eval is its own helper and declares that by [Self]. A test finds one in this order:
//
//  1. the file that EVALTEST_HELPER names
//  2. the file sdd-eval-helper beside the test binary
//  3. the user's cache
//  4. the go command, which builds it in the user's module, for the cache
//
// A helper that was not built from the same sources as this package is an error.
package helper

import (
	"os"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// The programs that the helper is. Each constant is the first argument, and its comment names those that follow.
const (
	Supervisor = "supervisor" // none; see package supervise
	Prober     = "prober"     // none; see package probe
	Relay      = "mcp-relay"  // the socket; see package relay
	GoCache    = "go-cache"   // the directory to read, and the one to write; see package gocache
	Hook       = "hook"       // the phase; see package hook
	Agent      = "fake-acp"   // the script, or nothing; see package scripted

	Check = "check" // none; prints [Key]
)

// Word is the argument that makes sdd-eval the helper. It stands in front of all others.
const Word = "helper"

// Program is a helper that was found.
type Program struct {
	// Path is its file, absolute.
	Path string

	first  []string // the arguments in front of the key
	remedy string   // what a person can do if it does not work
}

// Command returns the command line that starts the helper as one of its programs: Path, the key, by which the helper
// sees that it is the right one, and args.
func (p Program) Command(args ...string) []string {
	return slices.Concat([]string{p.Path}, p.first, []string{Key()}, args)
}

// Failed marks err as the helper's own fault, and says what a person can do: that depends on where the helper was found.
func (p Program) Failed(err error) error { return &Error{fault.Advise(err, p.remedy)} }

// Error is an error of the helper: there is none, or it does not work. [fault.Advice] returns what a person can do.
type Error struct{ error }

func (e *Error) Unwrap() error { return e.error }

// self is this process's own program, if that is the helper.
var self Program

// Self declares that this process's program is the helper if [Word] is its first argument. Only its main calls it.
func Self() {
	if path, err := os.Executable(); err == nil {
		self = Program{Path: path, first: []string{Word}}
	}
}

// Find returns the helper. A process looks for it once, when something first needs it. The error is an [Error].
func Find() (Program, error) {
	if self.Path != "" {
		return self, nil
	}
	return found()
}

var found = sync.OnceValues(func() (Program, error) { return here.find(os.Getenv(variable)) })
