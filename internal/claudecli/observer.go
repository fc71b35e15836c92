package claudecli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// Observer follows one session through the processes of its prompts: it is told a prompt, reads what the program prints,
// and hands out the turn. The zero value is ready for use, by one goroutine at a time.
type Observer struct {
	// Cwd is the program's working directory, by which titles name files.
	Cwd string
	// OnCall, if not nil, is told of each tool call, with how many the session has made so far.
	OnCall func(total int, call trajectory.ToolStart)
	// OnDenied, if not nil, is told of each tool for which nobody gave permission.
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

// Turn is what came of a prompt.
type Turn struct {
	// Events are what happened, in order, then the session's state and the stop; without a stop if the turn did not end.
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

// call is a tool call of the session.
type call struct {
	tool  string
	place int  // in Observer.events, -1 if it is not of this turn
	ended bool // it has
	asked bool // permission was
}

// What a session is bounded to: a line, and what a turn may be told, in bytes.
const (
	maxLine = 64 << 20
	maxTurn = 256 << 20
)

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

// Read takes all that the program of the turn prints, up to its end. Seen, if not nil, is given each line as it comes. A
// last line that is cut is no error: its writer was killed, or the lack of a result tells.
func (o *Observer) Read(r io.Reader, seen func(at time.Time, line []byte)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	lines.Split(wholeLines)
	for lines.Scan() {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		now := time.Now()
		if seen != nil {
			seen(now, text)
		}
		if err := o.line(now, text); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line of the agent's output is longer than %d bytes", maxLine)
	} else if err != nil {
		return fmt.Errorf("read the agent's output: %w", err)
	}
	return nil
}

// wholeLines is [bufio.ScanLines] without a last line that nothing ends, unless it is JSON.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if atEOF && bytes.IndexByte(data, '\n') < 0 && !json.Valid(data) {
		return len(data), nil, nil
	}
	return bufio.ScanLines(data, atEOF)
}

// noise are lines that say nothing of what the agent did, or that others say, too: by type and subtype.
var noise = map[string]bool{
	"system/thinking_tokens":          true, // how many so far
	"system/task_started":             true, // a command runs, or a subagent
	"system/task_progress":            true,
	"system/task_updated":             true,
	"system/task_notification":        true, // it has ended
	"system/hook_started":             true, // ours among them
	"system/hook_progress":            true,
	"system/hook_response":            true,
	"system/status":                   true,
	"system/session_state_changed":    true,
	"system/files_persisted":          true,
	"system/background_tasks_changed": true,
	"tool_progress":                   true, // it still runs
	"tool_use_summary":                true,
	"rate_limit_event":                true, // of the account
	"stream_event":                    true, // parts of what is told as a whole, too
	"keep_alive":                      true,
}

// line takes a line of JSON.
func (o *Observer) line(at time.Time, data []byte) error {
	if o.size += len(data); o.size > maxTurn {
		return fmt.Errorf("%w: more than %d bytes", observe.ErrTurnTooLarge, maxTurn)
	}
	var head struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
	}
	if err := unmarshal(data, &head); err != nil {
		return err
	}
	name := strings.TrimSuffix(head.Type+"/"+head.Subtype, "/")
	switch {
	case name == "system/init":
		return o.init(data)
	case head.Type == "result":
		return o.result(at, data)
	case noise[name], noise[head.Type]:
		return nil
	case name == "system/permission_denied":
		var d denial
		if err := unmarshal(data, &d); err != nil {
			return err
		}
		o.denied(at, d)
		return nil
	case head.Type != "assistant" && head.Type != "user":
		o.add(at, trajectory.Notice{Name: "claude:" + name, Data: notice(data)})
		return nil
	}
	var l line
	if err := unmarshal(data, &l); err != nil {
		return err
	}
	if head.Type == "user" {
		return o.user(at, &l)
	}
	return o.assistant(at, &l)
}

// notice returns what a line of an unknown kind says, without what is another in each run.
func notice(data []byte) any {
	fields, _ := decoded(data).(map[string]any)
	for _, name := range []string{"type", "subtype", "uuid", "session_id", "timestamp"} {
		delete(fields, name)
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
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
	if l.Message.Model == "<synthetic>" { // what the program says in the agent's name
		o.add(at, trajectory.Notice{Name: "claude:synthetic", Data: l.Message.Content.text()})
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
			return fmt.Errorf("a part of an answer of the unknown type %q", fmt.Sprintf("%.60s", b.Type))
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
func (o *Observer) call(at time.Time, b block) error {
	if _, known := o.calls[b.ID]; known || b.ID == "" {
		return fmt.Errorf("a tool call without an id of its own: %q", b.ID)
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

// unseen begins the result of a call that ends before hooks are asked: of a tool that there is not, or with an input that
// is none.
const unseen = "<tool_use_error>"

// ended ends a tool call.
func (o *Observer) ended(at time.Time, b block, structured json.RawMessage) error {
	c, known := o.calls[b.CallID]
	switch {
	case !known:
		return fmt.Errorf("the result of a tool call that was not made: %q", b.CallID)
	case c.ended:
		return fmt.Errorf("a second result of the tool call %q", b.CallID)
	}
	c.ended = true
	e, places := end(c.tool, b, structured)
	if places != nil && c.place >= 0 {
		s := o.events[c.place].Body.(trajectory.ToolStart)
		s.Locations = places
		o.events[c.place].Body = s
	}
	o.add(at, e)
	var told content
	_ = json.Unmarshal(b.Content, &told) // what is neither text nor blocks is no such error
	if b.Type == "tool_result" && !(b.Failed && strings.HasPrefix(told.text(), unseen)) {
		o.turn.Ran = append(o.turn.Ran, c.tool)
	}
	return nil
}

// denied takes a call for which nobody gave permission.
func (o *Observer) denied(at time.Time, d denial) {
	c, known := o.calls[d.ID]
	if known && c.asked {
		return
	}
	if known {
		c.asked = true
		o.add(at, trajectory.Permission{ID: d.ID, Options: []trajectory.PermissionOption{}, Decision: string(acp.StopCancelled)})
	}
	if o.OnDenied != nil {
		o.OnDenied(d.Tool)
	}
}

func (o *Observer) add(at time.Time, b trajectory.Body) {
	o.events = append(o.events, trajectory.Event{Turn: o.number, At: at.Sub(o.start), Body: b})
}

// Turn returns the turn that was read. The calls of a turn that did not end, because its program was killed, are cancelled.
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
