package modelserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func newServer(t *testing.T) *Server {
	t.Helper()
	s, err := New(Model{Scripts: demo})
	require.NoError(t, err)
	return s
}

func post(s *Server, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

const (
	claudeBody = `{"model": "m", "max_tokens": 9, "stream": true, "thinking": {"type": "adaptive"},
		"system": "Working directory: /w", "tools": [{"name": "Bash"}, {"name": "Read"}],
		"messages": [{"role": "user", "content": "Fix it."}]}`
	codexBody = `{"stream": true,
		"tools": [{"type": "custom", "name": "apply_patch"}, {"type": "function", "name": "exec"}],
		"input": [{"role": "user", "content": [{"type": "input_text", "text": "<environment_context><cwd>/w</cwd>"}]},
		{"role": "user", "content": [{"type": "input_text", "text": "Fix it."}]}%]}`
	titleBody = `{"model": "m", "max_tokens": 9, "tools": [], "messages": [{"role": "user", "content": "Fix it."}],
		"output_config": {"format": {"schema": {
			"properties": {"title": {"type": "string"}, "ok": {"type": "boolean"}}}}}}`
)

const chatBody = `{"model": "m", "stream": true, "tools": [{"type": "function", "function": {"name": "Bash"}},
	{"type": "function", "function": {"name": "Read"}}],
	"messages": [{"role": "system", "content": "Working directory: /w"},
	{"role": "user", "content": [{"type": "text", "text": "Fix it."}]}%]}`

// chat returns chatBody with more messages.
func chat(more string) string { return strings.Replace(chatBody, "%", more, 1) }

const geminiBody = `{"systemInstruction": {"parts": [{"text": "Working directory: /w"}]},
	"tools": [{"functionDeclarations": [{"name": "Bash"}, {"name": "Read"}]}],
	"generationConfig": {"thinkingConfig": {"includeThoughts": true}},
	"contents": [{"role": "user", "parts": [{"text": "Fix it."}]}]}`

// geminiPath is the address of a method of Gemini's models.
func geminiPath(method string) string { return "/v1beta/models/m:" + method }

func codex(more string) string { return strings.Replace(codexBody, "%", more, 1) }

func TestAnswers(t *testing.T) {
	const result = `, {"type": "custom_tool_call_output", "call_id": "c", "output": "Success"}`
	whole := func(body string) string { return strings.Replace(body, `"stream": true`, `"stream": false`, 1) }
	reasons := func(body string) string { return `{"reasoning": {"summary": "auto"},` + strings.TrimPrefix(body, "{") }
	tests := []struct{ name, path, body string }{
		{name: "messages-stream", path: "/v1/messages?beta=true", body: claudeBody},
		{name: "messages-whole", path: "/v1/messages", body: whole(claudeBody)},
		{name: "messages-title", path: "/v1/messages", body: titleBody},
		{name: "messages-count", path: "/v1/messages/count_tokens", body: claudeBody},
		{name: "chat-call", path: "/v1/chat/completions", body: chat("")},
		{
			name: "chat-say", path: "/v1/chat/completions",
			body: chat(strings.Repeat(`, {"role": "tool", "content": "package a: FAIL"}`, 3)),
		},
		{name: "gemini-stream", path: geminiPath("streamGenerateContent?alt=sse"), body: geminiBody},
		{name: "gemini-whole", path: geminiPath("generateContent"), body: geminiBody},
		{
			name: "gemini-score", path: geminiPath("generateContent"),
			body: `{"contents": [{"role": "user", "parts": [{"text": "Fix it."}]}],
				"generationConfig": {"responseJsonSchema": {
					"properties": {"why": {"type": "STRING"}, "score": {"type": "INTEGER"}}}}}`,
		},
		{name: "responses-stream-call", path: "/v1/responses", body: codex("")},
		{name: "responses-stream-say", path: "/v1/responses", body: codex(result)},
		{name: "responses-whole", path: "/v1/responses", body: whole(codex(""))},
		{name: "responses-function", path: "/v1/responses", body: reasons(strings.NewReplacer(
			`"apply_patch"`, `"Read"`, `"custom"`, `"function"`, `"exec"`, `"Bash"`).Replace(codex("")))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			w := post(s, test.path, test.body)
			require.NoError(t, s.Err())
			assert.Equal(t, http.StatusOK, w.Code)
			golden.Equal(t, "testdata/"+test.name+".golden", w.Body.String())
			assert.Equal(t, w.Body.String(), post(s, test.path, test.body).Body.String(),
				"a retry gets the same answer")
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{
			name: "no script", path: "/v1/messages", body: strings.Replace(claudeBody, "Fix", "Break", 1), status: 400,
			want: `POST /v1/messages: no script matches the prompt "Break it." with the tools Bash, Read`,
		},
		{
			name: "past the end", path: "/v1/responses", status: 400,
			body: codex(strings.Repeat(`, {"type": "function_call_output", "output": "x"}`, 2)),
			want: `POST /v1/responses: script "demo/codex" has only 2 turns, but the agent continues, ` +
				`with 2 tool results`,
		},
		{
			name: "not JSON", path: "/v1/messages", body: "{", status: 400,
			want: "POST /v1/messages: decode the request: unexpected end of JSON input",
		},
		{
			name: "unknown address", path: "/v1/completions", body: "{}", status: 404,
			want: "POST /v1/completions: unknown address",
		},
		{
			name: "unknown method of Gemini's", path: geminiPath("embedContent"), body: "{}", status: 404,
			want: `POST /v1beta/models/m:embedContent: unknown method "embedContent"`,
		},
		{
			name: "unknown method", method: http.MethodPut, path: "/v1/messages", body: "{}", status: 404,
			want: "PUT /v1/messages: unknown address",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			w := httptest.NewRecorder()
			method := test.method
			if method == "" {
				method = http.MethodPost
			}
			s.ServeHTTP(w, httptest.NewRequest(method, test.path, strings.NewReader(test.body)))
			assert.Equal(t, test.status, w.Code)
			assert.EqualError(t, s.Err(), test.want)
			_, reason, _ := strings.Cut(test.want, ": ")
			assert.JSONEq(t, compact(map[string]any{"type": "error", "error": map[string]any{
				"type": "invalid_request_error", "message": "scripted model: " + reason,
			}}), w.Body.String())
		})
	}
}

func TestTooLargeRequest(t *testing.T) {
	s := newServer(t)
	w := httptest.NewRecorder()
	endless := io.MultiReader(strings.NewReader(`{"model": "`), &endlessReader{})
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/messages", endless))
	assert.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	assert.EqualError(t, s.Err(), "POST /v1/messages: read the request: http: request body too large")
}

type endlessReader struct{}

func (*endlessReader) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte("x"), len(p))), nil
}

