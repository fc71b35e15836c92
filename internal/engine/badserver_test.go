package engine_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// goodAnswer is the answer of a server that behaves.
const goodAnswer = `{"id":"1","object":"chat.completion","created":1,"model":"judge-1","choices":[` + goodChoice +
	`],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`

const (
	goodChoice  = `{"index":0,"message":` + goodMessage + `,"finish_reason":"stop"}`
	goodMessage = `{"role":"assistant","content":` + goodContent + `}`
	goodContent = `"{\"score\":1,\"reason\":\"all\"}"`
	badChoice   = `{"index":1,"message":{"role":"assistant","content":"{\"score\":0}"},"finish_reason":"stop"}`
)

// misbehaviour is what a server does in place of a good answer.
type misbehaviour struct {
	name string
	// replace is a part of the good answer and what stands there; empty: answer does it.
	old, new string
	answer   http.HandlerFunc
	timeout  time.Duration // of an attempt; 0: long
	passes   string        // why a server that behaves may do so; empty: never
}

// send sends a body with a status and headers in pairs.
func send(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// endless sends text again and again until the client has gone.
func endless(text string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(pause):
			}
		}
	}
}

// hijacked writes bytes as they are and closes the connection.
func hijacked(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, text)
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// redirect sends the client to where the answer is good.
func redirect(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/good") {
			send(200, goodAnswer)(w, r)
			return
		}
		http.Redirect(w, r, "/good", status)
	}
}

const short = 150 * time.Millisecond

