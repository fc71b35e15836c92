// Package observe turns the messages of an ACP connection into the events of a trajectory, and knows what agents call
// their tools. It only follows a connection: package session answers the agent, and package cassette normalises events.
package observe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// Observer follows one connection. It receives every frame of both directions in order, as [acp.ClientConfig.Tap]
// reports them, and returns the events turn by turn. The zero value is ready for use. Its methods may be called
// concurrently.
type Observer struct {
	// OnCall, if not nil, is called with the number of tool calls of the session each time it grows.
	OnCall func(total int)
	// OnTold, if not nil, is called with each tool call, again whenever the agent describes it anew, and with each
	// request to an MCP server.
	OnTold func(trajectory.Body)
	// Servers are the names of the MCP servers that the agent was given. Whatever the agent calls a tool of such a
	// server, its name is "mcp__SERVER__TOOL", and its input is the tool's own.
	Servers []string

	mu      sync.Mutex
	start   time.Time // of the first frame
	turn    int
	events  []trajectory.Event // of the current turn
	calls   map[string]*call
	total   int
	agent   string            // what the agent calls itself
	session string            // the id of the session, once it is known
	others  []string          // the ids of other sessions that the agent tells of
	agents  map[string]string // Copilot's sub-agents and the calls that started them
	spent   *trajectory.Usage // what the requests to the model of this turn took, if the agent tells of each
	state   state
	modes   []string // that the session has changed to, since they were last asked for
	// requests has a function for each request without a response, which is called with the response.
	requests map[request]func(at time.Duration, answer acp.Message)
	// discoveries are the discovery requests to MCP servers in the current turn that were sent for the first time.
	discoveries []trajectory.MCPCall
	discovered  map[string]bool                 // all discovery requests so far, as JSON
	terminals   map[string]*trajectory.Terminal // the events of terminals, by the terminal's id
	created     map[string]time.Duration        // when they were asked for
	stop        *trajectory.Stop
	stopAt      time.Duration // when the response came that stop describes

	limit int // of size; 0: MaxSession
	size  int // of everything collected, in bytes
	err   error
}

// MaxSession is how much a session may collect over all its turns, in bytes of its text, its JSON and the events
// themselves. Content that the agent replaces counts once. Such a session takes eight times as much memory.
const MaxSession = 128 << 20

// EventSize is the approximate size of an event without its text, in bytes.
const EventSize = 256

// ErrTooLarge says that a session exceeded [MaxSession].
var ErrTooLarge = errors.New("the agent sent too much in one session")

// TooLarge returns [ErrTooLarge] with the limit, in bytes.
func TooLarge(limit int) error { return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit) }

type request struct {
	from acp.Direction
	id   acp.ID
}

// Frame takes the next frame. It ignores lines that are not messages and, after an error ([Observer.Err]), all frames.
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
		o.fromClient(at, m)
	default:
		o.fromAgent(at, m)
	}
	o.checkLimit()
}

// begin starts the session's clock at the time of its first frame or MCP request.
func (o *Observer) begin(at time.Time) {
	if !o.start.IsZero() {
		return
	}
	o.start = at
	o.calls = make(map[string]*call)
	o.agents = make(map[string]string)
	o.discovered = make(map[string]bool)
	o.requests = make(map[request]func(time.Duration, acp.Message))
	o.terminals, o.created = make(map[string]*trajectory.Terminal), make(map[string]time.Duration)
}

func (o *Observer) checkLimit() {
	if limit := cmp.Or(o.limit, MaxSession); o.size > limit {
		o.err = TooLarge(limit)
	}
}

// Err returns [ErrTooLarge] once the observer has stopped following the connection. Call it after each turn: the
// events of the turn end at the error.
func (o *Observer) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Turn ends the current turn and returns its events: what happened, in order, then the session's state and the stop.
// Times are since the first frame of the connection. After an error, events are missing; see [Observer.Err].
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
			o.calls[b.ID].complete(o) // its terminals may have ended after the call
		case *trajectory.Permission:
			if reflect.DeepEqual(b.Asked, Asked(*o.calls[b.ID].start)) {
				b.Asked = nil
			}
		}
	}
	o.addDiscoveries()
	if n, ok := o.state.fault(); ok {
		o.add(end, 0, n)
	}
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
	o.events, o.stop, o.stopAt = nil, nil, 0
	return events
}

// At returns a time as events have it: since the first frame of the connection.
func (o *Observer) At(t time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return t.Sub(o.start)
}

// Modes returns the names of the modes that the agent says the session has changed to since the last call.
func (o *Observer) Modes() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	modes := o.modes
	o.modes = nil
	return modes
}

