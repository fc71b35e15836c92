package acptest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// kit is what the check of one rule works with.
type kit struct {
	t       reporter
	start   func() Agent
	ledger  *ledger
	clients []*client
}

// noCapabilities is offered to agents where files play no part.
var noCapabilities = object{}

// withFiles is offered to agents that are asked to work.
var withFiles = object{"fs": object{"readTextFile": true, "writeTextFile": true}}

// connect starts an agent.
func (k *kit) connect(capabilities object) *client {
	a := k.start()
	if a.Dir == "" {
		a.Dir = k.t.TempDir()
	}
	c := converse(a, k.ledger, capabilities)
	k.clients = append(k.clients, c)
	return c
}

// initialize asks for a version of the protocol.
func (c *client) initialize(version int) (response, error) {
	return c.call("initialize", object{
		"protocolVersion": version, "clientCapabilities": c.judge.capabilities,
		"clientInfo": object{"name": "acptest", "version": "1"},
	})
}

// ready starts an agent, initializes it and authenticates.
func (k *kit) ready(capabilities object) (*client, error) {
	c := k.connect(capabilities)
	r, err := c.initialize(1)
	if err != nil {
		return nil, blamef("%w", err)
	}
	if r.Error != nil {
		return nil, blamef("the agent answered initialize with %s", r.outcome())
	}
	if c.agent.AuthMethod == "" {
		return c, nil
	}
	r, err = c.call("authenticate", object{"methodId": c.agent.AuthMethod})
	if err != nil {
		return nil, blamef("%w", err)
	}
	if r.Error != nil {
		return nil, blamef("the agent answered authenticate with %s", r.outcome())
	}
	return c, nil
}

// newSession asks for a session.
func (c *client) newSession() (response, error) {
	return c.call("session/new", object{"cwd": c.agent.Dir, "mcpServers": []any{}})
}

// session starts an agent with a session and returns the agent's answer.
func (k *kit) session(capabilities object) (c *client, id string, offers object, err error) {
	if c, err = k.ready(capabilities); err != nil {
		return nil, "", nil, err
	}
	r, err := c.newSession()
	if err != nil {
		return nil, "", nil, blamef("%w", err)
	}
	if id = r.Result.text("sessionId"); id == "" {
		return nil, "", nil, blamef("the agent answered session/new with %s", r.outcome())
	}
	return c, id, r.Result, nil
}

// busy starts an agent with a session in the middle of a long turn.
func (k *kit) busy() (c *client, id string, end <-chan response, err error) {
	if c, id, _, err = k.session(withFiles); err != nil {
		return nil, "", nil, err
	}
	if c.agent.LongPrompt == "" {
		return nil, "", nil, unmetf("Agent.LongPrompt is empty")
	}
	end = c.prompt(id, c.agent.LongPrompt)
	timer := time.NewTimer(min(c.agent.Timeout, time.Second))
	defer timer.Stop()
	select {
	case <-c.active:
	case <-timer.C: // it may be working silently
	}
	return c, id, end, nil
}

// turnEnd waits for the end of a turn and returns the stop reason.
func (c *client) turnEnd(end <-chan response) (string, error) {
	r, err := c.wait("session/prompt", end)
	if err != nil {
		return "", err
	}
	stop := object{"stopReason": r.Result["stopReason"]}
	if r.Error != nil || r.Result["stopReason"] == nil ||
		!stop.oneOf("stopReason", "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled") {
		return "", fmt.Errorf("the agent answered session/prompt with %s", r.outcome())
	}
	return stop.text("stopReason"), nil
}

// lastMessages returns the end of the latest conversation.
func (k *kit) lastMessages() string {
	if len(k.clients) == 0 {
		return ""
	}
	return k.clients[len(k.clients)-1].lastMessages()
}

// end ends all conversations. It waits a moment for the agents, since what they still send is checked, too.
func (k *kit) end() {
	for _, c := range k.clients {
		c.hangUp()
		c.awaitEnd(min(c.agent.Timeout, time.Second))
	}
}

// awaitEnd waits for the end of the agent's output and reports whether it came.
func (c *client) awaitEnd(timeout time.Duration) bool {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-c.ended:
		return true
	case <-timer.C:
		return false
	}
}

// object is a JSON object, loosely: its getters return zero values for what is absent or of another type.
type object map[string]any

func (o object) has(name string) bool {
	_, ok := o[name]
	return ok
}

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o object) object(name string) object {
	switch v := o[name].(type) {
	case object:
		return v
	case map[string]any:
		return v
	}
	return nil
}

// list returns the objects of an array.
func (o object) list(name string) []object {
	var list []object
	items, _ := o[name].([]any)
	for _, item := range items {
		v, _ := item.(map[string]any)
		list = append(list, v)
	}
	return list
}

// number returns a whole number.
func (o object) number(name string) (int, bool) {
	f, ok := o[name].(float64)
	return int(f), ok && f == math.Trunc(f)
}

// oneOf reports whether the value is absent or one of those.
func (o object) oneOf(name string, known ...string) bool {
	return !o.has(name) || o[name] == nil || slices.Contains(known, o.text(name))
}

// response is the answer to a request. Result is not nil if Error is.
type response struct {
	Result object
	Error  object
}

// outcome describes a response in a few words.
func (r response) outcome() string {
	if r.Error != nil {
		return "the error " + clip(compact(r.Error))
	}
	return "the result " + clip(compact(r.Result))
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// clip shortens a message for people.
func clip(text string) string { return excerpt.Head(text, 160) }
