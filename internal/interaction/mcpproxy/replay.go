package mcpproxy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
)

// Replay is what servers answered in a recorded session.
type Replay struct {
	// Recording has the calls that do not describe a server. It may have other interactions, too.
	Recording *interaction.Recording
	// Calls are all requests to servers, in the order in which they were answered.
	Calls []trajectory.MCPCall
}

// player answers from a recording. What servers say of themselves is answered as often as it is asked for, by what was
// the answer when as many other requests had been answered.
type player struct {
	recording *interaction.Recording
	described map[string][]description // by subject

	mu       sync.Mutex
	answered map[string]int // other requests, by server
}

// description is what a server said of itself.
type description struct {
	trajectory.MCPCall
	after int // how many other requests to the server
}

func newPlayer(r *Replay) *player {
	p := &player{recording: r.Recording, described: make(map[string][]description), answered: make(map[string]int)}
	others := make(map[string]int)
	for _, c := range r.Calls {
		if c.IsDiscovery() {
			p.described[subject(c)] = append(p.described[subject(c)], description{c, others[c.Server]})
		} else {
			others[c.Server]++
		}
	}
	return p
}

// answer returns the recording of a request with normalised arguments. Changed are the methods to which the server has
// another answer from then on.
func (p *player) answer(c trajectory.MCPCall) (recorded trajectory.MCPCall, changed []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if said := p.described[subject(c)]; len(said) > 0 {
		now := said[0]
		for _, d := range said {
			if d.after <= p.answered[c.Server] {
				now = d
			}
		}
		return now.MCPCall, nil, nil
	}
	found, err := p.recording.Take(Tool(c), c.Params)
	if err != nil {
		return c, nil, err
	}
	recorded, ok := found.Answer.(trajectory.MCPCall)
	if !ok {
		panic(fmt.Sprintf("mcpproxy: the answer of %s (%s) is a %T, not a trajectory.MCPCall", found.Tool,
			found.Position, found.Answer))
	}
	p.answered[c.Server]++
	return recorded, p.changed(c.Server), nil
}

// pass uses up the recording of a request that an override answers. It need not have been recorded. What describes a
// server is not used up.
func (p *player) pass(c trajectory.MCPCall, args any) {
	c.Params = args
	_, _, _ = p.answer(c)
}

// changed returns the methods to which a server has another answer since its last answer.
func (p *player) changed(server string) []string {
	var methods []string
	for _, said := range p.described {
		for i, d := range said {
			if i > 0 && d.Server == server && d.after == p.answered[server] && !slices.Contains(methods, d.Method) {
				methods = append(methods, d.Method)
			}
		}
	}
	slices.Sort(methods)
	return methods
}

// replay answers a request from the recording.
func (c *conversation) replay(id acp.ID, call trajectory.MCPCall, args any) {
	call.Params = args
	recorded, changed, err := c.proxy.player.answer(call)
	if err != nil {
		c.proxy.reportError(err)
		c.answer(failure(id, acp.CodeInternal, err.Error()))
		return
	}
	recorded.Result = c.proxy.denormalised(recorded.Result)
	if e := recorded.Error; e != nil {
		recorded.Error = &trajectory.MCPError{
			Code: e.Code, Message: fmt.Sprint(c.proxy.denormalised(e.Message)),
			Data: c.proxy.denormalised(e.Data),
		}
	}
	c.answer(response(id, recorded))
	for _, method := range changed {
		if list, ok := strings.CutSuffix(method, "/list"); ok {
			kind, _, _ := strings.Cut(list, "/") // of resources/templates
			c.notify("notifications/"+kind+"/list_changed", map[string]any{})
		}
	}
}

// answerUnrecorded answers a request that recordings leave out, such as ping.
func (c *conversation) answerUnrecorded(r acp.Message) {
	if r.Method != methodListen {
		c.write(acp.Message{ID: r.ID, Result: []byte("{}")})
		return
	}
	c.subscription = r.ID
	params, _ := object(r.Params)
	c.notify(methodListening, map[string]any{"notifications": params["notifications"]})
}

// notify notifies the agent, in the protocol's newer versions in the name of what it subscribed to.
func (c *conversation) notify(method string, params map[string]any) {
	if c.subscription != "" {
		params["_meta"] = map[string]any{metaSubscription: c.subscription}
	}
	c.write(acp.Message{Method: method, Params: encoded(params)})
}

// overridden returns a request with the answer that an override gives it. To a tool's call that is a result as the
// protocol has it, an object with `content`, or else the text or the value that the tool returns.
func overridden(c trajectory.MCPCall, output any, failure string) trajectory.MCPCall {
	switch fields, _ := output.(map[string]any); {
	case failure != "" && c.Method == methodCall:
		c.Result = map[string]any{"content": texts(failure), "isError": true}
	case failure != "":
		c.Error = &trajectory.MCPError{Code: acp.CodeInternal, Message: failure}
	case c.Method != methodCall || fields["content"] != nil:
		c.Result = output
	case fields != nil:
		c.Result = map[string]any{"content": texts(string(encoded(output))), "structuredContent": output}
	default:
		text, ok := output.(string)
		if !ok {
			text = string(encoded(output))
		}
		c.Result = map[string]any{"content": texts(text)}
	}
	return c
}

func texts(text string) []any { return []any{map[string]any{"type": "text", "text": text}} }

// Recorded returns what servers answered in recorded turns.
func Recorded(turns []cassette.Turn) *Replay {
	var calls []trajectory.MCPCall
	var asked []interaction.Interaction
	for t, turn := range turns {
		for e, event := range turn.Events {
			c, ok := event.Body.(trajectory.MCPCall)
			if !ok {
				continue
			}
			calls = append(calls, c)
			if !c.IsDiscovery() {
				asked = append(asked, interaction.Interaction{
					Tool: Tool(c), Args: c.Params, Answer: c, Position: fmt.Sprintf("turn %d, event %d", t+1, e+1),
				})
			}
		}
	}
	return &Replay{Recording: interaction.NewRecording(asked), Calls: calls}
}
