// Package session holds conversations with agents: with one that speaks the Agent Client Protocol, with a program that
// is started for each prompt, or with a cassette that plays what an agent did. What is above cannot tell which it is:
// each hands over the same turns and leaves the same files. Attempts, verdicts and cassette files belong in package
// engine.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/mock/mockdir"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Host is what all sessions of a run have in common.
type Host struct {
	// Version is sdd-eval's version, which the agent receives.
	Version string
	// Start starts a child that is confined.
	Start func(context.Context, supervise.Command, confine.Policy) (*supervise.Process, error)
	// Environ is the environment that agents' environments are made from, Getenv reads that of this process.
	Environ []string
	Getenv  func(string) string
	// Caches are those of the playbook. The agent's HOME is prepared for them.
	Caches []toolcache.Cache
	// TempDir is where a session makes directories beside those of its unit; empty: the system's.
	TempDir string
	Secrets *secret.Set
	// Grace is how long the end of an agent may take.
	Grace time.Duration
	// Watch, if not nil, is called with what agents do, from several goroutines.
	Watch func(Activity)
	// Confined says that what Start starts cannot reach files outside of its policy: that was measured.
	Confined bool

	// startChild starts an agent; nil: Start does.
	startChild func(context.Context, supervise.Command, confine.Policy) (child, error)
}

// Dirs are the directories of a session's unit.
type Dirs struct {
	Workspace string
	// Seen is the workspace's path as the agent sees it; empty: as we do.
	Seen string
	// Base has the others and is the agent's to write. Home and Tmp are the agent's.
	Base, Home, Tmp string
	// Check returns an error if something else has been put in the place of a directory.
	Check func() error
}

// seen is the workspace's path as the agent sees it.
func (d Dirs) seen() string { return cmp.Or(d.Seen, d.Workspace) }

// Config is what a session is made from. A replay needs Playbook, Unit, Recording and the workspace.
type Config struct {
	Host
	Playbook *plan.Playbook
	Unit     plan.Unit
	Profile  agent.Profile
	Launch   agent.Launch
	// Beside are the files beside the playbook that the agent and the MCP servers are made of: they may read them.
	Beside []string
	// Mocks play servers of the playbook's.
	Mocks mockdir.Set
	Dirs  Dirs
	// Prepared is what the workspace holds when the session begins.
	Prepared workspace.Manifest
	// Records says that the session's turns are to become a cassette, which leaves out what Exclusion does.
	Records   bool
	Exclusion *workspace.Exclusion
	// Recording is what is replayed; the zero value is nothing.
	Recording Recording
	Log       *Log
}

// Recording is a cassette to replay: as the whole session, or as the answers that an agent gets.
type Recording struct {
	Cassette *cassette.Cassette
	// Stale says that it was recorded from something else, and that this was allowed.
	Stale bool
	// Apply makes what a turn of a replay changed; nil: it is made in the workspace's directory, if there is one.
	Apply func(workspace.Delta) error
	// Next is the command that records it anew.
	Next string
}

// Identity says who answers in a session.
type Identity struct {
	Agent trajectory.Agent
	// Endpoint is "real" or "scripted": what the agent's model is.
	Endpoint string
	// Protocol is the version of the Agent Client Protocol, 0 if the agent does not speak it.
	Protocol int
}

// Session is a conversation with an agent. It is for one goroutine.
type Session struct {
	config Config
	with   conversation
	watch  watch
	turns  []cassette.Turn
	before *float64 // what it had cost before its last turn
	// tools stand between the agent and what it asks of others.
	tools tools
	// overrides are answers of the playbook's, which the agent gets, or the run if the agent uses tools of its own.
	overrides *interaction.Overrides
	ended     bool
	// account are warnings about the files of the agent's account.
	account []string
}

