package modelserver

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// bench has the judges of one prompt.
var bench = []Judge{
	{
		Name: "review/strict", Model: "strict", Prompt: regexp.MustCompile("^Review"),
		Saw: regexp.MustCompile("rounds up"),
		Say: map[string]any{"score": 0.5, "reason": "<b>"},
	},
	{
		Name: "review/mild", Model: "mild", Prompt: regexp.MustCompile("^Review"), Saw: regexp.MustCompile("."),
		Say: "I like it.\n{\"score\": 1}",
	},
}

// TestJudge asks as evaluators do.
func TestJudge(t *testing.T) {
	s, err := New(Model{Judges: bench})
	require.NoError(t, err)
	address, err := s.Start()
	require.NoError(t, err)
	defer s.Close()
	client := llm.New(llm.Config{APIKey: key, BaseURL: address + "/v1", MaxAttempts: 1})
	ask := func(model, prompt string) (llm.Reply, error) {
		return client.Complete(t.Context(), llm.Request{
			Model: model, System: "You judge.", User: prompt, Schema: []byte(`{"type": "object"}`),
			SchemaName: "judgement",
		})
	}
	reply, err := ask("strict", "Review this: it rounds up.")
	require.NoError(t, err)
	assert.Equal(t,
		llm.Reply{Text: `{"reason":"<b>","score":0.5}`, Model: "strict", InputTokens: 1000, OutputTokens: 50}, reply)
	reply, err = ask("mild", "Review this.")
	require.NoError(t, err)
	assert.Equal(t, "I like it.\n{\"score\": 1}", reply.Text)
	require.NoError(t, s.Err())

	_, err = ask("strict", "Review this.")
	require.ErrorContains(t, err, `judge "review/strict": the prompt does not match saw "rounds up": "Review this."`)
	require.Error(t, s.Err())
}

func TestJudgeRefusals(t *testing.T) {
	message := func(model, prompt string) string {
		return compact(map[string]any{
			"model":    model,
			"messages": []any{map[string]string{"role": "user", "content": prompt}},
		})
	}
	tests := []struct{ name, body, want string }{
		{"no model", message("none", "Review"), `no judge matches the prompt "Review" to model "none"`},
		{"no prompt", message("mild", "Look"), `no judge matches the prompt "Look" to model "mild"`},
		{"two", message("twice", "Review"), `judges "a" and "b" both match the prompt "Review"`},
		{"not JSON", "{", "decode the request: unexpected end of JSON input"},
	}
	all := bench
	for _, name := range []string{"a", "b"} {
		all = append(all, Judge{Name: name, Model: "twice", Prompt: bench[0].Prompt, Saw: bench[1].Saw, Say: "x"})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := New(Model{Judges: all})
			require.NoError(t, err)
			w := post(s, "/v1/chat/completions", test.body)
			assert.Equal(t, http.StatusBadRequest, w.Code)
			assert.EqualError(t, s.Err(), "POST /v1/chat/completions: "+test.want)
		})
	}
}

func TestUnusableJudges(t *testing.T) {
	_, err := New(Model{Judges: []Judge{
		{Name: "a"},
		bench[0], bench[0],
		{Name: "b", Model: "b", Prompt: bench[0].Prompt, Saw: bench[0].Saw, Say: 1},
	}})
	assert.EqualError(t, err, `judge "a": prompt, model, saw and say are required
duplicate judge "review/strict"
judge "b": say: must be a mapping or text`)
}
