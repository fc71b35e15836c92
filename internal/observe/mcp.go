package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// MCP takes a request to an MCP server that was answered at a time. It is safe to call from any goroutine.
func (o *Observer) MCP(at time.Time, c trajectory.MCPCall) {
	size := len(encoded(c))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.begin(at)
	if c.IsDiscovery() && o.learns(c) {
		o.described = append(o.described, c)
		o.held += eventSize + size
	} else {
		o.add(at.Sub(o.start), size, c)
	}
	o.checkLimit()
}

// learns reports whether the request is one that was not made before. One that is made again has another answer than it
// had, because of what the agent did.
func (o *Observer) learns(c trajectory.MCPCall) bool {
	request := encoded(trajectory.MCPCall{Server: c.Server, Method: c.Method, Params: c.Params})
	known := o.knows[request]
	o.knows[request] = true
	return !known
}

// describe puts the first requests that ask what servers are behind the turn's prompt, a server after the other: agents start
// servers while they do other things, in an order that says nothing.
func (o *Observer) describe() {
	if len(o.described) == 0 {
		return
	}
	slices.SortStableFunc(o.described, func(a, b trajectory.MCPCall) int { return strings.Compare(a.Server, b.Server) })
	place := slices.IndexFunc(o.events, func(e trajectory.Event) bool { _, ok := e.Body.(trajectory.Prompt); return ok })
	var at time.Duration
	if len(o.events) > 0 {
		at = o.events[max(place, 0)].At
	}
	events := make([]trajectory.Event, len(o.described))
	for i, c := range o.described {
		events[i] = trajectory.Event{Turn: cmp.Or(o.turn, 1), At: at, Body: c}
	}
	o.events = slices.Insert(o.events, place+1, events...)
	o.described = nil
}

// encoded returns a request as JSON.
func encoded(c trajectory.MCPCall) string {
	data, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("observe: an MCP request that is no JSON: %v", err))
	}
	return string(data)
}
