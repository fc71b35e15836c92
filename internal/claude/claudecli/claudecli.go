// Package claudecli drives Claude Code without a protocol: one process per prompt, which prints what it does as lines
// of JSON. Starting the process belongs in package session.
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
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/observe"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Observer follows one session through the processes of its prompts: it takes a prompt, reads what the program prints,
// and returns the turn. The zero value is ready for use, by one goroutine at a time.
type Observer struct {
	// Cwd is the program's working directory. Titles name files relative to it.
	Cwd string
	// Continues: the session goes on with one that had its own costs, which are not this one's.
	Continues bool
	// OnCall, if not nil, is called for each tool call with how many the session has made so far.
	OnCall func(total int, call trajectory.ToolStart)
	// OnDenied, if not nil, is called for each call that was not permitted, with its tool.
	OnDenied func(tool string)

	session Session
	start   time.Time // of the session
	turn    Turn
	number  int // of the turn
	events  []trajectory.Event
	calls   map[string]*call
	total   int             // calls
	cost    float64         // in USD, of a session that continues one
	size    int             // of what was read and of the events, in bytes
	text    strings.Builder // of the last event, if that is a message or a thought
}

// Session is what the program has said about itself. Fields that it has not given are empty.
type Session struct {
	ID, Version, Model string
	// Mode is the permission mode.
	Mode string
}

// call is a tool call of the session.
type call struct {
	tool  string
	index int  // in Observer.events, -1 if it is not of this turn
	ended bool // it has
	asked bool // permission was
}

// Session returns what is known of the session.
func (o *Observer) Session() Session { return o.session }

// Calls returns how many tool calls the session has made.
func (o *Observer) Calls() int { return o.total }

// At returns a time as events have it: since the session's start.
func (o *Observer) At(t time.Time) time.Duration { return t.Sub(o.start) }

// Prompt begins a turn.
func (o *Observer) Prompt(at time.Time, text string) {
	if o.start.IsZero() {
		o.start, o.calls = at, make(map[string]*call)
	}
	o.turn, o.events = Turn{}, nil
	o.number++
	for _, c := range o.calls {
		c.index = -1
	}
	o.add(at, trajectory.Prompt{Text: text})
}

// init reads the first line of a process.
func (o *Observer) init(data []byte) error {
	var l initLine
	if err := unmarshal(data, &l); err != nil {
		return err
	}
	o.session = Session{ID: l.Session, Version: l.Version, Model: l.Model, Mode: l.Mode}
	o.turn.commands = slices.Sorted(slices.Values(l.Commands))
	for _, s := range l.Servers {
		if s.Status == "failed" {
			return setupError(fmt.Sprintf("the agent could not start the MCP server %q", s.Name))
		}
	}
	for _, e := range l.PluginErrors {
		const shown = 500
		return setupError(fmt.Sprintf("the agent could not load all of the plugin %q: %s", e.Plugin,
			excerpt.Line(e.Message, shown)))
	}
	return nil
}

