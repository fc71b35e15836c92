package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// Escape is one way out of a sandbox.
type Escape struct {
	Name string
	// Property is the property that a sandbox does not have if this escape works in it.
	Property confine.Property
	// Proof is how to tell that it worked.
	Proof Proof
	// Mark is the file outside that a proof [Changed] is about.
	Mark func(Target) string
	// Uncertain says why the escape may fail even where nothing confines it; empty if it always works there.
	Uncertain string
	// Alone means that the process may not survive to try another escape.
	Alone bool

	// try returns what it read, if reading is the point. No error means that nothing stopped it.
	try func(Target) (read string, err error)
}

// Proof is how to tell that an escape worked.
type Proof int

// The proofs.
const (
	// Said: the report says so. What the escape does can only work outside.
	Said Proof = iota
	// Secret: what was read holds [Target.Secret]'s value. That something could be read proves nothing: a sandbox may
	// have put other files there.
	Secret
	// Changed: the file at Escape.Mark is not what it was. A sandbox may have let the process change a file of its own
	// there.
	Changed
	// Stopped: the process that the escape aims at is stopped or has ended.
	Stopped
)

// Target describes what is outside the sandbox, and where the hostile process may work. Paths outside are absolute.
type Target struct {
	// Workspace is its own directory, which it may write; it may be relative to its working directory.
	Workspace string
	// Project, Home and Other are directories outside: the project's root, the user's home, the workspace of another
	// variant. In each there are a file [SecretFile] and what [Furnish] makes.
	Project, Home, Other string
	// Victim is a process outside, which has the secret in its environment, its arguments and in descriptor 3, and
	// whose working directory is Project. Stopper and Killer are there to be stopped and killed.
	Victim, Stopper, Killer int
	// UnixStream and UnixPacket are sockets outside, by path, and Abstract is the name of an abstract one. All sockets
	// here answer what they are sent, or who connects, with the secret. UnixDatagram answers into a socket that it is
	// sent.
	UnixStream, UnixPacket, UnixDatagram, Abstract string
	// TCP, TCP6, UDP and Host are addresses of sockets outside: on the loopback devices, and TCP on an address of the
	// machine's own. Empty: there is none.
	TCP, TCP6, UDP, Host string
	// Key is the description of a key in the user's keyring, and Memory the id of a segment of shared memory; both hold
	// the secret.
	Key    string
	Memory int
	// Terminal is a terminal outside, at which somebody is typing the secret.
	Terminal string
}

// SecretFile is the name of the file with the secret in directories outside.
const SecretFile = "credentials"

// Escapes returns all escapes, in an order in which none spoils a later one.
func Escapes() []Escape {
	all := slices.Concat(changes(), reads(), processes(), sockets(), privileges(), namespaces(), interfaces(), setIDs(),
		commands())
	return append(all, parents()...)
}

// in returns the mark of a file in one of the directories outside.
func in(dir func(Target) string, name string) func(Target) string {
	return func(t Target) string { return filepath.Join(dir(t), name) }
}

// directories are the places outside, by name.
var directories = []struct {
	name string
	of   func(Target) string
}{
	{"project", func(t Target) string { return t.Project }},
	{"home", func(t Target) string { return t.Home }},
	{"variant", func(t Target) string { return t.Other }},
}

// Name is the argv[0], or the end of it, that makes a binary with this package the hostile process.
const Name = "sdd-eval-hostile"

// Report is what the hostile process says about an escape.
type Report struct {
	Escape string `json:"escape"`
	// Done means that nothing stopped it.
	Done bool `json:"done"`
	// Error is what stopped it, and Errno the number if the error is the kernel's.
	Error string `json:"error,omitempty"`
	Errno int    `json:"errno,omitempty"`
	// Read is what it read, if reading is the point.
	Read string `json:"read,omitempty"`
}

// init makes this process the hostile one if it was started under [Name].
func init() {
	if len(os.Args) > 1 && filepath.Base(os.Args[0]) == Name {
		run(os.Args[1], os.Args[2:])
		syscall.Exit(0) // not os.Exit, at which the race detector waits a second
	}
}

// Args returns the arguments of a process that tries escapes.
func Args(t Target, escapes ...Escape) []string {
	args := []string{Name, "try", t.encode()}
	for _, e := range escapes {
		args = append(args, e.Name)
	}
	return args
}

func (t Target) encode() string {
	data, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(data)
}

// run is the hostile process.
func run(what string, args []string) {
	if what != "try" {
		tricks[what](args)
		return
	}
	var t Target
	if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		syscall.Exit(2)
	}
	out := json.NewEncoder(os.Stdout)
	all := Escapes()
	for _, name := range args[1:] {
		i := slices.IndexFunc(all, func(e Escape) bool { return e.Name == name })
		if err := out.Encode(all[i].attempt(t)); err != nil {
			syscall.Exit(3)
		}
	}
}

// patience is how long an escape may take. One that waits for an answer from outside gets none if it is confined.
const patience = 5 * time.Second

// attempt tries the escape.
func (e Escape) attempt(t Target) Report {
	done := make(chan Report, 1)
	go func() {
		read, err := e.try(t)
		r := Report{Escape: e.Name, Done: err == nil, Read: read}
		if err != nil {
			r.Error = err.Error()
		}
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			r.Errno = int(errno)
		}
		done <- r
	}()
	select {
	case r := <-done:
		return r
	case <-time.After(patience):
		return Report{Escape: e.Name, Error: "it took too long"}
	}
}

var counter atomic.Int64

// unique returns a word that no other process here uses.
func unique() string { return strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(counter.Add(1), 10) }
