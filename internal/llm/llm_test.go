package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const testKey = "sk-" + "test-0123456789abcdef"

// answer is one answer of a fake server.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // if not nil, there is no answer
}

func says(text string) answer {
	body, _ := json.Marshal(map[string]any{
		"model": "judge-1",
		"choices": []any{map[string]any{
			"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": text},
		}},
		"usage": map[string]any{"prompt_tokens": 12, "completion_tokens": 3},
	})
	return answer{status: 200, body: string(body)}
}

func fails(status int, message string) answer {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "x"}})
	return answer{status: status, body: string(body)}
}

// script is a transport that returns its answers in order, the last one again and again, and records the requests.
type script struct {
	answers []answer
	bodies  []map[string]any
	times   []time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, body)
	s.times = append(s.times, time.Now())
	a := s.answers[min(len(s.bodies), len(s.answers))-1]
	if a.err != nil {
		return nil, a.err
	}
	header := a.header
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: header,
		Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
	}, nil
}

func (s *script) client() *Client {
	return New(Config{APIKey: testKey, BaseURL: "http://model.test/v1", HTTPClient: &http.Client{Transport: s}})
}

// pauses returns the time between the attempts.
func (s *script) pauses() []time.Duration {
	var all []time.Duration
	for i := 1; i < len(s.times); i++ {
		all = append(all, s.times[i].Sub(s.times[i-1]))
	}
	return all
}

var question = Request{
	Model: "judge", System: "Score.", User: "the work",
	Schema: json.RawMessage(`{"type":"object"}`), SchemaName: "score", MaxTokens: 50,
}

func TestRequestAndReply(t *testing.T) {
	var path, authorization string
	var body map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, authorization = r.URL.Path, r.Header.Get("Authorization")
		_ = json.NewDecoder(r.Body).Decode(&body)
		_, _ = io.WriteString(w, says(`{"score": 7}`).body)
	}))
	defer server.Close()
	config, err := FromEnvironment(func(name string) string {
		return map[string]string{"OPENAI_API_KEY": testKey + "\n", "OPENAI_BASE_URL": server.URL}[name]
	})
	require.NoError(t, err)
	reply, err := New(config).Complete(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, Reply{Text: `{"score": 7}`, Model: "judge-1", InputTokens: 12, OutputTokens: 3}, reply)
	require.Equal(t, "/v1/chat/completions", path)
	require.Equal(t, "Bearer "+testKey, authorization, "white space around the key is not part of it")
	require.Equal(t, map[string]any{
		"model": "judge", "stream": false, "temperature": 0.0, "max_completion_tokens": 50.0,
		"messages": []any{
			map[string]any{"role": "system", "content": "Score."},
			map[string]any{"role": "user", "content": "the work"},
		},
		"response_format": map[string]any{
			"type":        "json_schema",
			"json_schema": map[string]any{"name": "score", "schema": map[string]any{"type": "object"}, "strict": true},
		},
	}, body)
}

func TestRetries(t *testing.T) {
	reset := answer{err: errors.New("connection reset by peer")}
	tests := []struct {
		name, reason string
		answers      []answer
		attempts     int
		err          string // empty: a reply
	}{
		{"429, then a reply", "", []answer{fails(429, "slow down"), says("x")}, 2, ""},
		{"500 and a fault of the network, then a reply", "", []answer{fails(500, "oops"), reset, says("x")}, 3, ""},
		{
			"500 for ever", "attempts are limited",
			[]answer{fails(500, "oops")},
			5,
			"ask judge at model.test: status 500 after 5 attempts: oops (the server fails; try again later)",
		},
		{
			"no network", "",
			[]answer{reset},
			5,
			"ask judge at model.test: no answer after 5 attempts: connection reset by peer " +
				"(check the network and OPENAI_BASE_URL)",
		},
		{
			"bad key", "the server repeats the key; the error does not",
			[]answer{fails(401, "no such key: "+testKey)},
			1,
			"ask judge at model.test: status 401: no such key: [REDACTED:OPENAI_API_KEY] (check OPENAI_API_KEY)",
		},
		{
			"no credit", "a 429 that does not pass",
			[]answer{{status: 429, body: `{"error":{"message":"quota","type":"x","code":"insufficient_quota"}}`}},
			1,
			"ask judge at model.test: status 429: quota (the account has no credit left; waiting does not help)",
		},
		{
			"no such model", "",
			[]answer{fails(404, "no judge")},
			1,
			"ask judge at model.test: status 404: no judge (check the model's name and OPENAI_BASE_URL)",
		},
		{
			"an error that is a page", "proxies answer so",
			[]answer{{status: 403, body: "<h1>\nblocked</h1>"}},
			1,
			"ask judge at model.test: status 403: <h1> blocked</h1> (this key may not use this model or server)",
		},
		{
			"too long a prompt", "a 400 about something else is final",
			[]answer{fails(400, "context length exceeded")},
			1,
			"ask judge at model.test: status 400: context length exceeded",
		},
		{
			"garbage", "bad JSON is not an error of the network",
			[]answer{{status: 200, body: "<html>"}},
			1,
			"ask judge at model.test: status 200: the answer is not JSON: " +
				"invalid character '<' looking for beginning of value: <html>",
		},
		{
			"huge", "the next one would be as long",
			[]answer{{status: 200, body: strings.Repeat("x", maxAnswer+1)}},
			1,
			"ask judge at model.test: status 200: the answer exceeds the 4 MiB limit",
		},
		{
			"no choices", "",
			[]answer{{status: 200, body: "{}"}},
			1,
			"ask judge at model.test: status 200: the answer has no reply of the model",
		},
		{"empty reply", "", []answer{says(" \n")}, 1, "ask judge at model.test: status 200: the reply is empty"},
		{
			"refusal", "",
			[]answer{{status: 200, body: `{"choices":[{"message":{"refusal":"I will not"}}]}`}},
			1,
			"ask judge at model.test: status 200: the model refused: I will not",
		},
		{
			"cut reply", "half an object might still parse",
			[]answer{{
				status: 200, body: `{"choices":[{"finish_reason":"length","message":{"content":"{\"score\": 1"}}]}`,
			}},
			1,
			`ask judge at model.test: status 200: the reply was cut off at the token limit: {"score": 1`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: tt.answers}
				reply, err := s.client().Complete(t.Context(), question)
				require.Len(t, s.bodies, tt.attempts, tt.reason)
				if tt.err == "" {
					require.NoError(t, err)
					require.Equal(t, "x", reply.Text)
					return
				}
				require.EqualError(t, err, tt.err, tt.reason)
				require.Zero(t, reply)
			})
		})
	}
}

