package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// peer is the agent's end of a connection, played by a test.
type peer struct {
	t    testing.TB
	pipe *io.PipeReader
	in   *bufio.Reader // of pipe
	out  *io.PipeWriter
}

// connect starts a client and returns it with its peer. At the end of the test both are closed and the client must end.
func connect(t testing.TB, cfg ClientConfig) (*Client, *peer) {
	t.Helper()
	fromAgent, agentOut := io.Pipe()
	agentIn, toAgent := io.Pipe()
	c := NewClient(fromAgent, toAgent, cfg)
	t.Cleanup(func() {
		_ = c.Close()
		_ = agentOut.Close()
		_ = agentIn.Close()
		<-c.Done()
	})
	return c, &peer{t: t, pipe: agentIn, in: bufio.NewReader(agentIn), out: agentOut}
}

// write writes text to the client as it is.
func (p *peer) write(text string) {
	_, err := io.WriteString(p.out, text)
	assert.NoError(p.t, err)
}

// send writes a line to the client.
func (p *peer) send(format string, args ...any) { p.write(fmt.Sprintf(format, args...) + "\n") }

// updateLine returns the line of a message chunk for session s.
func updateLine(text string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` +
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}` + "\n"
}

// update sends a message chunk for session s.
func (p *peer) update(text string) { p.write(updateLine(text)) }

// next reads the next message of the client.
func (p *peer) next() Message {
	m, err := p.tryNext()
	assert.NoError(p.t, err)
	return m
}

// tryNext is next where the client may send nothing more.
func (p *peer) tryNext() (Message, error) {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return Message{}, err
	}
	return ParseMessage(line)
}

// expect reads the next message of the client, which must be that request or notification.
func (p *peer) expect(method string) Message {
	m := p.next()
	assert.Equal(p.t, method, m.Method)
	return m
}

// answer reads the next message of the client, which must be that request, and answers it.
func (p *peer) answer(method, result string) {
	p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, p.expect(method).ID, result)
}

// background runs f, which plays the agent, beside the test and waits for it when the test is over.
func background(t testing.TB, f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	t.Cleanup(wg.Wait)
}

const newSessionResult = `{"sessionId":"s"}`

// open initializes a connection and starts session s; the agent answers session/new by result.
func open(t testing.TB, cfg ClientConfig, result string) (*Session, *peer) {
	t.Helper()
	c, p := connect(t, cfg)
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		p.answer(MethodInitialize, `{"protocolVersion":1}`)
		p.answer(MethodNewSession, result)
	}()
	_, err := c.Initialize(context.Background())
	require.NoError(t, err)
	s, err := c.NewSession(context.Background(), NewSessionRequest{Cwd: "/workspace"})
	require.NoError(t, err)
	<-opened
	return s, p
}

// recording keeps what a client passes on.
type recording struct {
	mu      sync.Mutex
	frames  []Frame
	updates []string
}

func (r *recording) tap(f Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, f)
}

// update keeps the text of a message chunk, or the kind of any other update.
func (r *recording) update(n SessionNotification) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates = append(r.updates, updateText(n))
}

func updateText(n SessionNotification) string {
	if chunk, ok := n.Update.(AgentMessageChunk); ok {
		return chunk.Content.(TextContent).Text
	}
	return n.Update.UpdateKind()
}

func (r *recording) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.updates...)
}

// fileFuncs is a FileHandler made of functions.
type fileFuncs struct {
	read  func(context.Context, ReadTextFileRequest) (ReadTextFileResponse, error)
	write func(context.Context, WriteTextFileRequest) (WriteTextFileResponse, error)
}

func (f fileFuncs) ReadTextFile(ctx context.Context, r ReadTextFileRequest) (ReadTextFileResponse, error) {
	return f.read(ctx, r)
}

func (f fileFuncs) WriteTextFile(ctx context.Context, r WriteTextFileRequest) (WriteTextFileResponse, error) {
	return f.write(ctx, r)
}

var errUnused = errors.New("not expected to be called")

// raw is a shorthand for JSON in tests.
func raw(s string) json.RawMessage { return json.RawMessage(s) }

// oneLine returns s without its line breaks and tabs.
func oneLine(s string) string { return strings.NewReplacer("\n", "", "\t", "").Replace(s) }