func TestLookingAroundIsHarmless(t *testing.T) {
	s := newServer(t)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, "/v1/models", nil))
		assert.Equal(t, http.StatusNotFound, w.Code)
	}
	assert.NoError(t, s.Err())
}

func TestErrIsBounded(t *testing.T) {
	s := newServer(t)
	for range maxErrors + 3 {
		post(s, "/v1/nothing", "")
	}
	lines := strings.Split(s.Err().Error(), "\n")
	assert.Len(t, lines, maxErrors+1)
	assert.Equal(t, "and 3 more errors", lines[maxErrors])
}

func TestNewErrors(t *testing.T) {
	_, err := New(Model{})
	assert.EqualError(t, err, "no scripts")

	_, err = New(Model{Scripts: []Script{{Name: "a"}, {
		Name: "a", Prompt: demo[0].Prompt, Offers: "A", Turns: []Turn{{Say: "x"}, {Calls: []Call{{Tool: "A"}}}},
	}}})
	assert.EqualError(t, err, `script "a": prompt, offers and turns are required
duplicate script "a"
script "a": turns[0]: a turn without calls must be the last one
script "a": turns[1].calls[0].input: must be a mapping, or text for a tool that takes text`)
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.Latency = time.Second
		begin := time.Now()
		post(s, "/v1/messages", claudeBody)
		assert.Equal(t, time.Second, time.Since(begin))

		s.Pause = 100 * time.Millisecond
		begin = time.Now()
		post(s, "/v1/messages", claudeBody)
		assert.Equal(t, time.Second+300*time.Millisecond, time.Since(begin), "between each two of its four parts")

		begin = time.Now()
		post(s, "/v1/messages", titleBody)
		assert.Zero(t, time.Since(begin), "side requests do not wait")
	})
}

