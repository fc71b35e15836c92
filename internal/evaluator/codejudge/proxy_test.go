package codejudge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// asker answers questions with their text, unless they say that it should fail.
type asker struct{}

func (asker) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	switch r.User {
	case "fail":
		return llm.Reply{}, errors.New("no answer")
	case "fail again":
		return llm.Reply{}, errors.New("no answer again")
	case "read", "written":
		return map[string]llm.Reply{"read": {InputTokens: 1}, "written": {OutputTokens: 1}}[r.User], nil
	case "wait":
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	}
	return llm.Reply{Text: r.Model + ": " + r.System + r.User}, nil
}

// client speaks with a proxy as a script does.
type client struct{ url, token string }

func start(t *testing.T, model string) (*proxy, client) {
	p, err := startProxy(t.Context(), proxyConfig{Models: asker{}, Model: model, MaxCalls: 3})
	require.NoError(t, err)
	env := p.Environ()
	require.Len(t, env, 6)
	_, url, _ := strings.Cut(env[0], "=")
	_, token, _ := strings.Cut(env[1], "=")
	return p, client{url, token}
}

func (c client) do(t *testing.T, method, path, body string) (int, string) {
	request, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if response.StatusCode != http.StatusMethodNotAllowed {
		assert.Equal(t, "application/json", response.Header.Get("Content-Type"))
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

func TestProxy(t *testing.T) {
	p, c := start(t, "m")
	steps := []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"info", "GET", "/info", "", 200, `{"availableTargets":["m"],"callCount":0,"maxCalls":3,"targetName":"m"}`},
		{"no question", "POST", "/invoke", `{}`, 400, "{\"error\":\"`question` is missing\"}"},
		{
			"another model", "POST", "/invoke", `{"question":"q","target":"n"}`, 400,
			`{"error":"unknown target \"n\"; available: m"}`,
		},
		{
			"no JSON", "POST", "/invoke", `x`, 400,
			`{"error":"read the request: invalid character 'x' looking for beginning of value"}`,
		},
		{"no requests", "POST", "/invokeBatch", `{}`, 400, "{\"error\":\"`requests` is missing\"}"},
		{"an empty batch", "POST", "/invokeBatch", `{"requests":[]}`, 200, `{"responses":[]}`},
		{
			"question", "POST", "/invoke", `{"question":"q","systemPrompt":"s","target":"m","evalCaseId":"x"}`, 200,
			`{"output":[{"role":"assistant","content":"m: sq"}],"rawText":"m: sq"}`,
		},
		{
			"too many at once", "POST", "/invokeBatch",
			`{"requests":[{"question":"a"},{"question":"b"},{"question":"c"}]}`, 429,
			`{"error":"max_calls is 3: 1 asked, 3 more requested"}`,
		},
		{
			"batch", "POST", "/invokeBatch", `{"requests":[{"question":"a"},{"question":"b"}]}`, 200,
			`{"responses":[{"output":[{"role":"assistant","content":"m: a"}],"rawText":"m: a"},` +
				`{"output":[{"role":"assistant","content":"m: b"}],"rawText":"m: b"}]}`,
		},
		{
			"one too many", "POST", "/invoke", `{"question":"q"}`, 429,
			`{"error":"max_calls is 3: 3 asked, 1 more requested"}`,
		},
		{"elsewhere", "GET", "/invoke", "", 405, "Method Not Allowed"},
	}
	for _, s := range steps {
		status, text := c.do(t, s.method, s.path, s.body)
		require.Equal(t, s.status, status, s.name)
		require.Equal(t, s.want, text, s.name)
	}
	require.NoError(t, p.Close())
}

func TestToken(t *testing.T) {
	p, c := start(t, "m")
	for _, token := range []string{"", "x", c.token + "x"} {
		status, text := client{c.url, token}.do(t, "GET", "/info", "")
		assert.Equal(t, 401, status)
		assert.Equal(t, `{"error":"invalid token"}`, text)
	}
	require.NoError(t, p.Close())
	other, d := start(t, "m")
	assert.NotEqual(t, c.token, d.token)
	require.NoError(t, other.Close())
}

func TestModelOfTheQuestion(t *testing.T) {
	p, c := start(t, "")
	status, text := c.do(t, "POST", "/invoke", `{"question":"q"}`)
	assert.Equal(t, 400, status)
	assert.Contains(t, text, "no model is named")
	_, text = c.do(t, "POST", "/invoke", `{"question":"q","target":"n"}`)
	assert.Contains(t, text, `"rawText":"n: q"`)
	_, text = c.do(t, "GET", "/info", "")
	assert.Contains(t, text, `"availableTargets":[]`)
	require.NoError(t, p.Close())
}

func TestTokens(t *testing.T) {
	p, c := start(t, "m")
	_, text := c.do(t, "POST", "/invokeBatch", `{"requests":[{"question":"read"},{"question":"written"}]}`)
	assert.Contains(t, text, `"tokenUsage":{"input":1,"output":0}`)
	assert.Contains(t, text, `"tokenUsage":{"input":0,"output":1}`)
	require.NoError(t, p.Close())
}

// A request that comes when the proxy is closed is not answered, and the proxy does not wait for it.
func TestClosed(t *testing.T) {
	p, _ := start(t, "m")
	require.NoError(t, p.Close())
	w := httptest.NewRecorder()
	p.server.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/info", nil))
	assert.Empty(t, w.Body.String())
	require.NoError(t, p.Close())
}

// The first error of a model is also returned at the end.
func TestModelFails(t *testing.T) {
	p, c := start(t, "m")
	status, text := c.do(t, "POST", "/invoke", `{"question":"fail"}`)
	assert.Equal(t, 502, status)
	assert.Equal(t, `{"error":"no answer"}`, text)
	_, text = c.do(t, "POST", "/invoke", `{"question":"fail again"}`)
	assert.Equal(t, `{"error":"no answer again"}`, text)
	require.EqualError(t, p.Close(), "ask the judge's model: no answer")
}

// Close does not wait for answers that the script no longer waits for, and does not count them as failures.
func TestCloseCutsOff(t *testing.T) {
	p, c := start(t, "m")
	request, err := http.NewRequest("POST", c.url+"/invoke", bytes.NewReader([]byte(`{"question":"wait"}`)))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+c.token)
	done := make(chan error)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			response.Body.Close()
		}
		done <- err
	}()
	for asked := 0; asked == 0; { // until the model is asked
		var info struct{ CallCount int }
		_, text := c.do(t, "GET", "/info", "")
		require.NoError(t, json.Unmarshal([]byte(text), &info))
		asked = info.CallCount
	}
	require.NoError(t, p.Close())
	require.Error(t, <-done)
}

func TestLargeRequest(t *testing.T) {
	p, c := start(t, "m")
	status, text := c.do(t, "POST", "/invoke", `{"question":"`+strings.Repeat("x", 5<<20)+`"}`)
	assert.Equal(t, 400, status)
	assert.Contains(t, text, "too large")
	require.NoError(t, p.Close())
}
