package acptest

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// client is the kit's side of one conversation. It answers the agent's requests and passes its messages to the judge.
type client struct {
	agent Agent
	judge *judge

	outbox chan string
	active chan struct{} // closed when the agent has sent the first message of a turn
	closed chan struct{} // closed when the client has hung up
	ended  chan struct{} // closed when the agent's output has ended

	activeOnce, closedOnce sync.Once

	mu        sync.Mutex
	ids       int
	pending   map[string]request // by the JSON text of the id
	garbage   bool               // a line that is not a message was sent
	cancelled bool               // the turn was cancelled
	log       []string           // the last messages
}

// request is a request of the client that has no response yet.
type request struct {
	method string
	answer chan response
}

// maxLine is the length in bytes up to which a line of the agent is taken.
const maxLine = 64 << 20

// converse starts a conversation with an agent, which is offered those capabilities.
func converse(a Agent, l *ledger, capabilities object) *client {
	a.Timeout = cmp.Or(a.Timeout, 10*time.Second)
	a.Prompt = cmp.Or(a.Prompt, "Say hello.")
	c := &client{
		agent: a, judge: newJudge(l, capabilities),
		outbox: make(chan string), active: make(chan struct{}), closed: make(chan struct{}), ended: make(chan struct{}),
		pending: make(map[string]request),
	}
	go c.sendAll()
	go c.receiveAll()
	return c
}

// hangUp closes the agent's input. What is sent afterwards is lost.
func (c *client) hangUp() {
	c.closedOnce.Do(func() {
		close(c.closed)
		_ = c.agent.Stdin.Close() // an agent that goes on breaks a rule
	})
}

// sendAll writes what is in the outbox. An error shows in the conversation: the agent does not answer.
func (c *client) sendAll() {
	for {
		select {
		case line := <-c.outbox:
			_, _ = io.WriteString(c.agent.Stdin, line+"\n")
		case <-c.closed:
			return
		}
	}
}

// write sends a line.
func (c *client) write(line string) {
	c.note("> " + line)
	select {
	case c.outbox <- line:
	case <-c.closed:
	}
}

func (c *client) send(message object) {
	message["jsonrpc"] = "2.0"
	c.write(compact(message))
}

func (c *client) notify(method string, params object) {
	c.send(object{"method": method, "params": params})
}

// sendGarbage sends a line that is not a message. An error response to it has no id.
func (c *client) sendGarbage() {
	c.mu.Lock()
	c.garbage = true
	c.mu.Unlock()
	c.write("acptest: this line is not JSON")
}

// note keeps a message for the failure's text.
func (c *client) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.log = append(c.log, clip(text)); len(c.log) > 6 {
		c.log = c.log[1:]
	}
}

// lastMessages returns the end of the conversation.
func (c *client) lastMessages() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.log, "\n")
}

// request sends a request and returns where its response will arrive. Every other id is a string.
func (c *client) request(method string, params object) <-chan response {
	c.mu.Lock()
	c.ids++
	var id any = c.ids
	if c.ids%2 == 0 {
		id = "acptest-" + strconv.Itoa(c.ids)
	}
	answer := make(chan response, 1)
	c.pending[compact(id)] = request{method, answer}
	c.mu.Unlock()
	c.judge.sent(method)
	c.send(object{"id": id, "method": method, "params": params})
	return answer
}

// call sends a request and waits for the response.
func (c *client) call(method string, params object) (response, error) {
	return c.wait(method, c.request(method, params))
}

// wait waits for the response to a request.
func (c *client) wait(method string, answer <-chan response) (response, error) {
	timer := time.NewTimer(c.agent.Timeout)
	defer timer.Stop()
	select {
	case r := <-answer:
		return r, nil
	case <-timer.C:
		return response{}, fmt.Errorf("no answer to %s within %v", method, c.agent.Timeout)
	case <-c.ended:
	}
	select {
	case r := <-answer: // it came before the end
		return r, nil
	default:
		return response{}, fmt.Errorf("the agent closed its output before it answered %s", method)
	}
}

// prompt starts a turn.
func (c *client) prompt(session, text string) <-chan response {
	c.mu.Lock()
	c.cancelled = false
	c.mu.Unlock()
	return c.request("session/prompt", object{
		"sessionId": session, "prompt": []object{{"type": "text", "text": text}},
	})
}

// cancel cancels the turn of a session.
func (c *client) cancel(session string) {
	c.mu.Lock()
	c.cancelled = true
	c.mu.Unlock()
	c.notify("session/cancel", object{"sessionId": session})
}

// receiveAll takes what the agent writes.
func (c *client) receiveAll() {
	defer close(c.ended)
	lines := bufio.NewScanner(c.agent.Stdout)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		c.receive(bytes.Clone(lines.Bytes()))
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		c.judge.framing(nil, fmt.Sprintf("a line of more than %d MiB", maxLine>>20))
	}
	_, _ = io.Copy(io.Discard, c.agent.Stdout)
}

// receive takes one line.
func (c *client) receive(line []byte) {
	c.note("< " + string(line))
	m, problem := parse(line)
	c.judge.framing(line, problem)
	switch {
	case m.has("method"):
		c.judge.message(line, m)
		c.serve(m)
	case m.has("id"):
		c.respond(line, m)
	}
}

// respond hands a response to the request that waits for it.
func (c *client) respond(line []byte, m object) {
	id := compact(m["id"])
	c.mu.Lock()
	asked := c.askedWith(id)
	req, ok := c.pending[asked]
	delete(c.pending, asked)
	garbage := c.garbage
	c.mu.Unlock()

	if !ok {
		if !garbage || m["id"] != nil || !m.has("error") { // else it is what JSON-RPC wants
			c.judge.ledger.judge("responses", "a response with id "+id+", but no pending request has that id", line)
		}
		return
	}
	other := ""
	if asked != id {
		other = fmt.Sprintf("id %s for the request with id %s", id, asked)
	}
	c.judge.ledger.judge("ids", other, line)
	c.judge.answered(line, m, req.method)
	req.answer <- response{m.object("result"), m.object("error")}
}

// askedWith returns the id of the request that a response with that id is for. If no request has that id, this is a
// request with the same id of another type or, if the id is null, the only request: the right answer will not come.
func (c *client) askedWith(id string) string {
	if _, ok := c.pending[id]; ok {
		return id
	}
	for p := range c.pending {
		if strings.Trim(p, `"`) == strings.Trim(id, `"`) || id == "null" && len(c.pending) == 1 && !c.garbage {
			return p
		}
	}
	return ""
}

// serve answers a request of the agent. It also notes the first message of a turn.
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
