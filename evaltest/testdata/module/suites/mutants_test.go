package suites

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// worse makes outputs worse.
func worse(outputs map[string]int) func(context.Context, row, int) (map[string]int, error) {
	return func(context.Context, row, int) (map[string]int, error) { return outputs, nil }
}

// answers scores what the agent says.
var answers = evaltest.NewScorer("answers",
	func(_ context.Context, _ string, res *evaltest.AgentResult, _ evaltest.Calls) (evaltest.Score, error) {
		if res.Answer() != "I will look at the shop first." {
			return evaltest.Score{Reason: res.Answer()}, nil
		}
		return evaltest.Score{Value: 1}, nil
	})

// writes scores what the agent leaves.
var writes = evaltest.NewScorer("writes",
	func(_ context.Context, _ string, res *evaltest.AgentResult, _ evaltest.Calls) (evaltest.Score, error) {
		const want = "diff --git a/greeting.txt b/greeting.txt\nnew file mode 100644\n--- /dev/null\n" +
			"+++ b/greeting.txt\n@@ -0,0 +1 @@\n+Hello, shop!\n"
		if res.Changes != want || len(res.ToolCalls()) != 2 || *res.Usage.Total > 150 {
			return evaltest.Score{Reason: res.Changes}, nil
		}
		return evaltest.Score{Value: 1}, nil
	})

// TestRecorded is recorded first.
func TestRecorded(t *testing.T) {
	evaltest.Describe(t, "../evals/*.yaml")
	agents(answers).Run(t)
}

func TestNotice(t *testing.T) {
	evaltest.Mutate(t, "../evals/*.yaml", evaltest.Mutation{MinKilled: 0.4})
}

func TestWordsNotice(t *testing.T) {
	words := good()
	words.Mutants = func(_ context.Context, _ row, n int) (map[string]int, error) {
		return map[string]int{"one more": n + 1, "none": 0}, nil
	}
	words.Mutate(t, evaltest.Mutation{MinKilled: 1})
}

func TestMutants(t *testing.T) {
	t.Run("agent", func(t *testing.T) {
		s := agents(answers, writes, evaltest.ToolSequence(trajectory.InOrder))
		s.Mutate(t, evaltest.Mutation{MinKilled: 0.9})
	})
	t.Run("sample", func(t *testing.T) {
		agents(answers, writes).Mutate(t, evaltest.Mutation{MinKilled: 0.5, Sample: 3, Seed: 2})
	})
}

func TestAccepted(t *testing.T) {
	words := good()
	words.Scorers = []scorer{evaltest.NewScorer("some",
		func(_ context.Context, _ string, got, _ int) (evaltest.Score, error) {
			return evaltest.Score{Value: float64(min(got, 1))}, nil
		})}
	words.Mutants = worse(map[string]int{"one more": 3, "none": 0})
	words.Mutate(t, evaltest.Mutation{Accept: []evaltest.Survivor{
		{Operator: "output", Where: "*: one more", Why: "nobody counts"},
	}})
}

func TestRedMutants(t *testing.T) {
	t.Run("playbook", func(t *testing.T) { evaltest.Mutate(t, "../evals/*.yaml", evaltest.Mutation{}) })
	t.Run("agent", func(t *testing.T) { agents(answers).Mutate(t, evaltest.Mutation{Sample: 4}) })
	t.Run("share-too-large", func(t *testing.T) {
		evaltest.Mutate(t, "../evals/*.yaml", evaltest.Mutation{MinKilled: 2})
	})
	t.Run("sample-negative", func(t *testing.T) { good().Mutate(t, evaltest.Mutation{Sample: -1}) })
	accept := map[string]evaltest.Survivor{
		"accept-stale":    {Operator: "output", Where: "two/output: one less", Why: "it is"},
		"accept-unknown":  {Operator: "outputs", Where: "*", Why: "it is"},
		"accept-no-why":   {Operator: "output", Where: "*"},
		"accept-playbook": {Operator: "output", Where: "*", Why: "it is"},
	}
	for _, name := range slices.Sorted(maps.Keys(accept)) {
		t.Run(name, func(t *testing.T) {
			m := evaltest.Mutation{Accept: []evaltest.Survivor{accept[name]}}
			if name == "accept-playbook" {
				evaltest.Mutate(t, "../evals/*.yaml", m)
			}
			s := good()
			s.Mutants = worse(map[string]int{"one more": 3})
			s.Mutate(t, m)
		})
	}
	t.Run("no-playbook", func(t *testing.T) { evaltest.Mutate(t, "*.yaml", evaltest.Mutation{}) })
	broken := map[string]func(*suite){
		"survives":    func(s *suite) { s.Scorers = []scorer{scores("any", 1)} },
		"no-mutants":  func(s *suite) { s.Mutants = nil },
		"none":        func(s *suite) { s.Mutants = worse(nil) },
		"only-itself": func(s *suite) { s.Mutants = worse(map[string]int{"the same": 2}) },
		"error": func(s *suite) {
			s.Mutants = func(context.Context, row, int) (map[string]int, error) { return nil, errors.New("no idea") }
		},
		"exits": func(s *suite) {
			s.Mutants = func(context.Context, row, int) (map[string]int, error) { panic("no idea") }
		},
		"does-not-pass": func(s *suite) { s.Data = []row{{ID: "two", Input: "hello", Expected: 2}} },
		"unknown": func(s *suite) {
			s.Scorers = []scorer{exact, evaltest.NewScorer("knows-two",
				func(_ context.Context, _ string, got, _ int) (evaltest.Score, error) {
					if got == 3 {
						return evaltest.Score{}, errors.New("three is no number")
					}
					return evaltest.Score{Value: 1}, nil
				})}
			s.Scorers[0] = s.Scorers[0].Threshold(0.1).Optional()
		},
	}
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		t.Run(name, func(t *testing.T) {
			s := good()
			s.Mutants = worse(map[string]int{"one more": 3, "the same": 2})
			broken[name](&s)
			s.Mutate(t, evaltest.Mutation{})
		})
	}
}
