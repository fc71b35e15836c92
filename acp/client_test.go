package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInitialize(t *testing.T) {
	tests := []struct {
		name string
		cfg  ClientConfig
		want string
	}{
		{
			name: "the zero value offers no files and no terminals",
			want: `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},` +
				`"terminal":false,` +
				`"session":{"compaction":{},"notices":{}},"_meta":{"terminal_output":true}}}`,
		},
		{
			name: "handlers are advertised",
			cfg: ClientConfig{
				Info: Implementation{Name: "sdd-eval", Version: "1"}, Files: fileFuncs{}, Terminals: terminalEcho{},
			},
			want: `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},` +
				`"terminal":true,` +
				`"session":{"compaction":{},"notices":{}},"_meta":{"terminal_output":true}},` +
				`"clientInfo":{"name":"sdd-eval","version":"1"}}`,
		},
		{
			name: "files and terminals follow from the handlers, the rest is as given",
			cfg: ClientConfig{Capabilities: ClientCapabilities{
				FS: FileSystemCapabilities{ReadTextFile: true}, Terminal: true, Session: &ClientSessionCapabilities{},
				Auth:  &ClientAuthCapabilities{Terminal: true},
				Extra: Extra{Meta: raw(`{}`), Unknown: map[string]json.RawMessage{"subagents": raw(`{}`)}},
			}},
			want: `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},` +
				`"terminal":false,` +
				`"session":{},"auth":{"terminal":true},"_meta":{},"subagents":{}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := connect(t, tt.cfg)
			background(t, func() {
				m := p.expect(MethodInitialize)
				assert.Equal(t, tt.want, string(m.Params))
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentInfo":{"name":"a","version":"2"},`+
					`"agentCapabilities":{"loadSession":true},"authMethods":[{"id":"key","name":"Key"}]}}`, m.ID)
			})
			resp, err := c.Initialize(context.Background())
			require.NoError(t, err)
			assert.Equal(t, InitializeResponse{
				ProtocolVersion:   1,
				AgentInfo:         &Implementation{Name: "a", Version: "2"},
				AgentCapabilities: AgentCapabilities{LoadSession: true},
				AuthMethods:       []AuthMethod{{ID: "key", Name: "Key"}},
			}, resp)
		})
	}
}

func TestOtherVersion(t *testing.T) {
	c, p := connect(t, ClientConfig{})
	background(t, func() { p.answer(MethodInitialize, `{"protocolVersion":2}`) })
	_, err := c.Initialize(context.Background())
	const want = "acp: the agent requires protocol version 2; this client supports only 1"
	require.EqualError(t, err, want)
	require.EqualError(t, c.Err(), want)
	_, err = c.NewSession(context.Background(), NewSessionRequest{Cwd: "/workspace"})
	require.Error(t, err)
}

func TestAuthenticate(t *testing.T) {
	c, p := connect(t, ClientConfig{})
	background(t, func() {
		m := p.expect(MethodAuthenticate)
		assert.JSONEq(t, `{"methodId":"gemini-api-key"}`, string(m.Params))
		p.send(`{"jsonrpc":"2.0","id":%s,"result":null}`, m.ID)
		m = p.expect(MethodAuthenticate)
		p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no key"}}`, m.ID)
	})
	require.NoError(t, c.Authenticate(context.Background(), "gemini-api-key"))
	err := c.Authenticate(context.Background(), "gemini-api-key")
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, CodeAuthRequired, e.Code)
}

func TestSessionBeforeInitialize(t *testing.T) {
	c, _ := connect(t, ClientConfig{})
	_, err := c.NewSession(context.Background(), NewSessionRequest{Cwd: "/workspace"})
	require.EqualError(t, err, "acp: NewSession needs a successful Initialize first")
}

