// Package observe turns the frames of a connection into the events of a trajectory.
package observe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// Observer follows one connection. It is fed every frame of both directions in order, as [acp.ClientConfig.Tap] gives
// them, and hands out the events turn by turn. The zero value is ready for use; its methods may be called concurrently.
type Observer struct {
	// OnCall, if not nil, is told how many tool calls the session has made so far, each time that number grows.
	OnCall func(total int)

	mu    sync.Mutex
	start time.Time // of the first frame
	turn  int
	// events are those of the current turn.
	events []trajectory.Event
	calls  map[string]*call
	total  int
	state  state
	// requests are those without an answer yet, with what to do with it.
	requests map[request]func(at time.Duration, answer acp.Message)
	// described are the MCP requests of the current turn that ask for the first time what servers are; knows has all such
	// requests.
	described []trajectory.MCPCall
	knows     map[string]bool
	// terminals are the places of the terminals in events, by id.
	terminals map[string]*trajectory.Terminal
	stop      *trajectory.Stop
	stopAt    time.Duration // of the answer that stop is

	limit int // of held, 0: maxTurn
	held  int // size of what the current turn has collected, in bytes
	err   error
}

// maxTurn is how much a turn may collect, in bytes of its text, of its JSON as it came, and of the events themselves.
// What an agent sends anew to replace what it sent before is counted once.
const maxTurn = 256 << 20

// eventSize is about what an event takes besides its text.
const eventSize = 256

// ErrTurnTooLarge says that a turn was more than 256 MiB.
var ErrTurnTooLarge = errors.New("the agent sent too much in one turn")

type request struct {
	from acp.Direction
	id   acp.ID
}

// Frame takes the next frame. Lines that are no messages are passed over: nothing of a trajectory is in them. Once there
// is an error, all are; see [Observer.Err].
func (o *Observer) Frame(f acp.Frame) {
	if f.Err != nil {
		return
	}
	var m acp.Message
	if err := json.Unmarshal(f.Raw, &m); err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.begin(f.Time)
	at := f.Time.Sub(o.start)
	switch {
	case m.Method == "":
		o.response(at, f.Direction, m)
	case f.Direction == acp.ToAgent:
		o.ours(at, m)
	default:
		o.theirs(at, m)
	}
	o.checkLimit()
}

// begin begins the session at the time of what is seen first.
func (o *Observer) begin(at time.Time) {
	if !o.start.IsZero() {
		return
	}
	o.start = at
	o.calls = make(map[string]*call)
	o.knows = make(map[string]bool)
	o.requests = make(map[request]func(time.Duration, acp.Message))
	o.terminals = make(map[string]*trajectory.Terminal)
}

func (o *Observer) checkLimit() {
	if limit := cmp.Or(o.limit, maxTurn); o.held > limit {
		o.err = fmt.Errorf("%w: more than %d bytes", ErrTurnTooLarge, limit)
	}
}

// Err returns why the observer no longer follows the connection, nil if it does: [ErrTurnTooLarge]. It is to be asked
// after each turn, whose events end where the error happened.
func (o *Observer) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Turn ends the current turn and returns its events: what happened in order, then the session's state and the stop.
// Their times are those since the first frame of the connection. They are not all if there is an error; see
// [Observer.Err].
func (o *Observer) Turn() []trajectory.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	end := o.stopAt
	if n := len(o.events); n > 0 {
		end = max(end, o.events[n-1].At)
	}
	if o.stop != nil && o.stop.Reason == string(acp.StopCancelled) {
		for _, c := range o.open() {
			c.close(o, end, trajectory.Cancelled)
		}
	}
	for _, e := range o.events {
		switch b := e.Body.(type) {
		case *trajectory.ToolEnd:
			o.calls[b.ID].complete(o) // terminals may have ended after the calls that show them
		case *trajectory.Permission:
			if reflect.DeepEqual(b.Asked, Asked(*o.calls[b.ID].start)) {
				b.Asked = nil
			}
		}
	}
	o.describe()
	if s, ok := o.state.event(); ok {
		o.add(end, 0, &s)
	}
	if o.stop != nil {
		o.add(end, 0, o.stop)
	}
	events := make([]trajectory.Event, len(o.events))
	for i, e := range o.events {
		events[i] = trajectory.Event{Turn: e.Turn, At: e.At, Body: settled(e.Body)}
	}
	o.events, o.stop, o.stopAt, o.held = nil, nil, 0, 0
	return events
}

