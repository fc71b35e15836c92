package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// goesLive reports whether the unit's session is to be with an agent.
func (a *attempt) goesLive() bool {
	return a.cfg.Mode == Live || a.cfg.Mode == Record || a.cfg.Mode == Missing && !cassette.Exists(a.cassettePath())
}

// openSession starts the unit's session, live or from its cassette.
func (a *attempt) openSession(ctx context.Context) error {
	if a.live {
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
	return replay{player, c, a.cfg.RecordCommand(a.unit)}, nil
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
	player *cassette.Player
	from   *cassette.Cassette
	next   string // the command that records it anew
}

func (r replay) Prompt(ctx context.Context, text string) (cassette.Turn, error) {
	turn, err := r.player.Prompt(ctx, text)
	if err != nil && ctx.Err() == nil {
		err = advised{err, r.next}
	}
	return turn, err
}

func (r replay) Agent() (trajectory.Agent, string) {
	return r.from.Header.Agent, r.from.Header.Endpoint
}

func (r replay) Close(context.Context) error {
	if err := r.player.End(); err != nil {
		return advised{err, r.next}
	}
	return nil
}

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
		Steps: a.setupSteps(), Commands: a.pb.Sandbox.AllowCommands, Variables: a.pb.Env.Pass,
		Workspace: cassette.FilesOf(a.manifest),
	}
}

// setupSteps are the commands that run before the agent's last prompt: it sees what they leave.
func (a *attempt) setupSteps() []string {
	var setup, commands []string
	for _, s := range a.unit.Steps {
		switch {
		case s.Run != "" && s.Cwd != "":
			commands = append(commands, s.Run+" (in "+s.Cwd+")")
		case s.Run != "":
			commands = append(commands, s.Run)
		case s.Uses == playbook.ActionPrompt:
			setup = slices.Clone(commands)
		}
	}
	return setup
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
