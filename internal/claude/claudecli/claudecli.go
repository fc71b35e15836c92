// Package claudecli drives Claude Code without a protocol: one process per prompt, which prints what it does as lines
// of JSON.
//
//	o := claudecli.Observer{Cwd: workspace}
//	o.Prompt(time.Now(), "Find the TODOs.")
//	err := o.Read(stdout, nil) // of `claude -p --output-format stream-json --verbose`
//	turn := o.Turn()
//
// An [Observer] turns these lines into the same events that package observe makes from the frames of claude-agent-acp,
// which drives the same program: calls have the same names, kinds, titles and outputs. [Options] are the program's
// arguments.
package claudecli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Observer follows one session through the processes of its prompts: it is told a prompt, reads what the program
// prints, and hands out the turn. The zero value is ready for use, by one goroutine at a time.
type Observer struct {
	// Cwd is the program's working directory, by which titles name files.
	Cwd string
	// OnCall, if not nil, is told of each tool call, with how many the session has made so far.
	OnCall func(total int, call trajectory.ToolStart)
	// OnDenied, if not nil, is called with each tool that was not permitted.
	OnDenied func(tool string)

	session Session
	start   time.Time // of the session
	turn    Turn
	number  int // of the turn
	events  []trajectory.Event
	calls   map[string]*call
	total   int // calls
	size    int // of what the turn was told, in bytes
}

// Session is what the program says of itself. What it has not said is empty.
type Session struct {
	ID, Version, Model string
}

// call is a tool call of the session.
type call struct {
	tool  string
	place int  // in Observer.events, -1 if it is not of this turn
	ended bool // it has
	asked bool // permission was
}

// Session returns what is known of the session.
func (o *Observer) Session() Session { return o.session }

// Calls returns how many tool calls the session has made.
func (o *Observer) Calls() int { return o.total }

// Prompt begins a turn.
func (o *Observer) Prompt(at time.Time, text string) {
	if o.start.IsZero() {
		o.start, o.calls = at, make(map[string]*call)
	}
	o.turn, o.events, o.size = Turn{}, nil, 0
	o.number++
	for _, c := range o.calls {
		c.place = -1
	}
	o.add(at, trajectory.Prompt{Text: text})
}

// init takes a process's first line.
func (o *Observer) init(data []byte) error {
	var l initLine
	if err := unmarshal(data, &l); err != nil {
		return err
	}
	o.session = Session{ID: l.Session, Version: l.Version, Model: l.Model}
	o.turn.commands = slices.Sorted(slices.Values(l.Commands))
	for _, s := range l.Servers {
		if s.Status == "failed" {
			return fmt.Errorf("the agent could not start the MCP server %q", s.Name)
		}
	}
	return nil
}

// assistant takes a part of an answer of the model.
func (o *Observer) assistant(at time.Time, l *line) error {
	if l.Message.Model == claude.Synthetic { // what the program says in the agent's name
		o.add(at, trajectory.Notice{Name: "claude:synthetic", Data: l.Message.Content.Text()})
		return nil
	}
	for _, b := range l.Message.Content {
		switch {
		case b.Type == "text" && l.Parent != "":
			o.add(at, trajectory.Notice{Name: "subagent:message", Data: b.Text})
		case b.Type == "text":
			o.say(at, b.Text)
		case b.Type == "thinking" && l.Parent == "" && b.Thinking != "":
			o.think(at, b.Thinking)
		case b.Type == "thinking", b.Type == "redacted_thinking":
		case strings.HasSuffix(b.Type, "tool_use"):
			if err := o.call(at, b); err != nil {
				return err
			}
		case strings.HasSuffix(b.Type, "_tool_result"): // of a tool that the model's service has
			if err := o.ended(at, b, nil); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown block type %q", fmt.Sprintf("%.60s", b.Type))
		}
	}
	return nil
}

// user takes what the model is told: results of tools for the most part.
func (o *Observer) user(at time.Time, l *line) error {
	for _, b := range l.Message.Content {
		switch {
		case b.Type == "tool_result":
			if err := o.ended(at, b, l.ToolUseResult); err != nil {
				return err
			}
		case l.Synthetic, l.Parent != "", b.Text == "":
		default:
			o.add(at, trajectory.Notice{Name: "claude:user", Data: b.Text})
		}
	}
	return nil
}

// say takes text, which goes on with a message before it.
func (o *Observer) say(at time.Time, text string) {
	last := &o.events[len(o.events)-1]
	if m, ok := last.Body.(trajectory.Message); ok {
		last.Body = trajectory.Message{Text: m.Text + text}
	} else if text != "" {
		o.add(at, trajectory.Message{Text: text})
	}
}

// think takes reasoning, which goes on with a thought before it.
func (o *Observer) think(at time.Time, text string) {
	last := &o.events[len(o.events)-1]
	if t, ok := last.Body.(trajectory.Thought); ok {
		last.Body = trajectory.Thought{Text: t.Text + text}
		return
	}
	o.add(at, trajectory.Thought{Text: text})
}

// call begins a tool call.
func (o *Observer) call(at time.Time, b claude.Block) error {
	if _, known := o.calls[b.ID]; known || b.ID == "" {
		return fmt.Errorf("missing or duplicate tool call id %q", b.ID)
	}
	c := start(b, o.Cwd)
	o.calls[b.ID] = &call{tool: b.Name, place: len(o.events)}
	o.add(at, c)
	o.total++
	if o.OnCall != nil {
		o.OnCall(o.total, c)
	}
	return nil
}

// unseen begins the result of a call that ends before hooks are asked: of a tool that there is not, or with an input
// that is none.
const unseen = "<tool_use_error>"

