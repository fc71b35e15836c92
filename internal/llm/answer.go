package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// completion is what has to be sure of an answer before its first choice is the model's reply. The library takes the
// last of duplicate keys, keys in another case and the first of several values, and ignores errors beside choices.
type completion struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Error   json.RawMessage `json:"error"`
		Message struct {
			Role      string            `json:"role"`
			Content   *string           `json:"content"`
			ToolCalls []json.RawMessage `json:"tool_calls"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

// finished are the reasons of servers for the end of a reply that is whole. Not all servers give one.
var finished = []string{"", "stop", "end_turn", "eos", "eos_token"}

// checkAnswer returns an error unless an answer is one reply of the model, which has ended. What [read] reports is left
// to it.
func checkAnswer(status int, body []byte) error {
	if status != http.StatusOK {
		return fmt.Errorf("the server answered with the status %d, want 200", status)
	}
	var a completion
	if err := jsonvalue.DecodeStrict(body, &a, jsonvalue.UnknownKeys); err != nil {
		return fmt.Errorf("the answer is not as it should be: %w", err)
	}
	if given(a.Error) {
		return fmt.Errorf("the answer has an error: %s", a.Error)
	}
	if len(a.Choices) > 1 {
		return fmt.Errorf("the answer has %d replies of the model, want 1", len(a.Choices))
	}
	if a.Usage.Prompt < 0 || a.Usage.Completion < 0 {
		return errors.New("the answer has a negative count of tokens")
	}
	for _, c := range a.Choices {
		switch {
		case given(c.Error):
			return fmt.Errorf("the reply has an error: %s", c.Error)
		case c.Message.Role != "" && c.Message.Role != "assistant":
			return fmt.Errorf("the reply is of the role %q", c.Message.Role)
		case len(c.Message.ToolCalls) > 0:
			return errors.New("the model called a tool")
		case c.FinishReason == "length" || c.FinishReason == "content_filter": // which read explains
		case !slices.Contains(finished, strings.ToLower(c.FinishReason)):
			return fmt.Errorf("the reply ended for the reason %q", c.FinishReason)
		}
	}
	return nil
}

// given reports whether an optional value is there.
func given(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }
