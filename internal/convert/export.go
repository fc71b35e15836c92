package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/convert/atif"
)

// unknown is written for an unknown version, where the format requires one.
const unknown = "unknown"

const exportNotes = "Written by sdd-eval from a cassette. Metrics of a turn stand at its last step; " +
	"times are counted back from the end of the recording. What the agent changed in its workspace is not here."

// writeATIF writes a cassette as a trajectory.
func writeATIF(c *cassette.Cassette) ([]byte, error) {
	t, err := toATIF(c)
	if err != nil {
		return nil, err
	}
	return atif.Encode(t)
}

// toATIF returns a cassette as a trajectory. What ATIF has no field for is under extra.sdd_eval, so that reading it
// gives the same events again; what the agent changed in the workspace is left out.
func toATIF(c *cassette.Cassette) (*atif.Trajectory, error) {
	x := exporter{
		owners: make(map[string]int),
		out: &atif.Trajectory{
			SchemaVersion: atif.Version, SessionID: c.Header.Unit, TrajectoryID: c.Header.Unit, Notes: exportNotes,
			Agent: atif.Agent{
				Name:      cmp.Or(c.Header.Agent.Name, c.Header.Agent.Kind, unknown),
				Version:   cmp.Or(c.Header.Agent.Version, unknown),
				ModelName: c.Header.Agent.Model,
			},
			Extra: atif.Extra{extraKey: rootMark{
				Version: marksVersion, Unit: c.Header.Unit, Origin: c.Header.Origin, Endpoint: c.Header.Endpoint,
				Kind: c.Header.Agent.Kind, Modes: c.Header.Agent.Modes,
			}},
		},
	}
	x.begin(c)
	for _, t := range c.Turns {
		x.agentSteps = 0
		for _, e := range t.Events {
			if err := x.event(e); err != nil {
				return nil, fmt.Errorf("turn %d: event %d, %s: %w", e.Turn, x.index, e.Body.EventName(), err)
			}
			x.index++
		}
	}
	x.finish()
	return x.out, nil
}

// exporter writes events as steps.
type exporter struct {
	out   *atif.Trajectory
	marks []*stepMark // of the steps
	start time.Time
	index int // of the event
	// owners are the steps that calls are of, by the calls' ids.
	owners     map[string]int
	agentSteps int           // of this turn
	waiting    []markedEvent // events before the first step
	final      atif.FinalMetrics
	lacking    bool // the tokens of a turn are unknown
}

// begin computes when the session began. A cassette has the time of its end, when it was written.
func (x *exporter) begin(c *cassette.Cassette) {
	var last time.Duration
	for _, t := range c.Turns {
		for _, e := range t.Events {
			last = max(last, e.At)
		}
	}
	if !c.Header.RecordedAt.IsZero() {
		x.start = c.Header.RecordedAt.Add(-last).UTC()
	}
}

func (x *exporter) position(e trajectory.Event) position {
	return position{x.index, e.Turn, e.At.Microseconds()}
}

func (p position) event(body trajectory.Body) trajectory.Event {
	return trajectory.Event{Turn: p.Turn, At: time.Duration(p.At) * time.Microsecond, Body: body}
}

// last returns the last step and its mark, nil if there is none.
func (x *exporter) last() (*atif.Step, *stepMark) {
	n := len(x.marks)
	if n == 0 {
		return nil, nil
	}
	return &x.out.Steps[n-1], x.marks[n-1]
}

// step begins a step.
func (x *exporter) step(source atif.Source, e trajectory.Event) (*atif.Step, *stepMark) {
	s := atif.Step{ID: len(x.out.Steps) + 1, Source: source}
	if !x.start.IsZero() {
		s.Timestamp = x.start.Add(e.At).Format("2006-01-02T15:04:05.000000Z07:00")
	}
	x.out.Steps, x.marks = append(x.out.Steps, s), append(x.marks, &stepMark{Events: x.waiting})
	x.waiting = nil
	if source == atif.FromAgent {
		x.agentSteps++
	}
	return x.last()
}

// agent returns the step for the agent's next action: the last one if goesOn allows it, else a new one.
func (x *exporter) agent(e trajectory.Event, goesOn func(s *atif.Step, m *stepMark) bool) (*atif.Step, *stepMark) {
	if s, m := x.last(); x.agentSteps > 0 && s.Source == atif.FromAgent && goesOn(s, m) {
		return s, m
	}
	return x.step(atif.FromAgent, e)
}

func (x *exporter) event(e trajectory.Event) error {
	at := x.position(e)
	switch b := e.Body.(type) {
	case trajectory.Prompt:
		s, m := x.step(atif.User, e)
		s.Message.Text, m.Message = b.Text, &at
	case trajectory.Thought:
		s, m := x.agent(e, func(s *atif.Step, m *stepMark) bool {
			return m.Thought == nil && m.Message == nil && len(s.ToolCalls) == 0
		})
		s.ReasoningContent, m.Thought = b.Text, &at
	case trajectory.Message:
		s, m := x.agent(e, func(s *atif.Step, m *stepMark) bool { return m.Message == nil && len(s.ToolCalls) == 0 })
		s.Message.Text, m.Message = b.Text, &at
	case trajectory.ToolStart:
		return x.call(at, e, b)
	case trajectory.ToolEnd:
		return x.result(at, e, b)
	case trajectory.Stop:
		x.stop(e, b)
	case trajectory.State:
		if b.Cost != nil && b.Cost.Currency == "USD" {
			x.final.CostUSD = &b.Cost.Amount
		}
		x.other(e)
	default:
		x.other(e)
	}
	return nil
}

