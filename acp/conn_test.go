package acp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLines(t *testing.T) {
	const update = `{"jsonrpc":"2.0","method":"session/update",` +
		`"params":{"sessionId":"?","update":{"sessionUpdate":"x"}}}`
	tests := []struct {
		name  string
		input string
		want  []Frame
		stats Stats
	}{
		{
			name: "blank lines", input: "\n \t\n" + update + "\n",
			want:  []Frame{{Err: ErrBlank}, {Raw: []byte(" \t"), Err: ErrBlank}, {Raw: []byte(update)}},
			stats: Stats{Frames: 3, Blank: 2, Ignored: 1},
		},
		{
			name: "windows line ends", input: update + "\r\n\r\n",
			want:  []Frame{{Raw: []byte(update)}, {Err: ErrBlank}},
			stats: Stats{Frames: 2, Blank: 1, Ignored: 1},
		},
		{
			name: "log output", input: "Loading model…\n" + update + "\n",
			want:  []Frame{{Raw: []byte("Loading model…"), Err: ErrNotJSON}, {Raw: []byte(update)}},
			stats: Stats{Frames: 2, Malformed: 1, Ignored: 1},
		},
		{
			name: "two values on a line", input: update + update + "\n",
			want:  []Frame{{Raw: []byte(update + update), Err: ErrNotJSON}},
			stats: Stats{Frames: 1, Malformed: 1},
		},
		{
			name: "JSON that is not a message", input: "7\n[]\n{}\n{\"id\":{},\"method\":\"m\"}\n",
			want: []Frame{
				{Raw: []byte("7"), Err: ErrNotMessage},
				{Raw: []byte("[]"), Err: ErrNotMessage},
				{Raw: []byte("{}"), Err: ErrNotMessage},
				{Raw: []byte(`{"id":{},"method":"m"}`), Err: ErrNotMessage},
			},
			stats: Stats{Frames: 4, Malformed: 4},
		},
		{
			name: "no line end at the end", input: update,
			want:  []Frame{{Raw: []byte(update)}},
			stats: Stats{Frames: 1, Ignored: 1},
		},
		{
			name: "a response to nothing", input: `{"jsonrpc":"2.0","id":99,"result":{}}` + "\n",
			want:  []Frame{{Raw: []byte(`{"jsonrpc":"2.0","id":99,"result":{}}`)}},
			stats: Stats{Frames: 1, Unmatched: 1},
		},
		{
			name: "invalid UTF-8", input: "{\"method\":\"\xff\"}\n",
			want:  []Frame{{Raw: []byte("{\"method\":\"\xff\"}")}},
			stats: Stats{Frames: 1, Ignored: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got recording
			c := NewClient(strings.NewReader(tt.input), io.Discard, ClientConfig{Tap: got.tap})
			<-c.Done()
			require.ErrorIs(t, c.Err(), ErrEnded)
			assert.Equal(t, tt.stats, c.Stats())
			require.Len(t, got.frames, len(tt.want))
			for i, f := range got.frames {
				assert.Equal(t, string(tt.want[i].Raw), string(f.Raw))
				assert.Equal(t, tt.want[i].Err, f.Err)
				assert.Equal(t, ToClient, f.Direction)
				assert.False(t, f.Time.IsZero())
			}
		})
	}
}

func TestLineTooLong(t *testing.T) {
	var got recording
	c, p := connect(t, ClientConfig{MaxLine: 1 << 10, Tap: got.tap})
	noticed := make(chan struct{})
	background(t, func() {
		p.expect(MethodInitialize)
		p.write(strings.Repeat("x", 1<<20))
		<-noticed // although the line has not ended
		p.write("\n")
		p.send(`"still recorded"`)
		p.out.Close()
	})
	_, err := c.Initialize(context.Background())
	require.ErrorIs(t, err, ErrLineTooLong)
	require.ErrorContains(t, err, "more than 1024 bytes")
	close(noticed)
	<-c.Done()
	require.ErrorIs(t, c.Err(), ErrLineTooLong)
	require.Len(t, got.frames, 3)
	assert.ErrorIs(t, got.frames[1].Err, ErrLineTooLong)
	assert.Len(t, got.frames[1].Raw, tooLongPrefix, "the line's beginning is kept")
	assert.Equal(t, `"still recorded"`, string(got.frames[2].Raw))
}

