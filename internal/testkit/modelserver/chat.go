package modelserver

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// chatRequest is as much of a Chat Completions request as matters here.
type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	Stream bool `json:"stream"`
}

// request returns the neutral form of q.
func (q chatRequest) request() request {
	r := request{stream: q.Stream}
	for _, t := range q.Tools {
		r.tools = append(r.tools, tool{name: t.Function.Name})
	}
	r.aside = len(r.tools) == 0 // a title
	for _, m := range q.Messages {
		switch m.Role {
		case "system":
			r.look(m.Content.text())
		case "user":
			r.said(m.Content.parts())
		case "tool":
			r.said([]part{{text: m.Content.text(), result: true}})
		}
	}
	return r
}

// serveChat answers POST /v1/chat/completions: agents, which stream, from a script, and requests to judge, which do not
// stream.
func (s *Server) serveChat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	if !s.decode(w, r, &q) {
		return
	}
	if !q.Stream {
		s.serveJudge(w, r, q)
		return
	}
	a, ok := s.answerOrRefuse(w, r, q.request())
	if !ok {
		return
	}
	e := s.newEvents(w, r)
	a.streamChat(e, q.Model)
	s.delivered(r, e.err)
}

// streamChat sends a as the chunks of a streamed completion.
func (a answer) streamChat(e *events, model string) {
	chunk := func(choices ...any) map[string]any {
		return map[string]any{
			"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "model": model,
			"choices": append([]any{}, choices...),
		}
	}
	delta := func(d map[string]any, finish any) {
		e.data(chunk(map[string]any{"index": 0, "delta": d, "finish_reason": finish}))
	}
	for _, piece := range pieces(a.turn.Say) {
		delta(map[string]any{"role": "assistant", "content": piece}, nil)
	}
	finish := "stop"
	for i, c := range a.turn.Calls {
		if i > 0 || a.turn.Say != "" {
			e.part(1)
		}
		finish = "tool_calls"
		call := map[string]any{
			"index": i, "id": "call_" + a.callID(i), "type": "function",
			"function": map[string]string{"name": c.Tool, "arguments": compact(c.Input)},
		}
		delta(map[string]any{"role": "assistant", "tool_calls": []any{call}}, nil)
	}
	delta(map[string]any{}, finish)
	last := chunk()
	last["usage"] = a.usage.chat()
	e.data(last)
	e.write("data: [DONE]\n\n")
}

func (u usage) chat() map[string]int {
	return map[string]int{"prompt_tokens": u.input, "completion_tokens": u.output, "total_tokens": u.input + u.output}
}

// Judge is what the model replies when it is asked to judge.
type Judge struct {
	// Name identifies the reply in errors, e.g. "review/strict". Two judges never share one.
	Name string
	// Model is the model that is asked.
	Model string `yaml:",key"`
	// Prompt must match the user's message for the reply to be chosen.
	Prompt *regexp.Regexp
	// Saw must match the user's message, too. It keeps a judge honest: one that praises the work must have been shown
	// it.
	Saw *regexp.Regexp `yaml:"saw,required"`
	// Say is the reply: a mapping, which is sent as JSON, or text.
	Say any `yaml:"say,required"`
}

// check reports what is invalid in a judge although its types allow it. Paths are relative to j.
func (j Judge) check(report func(path, format string, args ...any)) {
	switch say := j.Say.(type) {
	case map[string]any, nil:
	case string:
		if strings.TrimSpace(say) == "" {
			report("say", "must not be empty")
		}
	default:
		report("say", "must be a mapping or text")
	}
}

// text is the reply as it is sent.
func (j Judge) text() string {
	if text, ok := j.Say.(string); ok {
		return text
	}
	return compact(j.Say)
}

// judge finds the one reply to q.
func (s *Server) judge(ctx context.Context, q chatRequest) (Judge, error) {
	var said []string
	for _, m := range q.Messages {
		if m.Role == "user" {
			said = append(said, m.Content.text())
		}
	}
	prompt := strings.Join(said, "\n")
	j, err := chooseJudge(s.model.Judges, q.Model, prompt)
	if err != nil {
		return Judge{}, err
	}
	if !j.Saw.MatchString(prompt) {
		return Judge{}, fmt.Errorf("judge %q: the prompt does not match saw %q: %s", j.Name, j.Saw, shown(prompt))
	}
	return j, s.think(ctx)
}

// chooseJudge finds the one judge for a prompt to a model.
func chooseJudge(judges []Judge, model, prompt string) (Judge, error) {
	var found []Judge
	for _, j := range judges {
		if j.Model == model && j.Prompt.MatchString(prompt) {
			found = append(found, j)
		}
	}
	switch len(found) {
	case 0:
		return Judge{}, fmt.Errorf("no judge matches the prompt %s to model %q", shown(prompt), model)
	case 1:
		return found[0], nil
	default:
		return Judge{}, fmt.Errorf("judges %q and %q both match the prompt %s",
			found[0].Name, found[1].Name, shown(prompt))
	}
}

// serveJudge answers a request that asks the model to judge.
func (s *Server) serveJudge(w http.ResponseWriter, r *http.Request, q chatRequest) {
	j, err := s.judge(r.Context(), q)
	switch {
	case r.Context().Err() != nil: // the client has given up on it
		return
	case err != nil:
		s.refuse(w, r, http.StatusBadRequest, err)
		return
	}
	s.reply(w, r, map[string]any{
		"id": "chatcmpl-" + notID.ReplaceAllString(j.Name, "_"), "object": "chat.completion", "model": j.Model,
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": j.text()},
		}},
		"usage": usage{input: asideTokens, output: 50}.chat(),
	})
}