var misbehaviours = []misbehaviour{
	{name: "good", old: "x", new: "x", passes: "the control"},
	{name: "slow", timeout: short, answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	{name: "slow after the header", timeout: short, answer: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, goodAnswer[:40])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}},
	{name: "slow after the answer", timeout: short, answer: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, goodAnswer)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}},
	{name: "chunks without end", timeout: short, answer: endless(" ", time.Millisecond)},
	{name: "too much", answer: endless(strings.Repeat(" ", 1<<20), 0)},
	{name: "cut", answer: hijacked("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n" + goodAnswer)},
	{name: "cut in a chunk", answer: hijacked(
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n" + goodAnswer)},
	{name: "without the last chunk", answer: hijacked(fmt.Sprintf(
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(goodAnswer), goodAnswer))},
	{name: "half", answer: send(200, goodAnswer[:len(goodAnswer)/2])},
	{name: "no HTTP", answer: hijacked(goodAnswer)},
	{name: "closed", answer: hijacked("")},
	{name: "empty", answer: send(200, "")},
	{name: "blank", answer: send(200, " \n")},
	{name: "no content", answer: send(204, "")},
	{name: "null", answer: send(200, "null")},
	{name: "a list", answer: send(200, "["+goodAnswer+"]")},
	{name: "a string", answer: send(200, `"`+strings.ReplaceAll(goodAnswer, `"`, `\"`)+`"`)},
	{name: "the reply alone", answer: send(200, `{"score":1,"reason":"all"}`)},
	{name: "twice", answer: send(200, goodAnswer+goodAnswer)},
	{name: "text behind", answer: send(200, goodAnswer+"Internal error")},
	{name: "HTML", answer: send(200, "<html>"+goodAnswer+"</html>", "Content-Type", "text/html")},
	{name: "events", answer: send(200, "data: "+goodAnswer+"\n\ndata: [DONE]\n\n", "Content-Type",
		"text/event-stream")},
	{name: "compressed without saying so", answer: send(200, gzipped(goodAnswer))},
	{name: "said to be compressed", answer: send(200, goodAnswer, "Content-Encoding", "gzip")},
	{name: "compressed and cut", answer: send(200, gzipped(goodAnswer)[:80], "Content-Encoding", "gzip")},
	{name: "UTF-16", answer: send(200, strings.Join(strings.Split(goodAnswer, ""), "\x00")+"\x00")},
	{name: "not UTF-8", old: "all", new: "\xff\xfe"},
	{name: "status 500 with an answer", answer: send(500, goodAnswer)},
	{name: "status 404 with an answer", answer: send(404, goodAnswer)},
	{name: "status 304 with an answer", answer: hijacked("HTTP/1.1 304 Not Modified\r\n\r\n")},
	{name: "status 206", answer: send(206, goodAnswer)},
	{name: "redirect by GET", answer: redirect(302)},
	{name: "redirect, other", answer: redirect(303)},
	{name: "redirect by POST", answer: redirect(307)},
	{name: "redirect for good", answer: redirect(308)},
	{name: "redirect to itself", answer: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
	}},
	{name: "error alone", answer: send(200, `{"error":{"message":"overloaded","type":"server_error"}}`)},
	{name: "error and an answer", old: `{"id"`, new: `{"error":{"message":"overloaded"},"id"`},
	{name: "error in the choice", old: `"finish_reason"`, new: `"error":{"message":"overloaded"},"finish_reason"`},
	{name: "error null", old: `{"id"`, new: `{"error":null,"id"`, passes: "there is none"},
	{name: "choices missing", old: `"choices"`, new: `"choice"`},
	{name: "choices in another case", old: `"choices"`, new: `"Choices"`},
	{name: "choices twice", old: `"choices"`, new: `"choices":[` + badChoice + `],"choices"`},
	{name: "choices null", old: `[` + goodChoice + `]`, new: "null"},
	{name: "choices empty", old: goodChoice, new: ""},
	{name: "choices of another type", old: `[` + goodChoice + `]`, new: goodChoice},
	{name: "choices a list of null", old: goodChoice, new: "null"},
	{name: "two choices", old: goodChoice, new: goodChoice + "," + badChoice},
	{name: "two choices, the second is good", old: goodChoice, new: badChoice + "," + goodChoice},
	{name: "message null", old: goodMessage, new: "null"},
	{name: "message missing", old: `"message"`, new: `"delta"`},
	{
		name: "message twice", old: `"message"`,
		new: `"message":{"role":"assistant","content":"{\"score\":0}"},"message"`,
	},
	{name: "message of another type", old: goodMessage, new: goodContent},
	{name: "content null", old: goodContent, new: "null"},
	{name: "content empty", old: goodContent, new: `""`},
	{name: "content blank", old: goodContent, new: `" \n"`},
	{name: "content a number", old: goodContent, new: "1"},
	{name: "content true", old: goodContent, new: "true"},
	{name: "content an object", old: goodContent, new: `{"score":1}`},
	{name: "content twice", old: `"content"`, new: `"content":"{\"score\":0}","content"`},
	{name: "content in another case", old: `"content"`, new: `"content":"{\"score\":0}","Content"`},
	{name: "text before the content", old: `"{\`, new: `"I cannot judge {\`, passes: "the object is the reply"},
	{name: "refusal", old: `"content"`, new: `"refusal":"I will not.","content"`},
	{name: "tool calls", old: `"content"`, new: `"tool_calls":[{"id":"1","type":"function",` +
		`"function":{"name":"x","arguments":"{}"}}],"content"`},
	{name: "the user's role", old: `"assistant"`, new: `"user"`},
	{name: "finished by length", old: `"stop"`, new: `"length"`},
	{name: "finished by length in capitals", old: `"stop"`, new: `"LENGTH"`},
	{name: "finished by a filter", old: `"stop"`, new: `"content_filter"`},
	{name: "finished by a call", old: `"stop"`, new: `"tool_calls"`},
	{name: "finished by a function", old: `"stop"`, new: `"function_call"`},
	{name: "finished by an error", old: `"stop"`, new: `"error"`},
	{name: "finished by something new", old: `"stop"`, new: `"abort"`},
	{name: "finish of another type", old: `"stop"`, new: `1`},
	{name: "finish null", old: `"stop"`, new: `null`, passes: "not all servers say why"},
	{name: "another model", old: `"judge-1"`, new: `"tiny-7b"`, passes: "deployments and aliases have other names"},
	{name: "a version of the model", old: `"judge-1"`, new: `"judge-1-2026-01-02"`, passes: "names stand for versions"},
	{name: "model empty", old: `"judge-1"`, new: `""`, passes: "not all servers name it"},
	{name: "model of another type", old: `"judge-1"`, new: `1`},
	{name: "negative tokens", old: `"completion_tokens":9`, new: `"completion_tokens":-9`},
	{name: "tokens of another type", old: `"completion_tokens":9`, new: `"completion_tokens":"9"`},
}

// TestMisbehavingServers has judges that misbehave: what they say is an error, and never a pass.
func TestMisbehavingServers(t *testing.T) {
	t.Parallel()
	text := mutantsHead + "evaluators: [{name: judge, type: llm_judge, model: judge-1}]\n"
	root, path := recordedBy(t, text, sessionScript, asked(asker(func(llm.Request) string { return `{"score":1}` })))
	require.NoError(t, os.Remove(judgment.Path(path)))
	for _, m := range misbehaviours {
		t.Run(m.name, func(t *testing.T) {
			answer := m.answer
			if answer == nil {
				require.Contains(t, goodAnswer+"x", m.old)
				answer = send(200, strings.Replace(goodAnswer, m.old, m.new, 1))
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client has gone
				answer(w, r)
			}))
			defer server.Close()
			t.Cleanup(func() { _ = os.Remove(judgment.Path(path)) })
			client := llm.New(llm.Config{BaseURL: server.URL + "/v1", MaxAttempts: 1, Timeout: m.timeout})
			run := replayed(t, root, text, asked(client), func(c *engine.Config) { c.RecordJudges = true })
			got := run()
			want := result.Error
			if m.passes != "" {
				want = result.Pass
			}
			require.Equal(t, want, got.Outcome, "%s", judged(got))
			if m.passes == "" {
				require.NotEmpty(t, got.Evaluations[0].Reason+got.Reason)
				require.NoFileExists(t, judgment.Path(path), "nothing was recorded")
				t.Log(got.Evaluations[0].Reason)
			}
		})
	}
}