func TestLongLine(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 20<<20/16)
	var got recording
	s, p := open(t, ClientConfig{Update: got.update, DrainIdle: -1}, newSessionResult)
	background(t, func() {
		m := p.expect(MethodPrompt)
		p.update(text)
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
	})
	_, err := s.Prompt(context.Background())
	require.NoError(t, err)
	require.Len(t, got.seen(), 1)
	require.True(t, got.seen()[0] == text)
}

// TestRequestIDs checks that requests are answered with the very id they had, whatever ids our own requests have.
func TestRequestIDs(t *testing.T) {
	c, p := connect(t, ClientConfig{})
	background(t, func() {
		own := p.expect(MethodInitialize)
		for _, id := range []string{"0", string(own.ID), "-7", "1e3", "9007199254740993", `"a\u0041"`, `""`, "null"} {
			p.send(`{"jsonrpc":"2.0","id":%s,"method":"nobody/knows"}`, id)
			m := p.next()
			assert.Equal(t, id, string(m.ID))
			if assert.NotNil(t, m.Error) {
				assert.Equal(t, CodeMethodNotFound, m.Error.Code)
				assert.Equal(t, "Method not found: nobody/knows", m.Error.Message)
			}
		}
		p.send(`{"jsonrpc":"2.0","method":"nobody/knows"}`) // a notification is not answered
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}`, own.ID)
	})
	_, err := c.Initialize(context.Background())
	require.NoError(t, err)
	assert.Equal(t, 1, c.Stats().Ignored)
}

func TestResponses(t *testing.T) {
	tests := []struct {
		name     string
		response string
		want     string
	}{
		{
			"an error", `"error":{"code":-32000,"message":"Authentication required"}`,
			"acp: initialize: error -32000: Authentication required",
		},
		{
			"an error with data", `"error":{"code":1,"message":"no","data":{"why":"x"}}`,
			`acp: initialize: error 1: no ({"why":"x"})`,
		},
		{"an error without a code", `"error":{"message":"no"}`, "acp: initialize: error 0: no"},
		{
			"an error that is a string", `"error":"no"`,
			`acp: initialize: error -32603: the other side sent an error that is not an object ("no")`,
		},
		{
			"error and result", `"error":{"code":1,"message":"no"},"result":{"protocolVersion":1}`,
			"acp: initialize: error 1: no",
		},
		{"a null error", `"error":null,"result":{"protocolVersion":1}`, ""},
		{"no result", `"x":1`, `acp: decode InitializeResponse: want an object, got ""`},
		{
			"a result that misses something", `"result":{"protocolVersion":"1"}`,
			`acp: decode InitializeResponse: field "protocolVersion" is missing or of the wrong type`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := connect(t, ClientConfig{})
			background(t, func() { p.send(`{"jsonrpc":"2.0","id":%s,%s}`, p.next().ID, tt.response) })
			_, err := c.Initialize(context.Background())
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tt.want)
			}
		})
	}
}

// TestResponseThenExit checks that a response is not lost when the agent exits right after it.
func TestResponseThenExit(t *testing.T) {
	for range 1000 {
		client, agent := net.Pipe()
		c := NewClient(client, client, ClientConfig{})
		var wg sync.WaitGroup
		wg.Go(func() {
			buf := make([]byte, 4096)
			_, err := agent.Read(buf) // leaves the client in the middle of its write
			assert.NoError(t, err)
			_, err = io.WriteString(agent, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`)
			assert.NoError(t, err)
			assert.NoError(t, agent.Close())
		})
		_, err := c.Initialize(context.Background())
		require.NoError(t, err)
		wg.Wait()
		<-c.Done()
		require.ErrorIs(t, c.Err(), ErrEnded)
	}
}

