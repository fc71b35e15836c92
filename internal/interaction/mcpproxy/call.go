package mcpproxy

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

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
func callOf(server string, r *jsonrpc.Request) (trajectory.MCPCall, error) {
	c := trajectory.MCPCall{Server: server, Method: r.Method}
	if len(r.Params) == 0 {
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

// withAnswer returns a recorded request with an answer to it.
func withAnswer(c trajectory.MCPCall, r *jsonrpc.Response) (trajectory.MCPCall, error) {
	var err error
	if r.Error != nil {
		wire, ok := r.Error.(*jsonrpc.Error)
		if !ok {
			wire = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: r.Error.Error()}
		}
		c.Error = &trajectory.MCPError{Code: wire.Code, Message: wire.Message}
		if len(wire.Data) > 0 {
			c.Error.Data, err = decoded(wire.Data)
		}
		return c, err
	}
	c.Result, err = decoded(r.Result)
	return c, err
}

// response returns the answer of a recorded request.
func response(id jsonrpc.ID, c trajectory.MCPCall) *jsonrpc.Response {
	if c.Error != nil {
		wire := &jsonrpc.Error{Code: c.Error.Code, Message: c.Error.Message}
		if c.Error.Data != nil {
			wire.Data = encoded(c.Error.Data)
		}
		return &jsonrpc.Response{ID: id, Error: wire}
	}
	return &jsonrpc.Response{ID: id, Result: encoded(c.Result)}
}

// failure returns an answer that says that a request failed.
func failure(id jsonrpc.ID, code int64, message string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: message}}
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
