package modelserver

import (
	"maps"
	"net/http"
)

// responsesRequest is as much of a Responses request as matters here.
type responsesRequest struct {
	Instructions string          `json:"instructions"`
	Input        []inputItem     `json:"input"`
	Tools        []responsesTool `json:"tools"`
	Reasoning    *struct {
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Text struct {
		Format struct {
			Type string `json:"type"` // of the answer: "json_schema" where it has to be an object
		} `json:"format"`
	} `json:"text"`
	Stream bool `json:"stream"`
}

// responsesTool is a tool that a request offers, or a namespace of them.
type responsesTool struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Tools []responsesTool `json:"tools"` // of a namespace
}

// inputItem is one item of a request's input: a message, the output of a tool, or, from Codex for its newest models,
// the tools themselves.
type inputItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content content         `json:"content"`
	Output  content         `json:"output"`
	Tools   []responsesTool `json:"tools"`
}

// request returns the neutral form of q.
func (q responsesRequest) request() request {
	r := request{stream: q.Stream}
	r.thoughts = q.Reasoning != nil && q.Reasoning.Summary != "" && q.Reasoning.Summary != "none"
	r.offer("", q.Tools)
	r.look(q.Instructions)
	for _, item := range q.Input {
		switch {
		case item.Type == "additional_tools":
			r.offer("", item.Tools)
		case item.Type == "function_call_output" || item.Type == "custom_tool_call_output":
			r.said([]part{{text: item.Output.text(), result: true}})
		case item.Role == "user":
			var parts []part
			for _, b := range item.Content {
				parts = append(parts, part{text: b.Text})
			}
			r.said(parts)
		case item.Role == "developer" || item.Role == "system":
			r.look(item.Content.text())
		}
	}
	// Codex asks for a title with all of its tools, and wants an object. It gets text and does without: it asks when
	// the first turn is over, and would tell of the title in that turn or in the next.
	r.aside = len(r.tools) == 0 || q.Text.Format.Type == "json_schema"
	return r
}

// offer adds the tools, those of a namespace by their own names.
func (r *request) offer(namespace string, tools []responsesTool) {
	for _, t := range tools {
		switch {
		case t.Type == "namespace":
			r.offer(t.Name, t.Tools)
		case t.Name != "":
			r.tools = append(r.tools, tool{name: t.Name, namespace: namespace, freeText: t.Type == "custom"})
		}
	}
}

// outputItem is one item of a response's output, with what its stream is made of.
type outputItem struct {
	whole map[string]any
	// empty has the fields that differ from whole when the stream of the item begins.
	empty map[string]any
	// delta is the type of the events that carry text.
	delta string
	text  string
}

// outputItems returns a as the output of a response.
func outputItems(a answer) []outputItem {
	var items []outputItem
	if text := a.turn.Think; text != "" {
		items = append(items, outputItem{
			whole: map[string]any{
				"type": "reasoning", "id": "rs_" + a.id, "encrypted_content": "scripted",
				"summary": []any{map[string]any{"type": "summary_text", "text": text}},
			},
			empty: map[string]any{"summary": []any{}}, delta: "response.reasoning_summary_text.delta", text: text,
		})
	}
	if text := a.turn.Say; text != "" {
		items = append(items, outputItem{
			whole: map[string]any{
				"type": "message", "id": "msg_" + a.id, "role": "assistant", "status": "completed",
				"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}},
			},
			empty: map[string]any{"content": []any{}}, delta: "response.output_text.delta", text: text,
		})
	}
	for i, c := range a.turn.Calls {
		items = append(items, callItem(a.callID(i), c))
	}
	return items
}

// callItem returns c as an item of a response's output.
func callItem(id string, c Call) outputItem {
	item := outputItem{whole: map[string]any{"call_id": "call_" + id, "name": c.Tool, "status": "completed"}}
	if text, ok := c.Input.(string); ok {
		maps.Copy(item.whole, map[string]any{"type": "custom_tool_call", "id": "ctc_" + id, "input": text})
		item.empty = map[string]any{"input": ""}
		item.delta, item.text = "response.custom_tool_call_input.delta", text
		return item
	}
	text := compact(c.Input)
	maps.Copy(item.whole, map[string]any{"type": "function_call", "id": "fc_" + id, "arguments": text})
	if c.namespace != "" { // without it Codex does not know tools of MCP servers
		item.whole["namespace"] = c.namespace
	}
	item.empty = map[string]any{"arguments": ""}
	item.delta, item.text = "response.function_call_arguments.delta", text
	return item
}

// stream sends the item, which is output number i of its response.
func (o outputItem) stream(e *events, i int) {
	begun := maps.Clone(o.whole)
	begun["status"] = "in_progress"
	maps.Copy(begun, o.empty)
	e.send(map[string]any{"type": "response.output_item.added", "output_index": i, "item": begun})
	for _, piece := range pieces(o.text) {
		d := map[string]any{"type": o.delta, "item_id": o.whole["id"], "output_index": i, "delta": piece}
		switch o.whole["type"] {
		case "message":
			d["content_index"] = 0
		case "reasoning":
			d["summary_index"] = 0
		}
		e.send(d)
	}
	e.send(map[string]any{"type": "response.output_item.done", "output_index": i, "item": o.whole})
}

// response returns the finished response with the given output.
func (a answer) response(items []outputItem) map[string]any {
	output := []any{}
	for _, item := range items {
		output = append(output, item.whole)
	}
	return map[string]any{
		"id": "resp_" + a.id, "object": "response", "status": "completed", "output": output,
		"usage": map[string]any{
			"input_tokens": a.usage.input, "output_tokens": a.usage.output,
			"total_tokens":          a.usage.input + a.usage.output,
			"input_tokens_details":  map[string]int{"cached_tokens": 0},
			"output_tokens_details": map[string]int{"reasoning_tokens": 0},
		},
	}
}

// serveResponses answers POST /v1/responses.
func (s *Server) serveResponses(w http.ResponseWriter, r *http.Request) {
	var q responsesRequest
	if !s.decode(w, r, &q) {
		return
	}
	req := q.request()
	a, ok := s.answerOrRefuse(w, r, req)
	if !ok {
		return
	}
	items := outputItems(a)
	if !req.stream {
		s.reply(w, r, a.response(items))
		return
	}
	e := s.newEvents(w, r)
	e.send(map[string]any{
		"type": "response.created",
		"response": map[string]any{
			"id": "resp_" + a.id, "object": "response", "status": "in_progress", "output": []any{},
		},
	})
	for i, item := range items {
		e.part(i)
		item.stream(e, i)
	}
	e.send(map[string]any{"type": "response.completed", "response": a.response(items)})
	s.delivered(r, e.err)
}