// TestEndedWhileWriting: an agent that ends while it is written to closes its input first, and the broken pipe says
// less than the end of its output, or what it answered with its last breath.
func TestEndedWhileWriting(t *testing.T) {
	tests := []struct {
		name string
		last func(*peer) // what comes of the agent after it closed its input
		want error       // nil: it has answered
	}{
		{"it ends", func(p *peer) { p.out.Close() }, ErrEnded},
		{"it answers and ends", func(p *peer) {
			p.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`)
			p.out.Close()
		}, nil},
		{"it goes on", func(*peer) {}, syscall.EPIPE},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := connect(t, ClientConfig{})
				_ = p.pipe.CloseWithError(syscall.EPIPE)
				background(t, func() {
					synctest.Wait() // the client knows of the broken pipe
					tt.last(p)
				})
				_, err := c.Initialize(context.Background())
				require.ErrorIs(t, err, tt.want)
			})
		})
	}
}

// TestPermissionAfterToolCall checks that no request overtakes the notifications before it.
func TestPermissionAfterToolCall(t *testing.T) {
	var calls atomic.Int64
	var overtook atomic.Int64
	s, p := open(t, ClientConfig{
		Update: func(SessionNotification) { calls.Add(1) },
		Permission: func(_ context.Context, req RequestPermissionRequest) (RequestPermissionResponse, error) {
			if n, err := strconv.ParseInt(req.ToolCall.ToolCallID, 10, 64); err != nil || calls.Load() != n {
				overtook.Add(1)
			}
			return Selected("yes"), nil
		},
		DrainIdle: -1,
	}, newSessionResult)
	const trials = 1000
	background(t, func() {
		m := p.expect(MethodPrompt)
		for i := 1; i <= trials; i++ {
			p.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":`+
				`{"sessionUpdate":"tool_call","toolCallId":"%d","title":"t"}}}`+"\n"+
				`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s",`+
				`"toolCall":{"toolCallId":"%d"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}`,
				i, i, i)
			answer := p.next()
			assert.Equal(t, strconv.Itoa(i), string(answer.ID))
			assert.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"yes"}}`, string(answer.Result))
		}
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
	})
	_, err := s.Prompt(context.Background())
	require.NoError(t, err)
	assert.Zero(t, overtook.Load())
	assert.EqualValues(t, trials, calls.Load())
}

// TestFlood checks that a flood of updates is neither lost nor kept in memory while they cannot be handled.
func TestFlood(t *testing.T) {
	const updates, limit = 100_000, 1 << 20
	synctest.Test(t, func(t *testing.T) {
		var tapped, handled atomic.Int64 // bytes, updates
		release := make(chan struct{})
		s, p := open(t, ClientConfig{
			MaxBacklog: limit,
			Tap:        func(f Frame) { tapped.Add(int64(len(f.Raw))) },
			Update: func(n SessionNotification) {
				<-release
				if want := strconv.FormatInt(handled.Load(), 10); updateText(n) != want {
					t.Errorf("update %s is %q", want, updateText(n))
				}
				handled.Add(1)
			},
		}, newSessionResult)
		background(t, func() {
			m := p.expect(MethodPrompt)
			var lines strings.Builder
			for i := range updates {
				lines.WriteString(updateLine(strconv.Itoa(i)))
				if lines.Len() >= writeChunk || i == updates-1 {
					p.write(lines.String())
					lines.Reset()
				}
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
		})
		go func() {
			synctest.Wait() // until the reader waits for the handler, and the agent for the reader
			assert.Greater(t, tapped.Load(), int64(limit/4), "handlers do not hold up the reader")
			assert.Less(t, tapped.Load(), int64(limit), "but the backlog is bounded")
			close(release)
		}()
		_, err := s.Prompt(context.Background())
		require.NoError(t, err)
		assert.EqualValues(t, updates, handled.Load())
	})
}

// TestStalledAgent checks that an agent that does not read its input cannot hang the client.
func TestStalledAgent(t *testing.T) {
	t.Run("while a call is written", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, _ := connect(t, ClientConfig{})
			start := time.Now()
			_, err := c.Initialize(context.Background())
			require.ErrorIs(t, err, ErrStalled)
			require.EqualError(t, err, "acp: initialize: acp: the agent does not read its input: nothing read for 30s")
			assert.Equal(t, 30*time.Second, time.Since(start))
			require.ErrorIs(t, c.Err(), ErrStalled)
		})
	})
	t.Run("while the context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, _ := connect(t, ClientConfig{})
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := c.Initialize(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NoError(t, c.Err())
		})
	})
	t.Run("slow is not stalled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, p := open(t, ClientConfig{DrainIdle: -1}, newSessionResult)
			background(t, func() {
				p.in = bufio.NewReaderSize(slowReader{p.pipe, 20 * time.Second}, writeChunk)
				m := p.expect(MethodPrompt)
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
			})
			_, err := s.Prompt(context.Background(), TextContent{Text: strings.Repeat("x", 1<<20)})
			require.NoError(t, err)
		})
	})
}

type slowReader struct {
	r     io.Reader
	pause time.Duration
}

func (s slowReader) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	return s.r.Read(p)
}

func TestHandlerPanics(t *testing.T) {
	panics := make(chan any, 1)
	s, p := open(t, ClientConfig{
		Panicked: func(value any, stack []byte) {
			assert.Contains(t, string(stack), "acp.TestHandlerPanics")
			panics <- value
		},
		Permission: func(context.Context, RequestPermissionRequest) (RequestPermissionResponse, error) {
			panic("permission")
		},
		Files: fileFuncs{
			read: func(context.Context, ReadTextFileRequest) (ReadTextFileResponse, error) { panic("read") },
		},
	}, newSessionResult)
	for method, params := range map[string]string{
		MethodReadTextFile:      `{"sessionId":"s","path":"/a"}`,
		MethodRequestPermission: `{"sessionId":"s","toolCall":{"toolCallId":"1"},"options":[]}`,
	} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
		m := p.next()
		require.NotNil(t, m.Error)
		assert.Equal(t, CodeInternal, m.Error.Code)
		assert.Equal(t, fmt.Sprintf("handler of %s panicked: %v", method, <-panics), m.Error.Message)
	}
	require.NoError(t, s.client.Err(), "the connection lives on")
}

func TestUpdatePanics(t *testing.T) {
	s, p := open(t, ClientConfig{Update: func(SessionNotification) { panic("oh") }}, newSessionResult)
	background(t, func() {
		p.expect(MethodPrompt)
		p.update("x")
	})
	_, err := s.Prompt(context.Background())
	require.ErrorContains(t, err, "acp: session/prompt: acp: handler of session/update panicked: oh\n")
}

func TestTapPanics(t *testing.T) {
	for _, direction := range []Direction{ToAgent, ToClient} {
		t.Run(string(direction), func(t *testing.T) {
			var panicked any
			s, p := open(t, ClientConfig{
				Tap: func(f Frame) {
					if f.Direction == direction && strings.Contains(string(f.Raw), "prompt") {
						panic("oh")
					}
				},
				Panicked: func(value any, _ []byte) { panicked = value },
			}, newSessionResult)
			background(t, func() {
				if direction == ToClient {
					p.expect(MethodPrompt)
					p.update("of the prompt")
				}
			})
			_, err := s.Prompt(context.Background())
			require.ErrorContains(t, err, "acp: session/prompt: acp: the tap panicked: oh\n")
			require.Equal(t, "oh", panicked)
		})
	}
}

func TestTooManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := open(t, ClientConfig{Files: fileFuncs{
			read: func(ctx context.Context, _ ReadTextFileRequest) (ReadTextFileResponse, error) {
				<-ctx.Done()
				return ReadTextFileResponse{}, ctx.Err()
			},
		}}, newSessionResult)
		for i := range maxServed + 1 {
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}`, i)
		}
		m := p.next()
		assert.Equal(t, strconv.Itoa(maxServed), string(m.ID))
		assert.Equal(t, "more than 1024 requests at a time", m.Error.Message)
	})
}