// conversation is how a session speaks with its agent.
type conversation interface {
	// prompt runs one turn. With an error, the turn has the events that people can read, if there are any.
	prompt(ctx context.Context, text string) (cassette.Turn, error)
	identity() Identity
	// leftOut is what the recording of the session does not keep of the workspace.
	leftOut() workspace.LeftOut
	// resync takes what others than the agent changed in the workspace.
	resync(ctx context.Context) error
	// warnings are what the agent did wrong on the wire that had no consequences, a line each, once it has ended.
	warnings() []string
	// close ends the conversation and adds to its last turn, nil if there was none, what the agent did after its
	// answer.
	close(ctx context.Context, last *cassette.Turn) error
}

// Start starts the unit's agent, by whatever it is driven.
func Start(ctx context.Context, c Config) (*Session, error) {
	s := newSession(c, c.Playbook.Cassette.OverridesOf(c.Unit))
	if c.Playbook.Cassette.Level.RunsAgent() {
		s.tools = newTools(&c, s.overrides)
	}
	start := startLive
	if c.Profile.Headless != nil {
		start = startHeadless
	}
	var err error
	if s.with, err = start(ctx, s); err != nil {
		_, lost := s.config.keepAccount()
		return nil, errors.Join(err, lost)
	}
	return s, nil
}

// Replay returns the session that a recording plays.
func Replay(c Config) *Session {
	overrides := c.Playbook.Cassette.OverridesOf(c.Unit)
	if c.Playbook.Cassette.Level.RunsAgent() {
		overrides = nil // the agent was given these answers: they are in what it did
	}
	s := newSession(c, overrides)
	player := cassette.NewPlayer(c.Recording.Cassette, c.Dirs.Workspace)
	player.AnyPrompt, player.Apply = c.Recording.Stale, c.Recording.Apply
	s.with = replay{player, c.Recording, c.Playbook.UnitTimeout()}
	return s
}

func newSession(c Config, overrides []plan.Override) *Session {
	return &Session{
		config: c, overrides: overridesOf(overrides), watch: watch{tell: c.Watch, now: Activity{Unit: c.Unit.ID()}},
	}
}

// Ask sends the agent prompts, one turn each, with nothing added. A turn that ends early, by the agent's will or by a
// limit, is the session's last.
func (s *Session) Ask(ctx context.Context, prompts []string) error {
	for _, text := range prompts {
		if s.over() {
			return nil
		}
		s.watch.note(func(a *Activity) {
			a.Iteration = len(s.turns) + 1
			s.before = a.Cost
		})
		turn, err := s.with.prompt(ctx, text)
		if err == nil || len(turn.Events) > 0 {
			s.turns = append(s.turns, turn)
		}
		if err != nil {
			return s.mayPass(err)
		}
		if err := s.CheckPermissions(); err != nil { // before more is paid for
			return err
		}
	}
	return nil
}

// Resync takes what others than the agent changed in the workspace since its last turn. The agent did not make these
// changes, and a replay makes them by doing the same steps again.
func (s *Session) Resync(ctx context.Context) error {
	if s.over() {
		return nil
	}
	return s.with.resync(ctx)
}

// over reports whether a turn ended early.
func (s *Session) over() bool {
	n := len(s.turns)
	return n > 0 && stopReason(s.turns[n-1].Events) != result.StopEndTurn
}

// Close ends the session, unless it has ended. A replayed one complains about turns that were not asked for.
func (s *Session) Close(ctx context.Context) error {
	if s.ended {
		return nil
	}
	s.ended = true
	var last *cassette.Turn
	if n := len(s.turns); n > 0 {
		last = &s.turns[n-1]
	}
	err := s.with.close(ctx, last)
	warnings, lost := s.config.keepAccount()
	s.account = warnings
	return errors.Join(err, lost)
}

// Warnings tell what the agent did wrong that had no consequences, a line each. It is called when the session has
// ended.
func (s *Session) Warnings() []string { return append(s.with.warnings(), s.account...) }

// Turns are those of the session, normalised. A session that did not begin, which is nil, has none.
func (s *Session) Turns() []cassette.Turn {
	if s == nil {
		return nil
	}
	return s.turns
}