// TestGivenUp: an agent that is cancelled breaks off its request; that is no error of the script.
func TestGivenUp(t *testing.T) {
	s := newServer(t)
	s.Latency = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/messages", strings.NewReader(claudeBody)))
	assert.NoError(t, s.Err())
	assert.Empty(t, w.Body.String())

	s.Latency = 0
	s.ServeHTTP(&brokenWriter{httptest.NewRecorder()},
		httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/messages/count_tokens",
			strings.NewReader(claudeBody)))
	assert.NoError(t, s.Err())

	s.ServeHTTP(&brokenWriter{httptest.NewRecorder()},
		httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(claudeBody)))
	assert.EqualError(t, s.Err(), "POST /v1/messages: answer: broken")
}

type brokenWriter struct{ *httptest.ResponseRecorder }

func (*brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestStart(t *testing.T) {
	s := newServer(t)
	address, err := s.Start()
	require.NoError(t, err)
	u, err := url.Parse(address)
	require.NoError(t, err)
	assert.True(t, net.ParseIP(u.Hostname()).IsLoopback(), address)

	r, err := http.Post(address+"/v1/messages", "application/json", strings.NewReader(claudeBody))
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	assert.Equal(t, "text/event-stream", r.Header.Get("Content-Type"))
	golden.Equal(t, "testdata/messages-stream.golden", string(body))

	require.NoError(t, s.Close())
	_, err = http.Get(address)
	assert.Error(t, err, "it still listens")
	assert.NoError(t, s.Err())
}

func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		claudeBody, codex(""), titleBody, geminiBody, chat(""),
		`{"messages": [{"role": "user", "content": null}]}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := newServer(t)
		for _, path := range []string{
			"/v1/messages", "/v1/messages/count_tokens", "/v1/responses",
			"/v1/chat/completions", geminiPath("streamGenerateContent"),
		} {
			w := post(s, path, body)
			refused := s.Err() != nil
			assert.Equal(t, refused, w.Code != http.StatusOK, "refusals and errors go together")
			if refused {
				s = newServer(t)
			}
		}
	})
}

// TestPresets resolves what WritePresets writes.
func TestPresets(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WritePresets(dir, "http://127.0.0.1:1"))
	notRun := []string{"cline-acp", "goose-acp", "acp"} // by no test of ours
	for _, profile := range agent.Profiles() {
		if profile.PresetFile == "" || slices.Contains(notRun, profile.Kind) {
			continue
		}
		p, err := agent.Resolve(profile.Kind, preset, dir)
		require.NoError(t, err)
		assert.Equal(t, agent.Scripted, p.Endpoint)
		launch, err := profile.Launch("", nil, p)
		require.NoError(t, err)
		var said strings.Builder
		for name, value := range launch.Env {
			fmt.Fprintln(&said, name, value)
		}
		for _, f := range launch.Files {
			said.Write(f.Data)
		}
		assert.Contains(t, said.String(), "http://127.0.0.1:1", "%s is not pointed at the server", profile.Kind)
		assert.Contains(t, said.String(), key, "%s has no key", profile.Kind)
	}
}
