package acptest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// serve answers a request of the agent. It also notes that a turn is under way.
func (c *client) serve(m object) {
	method, params := m.text("method"), m.object("params")
	if method == "session/update" || m.has("id") {
		c.activeOnce.Do(func() { close(c.active) })
	}
	if !m.has("id") {
		return
	}
	var result, failure object
	switch method {
	case "session/request_permission":
		result = object{"outcome": c.decide(params)}
	case "fs/read_text_file":
		result, failure = c.readFile(params)
	case "fs/write_text_file":
		result, failure = c.writeFile(params)
	default:
		failure = object{"code": -32601, "message": "Method not found: " + method}
	}
	answer := object{"id": m["id"]}
	if failure != nil {
		answer["error"] = failure
	} else {
		answer["result"] = result
	}
	c.send(answer)
}

// decide allows what the agent asks for, unless the turn was cancelled.
func (c *client) decide(params object) object {
	c.mu.Lock()
	cancelled := c.cancelled
	c.mu.Unlock()
	if !cancelled {
		for _, o := range params.list("options") {
			if strings.HasPrefix(o.text("kind"), "allow") {
				return object{"outcome": "selected", "optionId": o["optionId"]}
			}
		}
	}
	return object{"outcome": "cancelled"}
}

// readFile reads from the directory of the sessions and nowhere else.
func (c *client) readFile(params object) (result, failure object) {
	text, err := c.inDir(params, func(root *os.Root, name string) ([]byte, error) { return root.ReadFile(name) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, object{"code": -32002, "message": "Resource not found"}
	}
	if err != nil {
		return nil, object{"code": -32603, "message": err.Error()}
	}
	lines := strings.SplitAfter(string(text), "\n")
	if line, ok := params.number("line"); ok && line > 1 {
		lines = lines[min(line-1, len(lines)):]
	}
	if limit, ok := params.number("limit"); ok && limit >= 0 {
		lines = lines[:min(limit, len(lines))]
	}
	return object{"content": strings.Join(lines, "")}, nil
}

// writeFile writes to the directory of the sessions and nowhere else.
func (c *client) writeFile(params object) (result, failure object) {
	_, err := c.inDir(params, func(root *os.Root, name string) ([]byte, error) {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		return nil, root.WriteFile(name, []byte(params.text("content")), 0o644)
	})
	if err != nil {
		return nil, object{"code": -32603, "message": err.Error()}
	}
	return object{}, nil
}

// inDir does something with the file that params name.
func (c *client) inDir(params object, do func(root *os.Root, name string) ([]byte, error)) ([]byte, error) {
	root, err := os.OpenRoot(c.agent.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := filepath.Rel(c.agent.Dir, params.text("path"))
	if err != nil {
		return nil, err
	}
	return do(root, name)
}
