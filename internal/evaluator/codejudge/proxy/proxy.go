// Package proxy lets a judge's script ask a model: a server on loopback that counts the questions. The script does not
// see the model's key.
//
// The server is reached with the token in the environment, by these requests:
//
//	GET  /info         {"targetName", "maxCalls", "callCount", "availableTargets"}
//	POST /invoke       {"question", "systemPrompt", "target"} → {"output": [{"role", "content"}], "rawText", "tokenUsage"}
//	POST /invokeBatch  {"requests": [...]} → {"responses": [...]}
//
// Loopback is part of the network: a script that is confined without a network cannot reach the proxy, so whoever gives a
// script a proxy gives it the network too.
package proxy

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// Config says what a proxy offers.
type Config struct {
	// Models answers.
	Models llm.Asker
	// Model is the name of the model that is asked; empty: each question names one.
	Model string
	// MaxCalls is how many questions are answered.
	MaxCalls int
}

// Proxy is a running server.
type Proxy struct {
	config  Config
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

// Start starts a proxy, which ends with [Proxy.Close]. The end of ctx ends what the models are asked.
func Start(ctx context.Context, c Config) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{config: c, url: "http://" + listener.Addr().String(), token: rand.Text(), asked: make(map[question]int)}
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

// Environ returns the variables by which a script finds the proxy. With agentV the names are those of AgentV's judges,
// too.
func (p *Proxy) Environ(agentV bool) []string {
	env := []string{"EVALTEST_TARGET_PROXY_URL=" + p.url, "EVALTEST_TARGET_PROXY_TOKEN=" + p.token}
	if agentV {
		env = append(env, "AGENTV_TARGET_PROXY_URL="+p.url, "AGENTV_TARGET_PROXY_TOKEN="+p.token)
	}
	return env
}

// Close ends the server, with all that it still does. Its error is the first that a model answered with: whatever the
// script made of it, a judge whose model failed knows nothing.
func (p *Proxy) Close() error {
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

// begin reports whether to handle a request; its end must then be reported to p.running.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

// take counts n questions, if that many are left.
func (p *Proxy) take(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.config.MaxCalls-p.calls {
		return fmt.Errorf("%d of %d questions were asked: max_calls does not leave %d more", p.calls, p.config.MaxCalls, n)
	}
	p.calls += n
	return nil
}

// number returns how often the question was asked before.
func (p *Proxy) number(q question) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[q]++
	return p.asked[q] - 1
}

func (p *Proxy) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

func (p *Proxy) handler() http.Handler {
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
			refuse(w, http.StatusUnauthorized, errors.New("no such token"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}