// Call returns what is known about a tool call so far, as the agent described it when it last asked for permission. Its
// locations are all that it ever named, and the files of its diffs.
func (o *Observer) Call(id string) (start trajectory.ToolStart, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.calls[id]
	if !ok {
		return start, false
	}
	views := []description{c.tells}
	if c.asked != nil {
		views = []description{*c.asked, c.tells}
	}
	start = views[0].ToolStart
	start.Locations = nil
	for _, v := range views {
		for _, l := range slices.Concat(v.Locations, filesOf(v.diffs)) {
			if !slices.ContainsFunc(start.Locations, func(k trajectory.Location) bool { return k.Path == l.Path }) {
				start.Locations = append(start.Locations, l)
			}
		}
	}
	return start, true
}

func (o *Observer) tell(b trajectory.Body) {
	if o.OnTold != nil {
		o.OnTold(b)
	}
}

// add appends an event of a size. Bodies are pointers until the turn ends, so that later messages can complete them.
func (o *Observer) add(at time.Duration, size int, b trajectory.Body) {
	o.size += EventSize + size
	o.events = append(o.events, trajectory.Event{Turn: max(o.turn, 1), At: at, Body: b})
}

// resize changes the size of a part of the turn, of which *counted bytes were counted before, to size.
func (o *Observer) resize(counted *int, size int) {
	o.size += size - *counted
	*counted = size
}

// settled returns the body as a value, as trajectories have it.
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

// fromClient handles a request or notification of the client.
func (o *Observer) fromClient(at time.Duration, m acp.Message) {
	if m.Method == "initialize" {
		o.await(acp.ToAgent, m.ID, func(_ time.Duration, answer acp.Message) {
			var r acp.InitializeResponse
			if json.Unmarshal(answer.Result, &r) == nil && r.AgentInfo != nil {
				o.agent = r.AgentInfo.Name
			}
		})
	}
	if m.Method == "session/new" {
		o.await(acp.ToAgent, m.ID, func(_ time.Duration, answer acp.Message) {
			var r acp.NewSessionResponse
			if json.Unmarshal(answer.Result, &r) == nil {
				o.session = r.SessionID
			}
		})
	}
	if m.Method != "session/prompt" {
		return
	}
	var p acp.PromptRequest
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	o.turn++
	for i := range o.events { // events before the first prompt belong to its turn
		o.events[i].Turn = o.turn
	}
	o.spent = nil
	text := blocksText(p.Prompt)
	o.add(at, len(text), trajectory.Prompt{Text: text})
	o.await(acp.ToAgent, m.ID, func(at time.Duration, answer acp.Message) {
		var r acp.PromptResponse
		if answer.Error != nil || json.Unmarshal(answer.Result, &r) != nil {
			return
		}
		o.stop = &trajectory.Stop{Reason: string(r.StopReason), Usage: cmp.Or(usage(r), o.spent)}
		o.stopAt = at
	})
}

// fromAgent handles a request or notification of the agent.
func (o *Observer) fromAgent(at time.Duration, m acp.Message) {
	if o.ofOther(at, m) {
		return
	}
	switch m.Method {
	case "session/update":
		var n acp.SessionNotification
		if json.Unmarshal(m.Params, &n) == nil && n.Update != nil {
			if other := o.other(n.SessionID); other != "" {
				o.updateOther(at, other, n.Update)
			} else {
				o.update(at, n.Update)
			}
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

// ofOther reports whether a message is a request of another session than the one that was opened. The client refuses
// it, so nothing was asked, read, written or run: there is only a notice.
func (o *Observer) ofOther(at time.Duration, m acp.Message) bool {
	switch m.Method {
	case "session/request_permission", "fs/read_text_file", "fs/write_text_file", "terminal/create",
		"terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release":
	default:
		return false
	}
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if json.Unmarshal(m.Params, &r) != nil {
		return false
	}
	other := o.other(r.SessionID)
	polls := strings.HasPrefix(m.Method, "terminal/") && m.Method != "terminal/create" // of what it was refused
	if other != "" && !polls {
		o.add(at, 0, trajectory.Notice{Name: "subagent:" + m.Method, Data: other})
	}
	return other != ""
}

// maxOthers is how many other sessions are told apart. All beyond them have one name.
const maxOthers = 1000

// other returns the name of a session that is not the one that was opened, such as "session-2", and empty for that.
// Before a session is open, updates are taken for its own.
func (o *Observer) other(id string) string {
	if o.session == "" || id == o.session {
		return ""
	}
	i := slices.Index(o.others, id)
	if i < 0 {
		if i = len(o.others); i < maxOthers {
			o.others = append(o.others, id)
		}
	}
	return fmt.Sprintf("session-%d", i+2)
}

// response matches a response with its request, which went in the other direction.
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
