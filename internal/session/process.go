package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// processSession is what sessions with agents' processes have in common, whatever they speak: a workspace whose changes
// belong to turns, and limits.
type processSession struct {
	*Config
	watch *watch
	tools *tools

	manifest workspace.Manifest // after the last turn
	before   workspace.Manifest // before the last turn

	who       Identity
	normalise *cassette.Normaliser

	stderr *stderrWriter
	spent  Spending
	left   workspace.LeftOut
	// lost says that the session cannot become a recording any more.
	lost bool

	// sure reports, with each tool call, whether the verdict of all evaluators is sure; nil: the session goes on.
	sure func(trajectory.Body) bool

	deadline time.Time // of the session, by the playbook's limit
	// overdue returns what kept the session until its deadline, nil if that is the agent.
	overdue func() error

	interrupter
}

// limitReached is why a turn ended for which the agent gives no stop reason: a limit of ours, or of its model's.
type limitReached struct{ name string }

func (l limitReached) Error() string { return "limit reached: " + l.name }

// newProcessSession returns the session before it begins. Paths are those that its agent may come across beside its
// workspace, home and temporary directory, with their names in recordings.
func newProcessSession(of *Session, paths map[string]string) processSession {
	c := &of.config
	named := map[string]string{c.Dirs.seen(): "$WORKSPACE", c.Dirs.Home: "$HOME", c.Dirs.Tmp: "$TMPDIR"}
	maps.Copy(named, paths)
	n := cassette.NewNormaliser(named, c.Profile.Patterns(c.Playbook.Cassette.Normalise), c.Profile.Volatile)
	n.Also(c.Dirs.Workspace, "$WORKSPACE")
	var sure func(trajectory.Body) bool
	if c.Playbook.Limits.Until == plan.UntilDecided {
		sure = c.Unit.Watch()
	}
	return processSession{
		Config: c, sure: sure, watch: &of.watch, tools: &of.tools, manifest: c.Prepared,
		who: Identity{
			Agent:    trajectory.Agent{Kind: c.Profile.Kind, Model: c.Unit.Variant.Agent.Model},
			Endpoint: c.Launch.Endpoint,
		},
		normalise: n,
	}
}

// identity implements [conversation].
func (s *processSession) identity() Identity { return s.who }

// turn has do speak with the agent until the turn is over, or its context is. It returns the limit that ended the turn,
// empty if none did.
func (s *processSession) turn(ctx context.Context, do func(context.Context) error) (limit string, err error) {
	turn, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	if err := s.setInterrupt(interrupt); err != nil {
		return "", err
	}
	defer s.endInTime(interrupt)()
	err = do(turn)
	_ = s.setInterrupt(nil) // what comes now, the next turn tells, or the end
	cause := context.Cause(turn)
	if reached, ok := errors.AsType[limitReached](cmp.Or(cause, err)); ok {
		return reached.name, nil
	}
	if cause != nil { // the run was cancelled, or the agent did what the playbook declares an error
		return "", cause
	}
	return "", err
}

// endInTime ends a turn at the session's deadline, unless it is stopped.
func (s *processSession) endInTime(interrupt context.CancelCauseFunc) (stop func() bool) {
	end := func() {
		var why error = limitReached{result.StopTimeout}
		if s.overdue != nil { // asked first: an agent that is interrupted waits for nothing any more
			why = cmp.Or(panics.Catch(s.overdue), why)
		}
		interrupt(why)
	}
	left := time.Until(s.deadline)
	if left <= 0 {
		end()
	}
	return time.AfterFunc(left, end).Stop
}

// plugins are the directories of the plugins of which the agent is told, as it sees them.
func (s *processSession) plugins() []string {
	var dirs []string
	for _, place := range s.Playbook.PluginsOf(s.Unit.Variant) {
		dirs = append(dirs, filepath.Join(s.Dirs.seen(), filepath.FromSlash(place)))
	}
	return dirs
}