func TestPauses(t *testing.T) {
	after := func(value string) answer {
		return answer{status: 429, header: http.Header{"Retry-After": {value}}, body: "{}"}
	}
	tests := []struct {
		name, reason string
		answer       answer
		least, most  []time.Duration // of each pause
	}{
		{
			"growing", "half is random", fails(503, "busy"),
			[]time.Duration{250e6, 500e6, 1e9, 2e9},
			[]time.Duration{500e6, 1e9, 2e9, 4e9},
		},
		{"Retry-After in seconds", "", after("7"), []time.Duration{7e9}, []time.Duration{7e9}},
		{"Retry-After in parts of a second", "", after("0.25"), []time.Duration{250e6}, []time.Duration{250e6}},
		{"Retry-After of a day", "counts as a minute", after("86400"), []time.Duration{60e9}, []time.Duration{60e9}},
		{"Retry-After beyond numbers", "", after("1e300"), []time.Duration{60e9}, []time.Duration{60e9}},
		{"Retry-After of no meaning", "counts as none", after("soon"), []time.Duration{250e6}, []time.Duration{500e6}},
		{"Retry-After of NaN", "counts as none", after("NaN"), []time.Duration{250e6}, []time.Duration{500e6}},
		{"Retry-After below zero", "counts as none", after("-3"), []time.Duration{250e6}, []time.Duration{500e6}},
		{
			"milliseconds before seconds", "",
			answer{status: 429, header: http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"40"}}, body: "{}"},
			[]time.Duration{40e6},
			[]time.Duration{40e6},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{tt.answer}}
				_, err := s.client().Complete(t.Context(), question)
				require.Error(t, err)
				pauses := s.pauses()
				for i := range tt.least {
					require.GreaterOrEqual(t, pauses[i], tt.least[i], tt.reason)
					require.LessOrEqual(t, pauses[i], tt.most[i], tt.reason)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(11 * time.Second).UTC().Format(http.TimeFormat)
		s := &script{answers: []answer{after(date), says("x")}}
		_, err := s.client().Complete(t.Context(), question)
		require.NoError(t, err)
		require.InDelta(t, 11*time.Second, s.pauses()[0], float64(time.Second), "a date")
	})
	require.LessOrEqual(t, pause(1000, 0), longestPause)
}

func TestRefusedFeatures(t *testing.T) {
	noSchema := fails(400, "'response_format' of type json_schema is not supported")
	noTemperature := answer{
		status: 400, body: `{"error":{"message":"unsupported value","type":"x","param":"temperature"}}`,
	}
	t.Run("schema", func(t *testing.T) {
		s := &script{answers: []answer{noSchema, says("a"), says("b")}}
		client := s.client()
		for _, want := range []string{"a", "b"} {
			reply, err := client.Complete(t.Context(), question)
			require.NoError(t, err)
			require.Equal(t, want, reply.Text)
		}
		require.Len(t, s.bodies, 3, "the client remembers")
		require.Contains(t, s.bodies[0], "response_format")
		require.NotContains(t, s.bodies[1], "response_format")
		require.NotContains(t, s.bodies[2], "response_format")
		require.Contains(t, s.bodies[2], "temperature")
	})
	t.Run("schema and temperature", func(t *testing.T) {
		s := &script{answers: []answer{noTemperature, noSchema, says("a")}}
		reply, err := s.client().Complete(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, "a", reply.Text)
		require.NotContains(t, s.bodies[2], "response_format")
		require.NotContains(t, s.bodies[2], "temperature")
	})
	t.Run("refused for ever", func(t *testing.T) {
		s := &script{answers: []answer{noSchema}}
		_, err := s.client().Complete(t.Context(), question)
		require.ErrorContains(t, err, "status 400: 'response_format'")
		require.Len(t, s.bodies, 2, "asked once without")
	})
}

