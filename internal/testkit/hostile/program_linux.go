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
)

// Name is the argv[0], or the end of it, that makes a binary with this package the hostile process.
const Name = "sdd-eval-hostile"

// Report is what the hostile process says of an escape.
type Report struct {
	Escape string `json:"escape"`
	// Done means that nothing stopped it.
	Done bool `json:"done"`
	// Error is what did, and Errno its number if the kernel gave one.
	Error string `json:"error,omitempty"`
	Errno int    `json:"errno,omitempty"`
	// Read is what it read, if that was the point.
	Read string `json:"read,omitempty"`
}

// init makes this process the hostile one if that is what it was started as.
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

// patience is how long an escape may take: one that waits for an answer from outside waits in vain if it is confined.
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