func TestCancelRequest(t *testing.T) {
	_, p := open(t, ClientConfig{Files: fileFuncs{
		read: func(ctx context.Context, _ ReadTextFileRequest) (ReadTextFileResponse, error) {
			<-ctx.Done()
			return ReadTextFileResponse{}, ctx.Err()
		},
	}}, newSessionResult)
	p.send(`{"jsonrpc":"2.0","id":"r","method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"other"}}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"r"}}`)
	m := p.next()
	assert.Equal(t, ID(`"r"`), m.ID)
	require.NotNil(t, m.Error)
	assert.Equal(t, CodeRequestCancelled, m.Error.Code)
}

// TestTap checks that frames of both directions are recorded, before anything follows from them.
func TestTap(t *testing.T) {
	var got recording
	s, p := open(t, ClientConfig{
		DrainIdle: -1,
		Tap:       got.tap,
		Update: func(SessionNotification) {
			got.mu.Lock()
			defer got.mu.Unlock()
			isUpdate := func(f Frame) bool { return string(f.Raw)+"\n" == updateLine("hi") }
			assert.True(t, slices.ContainsFunc(got.frames, isUpdate), "recorded before it is handled")
		},
	}, newSessionResult)
	background(t, func() {
		m := p.expect(MethodPrompt)
		p.update("hi")
		p.send(`{"jsonrpc":"2.0","id":7,"method":"x"}`)
		p.next()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
	})
	_, err := s.Prompt(context.Background(), TextContent{Text: "a\nb <>"})
	require.NoError(t, err)
	var lines []string
	for _, f := range got.frames[4:] {
		lines = append(lines, string(f.Direction)+" "+string(f.Raw))
	}
	assert.Equal(t, []string{
		`client->agent {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":` +
			`{"sessionId":"s","prompt":[{"type":"text","text":"a\nb <>"}]}}`,
		`agent->client {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` +
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}`,
		`agent->client {"jsonrpc":"2.0","id":7,"method":"x"}`,
		`client->agent {"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found: x"}}`,
		`agent->client {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`,
	}, lines)
}

// TestTapOneAtATime sends requests and reads their responses at the same time.
func TestTapOneAtATime(t *testing.T) {
	const requests = 500
	var inside atomic.Int32
	tapped := 0 // the race detector also watches it
	c, p := connect(t, ClientConfig{Tap: func(Frame) {
		if inside.Add(1) != 1 {
			t.Error("Tap is called while it runs")
		}
		runtime.Gosched()
		tapped++
		inside.Add(-1)
	}})
	background(t, func() {
		for range requests {
			p.next()
		}
		p.out.Close()
	})
	for i := range requests {
		p.send(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, i)
	}
	<-c.Done()
	assert.Equal(t, 2*requests, tapped)
}

func TestClose(t *testing.T) {
	c, p := connect(t, ClientConfig{})
	closed := make(chan error)
	background(t, func() {
		p.expect(MethodInitialize)
		closed <- c.Close()
		_, err := p.in.ReadByte()
		assert.ErrorIs(t, err, io.EOF, "the agent sees the end of its input")
	})
	_, err := c.Initialize(context.Background())
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, <-closed)
	require.ErrorIs(t, c.Err(), ErrClosed)
	require.NoError(t, c.Close(), "twice does no harm")
	_, err = c.Initialize(context.Background())
	require.ErrorIs(t, err, ErrClosed)
	p.update("late") // is read all the same, or this would hang
	select {
	case <-c.Done():
		t.Error("done before the agent has closed its output")
	default:
	}
}