// assistant adds a part of a model's answer.
func (o *Observer) assistant(at time.Time, l *line) error {
	if l.Message.Model == claude.Synthetic {
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
			if err := o.call(at, b, l.Parent); err != nil {
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

// user adds what the model receives, mostly results of tools.
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

// say adds text, to the last message if nothing came between.
func (o *Observer) say(at time.Time, text string) {
	last := &o.events[len(o.events)-1]
	if _, ok := last.Body.(trajectory.Message); ok {
		o.text.WriteString(text)
		last.Body = trajectory.Message{Text: o.text.String()}
	} else if text != "" {
		o.text = strings.Builder{}
		o.text.WriteString(text)
		o.add(at, trajectory.Message{Text: text})
	}
}

// think adds reasoning, to the last thought if nothing came between.
func (o *Observer) think(at time.Time, text string) {
	last := &o.events[len(o.events)-1]
	if _, ok := last.Body.(trajectory.Thought); ok {
		o.text.WriteString(text)
		last.Body = trajectory.Thought{Text: o.text.String()}
		return
	}
	o.text = strings.Builder{}
	o.text.WriteString(text)
	o.add(at, trajectory.Thought{Text: text})
}

// call begins a tool call, of the sub-agent that the call parent started or, if that is empty, of the main agent.
func (o *Observer) call(at time.Time, b claude.Block, parent string) error {
	if _, known := o.calls[b.ID]; known || b.ID == "" {
		return fmt.Errorf("missing or duplicate tool call id %q", b.ID)
	}
	c := start(b, o.Cwd)
	c.Parent = parent
	o.calls[b.ID] = &call{tool: b.Name, index: len(o.events)}
	o.add(at, c)
	o.total++
	if o.OnCall != nil {
		o.OnCall(o.total, c)
	}
	return nil
}

// unseen begins the result of a call that fails before hooks run: the tool does not exist, or the input is invalid.
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
	if places != nil && c.index >= 0 {
		s := o.events[c.index].Body.(trajectory.ToolStart)
		s.Locations = places
		o.events[c.index].Body = s
	}
	o.add(at, e)
	content, _ := b.ResultContent() // an error means that there is no text
	if b.Type == "tool_result" && !(b.Failed && strings.HasPrefix(content.Text(), unseen)) {
		o.turn.Ran = append(o.turn.Ran, c.tool)
	}
	return nil
}

// denied adds a call that was not permitted.
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
	o.size += observe.EventSize
}

// result adds the end of the turn. There are several if work in the background makes the program go on; the last one
// counts, unless one failed.
func (o *Observer) result(at time.Time, data []byte) error {
	var r resultLine
	if err := unmarshal(data, &r); err != nil {
		return err
	}
	for _, d := range r.Denials {
		o.denied(at, d)
	}
	if o.Continues {
		o.turn.cost = nil
		if r.Spent != nil {
			for _, m := range r.Spent {
				o.cost += m.Cost
			}
			o.turn.cost = new(o.cost)
		}
	} else if r.Cost != nil {
		o.turn.cost = r.Cost
	}
	o.turn.spend(r.Usage)
	if o.turn.Err == nil {
		o.turn.stop, o.turn.Err = r.stop()
	}
	return nil
}

// stop returns the stop reason of the turn. An error means that nothing is known about the agent.
func (r *resultLine) stop() (string, error) {
	switch {
	case r.Subtype == "error_max_turns":
		return string(acp.StopMaxTurnRequests), nil
	case r.Subtype == "error_max_budget_usd":
		return result.StopCostLimit, nil
	case r.Failed && claude.OutOfTokens(r.Result):
		return string(acp.StopMaxTokens), nil
	case r.Subtype == "success" && r.Failed:
		return "", &ModelError{Status: r.Status, Text: r.Result}
	case r.Subtype != "success":
		return "", fmt.Errorf("the agent ended its turn with %q: %.500s", r.Subtype, strings.Join(r.Errors, "; "))
	}
	stop, known := claude.Stops[r.StopReason]
	if !known {
		return "", errors.New("the agent ended its turn for an unknown reason: " +
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
	// Events has the events in order, then the session's state and the stop. There is no stop if the turn did not end.
	Events []trajectory.Event
	// Err says why nothing is known about the agent although the turn ended, for example a [*ModelError].
	Err error
	// Ran has the tool of each call that hooks, if there are any, have seen.
	Ran []string

	commands []string // that the agent offers
	cost     *float64
	stop     string
	usage    *trajectory.Usage
}

// setupError says what the agent lacks, before it asked its model anything.
type setupError string

func (e setupError) Error() string { return string(e) }

// IsSetup reports whether an error is that the agent lacks what it was given: its model was not asked.
func IsSetup(err error) bool {
	_, ok := errors.AsType[setupError](err)
	return ok
}

// ModelError is the error if the model could not be asked.
type ModelError struct {
	// Status is the HTTP status of its answer, 0 if there was none.
	Status int
	// Text is the program's message.
	Text string
}

func (e *ModelError) Error() string {
	return fmt.Sprintf("the model could not be asked: %.500s", e.Text)
}

// Turn returns the turn that was read. If the turn did not end because its program was killed, its open calls are
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

// Ended reports whether the program reported the end of the turn.
func (o *Observer) Ended() bool { return o.turn.stop != "" || o.turn.Err != nil }
