package cassette

import (
	"fmt"
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
