package confine

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/confine/probe"
)

// Property is something that a process outside its policy cannot do.
type Property = probe.Property

// The properties, in the order in which they are shown; see those of package probe.
const (
	FilesRead    = probe.FilesRead
	FilesWritten = probe.FilesWritten
	FileModes    = probe.FileModes
	Terminals    = probe.Terminals
	Processes    = probe.Processes
	Sockets      = probe.Sockets
	Network      = probe.Network
	Forks        = probe.Forks
)

// Properties returns all properties.
func Properties() []Property {
	return []Property{FilesRead, FilesWritten, FileModes, Terminals, Processes, Sockets, Network, Forks}
}

// Held is what a sandbox was found to hold.
type Held struct {
	Kind Kind `json:"kind"`
	// Version is that of what confines, e.g. "0.8.0" or "ABI 7"; empty: none is known.
	Version string `json:"version,omitempty"`
	// Holds are the properties that held when they were tried, Open those that did not.
	Holds []Property `json:"holds"`
	Open  []Property `json:"open"`
	// PassedOver are the reasons why [Auto] did not take stronger kinds.
	PassedOver []string `json:"passed_over,omitempty"`
}

// String tells the kind and version, and what it leaves open; "unused" for the zero value, of a run that starts nothing to
// confine.
func (h Held) String() string {
	if h.Kind == "" {
		return "unused"
	}
	s := string(h.Kind)
	if h.Version != "" {
		s += " " + h.Version
	}
	if h.Kind == None || len(h.Open) == 0 {
		return s
	}
	open := make([]string, len(h.Open))
	for i, p := range h.Open {
		open[i] = string(p)
	}
	return fmt.Sprintf("%s (open: %s)", s, strings.Join(open, ", "))
}