// Cut reports whether the last turn was cut short so that [Session.Turns] lacks it, and what the session had cost by
// then in USD, by what the agent said in that turn; nil: it did not say.
func (s *Session) Cut() (usd *float64, cut bool) {
	if s == nil {
		return nil, false
	}
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	if usd = s.watch.now.Cost; usd == s.before {
		usd = nil
	}
	return usd, s.watch.now.Iteration > len(s.turns)
}

// Identity says who answers.
func (s *Session) Identity() Identity { return s.with.identity() }

// LeftOut is what the session's recording does not keep of the workspace. A session that did not begin, which is nil,
// leaves out nothing.
func (s *Session) LeftOut() workspace.LeftOut {
	if s == nil {
		return nil
	}
	if r := s.config.Recording.Cassette; r != nil {
		return r.Header.LeftOut
	}
	return s.with.leftOut()
}

// Run puts the turns together, with the playbook's answers in the place of the agent's own tools'. It is called once,
// when the session has ended.
func (s *Session) Run() *trajectory.Run {
	run := s.run()
	if !s.config.Playbook.Cassette.Level.RunsAgent() && len(s.overrides.All()) > 0 {
		override(run, s.overrides)
	}
	return run
}

// run returns the turns so far, as they were.
func (s *Session) run() *trajectory.Run {
	run := &trajectory.Run{Agent: s.Identity().Agent, Cwd: "$WORKSPACE"}
	events := 0
	for _, t := range s.turns {
		events += len(t.Events)
	}
	run.Events = slices.Grow(run.Events, events)
	for _, t := range s.turns {
		run.Events = append(run.Events, t.Events...)
	}
	return run
}

// Activity is what a unit's agent is doing, for people who watch.
type Activity struct {
	// Unit is the unit's id.
	Unit string
	// Iteration is the prompt that it works on, from 1.
	Iteration int
	// Tool is the tool call that it made last, empty if none yet.
	Tool string
	// Cost is what the session has cost so far in USD, nil if the agent does not say.
	Cost *float64
	// Pause says why the unit waits for its next attempt, and how long. It is empty while an agent is at work.
	Pause string
}

// watch reports one unit's activity.
type watch struct {
	tell func(Activity)

	mu  sync.Mutex // agents' updates come from another goroutine than their prompts
	now Activity
}

// note reports what has changed.
func (w *watch) note(change func(*Activity)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.now)
	if w.tell != nil {
		w.tell(w.now)
	}
}

// stopReason returns why a turn ended.
func stopReason(events []trajectory.Event) string {
	for _, e := range events {
		if s, ok := e.Body.(trajectory.Stop); ok {
			return s.Reason
		}
	}
	return ""
}

// replay is a session that a cassette plays.
type replay struct {
	player *cassette.Player
	Recording
	timeout time.Duration
}

func (r replay) prompt(ctx context.Context, text string) (cassette.Turn, error) {
	turn, err := r.player.Prompt(ctx, text)
	if err == nil {
		if failed := checkModel(turn.Events, r.timeout); failed != nil { // again and again
			err = fmt.Errorf("%s: nothing of the agent's was recorded: %v", r.Cassette.Path, failed)
		}
	}
	if err != nil && ctx.Err() == nil {
		err = fault.Advise(err, r.Next)
	}
	return turn, err
}

func (r replay) identity() Identity {
	h := r.Cassette.Header
	return Identity{Agent: h.Agent, Endpoint: h.Endpoint, Protocol: h.ProtocolVersion}
}

func (r replay) leftOut() workspace.LeftOut { return r.Cassette.Header.LeftOut }

func (replay) resync(context.Context) error { return nil }

func (replay) warnings() []string { return nil }

func (r replay) close(context.Context, *cassette.Turn) error {
	if err := r.player.End(); err != nil {
		return fault.Advise(err, r.Next)
	}
	return nil
}
