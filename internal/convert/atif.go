package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/convert/atif"
)

func readATIF(path string, o Options) (*Session, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := atif.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s, err := fromATIF(t, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// fromATIF returns the session that a trajectory describes.
func fromATIF(t *atif.Trajectory, o Options) (*Session, error) {
	read := readForeign
	if t.Extra[extraKey] != nil {
		read = readExported
	}
	s, err := read(t, o)
	if err != nil {
		return nil, err
	}
	s.Format, s.Version, s.ID = ATIF, strings.TrimPrefix(t.SchemaVersion, "ATIF-v"), cmp.Or(s.ID, t.SessionID)
	return s, nil
}

// atifReader reads a trajectory that another tool wrote.
type atifReader struct {
	*builder
	agents map[string]*atif.Trajectory // embedded ones by id; nil: it was read
	prefix string                      // of the ids of calls; empty: those of the session's own agent
	spent  [][]*atif.Metrics           // of the agent's steps that asked a model, by turn; nil: unknown
	asked  bool                        // the agent has not acted since the user did
}

func readForeign(t *atif.Trajectory, o Options) (*Session, error) {
	if t.ContinuedIn != "" {
		return nil, fmt.Errorf("the session continues in %s: only whole sessions can be judged", t.ContinuedIn)
	}
	r := &atifReader{builder: newBuilder(), agents: make(map[string]*atif.Trajectory)}
	for i := range t.Subagents {
		r.agents[t.Subagents[i].TrajectoryID] = &t.Subagents[i]
	}
	for i := range t.Steps {
		if err := r.step(&t.Steps[i]); err != nil {
			return nil, fmt.Errorf("steps[%d]: %w", i, err)
		}
	}
	if err := r.mentioned(); err != nil {
		return nil, err
	}
	r.spend(t.FinalMetrics)
	s, err := r.session(o.Stop)
	if err != nil {
		return nil, err
	}
	s.Agent = trajectory.Agent{Name: t.Agent.Name, Version: t.Agent.Version, Model: t.Agent.ModelName}
	return s, nil
}

// mentioned returns an error if no step refers to an embedded trajectory, so that it was not read.
func (r *atifReader) mentioned() error {
	for _, id := range slices.Sorted(maps.Keys(r.agents)) {
		if r.agents[id] != nil {
			return fmt.Errorf("no step refers to the subagent trajectory %q", id)
		}
	}
	return nil
}

// step adds a step of the session's own agent.
func (r *atifReader) step(s *atif.Step) error {
	if s.Copied {
		return errors.New("the step is copied from an earlier trajectory: only whole sessions can be judged")
	}
	at, err := stepTime(s)
	if err != nil {
		return err
	}
	switch s.Source {
	case atif.User:
		r.user(at, contentText(&s.Message))
	case atif.System:
		r.note(at, trajectory.Notice{Name: "system", Data: contentText(&s.Message)})
	case atif.FromAgent:
		if err := r.agent(at, s); err != nil {
			return err
		}
	}
	return r.results(at, s)
}

func stepTime(s *atif.Step) (time.Time, error) {
	if s.Timestamp == "" {
		return time.Time{}, nil
	}
	return atif.Time(s.Timestamp)
}

// contentText returns the texts, a line each, and the paths of images and audio.
func contentText(c *atif.Content) string {
	if c == nil {
		return ""
	}
	if c.Parts == nil {
		return c.Text
	}
	texts := make([]string, len(c.Parts))
	for i, p := range c.Parts {
		if texts[i] = p.Text; p.Source != nil {
			texts[i] = "[" + p.Type + " " + p.Source.Path + "]"
		}
	}
	return strings.Join(texts, "\n")
}

// user begins a turn. What the user says in several steps, one after the other, is one prompt.
func (r *atifReader) user(at time.Time, text string) {
	if r.asked {
		t := r.turn()
		for i := range t.events {
			if p, ok := t.events[i].Body.(trajectory.Prompt); ok {
				t.events[i].Body = trajectory.Prompt{Text: p.Text + "\n\n" + text}
			}
		}
		return
	}
	r.asked = true
	r.prompt(at, text)
	r.spent = append(r.spent, nil)
}

// agent adds what the agent thought, said and called.
func (r *atifReader) agent(at time.Time, s *atif.Step) error {
	r.asked = false
	if s.ReasoningContent != "" {
		if err := r.act(at, trajectory.Thought{Text: s.ReasoningContent}); err != nil {
			return err
		}
	}
	if text := contentText(&s.Message); text != "" {
		if err := r.act(at, trajectory.Message{Text: text}); err != nil {
			return err
		}
	}
	for _, c := range s.ToolCalls {
		if err := r.call(at, newCall(r.prefix+c.ID, c.Function, c.Arguments)); err != nil {
			return err
		}
	}
	if r.turn() == nil {
		return errors.New("the agent acts before the first prompt")
	}
	if n := s.LLMCalls; n == nil || *n > 0 {
		turn := &r.spent[len(r.spent)-1]
		*turn = append(*turn, s.Metrics)
	}
	return nil
}

// results adds the results of a step.
func (r *atifReader) results(at time.Time, s *atif.Step) error {
	if s.Observation == nil {
		return nil
	}
	for _, res := range s.Observation.Results {
		if err := r.delegated(res.Subagents); err != nil {
			return err
		}
		text := contentText(res.Content)
		if res.CallID == "" {
			r.note(at, trajectory.Notice{Name: "observation", Data: text})
			continue
		}
		end := trajectory.ToolEnd{ID: r.prefix + res.CallID, Status: trajectory.Completed, Output: text}
		if err := r.result(at, end); err != nil {
			return err
		}
	}
	return nil
}

// delegated adds what subagents did for a call.
func (r *atifReader) delegated(refs []atif.Subagent) error {
	for _, ref := range refs {
		sub, known := r.agents[ref.TrajectoryID]
		switch {
		case ref.TrajectoryID == "" || !known:
			return fmt.Errorf("the trajectory of a subagent is not in the file but in %q",
				ref.Path)
		case sub == nil:
			continue // a second mention
		}
		r.agents[ref.TrajectoryID] = nil
		if err := r.subagent(sub); err != nil {
			return fmt.Errorf("trajectory %q: %w", sub.TrajectoryID, err)
		}
	}
	return nil
}

// subagent adds the steps of a subagent: its calls become calls of the session, its messages become notices.
func (r *atifReader) subagent(t *atif.Trajectory) error {
	inner := &atifReader{
		builder: r.builder, prefix: r.prefix + t.TrajectoryID + "/", agents: make(map[string]*atif.Trajectory),
	}
	for i := range t.Subagents {
		inner.agents[t.Subagents[i].TrajectoryID] = &t.Subagents[i]
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		at, err := stepTime(s)
		if err != nil {
			return err
		}
		if text := contentText(&s.Message); text != "" {
			r.note(at, trajectory.Notice{Name: "subagent:" + string(s.Source), Data: text})
		}
		for _, c := range s.ToolCalls {
			if err := r.call(at, newCall(inner.prefix+c.ID, c.Function, c.Arguments)); err != nil {
				return err
			}
		}
		if err := inner.results(at, s); err != nil {
			return err
		}
	}
	return inner.mentioned()
}

// spend sets the tokens of the turns and the cost of the session. The tokens of a single turn are the trajectory's
// final ones, otherwise the sums of the turn's steps; they are unknown if one of the steps has none.
func (r *atifReader) spend(final *atif.FinalMetrics) {
	for i, t := range r.turns {
		t.usage = usageOf(r.spent[i])
	}
	if final == nil || len(r.turns) == 0 {
		return
	}
	if len(r.turns) == 1 && (final.PromptTokens != nil || final.CompletionTokens != nil) {
		r.turns[0].usage = tokens(final.PromptTokens, final.CachedTokens, final.CompletionTokens)
	}
	if final.CostUSD != nil {
		r.note(time.Time{}, trajectory.State{Cost: &trajectory.Cost{Amount: *final.CostUSD, Currency: "USD"}})
	}
}

// usageOf adds up the metrics of steps.
func usageOf(steps []*atif.Metrics) *trajectory.Usage {
	if len(steps) == 0 || slices.Contains(steps, nil) {
		return nil
	}
	sum := func(of func(m *atif.Metrics) *int64) *int64 {
		total := new(int64)
		for _, m := range steps {
			n := of(m)
			if n == nil {
				return nil
			}
			*total += *n
		}
		return total
	}
	return tokens(
		sum(func(m *atif.Metrics) *int64 { return m.PromptTokens }),
		sum(func(m *atif.Metrics) *int64 { return m.CachedTokens }),
		sum(func(m *atif.Metrics) *int64 { return m.CompletionTokens }),
	)
}

// tokens returns the usage for ATIF's counts. Unlike there, Input excludes what came from a cache.
func tokens(prompt, cached, completion *int64) *trajectory.Usage {
	u := &trajectory.Usage{Input: prompt, Output: completion, CacheRead: cached}
	if prompt != nil && cached != nil {
		u.Input = new(*prompt - *cached)
	}
	if prompt != nil && completion != nil {
		u.Total = new(*prompt + *completion)
	}
	return u
}