// TestEarlyUpdates checks that updates for a session that come before the response to session/new are passed on.
func TestEarlyUpdates(t *testing.T) {
	start := func(t *testing.T, cfg ClientConfig, agent func(p *peer, newSession Message)) (*Client, error) {
		c, p := connect(t, cfg)
		background(t, func() {
			p.answer(MethodInitialize, `{"protocolVersion":1}`)
			agent(p, p.expect(MethodNewSession))
		})
		_, err := c.Initialize(context.Background())
		require.NoError(t, err)
		_, err = c.NewSession(context.Background(), NewSessionRequest{Cwd: "/workspace"})
		return c, err
	}
	t.Run("passed on in order, before NewSession returns", func(t *testing.T) {
		var got recording
		c, err := start(t, ClientConfig{Update: got.update}, func(p *peer, m Message) {
			p.update("one")
			p.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other",` +
				`"update":{"sessionUpdate":"x"}}}`)
			p.update("two")
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}`, m.ID)
		})
		require.NoError(t, err)
		assert.Equal(t, []string{"one", "two"}, got.seen())
		assert.Equal(t, 1, c.Stats().Ignored, "the other session's update")
	})
	t.Run("bounded", func(t *testing.T) {
		_, err := start(t, ClientConfig{MaxBacklog: 4096}, func(p *peer, _ Message) {
			for range 20 {
				p.update("x")
			}
		})
		require.ErrorIs(t, err, ErrBacklog)
	})
	t.Run("the agent refuses the session", func(t *testing.T) {
		_, err := start(t, ClientConfig{}, func(p *peer, m Message) {
			p.update("x")
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`, m.ID)
		})
		require.EqualError(t, err, "acp: session/new: error -32603: no")
	})
}

func TestPromptDrains(t *testing.T) {
	ms := time.Millisecond
	tests := []struct {
		name   string
		reason string
		late   []time.Duration // when updates come after the response
		want   []string
		took   time.Duration
	}{
		{
			name: "silence", reason: "DrainIdle is over",
			took: 200 * ms,
		},
		{
			name: "late updates", reason: "each one begins the wait anew",
			late: []time.Duration{100 * ms, 250 * ms}, want: []string{"100ms", "250ms"}, took: 450 * ms,
		},
		{
			name: "too late", reason: "nobody waits for it",
			late: []time.Duration{300 * ms}, took: 200 * ms,
		},
		{
			name: "no end", reason: "DrainMax is over",
			late: []time.Duration{190 * ms, 380 * ms, 570 * ms, 760 * ms, 950 * ms, 1140 * ms},
			want: []string{"190ms", "380ms", "570ms", "760ms", "950ms"}, took: 1000 * ms,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got recording
				s, p := open(t, ClientConfig{Update: got.update, DrainMax: time.Second}, newSessionResult)
				background(t, func() {
					p.answer(MethodPrompt, `{"stopReason":"end_turn"}`)
					at := time.Duration(0)
					for _, late := range tt.late {
						time.Sleep(late - at)
						at = late
						p.update(late.String())
					}
				})
				start := time.Now()
				resp, err := s.Prompt(context.Background(), TextContent{Text: "hi"})
				require.NoError(t, err)
				assert.Equal(t, StopEndTurn, resp.StopReason)
				assert.Equal(t, tt.want, got.seen(), tt.reason)
				assert.Equal(t, tt.took, time.Since(start), tt.reason)
			})
		})
	}
}

