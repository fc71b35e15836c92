package modelserver

import (
	"maps"
	"net/http"
	"strings"
)

// anthropicRequest is as much of a Messages request as matters here.
type anthropicRequest struct {
	Model     string  `json:"model"`
	MaxTokens int     `json:"max_tokens"`
	System    content `json:"system"`
	Messages  []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`
	OutputConfig struct {
		Format struct {
			Schema *schema `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Stream bool `json:"stream"`
}

// request returns the neutral form of q.
func (q anthropicRequest) request() request {
	r := request{stream: q.Stream, schema: q.OutputConfig.Format.Schema}
	r.thoughts = q.Thinking.Type == "enabled" || q.Thinking.Type == "adaptive"
	for _, t := range q.Tools {
		r.tools = append(r.tools, tool{name: t.Name})
	}
	r.look(q.System.text())
	for _, m := range q.Messages {
		switch m.Role {
		case "user":
			r.said(m.Content.parts())
		case "system":
			r.look(m.Content.text())
		}
	}
	// A request for one token only counts tokens, one without tools asks for a title or a summary.
	r.aside = q.MaxTokens == 1 || len(q.Tools) == 0 || strings.HasPrefix(r.prompt, "[SUGGESTION MODE:")
	return r
}

// parts returns the pieces of a user's message.
func (c content) parts() []part {
	var parts []part
	for _, b := range c {
		switch b.Type {
		case "text":
			parts = append(parts, part{text: b.Text})
		case "tool_result":
			parts = append(parts, part{text: b.Content.text(), result: true})
		}
	}
	return parts
}

// serveMessages answers POST /v1/messages.
func (s *Server) serveMessages(w http.ResponseWriter, r *http.Request) {
	var q anthropicRequest
	if !s.decode(w, r, &q) {
		return
	}
	req := q.request()
	a, ok := s.answerOrRefuse(w, r, req)
	if !ok {
		return
	}
	blocks := contentBlocks(a)
	if !req.stream {
		s.reply(w, r, a.message(q.Model, blocks))
		return
	}
	e := s.newEvents(w, r)
	a.streamMessage(e, q.Model, blocks)
	s.delivered(r, e.err)
}

// serveCountTokens answers POST /v1/messages/count_tokens.
func (s *Server) serveCountTokens(w http.ResponseWriter, r *http.Request) {
	var q anthropicRequest
	if s.decode(w, r, &q) {
		s.reply(w, r, map[string]int{"input_tokens": asideTokens})
	}
}

// contentBlock is one block of a message's content, with what its stream is made of.
type contentBlock struct {
	whole map[string]any
	// empty has the fields that differ from whole when the stream of the block begins.
	empty map[string]any
	// delta and field are the type of the deltas that carry text and the name of their field.
	delta, field string
	text         string
	// last, if not nil, is one delta more.
	last map[string]any
}

// contentBlocks returns a as the content of a message.
func contentBlocks(a answer) []contentBlock {
	var blocks []contentBlock
	if text := a.turn.Think; text != "" {
		const signature = "scripted"
		blocks = append(blocks, contentBlock{
			whole: map[string]any{"type": "thinking", "thinking": text, "signature": signature},
			empty: map[string]any{"thinking": "", "signature": ""},
			delta: "thinking_delta", field: "thinking", text: text,
			last: map[string]any{"type": "signature_delta", "signature": signature},
		})
	}
	if text := a.turn.Say; text != "" {
		blocks = append(blocks, contentBlock{
			whole: map[string]any{"type": "text", "text": text},
			empty: map[string]any{"text": ""},
			delta: "text_delta", field: "text", text: text,
		})
	}
	for i, c := range a.turn.Calls {
		blocks = append(blocks, contentBlock{
			whole: map[string]any{"type": "tool_use", "id": "toolu_" + a.callID(i), "name": c.Tool, "input": c.Input},
			empty: map[string]any{"input": map[string]any{}},
			delta: "input_json_delta", field: "partial_json", text: compact(c.Input),
		})
	}
	return blocks
}

// stream sends the block, which is number i of its message.
func (b contentBlock) stream(e *events, i int) {
	begun := maps.Clone(b.whole)
	maps.Copy(begun, b.empty)
	e.send(map[string]any{"type": "content_block_start", "index": i, "content_block": begun})
	delta := func(d map[string]any) {
		e.send(map[string]any{"type": "content_block_delta", "index": i, "delta": d})
	}
	for _, piece := range pieces(b.text) {
		delta(map[string]any{"type": b.delta, b.field: piece})
	}
	if b.last != nil {
		delta(b.last)
	}
	e.send(map[string]any{"type": "content_block_stop", "index": i})
}

// message returns a as a whole message of model.
func (a answer) message(model string, blocks []contentBlock) map[string]any {
	content := []any{}
	for _, b := range blocks {
		content = append(content, b.whole)
	}
	m := a.emptyMessage(model)
	maps.Copy(m, map[string]any{
		"content": content, "stop_reason": a.stopReason(), "usage": a.anthropicUsage(a.usage.output),
	})
	return m
}

// emptyMessage returns a as a message whose content is still to come.
func (a answer) emptyMessage(model string) map[string]any {
	return map[string]any{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": a.anthropicUsage(min(1, a.usage.output)),
	}
}

func (a answer) anthropicUsage(output int) map[string]int {
	return map[string]int{
		"input_tokens": a.usage.input, "output_tokens": output,
		"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
	}
}

func (a answer) stopReason() string {
	if len(a.turn.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

// streamMessage sends a as the events of a streamed message.
func (a answer) streamMessage(e *events, model string, blocks []contentBlock) {
	e.send(map[string]any{"type": "message_start", "message": a.emptyMessage(model)})
	for i, b := range blocks {
		e.part(i)
		b.stream(e, i)
	}
	e.send(map[string]any{
		"type":  "message_delta",
		"delta": map[string]any{"stop_reason": a.stopReason(), "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": a.usage.output},
	})
	e.send(map[string]any{"type": "message_stop"})
}
