// Package cassette reads, writes and replays recordings of sessions: what an agent did, at the level of tools, readable
// in a review, and the same bytes for the same behaviour. It holds no answers of judges (package judgment), and it does
// not match the requests of an agent that runs with recorded answers (package interaction).
//
// A cassette is a file of JSON lines. The first is the header. Each turn begins with a line of its own, then come the
// turn's events, then what the turn changed in the workspace, one line per file. The last line but one has the times of
// all events, so that two recordings of the same behaviour differ in little else. The last has totals and checksums:
// from them Read knows that a file was truncated or edited, and at which line.
package cassette

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Version is the version of the format.
const Version = 1

// LevelRun is the level of cassettes that replay a whole session, without its agent.
const LevelRun = "run"

// levels are the levels that a cassette can have. At all but the first, an agent runs, and its requests are answered
// from the cassette.
var levels = []string{LevelRun, "client", "mcp", "client+mcp"}

// OriginRecorded is the origin of cassettes that were recorded from an agent.
const OriginRecorded = "recorded"

// OriginImported begins the origin of cassettes that were converted from another tool's record of a session, such as
// "imported from claude 2.1.316".
const OriginImported = "imported"

// Cassette is one recorded session.
type Cassette struct {
	// Path is the file that the cassette was read from, empty if there is none.
	Path string
	// Sum is the checksum of all lines but the last of the file that the cassette was read from, or written to. Two
	// recordings differ in it, even of the same behaviour: the header says when each was made.
	Sum    string
	Header Header
	Turns  []Turn

	deferred *deferred // nil: the contents of changed files are in Turns
}

// Large reports whether what changed is too much for memory, and was left in the file.
func (c *Cassette) Large() bool { return c.deferred != nil }

// Turn is the result of one prompt: the events, in order, and the changes to the workspace.
type Turn struct {
	Events []trajectory.Event
	Delta  workspace.Delta
}

// Header says what a cassette is a recording of.
type Header struct {
	Version int `json:"cassette"` // Write sets it
	// Level says what a replay takes from the cassette: [LevelRun], "client", "mcp" or "client+mcp".
	Level string `json:"level"`
	// Unit is playbook/case/variant/trial.
	Unit string `json:"unit"`
	// Origin says where the session comes from: [OriginRecorded] or a text that begins with [OriginImported]. The empty
	// origin means OriginRecorded.
	Origin string           `json:"origin"`
	Agent  trajectory.Agent `json:"agent"`
	// Endpoint is "real", or "scripted" if a test double played the model.
	Endpoint        string       `json:"endpoint"`
	ProtocolVersion int          `json:"protocol_version"`
	ClientVersion   string       `json:"client_version"`
	RecordedAt      time.Time    `json:"recorded_at"`
	Sandbox         string       `json:"sandbox"`
	Fingerprints    Fingerprints `json:"fingerprints"`
	// LeftOut is what the agent's workspace had and the cassette does not keep, besides what git ignores.
	LeftOut workspace.LeftOut `json:"left_out,omitempty"`
}

// Imported reports whether the cassette was converted from another tool's record. Then nothing is known of what the
// agent left in the workspace, nor of the session's inputs, except the prompts.
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

// stop returns the reason why the last turn ended, empty if it is unknown.
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

// check returns an error unless the turn has one prompt and one stop, as all turns of a finished session have.
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
		return fmt.Errorf("%s, want 1", excerpt.Count(prompts, "prompt"))
	case stops != 1:
		return fmt.Errorf("%s, want 1", excerpt.Count(stops, "stop"))
	}
	return nil
}

// MissingError says that there is no cassette. It is an [fs.ErrNotExist].
type MissingError struct{ Path string }

func (e *MissingError) Error() string { return fmt.Sprintf("%s: there is no such cassette", e.Path) }

// Unwrap returns [fs.ErrNotExist].
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// CorruptError says that a file is not what was recorded: it was truncated or edited, has another version, or is not a
// cassette.
type CorruptError struct {
	Path   string
	Line   int // 1-based; 0: unknown
	Reason string
}

// corruptf returns an error for a line of a cassette whose path the caller knows.
func corruptf(line int, format string, args ...any) *CorruptError {
	return &CorruptError{Line: line, Reason: fmt.Sprintf(format, args...)}
}

func (e *CorruptError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason)
}

// UnitError says that the header of a cassette names another unit than the one to be replayed.
type UnitError struct {
	Recorded, Wanted string // unit ids
}

func (e *UnitError) Error() string {
	return fmt.Sprintf("the cassette was recorded for %s, not for %s", e.Recorded, e.Wanted)
}

// StaleError says that inputs of a cassette have changed since it was recorded.
type StaleError struct {
	Path    string
	Changes []Change
}

func (e *StaleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stale cassette %s: these inputs changed after it was recorded:", e.Path)
	for _, c := range e.Changes {
		b.WriteString("\n  " + strings.ReplaceAll(c.String(), "\n", "\n  "))
	}
	return b.String()
}
