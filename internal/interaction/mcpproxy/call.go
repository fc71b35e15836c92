package mcpproxy

import (
	"encoding/json"
	"fmt"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
)

// Methods of the protocol that are more to us than their names.
const (
	methodCall       = "tools/call"
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodListen     = "subscriptions/listen" // answered at its end
	methodListening  = "notifications/subscriptions/acknowledged"
	methodCancelled  = "notifications/cancelled"
	methodRoots      = "notifications/roots/list_changed"
)

// Members of `_meta` in the protocol's newer versions.
const (
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// isRecorded reports whether requests of a method are recorded. The others ask for nothing but notifications, which
// are not recorded either, or whether the other end is there.
func isRecorded(method string) bool {
	switch method {
	case methodPing, methodListen, "resources/subscribe", "resources/unsubscribe":
		return false
	}
	return true
}

// codeUnanswered is that of the error for a request which the agent did not wait for.
const codeUnanswered = -32800

// Tool returns the name under which a request is recorded and overridden: mcp__SERVER__TOOL, for other requests than
// calls of tools mcp__SERVER__METHOD.
func Tool(c trajectory.MCPCall) string {
	name := c.Tool
	if c.Method != methodCall {
		name = c.Method
	}
	return mcpname.Of(c.Server, name)
}

// callOf returns a request as it is recorded, without an answer.
func callOf(server string, r acp.Message) (trajectory.MCPCall, error) {
	c := trajectory.MCPCall{Server: server, Method: r.Method}
	if len(r.Params) == 0 || string(r.Params) == null {
		return c, nil
	}
	params, err := object(r.Params)
	if err != nil {
		return c, fmt.Errorf("params of %s: %w", r.Method, err)
	}
	delete(params, "_meta")
	switch {
	case r.Method == methodCall:
		c.Tool, _ = params["name"].(string)
		if c.Params = params["arguments"]; c.Params == nil {
			c.Params = map[string]any{}
		}
	case r.Method == methodInitialize: // the rest is the agent's version, and what it can do
		c.Params = map[string]any{"protocolVersion": params["protocolVersion"]}
	case len(params) > 0:
		c.Params = params
	}
	return c, nil
}

// withAnswer returns a recorded request with an answer to it, which was decoded before, so that its parts are JSON.
func withAnswer(c trajectory.MCPCall, r acp.Message) trajectory.MCPCall {
	if r.Error != nil {
		c.Error = &trajectory.MCPError{Code: int64(r.Error.Code), Message: r.Error.Message}
		c.Error.Data, _ = decoded(r.Error.Data)
		return c
	}
	c.Result, _ = decoded(r.Result)
	return c
}

// response returns the answer of a recorded request.
func response(id acp.ID, c trajectory.MCPCall) acp.Message {
	if c.Error != nil {
		wire := &acp.Error{Code: int(c.Error.Code), Message: c.Error.Message}
		if c.Error.Data != nil {
			wire.Data = encoded(c.Error.Data)
		}
		return acp.Message{ID: id, Error: wire}
	}
	return acp.Message{ID: id, Result: encoded(c.Result)}
}

// failure returns an answer that says that a request failed.
func failure(id acp.ID, code int, message string) acp.Message {
	return acp.Message{ID: id, Error: &acp.Error{Code: code, Message: message}}
}

// subject tells requests apart of which a server's description is the answer.
func subject(c trajectory.MCPCall) string {
	if c.Method == methodInitialize {
		c.Params = nil // the answer to any version is that of the recorded one
	}
	return string(encoded([]any{c.Server, c.Method, c.Params}))
}

// decoded decodes JSON; numbers keep their text.
func decoded(raw json.RawMessage) (v any, err error) {
	if len(raw) > 0 {
		err = jsonvalue.Decode(raw, &v)
	}
	return v, err
}

func object(raw json.RawMessage) (map[string]any, error) {
	v, err := decoded(raw)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", short(raw))
	}
	return fields, nil
}

// encoded encodes what was decoded from JSON, on one line. Text stays as it is: HTML is not escaped.
func encoded(v any) json.RawMessage {
	data, err := jsonvalue.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("mcpproxy: a message that is no JSON: %v", err))
	}
	return data
}

// short is the beginning of a text for an error.
func short(text []byte) string {
	const limit = 80
	if len(text) > limit {
		return fmt.Sprintf("%.*q...", limit, text)
	}
	return fmt.Sprintf("%q", text)
}
