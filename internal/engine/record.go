package engine

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// save writes the cassette of a unit that was recorded, unless it ended in error: then nothing is known that could be
// replayed, and the old cassette stays.
func (a *attempt) save() error {
	s, ok := a.session.(*live)
	if !ok || a.cfg.Mode == Live || a.result.Outcome == result.Error {
		return nil
	}
	if err := checkLeak(a.turns, s.secrets); err != nil {
		return err
	}
	c := &cassette.Cassette{Header: a.header(s), Turns: a.turns}
	if err := cassette.Write(a.cassettePath(), c); err != nil {
		return fmt.Errorf("write the cassette: %w", err)
	}
	a.result.Session = a.relCassettePath()
	return nil
}

func (a *attempt) header(s *live) cassette.Header {
	h := cassette.Header{
		Unit: a.unit.ID(), Level: cassette.LevelRun, ProtocolVersion: s.protocol, ClientVersion: version, RecordedAt: a.now().UTC().Truncate(time.Second),
		Sandbox: "none", Fingerprints: a.fingerprints(),
	}
	h.Agent, h.Endpoint = s.Agent()
	return h
}

func (a *attempt) cassettePath() string {
	file := strings.TrimSuffix(a.pb.File, filepath.Ext(a.pb.File))
	return cassette.Path(a.cassettes(), file, a.unit.Case.ID, a.unit.Variant.ID, a.unit.Trial)
}

// relCassettePath is the path for people.
func (a *attempt) relCassettePath() string {
	path := a.cassettePath()
	if rel, err := filepath.Rel(a.cfg.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
