package mock

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

const maxLine = 16 << 20 // of a request

// request is a message of a client.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// response is a message to a client.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// protocolVersion is the one that is spoken with a client that names none.
const protocolVersion = "2025-06-18"

// Serve speaks the Model Context Protocol, a message a line, until in ends.
func (s *Server) Serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := jsonvalue.ReadLine(lines, maxLine)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		done := response{JSONRPC: "2.0", ID: json.RawMessage("null")}
		var r request
		if bad := jsonvalue.Decode(line, &r); bad != nil {
			done.Error = &failure{-32700, "the message is no JSON-RPC request"}
		} else {
			if len(r.ID) == 0 {
				continue // a notification
			}
			done.ID = r.ID
			done.Result, done.Error = s.answer(r)
		}
		data, err := jsonvalue.Marshal(done)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(data, '\n')); err != nil {
			return err
		}
	}
}

func (s *Server) answer(r request) (any, *failure) {
	switch r.Method {
	case "initialize":
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = jsonvalue.Decode(r.Params, &p) // else it names none
		if p.ProtocolVersion == "" {
			p.ProtocolVersion = protocolVersion
		}
		return map[string]any{
			"protocolVersion": p.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": s.Name, "version": "1"},
		}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		tools := []map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
			t := s.Tools[name]
			tools = append(tools, map[string]any{
				"name": name, "description": t.Description, "inputSchema": t.InputSchema,
			})
		}
		return map[string]any{"tools": tools}, nil
	case "tools/call":
		var p struct {
			Name      string `json:"name"`
			Arguments any    `json:"arguments"`
		}
		if err := jsonvalue.Decode(r.Params, &p); err != nil || p.Name == "" {
			return nil, &failure{-32602, "the parameters are no call of a tool"}
		}
		if p.Arguments == nil {
			p.Arguments = map[string]any{}
		}
		reply := s.Call(p.Name, p.Arguments)
		result := map[string]any{"content": []any{map[string]any{"type": "text", "text": reply.Text}}}
		if reply.Verdict != OK {
			result["isError"] = true
		}
		return result, nil
	}
	return nil, &failure{-32601, "unknown method " + r.Method}
}
