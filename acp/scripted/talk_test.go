package scripted_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

// talk is a client that knows nothing but lines, so that tests see what an agent really writes.
type talk struct {
	t     testing.TB
	agent *scripted.Agent
	lines *bufio.Reader
	ids   int
}

// frame is a message of the agent. Members that are absent are nil.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params map[string]any  `json:"params"`
	Result map[string]any  `json:"result"`
	Error  *scripted.Error `json:"error"`
}

// update returns a field of the session update that f is.
func (f frame) update(name string) any {
	update, _ := f.Params["update"].(map[string]any)
	return update[name]
}

// start starts an agent that plays s; it has to end when the test closes its input.
func start(t testing.TB, s scripted.Script) *talk {
	t.Helper()
	agent := scripted.Start(t.Context(), s)
	t.Cleanup(func() {
		_ = agent.Stdin.Close()
		_, _ = io.Copy(io.Discard, agent.Stdout)
		_ = agent.Wait()
	})
	return &talk{t: t, agent: agent, lines: bufio.NewReader(agent.Stdout)}
}

// open starts an agent, initializes it and starts a session in dir.
func open(t testing.TB, s scripted.Script, dir string) *talk {
	t.Helper()
	c := start(t, s)
	c.initialize()
	c.request("session/new", `{"cwd":`+strconv.Quote(dir)+`,"mcpServers":[]}`)
	f := c.await()
	require.Nil(t, f.Error)
	require.Equal(t, "session-1", f.Result["sessionId"])
	return c
}

const everything = `{"protocolVersion":1,"clientCapabilities":` +
	`{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}`

func (c *talk) initialize() frame {
	c.request("initialize", everything)
	return c.next()
}

// write writes a line.
func (c *talk) write(line string) {
	_, err := io.WriteString(c.agent.Stdin, line+"\n")
	assert.NoError(c.t, err)
}

// request sends a request; its id is the number of requests before it.
func (c *talk) request(method, params string) {
	c.write(`{"jsonrpc":"2.0","id":` + strconv.Itoa(c.ids) + `,"method":"` + method + `","params":` + params + `}`)
	c.ids++
}

func (c *talk) prompt() { c.request("session/prompt", `{"sessionId":"session-1","prompt":[]}`) }

func (c *talk) cancel() {
	c.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"session-1"}}`)
}

// line returns the agent's next line.
func (c *talk) line() string {
	line, err := c.lines.ReadString('\n')
	require.NoError(c.t, err)
	return line
}

// next returns the agent's next message.
func (c *talk) next() frame {
	c.t.Helper()
	var f frame
	require.NoError(c.t, json.Unmarshal([]byte(c.line()), &f))
	return f
}

// await returns the next response, whatever comes before it.
func (c *talk) await() frame {
	c.t.Helper()
	for {
		if f := c.next(); f.Method == "" {
			return f
		}
	}
}

// expect returns the agent's next message, which must be a request with that method.
func (c *talk) expect(method string) frame {
	c.t.Helper()
	f := c.next()
	require.Equal(c.t, method, f.Method)
	require.NotNil(c.t, f.ID)
	return f
}

// answer answers the agent's request f.
func (c *talk) answer(f frame, result string) {
	c.write(`{"jsonrpc":"2.0","id":` + string(f.ID) + `,"result":` + result + `}`)
}

// fail answers the agent's request f by an error.
func (c *talk) fail(f frame, code int, message string) {
	c.write(`{"jsonrpc":"2.0","id":` + string(f.ID) +
		`,"error":{"code":` + strconv.Itoa(code) + `,"message":"` + message + `"}}`)
}

// turn is a script of one turn.
func turn(actions ...scripted.Action) scripted.Script {
	return scripted.Script{Turns: []scripted.Turn{{Actions: actions}}}
}

func say(text string) scripted.Action { return scripted.Action{Say: &scripted.Say{Text: text}} }