func TestHangingServer(t *testing.T) {
	arrived := make(chan struct{})
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	}))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := New(Config{BaseURL: server.URL + "/v1"}).Complete(ctx, question)
	require.ErrorIs(t, err, context.Canceled)
}

// hang is a transport whose answers never come.
type hang struct{ requests atomic.Int32 }

func (h *hang) RoundTrip(r *http.Request) (*http.Response, error) {
	h.requests.Add(1)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &hang{}
		client := New(Config{
			BaseURL: "http://model.test/v1", MaxAttempts: 2, Timeout: 3 * time.Second,
			HTTPClient: &http.Client{Transport: transport},
		})
		_, err := client.Complete(t.Context(), question)
		require.EqualError(t, err, "ask judge at model.test: no answer after 2 attempts: no answer within 3s "+
			"(check the network and OPENAI_BASE_URL)")
		require.EqualValues(t, 2, transport.requests.Load())
	})
}

func TestCancelledWhilePausing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{{status: 429, header: http.Header{"Retry-After": {"30"}}, body: "busy"}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := s.client().Complete(ctx, question)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "busy", "why it was pausing")
		require.Equal(t, time.Second, time.Since(start))
	})
}

func TestErrorOfRequest(t *testing.T) {
	for status, want := range map[int]bool{
		0: false, 200: true, 400: true, 413: true, 422: true, 401: false, 404: false, 503: false,
	} {
		require.Equal(t, want, (&Error{Status: status}).OfRequest(), fmt.Sprint(status))
	}
}

func TestFromEnvironment(t *testing.T) {
	tests := []struct {
		name, reason string
		env          map[string]string
		want         Config
		err          string
	}{
		{"no key", "", map[string]string{"OPENAI_BASE_URL": "http://x"}, Config{}, ErrNoKey.Error()},
		{"blank key", "", map[string]string{"OPENAI_API_KEY": " "}, Config{}, ErrNoKey.Error()},
		{"key alone", "", map[string]string{"OPENAI_API_KEY": "k"}, Config{APIKey: "k", MaxCalls: 1000}, ""},
		{
			"without /v1", "",
			map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://x:1/"},
			Config{APIKey: "k", BaseURL: "http://x:1/v1", MaxCalls: 1000},
			"",
		},
		{
			"with /v1", "",
			map[string]string{"OPENAI_API_KEY": "k", "OPENAI_API_BASE": "https://x/openai/v1/"},
			Config{APIKey: "k", BaseURL: "https://x/openai/v1", MaxCalls: 1000},
			"",
		},
		{
			"both", "OPENAI_BASE_URL is the current name",
			map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://a", "OPENAI_API_BASE": "http://b"},
			Config{APIKey: "k", BaseURL: "http://a/v1", MaxCalls: 1000},
			"",
		},
		{
			"not an address", "the value may be a secret",
			map[string]string{"OPENAI_API_KEY": "k", "OPENAI_API_BASE": "secret"},
			Config{},
			"OPENAI_API_BASE: not an http or https address, such as https://api.openai.com/v1",
		},
		{
			"query", "",
			map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://x?key=1"},
			Config{},
			"OPENAI_BASE_URL: an address with a query or a fragment cannot be extended to /v1/chat/completions",
		},
		{
			"budget", "",
			map[string]string{"OPENAI_API_KEY": "k", "EVAL_LLM_MAX_CALLS": "20"},
			Config{APIKey: "k", MaxCalls: 20},
			"",
		},
		{
			"budget of nothing", "0 would mean that there is none",
			map[string]string{"OPENAI_API_KEY": "k", "EVAL_LLM_MAX_CALLS": "0"},
			Config{},
			`EVAL_LLM_MAX_CALLS: got "0", want a number of calls that is at least 1`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := FromEnvironment(func(name string) string { return tt.env[name] })
			require.Equal(t, tt.want, got, tt.reason)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.err, tt.reason)
		})
	}
}

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{fails(500, "oops"), says("x")}}
		client := New(Config{BaseURL: "http://model.test/v1", HTTPClient: &http.Client{Transport: s}, MaxCalls: 2})
		for range 2 {
			_, err := client.Complete(t.Context(), question)
			require.NoError(t, err)
		}
		require.Len(t, s.bodies, 3, "another attempt is no further call")
		_, err := client.Complete(t.Context(), question)
		require.EqualError(t, err,
			"ask judge: the run's budget of 2 calls to models is used up: set EVAL_LLM_MAX_CALLS to a larger number")
		require.Len(t, s.bodies, 3, "nothing is sent beyond the budget")
	})
}

func TestNewWithoutAddress(t *testing.T) {
	require.PanicsWithValue(t, "llm.New: Config.BaseURL is not an address; "+
		"use FromEnvironment, or an address such as http://127.0.0.1:8080/v1",
		func() { New(Config{BaseURL: "model"}) })
}