// leftOut implements [conversation].
func (s *processSession) leftOut() workspace.LeftOut { return s.left }

// settle takes what the turn changed in the workspace. With an error, the turn has its events.
func (s *processSession) settle(ctx context.Context, events []trajectory.Event) (cassette.Turn, error) {
	if err := checkModel(events, s.Playbook.UnitTimeout()); err != nil {
		return cassette.Turn{Events: s.normalise.Events(events)}, s.advise(err)
	}
	s.spent.Add(events)
	limits := s.Playbook.Limits
	limit, err := s.spent.exceeded(limits.MaxTokens, limits.MaxCostUSD)
	if whole := stopReason(events) == result.StopEndTurn; err != nil && whole {
		// A turn that was cut short may be one that has nothing to report.
		return cassette.Turn{Events: s.normalise.Events(events)}, err
	}
	if limit != "" {
		events = endedBy(events, limit, 0)
	}
	turn := cassette.Turn{Events: s.normalise.Events(events)}
	if err := s.checkServers(); err != nil {
		return turn, err
	}
	after, delta, err := s.changes(ctx, s.manifest, s.Playbook.Cassette.MaxDelta)
	if err != nil {
		return turn, err
	}
	s.before, s.manifest, turn.Delta = s.manifest, after, delta
	return turn, nil
}

// advise says what a person can do about an outage of the agent's model.
func (s *processSession) advise(err error) error {
	if fault.Advice(err) != "" {
		return err // it is about the account
	}
	v := s.Unit.Variant
	account := "the agent's account"
	if v.Agent.Preset != "" {
		account = fmt.Sprintf("preset %q", v.Agent.Preset)
	}
	return fault.Advise(err, fmt.Sprintf("see that the model of %s answers (%s), then run the unit again",
		v.AgentAt(), account))
}

// noteModes notes the modes that the agent has changed to.
func (s *processSession) noteModes(modes []string) {
	for _, mode := range modes {
		s.who.Agent.Modes = addMode(s.who.Agent.Modes, mode)
	}
}

// resync implements [conversation].
func (s *processSession) resync(ctx context.Context) error {
	after, _, err := s.changes(ctx, s.manifest, math.MaxInt64)
	if err != nil {
		return err
	}
	s.manifest = after
	return nil
}

// complete adds to the session's last turn what the agent did after its answer, now that it is gone.
func (s *processSession) complete(ctx context.Context, last *cassette.Turn, late []trajectory.Event) error {
	last.Events = append(last.Events, s.normalise.Events(late)...)
	var err error
	_, last.Delta, err = s.changes(ctx, s.before, s.Playbook.Cassette.MaxDelta)
	return errors.Join(err, s.setInterrupt(nil))
}

// changes returns what the workspace holds and how that differs from before, for a recording. Where none is made nobody
// asks, and the workspace may hold what no cassette could.
func (s *processSession) changes(
	ctx context.Context, before workspace.Manifest, limit int64,
) (workspace.Manifest, workspace.Delta, error) {
	if err := s.Dirs.Check(); err != nil || !s.Records && !s.Playbook.Forbids() || s.lost {
		return before, workspace.Delta{}, err
	}
	after, d, err := workspace.Changes(ctx, s.Dirs.Workspace, before, limit, s.Exclusion)
	if err != nil {
		s.lost = true
		return before, d, s.tooLarge(err)
	}
	s.left = s.left.Add(after.LeftOut)
	return after, d, nil
}

// tooLarge advises on changes that are too large to be recorded.
func (s *processSession) tooLarge(err error) error {
	if _, ok := errors.AsType[*workspace.TooLargeError](err); !ok {
		return err
	}
	return fault.Advise(err, fmt.Sprintf("write `cassette: {exclude: [...]}` in %s with globs of what no evaluator "+
		"looks at, or raise cassette.max_delta", s.Playbook.File))
}

