package engine_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// TestModels moves the models to another server within a process: the next client asks there, and what the first has
// spent of the budget stays spent.
func TestModels(t *testing.T) {
	t.Parallel()
	server := func() (url string, asked *int) {
		asked = new(int)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			*asked++
			_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"yes"}}]}`))
		}))
		t.Cleanup(s.Close)
		return s.URL, asked
	}
	first, askedFirst := server()
	second, askedSecond := server()
	env := map[string]string{}
	models := engine.Models(func(name string) string { return env[name] })
	_, err := models()
	require.ErrorIs(t, err, llm.ErrNoKey)

	maps.Copy(env, map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": first, "EVAL_LLM_MAX_CALLS": "2"})
	a, err := models()
	require.NoError(t, err)
	_, err = a.Complete(t.Context(), llm.Request{Model: "judge"})
	require.NoError(t, err)
	again, err := models()
	require.NoError(t, err)
	require.Same(t, a, again)

	env["OPENAI_BASE_URL"] = second
	b, err := models()
	require.NoError(t, err)
	_, err = b.Complete(t.Context(), llm.Request{Model: "judge"})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{*askedFirst, *askedSecond})
	_, err = b.Complete(t.Context(), llm.Request{Model: "judge"})
	require.ErrorContains(t, err, "the run's budget of 2 calls to models is used up")
}
