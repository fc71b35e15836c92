package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// maxRequest bounds what a script may ask at once, in bytes.
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

func (p *Proxy) info(w http.ResponseWriter, _ *http.Request) {
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

func (p *Proxy) invoke(w http.ResponseWriter, r *http.Request) {
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

func (p *Proxy) invokeBatch(w http.ResponseWriter, r *http.Request) {
	var batch struct {
		Requests []question `json:"requests"`
	}
	err := read(w, r, &batch)
	if err == nil && batch.Requests == nil {
		err = errors.New("requests are missing")
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
func (p *Proxy) answer(ctx context.Context, questions []question) (answers []response, status int, err error) {
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
				p.fail(fmt.Errorf("the model that the judge asked: %w", err))
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

// check reports what cannot be asked.
func (p *Proxy) check(q question) error {
	switch model := p.config.Model; {
	case q.Question == "":
		return errors.New("question is missing")
	case model == "" && q.Target == "":
		return errors.New("no model is named: name it as target.model in the playbook, or as the question's target")
	case model != "" && q.Target != "" && q.Target != model:
		return fmt.Errorf("unknown target %q: there is only %q", q.Target, model)
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