// other adds an event that ATIF has no field for to the last step, or to the first if there is none yet.
func (x *exporter) other(e trajectory.Event) {
	marked := markedEvent{x.index, e}
	if _, m := x.last(); m != nil {
		m.Events = append(m.Events, marked)
		return
	}
	x.waiting = append(x.waiting, marked)
}

func (x *exporter) call(at position, e trajectory.Event, b trajectory.ToolStart) error {
	s, _ := x.agent(e, func(s *atif.Step, _ *stepMark) bool { return s.Observation == nil })
	mark := callMark{
		position: at, Parent: b.Parent, Name: b.Name, Kind: b.Kind, Title: b.Title, Locations: b.Locations,
	}
	args, ok := b.Args.(map[string]any)
	switch {
	case b.Args == nil:
		args, mark.NoInput = map[string]any{}, true
	case !ok:
		data, err := json.Marshal(b.Args)
		if err != nil {
			return err
		}
		args, mark.Input = map[string]any{"input": b.Args}, data
	case args == nil:
		args = map[string]any{}
	}
	if _, known := x.owners[b.ID]; known {
		return fmt.Errorf("duplicate call %q", b.ID)
	}
	x.owners[b.ID] = s.ID - 1
	s.ToolCalls = append(s.ToolCalls, atif.ToolCall{
		ID: b.ID, Function: cmp.Or(b.Name, b.Kind, unknown), Arguments: args, Extra: atif.Extra{extraKey: mark},
	})
	return nil
}

func (x *exporter) result(at position, e trajectory.Event, b trajectory.ToolEnd) error {
	owner, known := x.owners[b.ID]
	if !known {
		x.other(e)
		return nil
	}
	mark := resultMark{position: at, Status: b.Status, Printed: b.Printed, Diffs: b.Diffs, ExitCode: b.ExitCode}
	var content atif.Content
	switch out := b.Output.(type) {
	case string:
		content.Text = out
	case nil:
		if mark.Content = contentNone; b.Printed != "" {
			mark.Content, mark.Printed, content.Text = contentPrinted, "", b.Printed
		}
	default:
		data, err := json.Marshal(out)
		if err != nil {
			return err
		}
		mark.Content, content.Text = contentJSON, string(data)
	}
	s := &x.out.Steps[owner]
	if s.Observation == nil {
		s.Observation = &atif.Observation{}
	}
	s.Observation.Results = append(s.Observation.Results, atif.Result{
		CallID: b.ID, Content: &content, Extra: atif.Extra{extraKey: mark},
	})
	return nil
}

// stop ends a turn. Its tokens go to its last step, which has to be the agent's.
func (x *exporter) stop(e trajectory.Event, b trajectory.Stop) {
	s, m := x.agent(e, func(*atif.Step, *stepMark) bool { return true })
	m.Events = append(m.Events, markedEvent{x.index, e})
	s.Metrics = metricsOf(b.Usage)
	if s.Metrics == nil || s.Metrics.PromptTokens == nil || s.Metrics.CompletionTokens == nil {
		x.lacking = true
		return
	}
	add(&x.final.PromptTokens, s.Metrics.PromptTokens)
	add(&x.final.CompletionTokens, s.Metrics.CompletionTokens)
	add(&x.final.CachedTokens, s.Metrics.CachedTokens)
}

func add(sum **int64, n *int64) {
	if n == nil {
		return
	}
	if *sum == nil {
		*sum = new(int64)
	}
	**sum += *n
}

// metricsOf returns the tokens of a turn as ATIF counts them: all of the input together. It is nil if they are unknown.
func metricsOf(u *trajectory.Usage) *atif.Metrics {
	if u == nil || *u == (trajectory.Usage{}) {
		return nil
	}
	m := &atif.Metrics{CompletionTokens: u.Output, CachedTokens: u.CacheRead}
	if u.Input != nil {
		m.PromptTokens = new(int64)
		for _, n := range []*int64{u.Input, u.CacheRead, u.CacheWrite} {
			add(&m.PromptTokens, n)
		}
	}
	extra := atif.Extra{}
	if u.CacheWrite != nil {
		extra["cache_creation_input_tokens"] = *u.CacheWrite
	}
	if u.Thought != nil {
		extra["reasoning_tokens"] = *u.Thought
	}
	if len(extra) > 0 {
		m.Extra = extra
	}
	return m
}

// finish adds the marks to the steps, and the sums.
func (x *exporter) finish() {
	for i, m := range x.marks {
		x.out.Steps[i].Extra = atif.Extra{extraKey: m}
	}
	if x.lacking {
		x.final.PromptTokens, x.final.CompletionTokens, x.final.CachedTokens = nil, nil, nil
	}
	x.final.Steps = new(int64(len(x.out.Steps)))
	x.out.FinalMetrics = &x.final
}
