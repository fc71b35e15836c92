package modelserver

import (
	"fmt"
	"net/http"
	"strings"
)

// geminiRequest is as much of a request for content as matters here.
type geminiRequest struct {
	System   geminiContent   `json:"systemInstruction"`
	Contents []geminiContent `json:"contents"`
	Tools    []struct {
		Functions []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		Schema   *schema `json:"responseJsonSchema"`
		Thinking struct {
			Include bool `json:"includeThoughts"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

// geminiContent is what the user or the model said.
type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

// geminiPart is text or the result of a function; of other kinds nothing is kept.
type geminiPart struct {
	Text   string `json:"text"`
	Result *struct {
		Response map[string]any `json:"response"`
	} `json:"functionResponse"`
}

// request returns the neutral form of q.
func (q geminiRequest) request() request {
	r := request{schema: q.Config.Schema, thoughts: q.Config.Thinking.Include}
	for _, t := range q.Tools {
		for _, f := range t.Functions {
			r.tools = append(r.tools, tool{name: f.Name})
		}
	}
	// A request without tools asks how hard the task is, to choose a model.
	r.aside = len(r.tools) == 0
	for _, p := range q.System.Parts {
		r.look(p.Text)
	}
	for _, c := range q.Contents {
		if c.Role != "user" {
			continue
		}
		var parts []part
		for _, p := range c.Parts {
			if p.Result != nil {
				parts = append(parts, part{text: resultText(p.Result.Response), result: true})
			} else {
				parts = append(parts, part{text: p.Text})
			}
		}
		r.said(parts)
	}
	return r
}

// resultText returns a function's response as text: what it says under "output" or "error", else all of it.
func resultText(response map[string]any) string {
	for _, key := range []string{"output", "error"} {
		if text, ok := response[key].(string); ok && len(response) == 1 {
			return text
		}
	}
	return compact(response)
}

// geminiParts returns a as the parts of its content, each cut into what one event carries.
func (a answer) geminiParts() [][]map[string]any {
	var parts [][]map[string]any
	say := func(text string, thought bool) {
		var cut []map[string]any
		for _, piece := range pieces(text) {
			p := map[string]any{"text": piece}
			if thought {
				p["thought"] = true
			}
			cut = append(cut, p)
		}
		if cut != nil {
			parts = append(parts, cut)
		}
	}
	say(a.turn.Think, true)
	say(a.turn.Say, false)
	for i, c := range a.turn.Calls {
		call := map[string]any{"id": "call_" + a.callID(i), "name": c.Tool, "args": c.Input}
		parts = append(parts, []map[string]any{{"functionCall": call}})
	}
	return parts
}

// geminiResponse returns a response, or one event of it, with these parts; the last has what comes at the end.
func (a answer) geminiResponse(model string, parts []map[string]any, last bool) map[string]any {
	if parts == nil {
		parts = []map[string]any{}
	}
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	r := map[string]any{"responseId": a.id, "modelVersion": model, "candidates": []any{candidate}}
	if last {
		candidate["finishReason"] = "STOP"
		r["usageMetadata"] = map[string]int{
			"promptTokenCount": a.usage.input, "candidatesTokenCount": a.usage.output,
			"totalTokenCount": a.usage.input + a.usage.output,
		}
	}
	return r
}

// serveGemini answers POST /v1beta/models/MODEL:METHOD.
func (s *Server) serveGemini(w http.ResponseWriter, r *http.Request) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	switch method {
	case "generateContent", "streamGenerateContent":
	default:
		s.refuse(w, r, http.StatusNotFound, fmt.Errorf("unknown method %q", method))
		return
	}
	var q geminiRequest
	if !s.decode(w, r, &q) {
		return
	}
	a, ok := s.answerOrRefuse(w, r, q.request())
	if !ok {
		return
	}
	parts := a.geminiParts()
	if method == "generateContent" {
		var whole []map[string]any
		for _, p := range parts {
			whole = append(whole, p...)
		}
		s.reply(w, r, a.geminiResponse(model, whole, true))
		return
	}
	e := s.newEvents(w, r)
	for i, p := range parts {
		e.part(i)
		for j := range p {
			e.data(a.geminiResponse(model, p[j:j+1], false))
		}
	}
	e.data(a.geminiResponse(model, nil, true))
	s.delivered(r, e.err)
}
