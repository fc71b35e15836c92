package transcript

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Unit is the unit that a session becomes the cassette of.
type Unit struct {
	// ID is playbook/case/variant/trial, and Kind that of the variant's agent.
	ID, Kind string
	// Dir is the directory that the session ran in, absolute, if its file does not say.
	Dir string
	// Patterns and Volatile are what the playbook and the kind of agent normalise, see [cassette.NewNormaliser].
	Patterns []*regexp.Regexp
	Volatile []string
	// Secrets are what the cassette may not show.
	Secrets *secret.Set
	// ClientVersion is our own version.
	ClientVersion string
	// Now is when the session counts as recorded if its file has no times.
	Now time.Time
}

// Cassette returns the session as the cassette of a unit, normalised and with secrets masked. Its header has no
// fingerprints, no sandbox and no endpoint: they are unknown. Masked tells that there were secrets.
func (s *Session) Cassette(u Unit) (c *cassette.Cassette, masked bool, err error) {
	c = &cassette.Cassette{Header: cassette.Header{
		Level: cassette.LevelRun, Unit: u.ID, Origin: fmt.Sprintf("%s from %s %s", cassette.OriginImported, s.Format, s.Version), Agent: s.Agent,
		ClientVersion: u.ClientVersion, RecordedAt: s.Start.UTC().Truncate(time.Second),
	}}
	c.Header.Agent.Kind = u.Kind
	if s.Start.IsZero() {
		c.Header.RecordedAt = u.Now.UTC().Truncate(time.Second)
	}
	if masked, err = mask(u.Secrets, &c.Header); err != nil {
		return nil, false, err
	}
	dir := s.Cwd
	if dir == "" {
		dir = u.Dir
	}
	n := cassette.NewNormaliser(map[string]string{dir: "$WORKSPACE"}, u.Patterns, u.Volatile)
	n.Session(s.ID)
	for _, events := range s.Turns {
		if len(events) == 0 {
			continue
		}
		shown, err := mask(u.Secrets, &events)
		if err != nil {
			return nil, false, err
		}
		masked = masked || shown
		c.Turns = append(c.Turns, cassette.Turn{Events: n.Events(events)})
	}
	return c, masked, nil
}

// Prompts returns what was asked, a turn each.
func (s *Session) Prompts() []string {
	var prompts []string
	for _, events := range s.Turns {
		for _, e := range events {
			if p, ok := e.Body.(trajectory.Prompt); ok {
				prompts = append(prompts, p.Text)
			}
		}
	}
	return prompts
}

// mask takes secrets out of a value that has a form in JSON, and reports whether there were any.
func mask[T any](secrets *secret.Set, v *T) (bool, error) {
	data, err := json.Marshal(*v)
	if err != nil {
		return false, fmt.Errorf("look for secrets in the session: %w", err)
	}
	clean := secrets.JSON(data)
	if string(clean) == string(data) {
		return false, nil
	}
	var masked T
	if err := json.Unmarshal(clean, &masked); err != nil {
		return false, fmt.Errorf("mask the secrets in the session: %w", err)
	}
	*v = masked
	return true, nil
}