// TestPromptDrainsAfterError: an agent whose turn ends in an error sends updates after its last word, too.
func TestPromptDrainsAfterError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got recording
		s, p := open(t, ClientConfig{Update: got.update}, newSessionResult)
		background(t, func() {
			m := p.expect(MethodPrompt)
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`, m.ID)
			time.Sleep(100 * time.Millisecond)
			p.update("late")
		})
		_, err := s.Prompt(context.Background(), TextContent{Text: "hi"})
		require.EqualError(t, err, "acp: session/prompt: error -32603: no")
		require.Equal(t, []string{"late"}, got.seen())
	})
}

// TestPromptDrainsSlowHandler checks that Prompt does not return while an update is still being handled.
func TestPromptDrainsSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got recording
		s, p := open(t, ClientConfig{Update: func(n SessionNotification) {
			time.Sleep(500 * time.Millisecond)
			got.update(n)
		}}, newSessionResult)
		background(t, func() {
			p.answer(MethodPrompt, `{"stopReason":"end_turn"}`)
			p.update("late")
		})
		_, err := s.Prompt(context.Background())
		require.NoError(t, err)
		assert.Equal(t, []string{"late"}, got.seen())
	})
}

func TestPromptEndsWithAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := open(t, ClientConfig{}, newSessionResult)
		background(t, func() {
			p.answer(MethodPrompt, `{"stopReason":"refusal"}`)
			p.out.Close()
		})
		start := time.Now()
		resp, err := s.Prompt(context.Background())
		require.NoError(t, err)
		assert.Equal(t, StopRefusal, resp.StopReason)
		assert.Zero(t, time.Since(start), "there is nothing to wait for")
		_, err = s.Prompt(context.Background())
		require.ErrorIs(t, err, ErrEnded)
	})
}

func TestPromptBusy(t *testing.T) {
	s, p := open(t, ClientConfig{DrainIdle: -1}, newSessionResult)
	background(t, func() {
		m := p.expect(MethodPrompt)
		_, err := s.Prompt(context.Background())
		assert.ErrorIs(t, err, ErrBusy)
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
		p.answer(MethodPrompt, `{"stopReason":"end_turn"}`)
	})
	for range 2 {
		_, err := s.Prompt(context.Background())
		require.NoError(t, err)
	}
}

const permissionParams = `{"sessionId":"s","toolCall":{"toolCallId":"1"},"options":[` +
	`{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`

func (p *peer) requestPermission(id int) {
	p.send(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":%s}`, id, permissionParams)
}

// TestCancel plays a cancelled turn with permission requests before and after it was cancelled.
func TestCancel(t *testing.T) {
	const cancelled = `{"outcome":{"outcome":"cancelled"}}`
	errLimit := errors.New("over the limit")
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s, p := open(t, ClientConfig{
			Permission: func(context.Context, RequestPermissionRequest) (RequestPermissionResponse, error) {
				asked++
				time.Sleep(time.Hour) // a policy that does not heed its context
				return Selected("yes"), nil
			},
		}, newSessionResult)
		ctx, cancel := context.WithCancelCause(context.Background())
		background(t, func() {
			turn := p.expect(MethodPrompt)
			p.requestPermission(1)
			synctest.Wait()
			cancel(errLimit)
			seen := map[string]string{}
			for range 2 { // in either order
				m := p.next()
				seen[m.Method+string(m.ID)] = string(m.Params) + string(m.Result)
			}
			assert.Equal(t, map[string]string{MethodCancel: `{"sessionId":"s"}`, "1": cancelled}, seen)
			p.requestPermission(2)
			assert.Equal(t, cancelled, string(p.next().Result))
			p.update("still read")
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"cancelled"}}`, turn.ID)
			p.requestPermission(3)
			assert.Equal(t, cancelled, string(p.next().Result))
		})
		resp, err := s.Prompt(ctx)
		require.NoError(t, err)
		assert.Equal(t, StopCancelled, resp.StopReason)
		assert.Equal(t, 1, asked)
	})
}

func TestCancelTimeout(t *testing.T) {
	errLimit := errors.New("over the limit")
	tests := []struct {
		name  string
		agent func(p *peer)
	}{
		{"the agent goes on", func(p *peer) { p.expect(MethodCancel); p.update("working") }},
		{"the agent does not read", func(*peer) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, p := open(t, ClientConfig{CancelGrace: 3 * time.Second}, newSessionResult)
				ctx, stop := context.WithTimeoutCause(context.Background(), time.Second, errLimit)
				defer stop()
				background(t, func() {
					p.expect(MethodPrompt)
					tt.agent(p)
				})
				start := time.Now()
				_, err := s.Prompt(ctx)
				require.ErrorIs(t, err, ErrCancelTimeout)
				require.ErrorIs(t, err, errLimit)
				assert.Equal(t, 4*time.Second, time.Since(start))
			})
		})
	}
}

func TestPromptOfEndedContext(t *testing.T) {
	s, _ := open(t, ClientConfig{}, newSessionResult)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.Prompt(ctx)
	require.ErrorIs(t, err, context.Canceled, "nothing was sent, or this would hang")
}

func TestPermission(t *testing.T) {
	type policy = func(context.Context, RequestPermissionRequest) (RequestPermissionResponse, error)
	tests := []struct {
		name   string
		policy policy
		want   string // result, or the error's message
	}{
		{"nobody decides", nil, `{"outcome":{"outcome":"cancelled"}}`},
		{"selected", func(_ context.Context, req RequestPermissionRequest) (RequestPermissionResponse, error) {
			return Selected(req.Options[1].OptionID), nil
		}, `{"outcome":{"outcome":"selected","optionId":"no"}}`},
		{"cancelled", func(context.Context, RequestPermissionRequest) (RequestPermissionResponse, error) {
			return Cancelled(), nil
		}, `{"outcome":{"outcome":"cancelled"}}`},
		{"option not offered", func(context.Context, RequestPermissionRequest) (RequestPermissionResponse, error) {
			return Selected("maybe"), nil
		}, `acp: permission option "maybe" is not offered: the agent offers "yes", "no"`},
		{"error", func(context.Context, RequestPermissionRequest) (RequestPermissionResponse, error) {
			return RequestPermissionResponse{}, errUnused
		}, errUnused.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, p := open(t, ClientConfig{Permission: tt.policy}, newSessionResult)
			p.requestPermission(0)
			m := p.next()
			if m.Error != nil {
				assert.Equal(t, tt.want, m.Error.Message)
			} else {
				assert.Equal(t, tt.want, string(m.Result))
			}
		})
	}
}

func TestFiles(t *testing.T) {
	line := 3
	files := fileFuncs{
		read: func(_ context.Context, r ReadTextFileRequest) (ReadTextFileResponse, error) {
			switch r.Path {
			case "/missing":
				return ReadTextFileResponse{}, &fs.PathError{Op: "open", Path: "missing", Err: fs.ErrNotExist}
			case "/denied":
				return ReadTextFileResponse{}, &Error{Code: -32001, Message: "denied"}
			case "/broken":
				return ReadTextFileResponse{}, errors.New("broken")
			case "../a":
				return ReadTextFileResponse{}, &Error{Code: CodeInvalidParams, Message: "relative"}
			}
			if r.Line != nil {
				assert.Equal(t, &line, r.Line)
			}
			return ReadTextFileResponse{Content: "a <b>\n"}, nil
		},
		write: func(_ context.Context, r WriteTextFileRequest) (WriteTextFileResponse, error) {
			assert.Equal(t, "/new", r.Path)
			assert.Equal(t, "text", r.Content)
			return WriteTextFileResponse{}, nil
		},
	}
	tests := []struct {
		name   string
		method string
		params string
		want   string // result or error
	}{
		{"read", MethodReadTextFile, `{"sessionId":"s","path":"/a"}`, `{"content":"a <b>\n"}`},
		{"read a part", MethodReadTextFile, `{"sessionId":"s","path":"/a","line":3}`, `{"content":"a <b>\n"}`},
		{"bad line", MethodReadTextFile, `{"sessionId":"s","path":"/a","line":"x"}`, `{"content":"a <b>\n"}`},
		{"write", MethodWriteTextFile, `{"sessionId":"s","path":"/new","content":"text"}`, `{}`},
		{
			"a relative path is for the handler to refuse", MethodReadTextFile, `{"sessionId":"s","path":"../a"}`,
			`{"code":-32602,"message":"relative"}`,
		},
		{
			"missing file", MethodReadTextFile, `{"sessionId":"s","path":"/missing"}`,
			`{"code":-32002,"message":"Resource not found: /missing","data":{"uri":"/missing"}}`,
		},
		{"denied file", MethodReadTextFile, `{"sessionId":"s","path":"/denied"}`, `{"code":-32001,"message":"denied"}`},
		{"other error", MethodReadTextFile, `{"sessionId":"s","path":"/broken"}`, `{"code":-32603,"message":"broken"}`},
		{
			"no path", MethodReadTextFile, `{"sessionId":"s"}`,
			`{"code":-32602,"message":"Invalid params: acp: decode ReadTextFileRequest: ` +
				`field \"path\" is missing or of the wrong type"}`,
		},
		{
			"unknown session", MethodReadTextFile, `{"sessionId":"z","path":"/a"}`,
			`{"code":-32602,"message":"Invalid params: unknown session \"z\""}`,
		},
		{
			"no params", MethodReadTextFile, `[]`,
			`{"code":-32602,"message":"Invalid params: acp: decode ReadTextFileRequest: want an object, got \"[]\""}`,
		},
		{
			"terminals are not served", MethodCreateTerminal, `{"sessionId":"s","command":"ls"}`,
			`{"code":-32601,"message":"Method not found: terminal/create"}`,
		},
	}
	_, p := open(t, ClientConfig{Files: files}, newSessionResult)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p.send(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, tt.name, tt.method, tt.params)
			assert.Equal(t, tt.want, p.outcome())
		})
	}
}

