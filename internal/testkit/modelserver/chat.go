package modelserver

import "net/http"

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

// serveChat answers POST /v1/chat/completions: agents, which stream, from a script, and those who have a model judge, who do
// not.
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
			"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "model": model, "choices": append([]any{}, choices...),
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
