package cassette

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Version is the version of the format.
const Version = 1

// LevelRun is the level of cassettes that hold a whole session.
const LevelRun = "run"

// Cassette is one recorded session.
type Cassette struct {
	Header Header
	Turns  []Turn
}

// Turn is what came of one prompt: what happened, in order, and what it changed in the workspace.
type Turn struct {
	Events []trajectory.Event
	Delta  workspace.Delta
}

// Header says what a cassette is a recording of.
type Header struct {
	Version int    `json:"cassette"`
	Level   string `json:"level"`
	// Unit is playbook/case/variant/trial.
	Unit  string           `json:"unit"`
	Agent trajectory.Agent `json:"agent"`
	// Endpoint is what stood behind the agent: "real", or "scripted" where a test double played the model.
	Endpoint        string       `json:"endpoint"`
	ProtocolVersion int          `json:"protocol_version"`
	ClientVersion   string       `json:"client_version"`
	RecordedAt      time.Time    `json:"recorded_at"`
	Sandbox         string       `json:"sandbox"`
	Fingerprints    Fingerprints `json:"fingerprints"`
	// MaskedSecrets are the names of the secrets whose values were masked.
	MaskedSecrets []string `json:"masked_secrets,omitempty"`
}

// Path returns where a unit's cassette is: dir/playbook/case/variant.trial.jsonl. Playbook is the playbook's path below
// the module root, without extension, with slashes.
func Path(dir, playbook, caseID, variant string, trial int) string {
	return filepath.Join(dir, filepath.FromSlash(playbook), caseID, variant+"."+strconv.Itoa(trial)+".jsonl")
}

// CheckUnit returns an error if the cassette was recorded for another unit.
func (c *Cassette) CheckUnit(unit string) error {
	if c.Header.Unit == unit {
		return nil
	}
	return fmt.Errorf("the cassette was recorded for %s, not for %s", c.Header.Unit, unit)
}

// prompts returns the prompts of the session.
func (c *Cassette) prompts() []string {
	var prompts []string
	for _, t := range c.Turns {
		for _, e := range t.Events {
			if p, ok := e.Body.(trajectory.Prompt); ok {
				prompts = append(prompts, p.Text)
			}
		}
	}
	return prompts
}

// lastStop returns why the last turn ended, empty if that is unknown.
func (c *Cassette) lastStop() string {
	stop := ""
	for _, t := range c.Turns {
		for _, e := range t.Events {
			if s, ok := e.Body.(trajectory.Stop); ok {
				stop = s.Reason
			}
		}
	}
	return stop
}
