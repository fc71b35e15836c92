package codejudge

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// proxyConfig says what a proxy offers.
type proxyConfig struct {
	// Models answers.
	Models llm.Asker
	// Model is the name of the model that is asked; empty: each question names one.
	Model string
	// MaxCalls is how many questions are answered at most.
	MaxCalls int
}

// proxy lets a judge's script ask a model: a server on loopback that counts the questions. The script does not see the
// model's key.
//
// The server is reached with the token in the environment, by these requests:
//
//	GET  /info         {"targetName", "maxCalls", "callCount", "availableTargets"}
//	POST /invoke       {"question", "systemPrompt", "target"} →
//	                   {"output": [{"role", "content"}], "rawText", "tokenUsage"}
//	POST /invokeBatch  {"requests": [...]} → {"responses": [...]}
//
// Loopback is part of the network: a script that is confined without a network cannot reach the proxy, so whoever gives
// a script a proxy gives it the network too.
type proxy struct {
	config  proxyConfig
	url     string
	token   string
	server  *http.Server
	running sync.WaitGroup // the server and what it handles

	mu     sync.Mutex
	closed bool // no request is handled any more
	calls  int
	asked  map[question]int // how often
	failed error            // of the model or the server, the first
}

// startProxy starts a proxy, which runs until [proxy.Close]. Canceling ctx cancels the questions to models.
func startProxy(ctx context.Context, c proxyConfig) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{config: c, url: "http://" + listener.Addr().String(), token: rand.Text(), asked: make(map[question]int)}
	p.server = &http.Server{
		Handler:           p.handler(),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
	}
	p.running.Go(func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.fail(err)
		}
	})
	return p, nil
}

// Environ returns the variables by which a script finds the proxy: ours, and those that judges of AgentV read, of its
// first versions and of 5. A judge that does not find the proxy may take that for a failure of the agent.
func (p *proxy) Environ() []string {
	var env []string
	for _, prefix := range []string{"EVALTEST_TARGET_PROXY_", "AGENTV_TARGET_PROXY_", "AGENTV_PROVIDER_PROXY_"} {
		env = append(env, prefix+"URL="+p.url, prefix+"TOKEN="+p.token)
	}
	return env
}

// Close stops the server and waits for its requests. It returns the first error of a model: a judge whose model failed
// knows nothing, whatever its script printed.
func (p *proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.server.Close()
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return p.failed
	}
	return err
}

// begin reports whether to handle a request. If so, the caller must call p.running.Done when it is handled.
func (p *proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

// take counts n questions, if that many are left.
func (p *proxy) take(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.config.MaxCalls-p.calls {
		return fmt.Errorf("max_calls is %d: %d asked, %d more requested", p.config.MaxCalls, p.calls, n)
	}
	p.calls += n
	return nil
}

// number counts the question and returns how often it was asked before.
func (p *proxy) number(q question) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[q]++
	return p.asked[q] - 1
}

func (p *proxy) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

func (p *proxy) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", p.info)
	mux.HandleFunc("POST /invoke", p.invoke)
	mux.HandleFunc("POST /invokeBatch", p.invokeBatch)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.begin() {
			return
		}
		defer p.running.Done()
		want := []byte("Bearer " + p.token)
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			refuse(w, http.StatusUnauthorized, errors.New("invalid token"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// maxRequest is the size of the largest request, in bytes.
const maxRequest = 4 << 20

// question is what a script asks.
type question struct {
	Question     string `json:"question"`
	SystemPrompt string `json:"systemPrompt"`
	// Target is the model by name. It may be empty if the playbook names one.
	Target string `json:"target"`
}

// response is one answer.
type response struct {
	Output     []message `json:"output"`
	RawText    string    `json:"rawText"`
	TokenUsage *tokens   `json:"tokenUsage,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type tokens struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

func (p *proxy) info(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	calls := p.calls
	p.mu.Unlock()
	targets := []string{}
	if p.config.Model != "" {
		targets = append(targets, p.config.Model)
	}
	reply(w, http.StatusOK, map[string]any{
		"targetName": p.config.Model, "maxCalls": p.config.MaxCalls, "callCount": calls, "availableTargets": targets,
	})
}

func (p *proxy) invoke(w http.ResponseWriter, r *http.Request) {
	var one question
	if err := read(w, r, &one); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	answers, status, err := p.answer(r.Context(), []question{one})
	if err != nil {
		refuse(w, status, err)
		return
	}
	reply(w, http.StatusOK, answers[0])
}

func (p *proxy) invokeBatch(w http.ResponseWriter, r *http.Request) {
	var batch struct {
		Requests []question `json:"requests"`
	}
	err := read(w, r, &batch)
	if err == nil && batch.Requests == nil {
		err = errors.New("`requests` is missing")
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	answers, status, err := p.answer(r.Context(), batch.Requests)
	if err != nil {
		refuse(w, status, err)
		return
	}
	reply(w, http.StatusOK, map[string]any{"responses": answers})
}

// answer asks the model all questions, one after the other, or none if one of them cannot be asked.
func (p *proxy) answer(ctx context.Context, questions []question) (answers []response, status int, err error) {
	for _, q := range questions {
		if err := p.check(q); err != nil {
			return nil, http.StatusBadRequest, err
		}
	}
	if err := p.take(len(questions)); err != nil {
		return nil, http.StatusTooManyRequests, err
	}
	answers = []response{}
	for _, q := range questions {
		got, err := p.config.Models.Complete(ctx, llm.Request{
			Model: cmp.Or(p.config.Model, q.Target), System: q.SystemPrompt, User: q.Question, Sample: p.number(q),
		})
		if err != nil {
			if ctx.Err() == nil { // else the script did not wait for the answer
				p.fail(fmt.Errorf("ask the judge's model: %w", err))
			}
			return nil, http.StatusBadGateway, err
		}
		a := response{Output: []message{{"assistant", got.Text}}, RawText: got.Text}
		if got.InputTokens > 0 || got.OutputTokens > 0 {
			a.TokenUsage = &tokens{got.InputTokens, got.OutputTokens}
		}
		answers = append(answers, a)
	}
	return answers, http.StatusOK, nil
}

// check returns an error if the question cannot be asked.
func (p *proxy) check(q question) error {
	switch model := p.config.Model; {
	case q.Question == "":
		return errors.New("`question` is missing")
	case model == "" && q.Target == "":
		return errors.New("no model is named: name it as target.model in the playbook, or as the question's target")
	case model != "" && q.Target != "" && q.Target != model:
		return fmt.Errorf("unknown target %q; available: %s", q.Target, model)
	}
	return nil
}

func read(w http.ResponseWriter, r *http.Request, v any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(v); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	return nil
}

func refuse(w http.ResponseWriter, status int, err error) {
	reply(w, status, map[string]string{"error": err.Error()})
}

// reply writes JSON. A client that is gone is ignored.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