// outcome reads a response and returns its result or its error as JSON.
func (p *peer) outcome() string {
	m := p.next()
	if m.Error == nil {
		return string(m.Result)
	}
	text, err := marshal(*m.Error)
	assert.NoError(p.t, err)
	return string(text)
}

// terminalEcho is a TerminalHandler that answers with what it was asked.
type terminalEcho struct{}

func (terminalEcho) Create(_ context.Context, r CreateTerminalRequest) (CreateTerminalResponse, error) {
	return CreateTerminalResponse{TerminalID: fmt.Sprint(r.Command, r.Args, r.Env[0].Name, *r.OutputByteLimit)}, nil
}

func (terminalEcho) Output(_ context.Context, r TerminalOutputRequest) (TerminalOutputResponse, error) {
	code := 3
	return TerminalOutputResponse{Output: r.TerminalID, ExitStatus: &TerminalExitStatus{ExitCode: &code}}, nil
}

func (terminalEcho) WaitForExit(context.Context, WaitForTerminalExitRequest) (WaitForTerminalExitResponse, error) {
	return WaitForTerminalExitResponse{Signal: "SIGTERM"}, nil
}

func (terminalEcho) Kill(context.Context, KillTerminalRequest) (KillTerminalResponse, error) {
	return KillTerminalResponse{}, nil
}

