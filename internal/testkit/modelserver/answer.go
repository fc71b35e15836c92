package modelserver

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// answer is what the model answers to one request, before an API gives it its form. Ids and usage follow from the
// script alone, so that two sessions with the same script are equal.
type answer struct {
	id    string // of the message, without the API's prefix
	turn  Turn
	usage usage
}

// usage counts tokens.
type usage struct{ input, output int }

// asideTokens is the number of tokens that counting requests are told.
const asideTokens = 1000

// answer returns the answer to r, after the model's latency.
func (s *Server) answer(ctx context.Context, r request) (answer, error) {
	if r.aside {
		// No usage: agents add it to a session's cost whenever the answer happens to arrive.
		return answer{id: "aside", turn: Turn{Say: asideText(r.schema)}}, nil
	}
	step, err := choose(s.model.Scripts, r)
	if err != nil {
		return answer{}, err
	}
	if err := s.think(ctx); err != nil {
		return answer{}, err
	}
	if !r.thoughts {
		step.turn.Think = ""
	}
	return answer{
		id:    fmt.Sprintf("%s_%d_%d", notID.ReplaceAllString(step.script, "_"), r.prompts, step.index+1),
		turn:  step.turn,
		usage: usage{input: asideTokens + 200*step.index, output: 50 + 25*len(step.turn.Calls)},
	}, nil
}

// think waits for the model's latency.
func (s *Server) think(ctx context.Context) error {
	select {
	case <-time.After(s.Latency):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// callID returns the id of the answer's call i, from 0, without the API's prefix.
func (a answer) callID(i int) string { return fmt.Sprintf("%s_%d", a.id, i+1) }

// notID matches what ids may not hold.
var notID = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// asideText answers a request that is not about the user's task: harmless text, or the smallest object that s takes.
func asideText(s *schema) string {
	const text = "Scripted session"
	if s == nil {
		return text
	}
	object := make(map[string]any)
	for name, p := range s.Properties {
		switch strings.ToLower(p.Type) { // Gemini has it in upper case
		case "string":
			object[name] = text
		case "boolean":
			object[name] = false
		case "integer", "number":
			object[name] = 1
		case "array":
			object[name] = []any{}
		case "object":
			object[name] = map[string]any{}
		}
	}
	return compact(object)
}
