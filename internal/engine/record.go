package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// mode is where this unit's session comes from: [Replay] or [Live].
func (a *attempt) mode() Mode {
	if a.cfg.Mode == Replay || a.cfg.Mode == Missing && cassette.Exists(a.cassettePath()) {
		return Replay
	}
	return Live
}

// openSession starts the unit's session, live or from its cassette.
func (a *attempt) openSession(ctx context.Context) error {
	if a.mode() == Live {
		s, err := startLive(ctx, a)
		if err != nil {
			return err
		}
		a.session = s
		return nil
	}
	a.result.Session, a.result.Replayed = a.relCassettePath(), true
	s, err := a.openReplay()
	if err != nil {
		return advised{err, a.cfg.RecordCommand(a.unit)}
	}
	a.session = s
	return nil
}

// openReplay opens the unit's cassette and refuses it if it was recorded from something else than what the playbook
// says now.
func (a *attempt) openReplay() (session, error) {
	c, err := cassette.Read(a.cassettePath())
	if err != nil {
		return nil, a.shorten(err)
	}
	if err := c.CheckUnit(a.unit.ID()); err != nil {
		return nil, fmt.Errorf("%s:1: %w", a.relCassettePath(), err)
	}
	c.Path = a.relCassettePath()
	player := cassette.NewPlayer(c, a.dirs.workspace)
	if changes := c.Stale(a.fingerprints(), a.prompts()); len(changes) > 0 {
		err := &cassette.StaleError{Path: c.Path, Changes: changes}
		if a.cfg.Stale != StaleWarns {
			return nil, err
		}
		a.result.Warnings = append(a.result.Warnings, err.Error())
		player.AnyPrompt = true
	}
	return replay{player, c}, nil
}

// prompts are all that the unit's steps ask of the agent, in order.
func (a *attempt) prompts() []string {
	var prompts []string
	for _, s := range a.unit.Steps {
		if s.Uses == playbook.ActionPrompt {
			prompts = append(prompts, a.unit.Case.Prompts...)
		}
	}
	return prompts
}

// shorten names the cassette in an error as people know it.
func (a *attempt) shorten(err error) error {
	if missing, ok := errors.AsType[*cassette.MissingError](err); ok {
		missing.Path = a.relCassettePath()
	}
	if corrupt, ok := errors.AsType[*cassette.CorruptError](err); ok {
		corrupt.Path = a.relCassettePath()
	}
	return err
}

// replay is a session that a cassette plays.
type replay struct {
	*cassette.Player
	from *cassette.Cassette
}

func (r replay) Agent() (trajectory.Agent, string) {
	return r.from.Header.Agent, r.from.Header.Endpoint
}

func (r replay) Close(context.Context) error { return r.End() }

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

// fingerprints are what a recording of the unit depends on, its prompts excepted.
func (a *attempt) fingerprints() cassette.Fingerprints {
	v := a.unit.Variant.Agent
	return cassette.Fingerprints{
		Kind: v.Kind, Command: v.Command, Args: v.Args, Model: v.Model, Mode: v.Mode,
		Permissions: permissionLines(a.pb.Permissions), Timeout: a.timeout().String(), ToolCalls: a.pb.Limits.MaxToolCalls,
		Workspace: cassette.FilesOf(a.manifest),
	}
}

// permissionLines writes permissions a line a rule, as a diff of them is read.
func permissionLines(p playbook.Permissions) []string {
	lines := make([]string, 0, len(p.Rules)+1)
	for _, r := range p.Rules {
		lines = append(lines, fmt.Sprintf("tool %s, path %s: %s", orAny(r.Tool), orAny(r.Path), r.Decide))
	}
	return append(lines, "default: "+string(p.Default))
}

func orAny(s string) string {
	if s == "" {
		return "any"
	}
	return s
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