// Call returns what is known of a tool call so far, its locations being those that it names and those that it shows a
// change of.
func (o *Observer) Call(id string) (start trajectory.ToolStart, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.calls[id]
	if !ok {
		return start, false
	}
	start = *c.start
	start.Locations = slices.Clone(start.Locations)
	for _, d := range c.diffs {
		if !slices.ContainsFunc(start.Locations, func(l trajectory.Location) bool { return l.Path == d.Path }) {
			start.Locations = append(start.Locations, trajectory.Location{Path: d.Path})
		}
	}
	return start, true
}

// add appends an event of a size. Bodies are pointers until the turn ends, so that what comes later can complete them.
func (o *Observer) add(at time.Duration, size int, b trajectory.Body) {
	o.held += eventSize + size
	o.events = append(o.events, trajectory.Event{Turn: max(o.turn, 1), At: at, Body: b})
}

// hold counts something that is of this size now, and of which *held was counted before.
func (o *Observer) hold(held *int, size int) {
	o.held += size - *held
	*held = size
}

// settled returns the body as the value that a trajectory holds.
func settled(b trajectory.Body) trajectory.Body {
	switch b := b.(type) {
	case *speech:
		return b.settled()
	case *trajectory.ToolStart:
		return *b
	case *trajectory.ToolEnd:
		return *b
	case *trajectory.FileRead:
		return *b
	case *trajectory.FileWrite:
		return *b
	case *trajectory.Terminal:
		return *b
	case *trajectory.Permission:
		return *b
	case *trajectory.State:
		return *b
	case *trajectory.Stop:
		return *b
	}
	return b
}

// ours handles what the client sends unasked.
func (o *Observer) ours(at time.Duration, m acp.Message) {
	if m.Method != "session/prompt" {
		return
	}
	var p acp.PromptRequest
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	o.turn++
	for i := range o.events { // what came before the first prompt belongs to its turn
		o.events[i].Turn = o.turn
	}
	text := blocksText(p.Prompt)
	o.add(at, len(text), trajectory.Prompt{Text: text})
	o.await(acp.ToAgent, m.ID, func(at time.Duration, answer acp.Message) {
		var r acp.PromptResponse
		if answer.Error != nil || json.Unmarshal(answer.Result, &r) != nil {
			return
		}
		o.stop = &trajectory.Stop{Reason: string(r.StopReason), Usage: usage(r)}
		o.stopAt = at
	})
}

// theirs handles what the agent sends unasked.
func (o *Observer) theirs(at time.Duration, m acp.Message) {
	switch m.Method {
	case "session/update":
		var n acp.SessionNotification
		if json.Unmarshal(m.Params, &n) == nil && n.Update != nil {
			o.update(at, n.Update)
			return
		}
	case "session/request_permission":
		var r acp.RequestPermissionRequest
		if json.Unmarshal(m.Params, &r) == nil {
			o.permission(at, m.ID, r)
			return
		}
	case "fs/read_text_file":
		var r acp.ReadTextFileRequest
		if json.Unmarshal(m.Params, &r) == nil {
			o.fileRead(at, m.ID, r)
			return
		}
	case "fs/write_text_file":
		var r acp.WriteTextFileRequest
		if json.Unmarshal(m.Params, &r) == nil {
			o.fileWrite(at, m.ID, r)
			return
		}
	case "terminal/create":
		var r acp.CreateTerminalRequest
		if json.Unmarshal(m.Params, &r) == nil {
			o.terminal(at, m.ID, r)
			return
		}
	case "terminal/output", "terminal/wait_for_exit":
		o.terminalProgress(m)
		return
	case "terminal/kill", "terminal/release":
		return
	}
	o.add(at, len(m.Params), trajectory.Notice{Name: m.Method, Data: decoded(m.Params)})
}

// response matches an answer with its request, which went the other way.
func (o *Observer) response(at time.Duration, from acp.Direction, m acp.Message) {
	asked := acp.ToAgent
	if from == acp.ToAgent {
		asked = acp.ToClient
	}
	key := request{asked, m.ID}
	if done, ok := o.requests[key]; ok {
		delete(o.requests, key)
		done(at, m)
	}
}

func (o *Observer) await(from acp.Direction, id acp.ID, done func(at time.Duration, answer acp.Message)) {
	o.requests[request{from, id}] = done
}