// ended ends a tool call.
func (o *Observer) ended(at time.Time, b claude.Block, structured json.RawMessage) error {
	c, known := o.calls[b.CallID]
	switch {
	case !known:
		return fmt.Errorf("result of unknown tool call %q", b.CallID)
	case c.ended:
		return fmt.Errorf("duplicate result of tool call %q", b.CallID)
	}
	c.ended = true
	e, places := end(c.tool, b, structured)
	if places != nil && c.place >= 0 {
		s := o.events[c.place].Body.(trajectory.ToolStart)
		s.Locations = places
		o.events[c.place].Body = s
	}
	o.add(at, e)
	content, _ := b.ResultContent() // what is neither text nor blocks is no such error
	if b.Type == "tool_result" && !(b.Failed && strings.HasPrefix(content.Text(), unseen)) {
		o.turn.Ran = append(o.turn.Ran, c.tool)
	}
	return nil
}

// denied takes a call that was not permitted.
func (o *Observer) denied(at time.Time, d denial) {
	c, known := o.calls[d.ID]
	if known && c.asked {
		return
	}
	if known {
		c.asked = true
		o.add(at, trajectory.Permission{
			ID: d.ID, Options: []trajectory.PermissionOption{}, Decision: string(acp.StopCancelled),
		})
	}
	if o.OnDenied != nil {
		o.OnDenied(d.Tool)
	}
}

func (o *Observer) add(at time.Time, b trajectory.Body) {
	o.events = append(o.events, trajectory.Event{Turn: o.number, At: at.Sub(o.start), Body: b})
}

// result takes the end of the turn. Where work in the background makes the program go on after it, there are several,
// and the last counts, unless one failed.
func (o *Observer) result(at time.Time, data []byte) error {
	var r resultLine
	if err := unmarshal(data, &r); err != nil {
		return err
	}
	for _, d := range r.Denials {
		o.denied(at, d)
	}
	if r.Cost != nil {
		o.turn.cost = r.Cost
	}
	o.turn.spend(r.Usage)
	if o.turn.Err == nil {
		o.turn.stop, o.turn.Err = r.stop()
	}
	return nil
}

// stop returns why the turn ended. The error says that nothing is known about the agent.
func (r *resultLine) stop() (string, error) {
	switch {
	case r.Subtype == "error_max_turns":
		return string(acp.StopMaxTurnRequests), nil
	case r.Subtype == "error_max_budget_usd":
		return result.StopCostLimit, nil
	case r.Subtype == "success" && r.Failed:
		return "", &ModelError{Status: r.Status, Text: r.Result}
	case r.Subtype != "success":
		return "", fmt.Errorf("the agent ended its turn with %q: %.500s", r.Subtype, strings.Join(r.Errors, "; "))
	}
	stop, known := claude.Stops[r.StopReason]
	if !known {
		return "", errors.New("the agent ended its turn for a reason that is not known: " +
			fmt.Sprintf("%.60q", r.StopReason))
	}
	return cmp.Or(stop, string(acp.StopEndTurn)), nil
}

// spend adds tokens to those of the turn.
func (t *Turn) spend(u *claude.Usage) {
	if u == nil {
		return
	}
	if t.usage == nil {
		t.usage = &trajectory.Usage{
			Input: new(int64), Output: new(int64), CacheRead: new(int64), CacheWrite: new(int64), Total: new(int64),
		}
	}
	*t.usage.Input += u.Input
	*t.usage.Output += u.Output
	*t.usage.CacheRead += u.CacheRead
	*t.usage.CacheWrite += u.CacheWrite
	*t.usage.Total += u.Input + u.Output + u.CacheRead + u.CacheWrite
}

// Turn is the result of a prompt.
type Turn struct {
	// Events are what happened, in order, then the session's state and the stop; without a stop if the turn did not
	// end.
	Events []trajectory.Event
	// Err is why nothing is known about the agent, though the program told of its end: a [*ModelError] among others.
	Err error
	// Ran are the tools of the calls that hooks have seen, if there are any, a name for each call.
	Ran []string

	commands []string // that the agent offers
	cost     *float64
	stop     string
	usage    *trajectory.Usage
}

// ModelError says that the model could not be asked.
type ModelError struct {
	// Status is the HTTP status of its answer, 0 if there was none.
	Status int
	// Text is what the program says of it.
	Text string
}

func (e *ModelError) Error() string {
	return fmt.Sprintf("the model could not be asked: %.500s", e.Text)
}

// Turn returns the turn that was read. The calls of a turn that did not end, because its program was killed, are
// cancelled.
func (o *Observer) Turn() Turn {
	t, at := o.turn, o.start.Add(o.events[len(o.events)-1].At)
	if t.stop == "" && t.Err == nil {
		for _, e := range slices.Clone(o.events) {
			if s, ok := e.Body.(trajectory.ToolStart); ok && !o.calls[s.ID].ended {
				o.calls[s.ID].ended = true
				o.add(at, trajectory.ToolEnd{ID: s.ID, Status: trajectory.Cancelled})
			}
		}
	}
	if t.commands != nil || t.cost != nil {
		s := trajectory.State{Commands: t.commands}
		if t.cost != nil {
			s.Cost = &trajectory.Cost{Amount: *t.cost, Currency: "USD"}
		}
		o.add(at, s)
	}
	if t.stop != "" {
		o.add(at, trajectory.Stop{Reason: t.stop, Usage: t.usage})
	}
	t.Events = o.events
	return t
}

// Ended reports whether the program told of the turn's end.
func (o *Observer) Ended() bool { return o.turn.stop != "" || o.turn.Err != nil }
