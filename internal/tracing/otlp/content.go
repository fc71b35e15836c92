package otlp

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

const (
	maxName = 256      // of names and ids, in bytes
	maxText = 16 << 10 // of one text, in bytes
	maxTurn = 64 << 10 // of all texts of one turn, in bytes
)

// name returns a name without secrets, cut to maxName.
func (s *sender) name(text string) string { return s.clean(text, maxName) }

// text returns a text without secrets, cut to maxText.
func (s *sender) text(text string) string { return s.clean(text, maxText) }

// clean returns a text without secrets, as valid UTF-8 and cut to a limit. It masks before it cuts, since half a secret
// could not be recognised. One byte that is not UTF-8 would make the whole batch fail.
func (s *sender) clean(text string, limit int) string {
	return clip(strings.ToValidUTF8(s.Secrets.String(text), "\uFFFD"), limit)
}

// clip cuts a text that is longer than limit, and adds how many bytes are missing.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return fmt.Sprintf("%s… (%d more bytes)", text[:limit], len(text)-limit)
}

// message is one of gen_ai.input.messages and gen_ai.output.messages, in the conventions' schema.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

type part struct {
	Type    string `json:"type"` // text, reasoning
	Content string `json:"content"`
}

// messages returns the prompt of a turn and the agent's messages as attributes.
func (s *sender) messages(events []trajectory.Event) []attribute.KeyValue {
	asked, said := message{Role: "user", Parts: []part{}}, message{Role: "assistant", Parts: []part{}}
	room := maxTurn
	add := func(m *message, kind, text string) {
		switch {
		case room > 0:
			text = s.clean(text, min(room, maxText))
			room = max(room-len(text), 0)
			m.Parts = append(m.Parts, part{kind, text})
		case room == 0: // the first text without room
			m.Parts = append(m.Parts, part{"text", "… (more follows)"})
			room = -1
		}
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case trajectory.Prompt:
			add(&asked, "text", b.Text)
		case trajectory.Message:
			add(&said, "text", b.Text)
		case trajectory.Thought:
			add(&said, "reasoning", b.Text)
		case trajectory.Stop:
			said.Finish = s.name(finish(b.Reason))
		}
	}
	return []attribute.KeyValue{
		semconv.GenAIInputMessagesKey.String(encode([]message{asked})),
		semconv.GenAIOutputMessagesKey.String(encode([]message{said})),
	}
}

// call returns the arguments and the result of a tool call as attributes.
func (s *sender) call(c trajectory.ToolCall) (all []attribute.KeyValue) {
	if c.Args != nil {
		all = append(all, semconv.GenAIToolCallArgumentsKey.String(s.text(encode(c.Args))))
	}
	if c.Output != nil {
		all = append(all, semconv.GenAIToolCallResultKey.String(s.text(encode(c.Output))))
	}
	return all
}

// encode returns a string as it is, and other values as JSON.
func encode(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	data, err := jsonvalue.Marshal(value)
	if err != nil {
		return fmt.Sprintf("(not JSON: %v)", err)
	}
	return string(data)
}