func (terminalEcho) Release(context.Context, ReleaseTerminalRequest) (ReleaseTerminalResponse, error) {
	return ReleaseTerminalResponse{}, nil
}

func TestTerminals(t *testing.T) {
	tests := []struct{ method, params, want string }{
		{
			MethodCreateTerminal,
			`{"sessionId":"s","command":"go","args":["test"],"env":[{"name":"A","value":"b"}],` +
				`"outputByteLimit":9007199254740993}`,
			`{"terminalId":"go[test]A9007199254740993"}`,
		},
		{
			MethodTerminalOutput, `{"sessionId":"s","terminalId":"t"}`,
			`{"output":"t","truncated":false,"exitStatus":{"exitCode":3}}`,
		},
		{MethodWaitForTerminalExit, `{"sessionId":"s","terminalId":"t"}`, `{"signal":"SIGTERM"}`},
		{MethodKillTerminal, `{"sessionId":"s","terminalId":"t"}`, `{}`},
		{MethodReleaseTerminal, `{"sessionId":"s","terminalId":"t"}`, `{}`},
		{
			MethodReadTextFile, `{"sessionId":"s","path":"/a"}`,
			`{"code":-32601,"message":"Method not found: fs/read_text_file"}`,
		},
	}
	_, p := open(t, ClientConfig{Terminals: terminalEcho{}}, newSessionResult)
	for _, tt := range tests {
		t.Run(tt.method, func(t *testing.T) {
			p.send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tt.method, tt.params)
			assert.Equal(t, tt.want, p.outcome())
		})
	}
}
