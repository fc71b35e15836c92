// Package cassette keeps what an agent did: at the level of tools, readable in a review, and the same bytes for the same
// behaviour.
//
// A cassette is a file of JSON lines. The first is the header. Each turn begins with a line of its own, then come the
// turn's events, then what the turn changed in the workspace, one line per file. The last line but one has the times of
// all events, so that two recordings of the same behaviour differ in little else. The last has totals and checksums, by
// which Read recognises a file that was cut or edited and can name the line.
package cassette

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Version is the version of the format.
const Version = 1

// LevelRun is the level of cassettes that replay a whole session, without its agent.
const LevelRun = "run"

// levels are those that a cassette can be of. At all but the first, an agent runs and is answered what it asks.
var levels = []string{LevelRun, "client", "mcp", "client+mcp"}

// OriginRecorded is the origin of cassettes that were recorded from an agent.
const OriginRecorded = "recorded"

// OriginImported begins the origin of cassettes that were made of what an agent or another tool kept of a session:
// "imported from claude 2.1.316".
const OriginImported = "imported"

// Cassette is one recorded session.
type Cassette struct {
	// Path is the file it was read from, empty if it was not.
	Path   string
	Header Header
	Turns  []Turn

	deferred *deferred // nil: the contents of changed files are here
}

// Turn is the result of one prompt: what happened, in order, and what it changed in the workspace.
type Turn struct {
	Events []trajectory.Event
	Delta  workspace.Delta
}

// check holds that a turn has one prompt and one end: what a session that was recorded to its end has.
func (t Turn) check() error {
	prompts, stops := 0, 0
	for _, e := range t.Events {
		switch e.Body.(type) {
		case trajectory.Prompt:
			prompts++
		case trajectory.Stop:
			stops++
		}
	}
	switch {
	case prompts != 1:
		return fmt.Errorf("it has %s instead of one", count(prompts, "prompt", "prompts"))
	case stops != 1:
		return fmt.Errorf("it has %s instead of one", count(stops, "stop", "stops"))
	}
	return nil
}

// Header says what a cassette is a recording of.
type Header struct {
	Version int `json:"cassette"` // Write sets it
	// Level is what a replay takes from the cassette: [LevelRun], "client", "mcp" or "client+mcp".
	Level string `json:"level"`
	// Unit is playbook/case/variant/trial.
	Unit string `json:"unit"`
	// Origin is where the session comes from: [OriginRecorded], or what [OriginImported] begins; empty: OriginRecorded.
	Origin string           `json:"origin"`
	Agent  trajectory.Agent `json:"agent"`
	// Endpoint is what stood behind the agent: "real", or "scripted" where a test double played the model.
	Endpoint        string       `json:"endpoint"`
	ProtocolVersion int          `json:"protocol_version"`
	ClientVersion   string       `json:"client_version"`
	RecordedAt      time.Time    `json:"recorded_at"`
	Sandbox         string       `json:"sandbox"`
	Fingerprints    Fingerprints `json:"fingerprints"`
}

// Imported reports whether nobody recorded the session. Then nothing is known of the workspace and of what the session
// depended on, its prompts excepted.
func (h Header) Imported() bool { return strings.HasPrefix(h.Origin, OriginImported+" ") }

// CheckUnit returns a [*UnitError] if the cassette was recorded for another unit.
func (c *Cassette) CheckUnit(unit string) error {
	if c.Header.Unit != unit {
		return &UnitError{Recorded: c.Header.Unit, Wanted: unit}
	}
	return nil
}

// prompt returns the turn's prompt.
func (t Turn) prompt() string {
	for _, e := range t.Events {
		if p, ok := e.Body.(trajectory.Prompt); ok {
			return p.Text
		}
	}
	return ""
}

// stop returns why the last turn ended, empty if that is unknown.
func (c *Cassette) stop() string {
	reason := ""
	for _, t := range c.Turns {
		for _, e := range t.Events {
			if s, ok := e.Body.(trajectory.Stop); ok {
				reason = s.Reason
			}
		}
	}
	return reason
}

// MissingError says that there is no cassette. It is an [fs.ErrNotExist].
type MissingError struct{ Path string }

func (e *MissingError) Error() string { return fmt.Sprintf("%s: there is no such cassette", e.Path) }

// Unwrap returns [fs.ErrNotExist].
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// CorruptError says that a file is not what was recorded: it was cut, edited, is of another version, or never was a
// cassette.
type CorruptError struct {
	Path   string
	Line   int // 1-based; 0: unknown
	Reason string
}

func (e *CorruptError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason)
}

// UnitError says that a cassette, in its first line, is that of another unit than the one to be replayed.
type UnitError struct {
	Recorded, Wanted string // unit ids
}

func (e *UnitError) Error() string {
	return fmt.Sprintf("the cassette was recorded for %s, not for %s", e.Recorded, e.Wanted)
}

// StaleError says that a cassette was recorded from something else than what the playbook says now.
type StaleError struct {
	Path    string
	Changes []Change
}

func (e *StaleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stale cassette %s: since it was recorded there changed", e.Path)
	for _, c := range e.Changes {
		b.WriteString("\n  " + strings.ReplaceAll(c.String(), "\n", "\n  "))
	}
	return b.String()
}