// endedBy says that a limit ended the turn at that time, whatever the agent made of being cancelled.
func endedBy(events []trajectory.Event, limit string, at time.Duration) []trajectory.Event {
	for i, e := range events {
		if stop, ok := e.Body.(trajectory.Stop); ok {
			stop.Reason = limit
			events[i].Body = stop
			return events
		}
	}
	stop := trajectory.Event{Turn: 1, At: at, Body: trajectory.Stop{Reason: limit}}
	if n := len(events); n > 0 {
		stop.Turn, stop.At = events[n-1].Turn, max(at, events[n-1].At)
	}
	return append(events, stop)
}

func (s *processSession) countCall(total int) {
	if limit := s.Playbook.Limits.MaxToolCalls; limit > 0 && total > limit {
		s.interruptTurn(limitReached{result.StopToolCalls})
	}
}

// told is called with each tool call and each request to an MCP server, as they become known, one after the other.
func (s *processSession) told(b trajectory.Body) {
	if s.sure != nil && s.sure(b) {
		s.interruptTurn(limitReached{result.StopDecided})
	}
}

// interrupter ends turns for reasons that are found on other goroutines.
type interrupter struct {
	mu sync.Mutex
	// interrupt ends the current turn and says why, nil between turns.
	interrupt context.CancelCauseFunc
	// broken is what should have ended a turn when there was none.
	broken error
}

// setInterrupt says how to end the turn that begins, nil that it has ended. It returns what should have ended one
// before.
func (i *interrupter) setInterrupt(f context.CancelCauseFunc) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.interrupt = f
	return i.broken
}

// interruptTurn ends the current turn for a reason. Without a turn, a limit has nothing to end, and any other reason
// ends the next.
func (i *interrupter) interruptTurn(why error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, isLimit := errors.AsType[limitReached](why)
	switch {
	case i.interrupt != nil:
		i.interrupt(why)
	case i.broken == nil && !isLimit:
		i.broken = why
	}
}

// usd is the currency of limits.max_cost_usd.
const usd = "USD"

// Spending adds up what a session's turns have used. Nil is unknown.
type Spending struct {
	Tokens *int64
	Cost   *trajectory.Cost
}

// Add takes a turn's events.
func (s *Spending) Add(events []trajectory.Event) {
	for _, e := range events {
		switch b := e.Body.(type) {
		case trajectory.Stop:
			s.Tokens = result.Plus(s.Tokens, totalTokens(b.Usage))
		case trajectory.State:
			if b.Cost != nil {
				s.Cost = b.Cost // it is the session's
			}
		}
	}
}

// totalTokens returns all tokens of a turn: the total that the agent reports, else the sum of its counts.
func totalTokens(u *trajectory.Usage) *int64 {
	switch {
	case u == nil:
		return nil
	case u.Total != nil:
		return u.Total
	}
	var sum *int64
	for _, n := range []*int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Thought} {
		sum = result.Plus(sum, n)
	}
	return sum
}

// exceeded returns the limit that the session has reached, empty if none. A limit that what the agent reports cannot
// support is an error: it would be no limit.
func (s Spending) exceeded(tokens int64, costUSD float64) (string, error) {
	switch {
	case tokens > 0 && s.Tokens == nil:
		return "", fault.Advise(
			fmt.Errorf("limits.max_tokens: the limit %d cannot be enforced: the agent does not report its tokens",
				tokens),
			"remove limits.max_tokens, or bound the unit by timeout and max_tool_calls",
		)
	case costUSD > 0 && (s.Cost == nil || s.Cost.Currency != usd):
		return "", fault.Advise(
			fmt.Errorf(
				"limits.max_cost_usd: the limit %v cannot be enforced: the agent does not report its cost in USD",
				costUSD),
			"remove limits.max_cost_usd, or bound the unit by timeout and max_tool_calls",
		)
	case tokens > 0 && *s.Tokens > tokens:
		return result.StopTokenLimit, nil
	case costUSD > 0 && s.Cost.Amount > costUSD:
		return result.StopCostLimit, nil
	}
	return "", nil
}
