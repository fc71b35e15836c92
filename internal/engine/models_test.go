package engine_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
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
	models := engine.Models(func(name string) string { return env[name] }, new(llm.Spent))
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

// another answers by another name than it was asked by.
type another struct{ name string }

func (a another) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	return llm.Reply{Text: rubricsReply, Model: r.Model + a.name}, nil
}

// TestAnotherModel: whoever reads a verdict of a model sees that it is another model's.
func TestAnotherModel(t *testing.T) {
	evaluators := `evaluators:
  - {type: llm_judge, model: c, threshold: 0.6, rubrics: [
      {id: one, text: It is one.}, {id: two, text: It is two., weight: 2}]}
`
	for name, want := range map[string][]string{
		"-2026-01-02": nil,
		"-mini":       {`the model "c" was asked to judge, and by the server's word another one answered: "c-mini"`},
	} {
		text := mutantsHead + evaluators
		root, _ := recordedBy(t, text, sessionScript, asked(another{name}))
		u := replayed(t, root, text)()
		require.Equal(t, result.Pass, u.Outcome, u.Reason)
		require.Equal(t, want, u.Warnings, "also in a replay")
		require.Contains(t, u.Evaluations[0].Detail, "c (answered by c"+name+"): 0.66")
		runner, unit := newRunner(t, root, text, engine.Live, asked(another{name}), unconfined)
		require.Equal(t, want, runner.Unit(t.Context(), unit, io.Discard).Warnings)
	}
	renamed := mutantsHead + strings.ReplaceAll(evaluators, "model: c", "model: c-mini")
	root, _ := recordedBy(t, mutantsHead+evaluators, sessionScript, asked(another{"-mini"}))
	require.Equal(t, result.Error, replayed(t, root, renamed)().Outcome, "the other model was not asked")
}
