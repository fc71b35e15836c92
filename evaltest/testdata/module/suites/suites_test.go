// Package suites has suites in Go: those of TestGreen pass, those of TestRed must not.
package suites

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory/chat"
	"github.com/sdd-eval/sdd-eval/playbook"
)

type (
	suite  = evaltest.Suite[string, int, int]
	row    = evaltest.Row[string, int]
	scorer = evaltest.Scorer[string, int, int]
)

// words counts words.
func words(_ context.Context, text string) (int, error) { return len(strings.Fields(text)), nil }

// exact scores 1 or 0.
var exact = evaltest.NewScorer("exact", func(_ context.Context, _ string, got, want int) (evaltest.Score, error) {
	if got != want {
		return evaltest.Score{Reason: "another number"}, nil
	}
	return evaltest.Score{Value: 1}, nil
})

// scores always gives this score.
func scores(name string, value float64) scorer {
	return evaltest.NewScorer(name, func(context.Context, string, int, int) (evaltest.Score, error) {
		return evaltest.Score{Value: value, Reason: "as ever", Details: "no matter what"}, nil
	})
}

// good is a suite that passes, to break.
func good() suite {
	return suite{
		ID: "words", Data: []row{{ID: "two", Input: "hello world", Expected: 2}}, Task: words,
		Scorers: []scorer{exact},
	}
}

// question is the input of a suite with structs.
type question struct {
	Text  string `json:"text"`
	Limit int    `json:"limit"`
}

func files(name string) evaltest.Suite[question, int, int] {
	return evaltest.Suite[question, int, int]{
		ID: "files", File: "testdata/" + name,
		Task: func(_ context.Context, q question) (int, error) {
			return min(len(strings.Fields(q.Text)), q.Limit), nil
		},
		Scorers: []evaltest.Scorer[question, int, int]{evaltest.NewScorer("exact",
			func(_ context.Context, _ question, got, want int) (evaltest.Score, error) {
				if got != want {
					return evaltest.Score{}, nil
				}
				return evaltest.Score{Value: 1}, nil
			})},
	}
}

// shop is a run of the scripted agent, which reads README.md, writes greeting.txt and answers.
func shop() evaltest.AgentRun {
	return evaltest.AgentRun{
		ID: "shop", Agent: playbook.Agent{Kind: "fake-acp", Args: []string{"../scripts/greet.json"}},
		Prompts: []string{"Write a greeting.", "Which files did you write?"}, Workspace: "../fixtures/shop",
	}
}

// agents is a suite of it.
func agents(scorers ...evaltest.AgentScorer) evaltest.AgentSuite {
	run := shop()
	run.ID, run.Prompts = "", nil
	return evaltest.AgentSuite{
		ID: "agents", Task: evaltest.AgentTask(run), Scorers: scorers,
		Data: []evaltest.AgentRow{{ID: "greet", Input: "Write a greeting.", Expected: evaltest.Calls{
			trajectory.Tool("Read").Args(trajectory.Args{"path": trajectory.EndsWith(".md")}), trajectory.Tool("Write"),
		}}},
	}
}

// ran is a task that returns what an agent did.
func ran(events ...trajectory.Body) func(context.Context, string) (*evaltest.AgentResult, error) {
	run := new(trajectory.Run)
	for _, b := range events {
		run.Events = append(run.Events, trajectory.Event{Turn: 1, Body: b})
	}
	return func(context.Context, string) (*evaltest.AgentResult, error) {
		return &evaltest.AgentResult{Run: run}, nil
	}
}

func call(id, tool string) trajectory.Body { return trajectory.ToolStart{ID: id, Name: tool} }

func done(id string) trajectory.Body { return trajectory.ToolEnd{ID: id, Status: trajectory.Completed} }

func TestGreen(t *testing.T) {
	t.Run("slice", func(t *testing.T) { good().Run(t) })
	for _, name := range []string{"rows.jsonl", "rows.yaml", "rows.csv"} {
		t.Run(name, func(t *testing.T) { files(name).Run(t) })
	}
	t.Run("threshold", func(t *testing.T) {
		s := good()
		s.Threshold = 0.5
		s.Scorers = []scorer{scores("half", 0.5), scores("quarter", 0.25).Threshold(0.25)}
		s.Run(t)
	})
	t.Run("weighted", func(t *testing.T) {
		s := good()
		s.Scorers = []scorer{evaltest.Weighted("both", exact.Weight(3), scores("half", 0.5).Weight(1))}
		s.Run(t)
	})
	t.Run("generated", func(t *testing.T) {
		s := good()
		s.Generate = func(context.Context) ([]row, error) {
			return []row{{
				ID: "two", Name: "two words", Input: "hello world", Expected: 2, Metadata: map[string]any{"least": .75},
			}}, nil
		}
		s.Data, s.Scorers = nil, []scorer{scores("taste", 0.1).Optional(), evaltest.NewScorer("least",
			func(ctx context.Context, _ string, _, _ int) (evaltest.Score, error) {
				return evaltest.Score{Value: evaltest.Metadata(ctx)["least"].(float64)}, nil
			}).Threshold(0.75)}
		s.Run(t)
	})
	t.Run("not-generated", func(t *testing.T) { // nor is what its SkipIf keeps from running
		s := good()
		s.SkipIf = func() string { return "it is Sunday" }
		s.Data, s.Generate = nil, func(context.Context) ([]row, error) { panic("it ran") }
		s.Run(t)
	})
	t.Run("skip", func(t *testing.T) {
		s := good()
		s.SkipIf = func() string { return "it is Sunday" }
		s.Run(t)
	})
	t.Run("judge-skipped", func(t *testing.T) {
		s := good()
		s.Scorers, s.Judges = nil, []playbook.LLMJudge{{Models: []string{"judge-1"}}}
		s.Run(t)
	})
	t.Run("calls", func(t *testing.T) {
		evaltest.AgentSuite{
			ID: "calls", File: "testdata/calls.jsonl",
			Task: ran(call("1", "Grep"), done("1"), call("2", "Read"), done("2"), trajectory.Message{Text: "Done."},
				trajectory.Stop{Reason: "end_turn"}),
			Scorers: []evaltest.AgentScorer{
				evaltest.ToolSequence(trajectory.Superset), evaltest.ToolOrder(), evaltest.ExcludedTools("Bash"),
				evaltest.Completion(),
			},
		}.Run(t)
	})
}

// TestAgents is recorded first.
func TestAgents(t *testing.T) {
	t.Run("suite", func(t *testing.T) {
		agents(evaltest.ToolSequence(trajectory.Superset), evaltest.ToolOrder(), evaltest.ExcludedTools("Bash")).Run(t)
	})
	t.Run("once", func(t *testing.T) {
		res := evaltest.RunAgent(t, shop())
		text, err := os.ReadFile(res.Workspace + "/greeting.txt")
		if err != nil || string(text) != "Hello, shop!\n" {
			t.Errorf("%q, %v", text, err)
		}
		if !strings.Contains(res.Changes, "+Hello, shop!") || *res.Usage.Total != 150 || res.Duration <= 0 ||
			len(res.Errors) != 0 {
			t.Errorf("%+v", res)
		}
		messages, err := chat.Messages(res.Run)
		if err != nil {
			t.Error(err)
		}
		for _, m := range messages {
			t.Logf("%s: %s", m.Role, m.Content)
		}
		for _, c := range res.ToolCalls() {
			t.Logf("%s: %s", c.Name, c.Outcome())
		}
	})
	t.Run("overridden", func(t *testing.T) {
		run := shop()
		run.ID = "overridden"
		run.Overrides = []playbook.Override{{Tool: "Write", Error: "disk full"}}
		res := evaltest.RunAgent(t, run)
		if c := res.ToolCalls()[1]; c.Outcome() != trajectory.OutcomeError {
			t.Errorf("%+v", c)
		}
	})
	t.Run("fails", func(t *testing.T) {
		run := shop()
		run.ID, run.Limits.MaxToolCalls, run.MaxTurns, run.Tools, run.MayFail = "fails", 1, 1, []string{"Write"}, true
		for _, e := range evaltest.RunAgent(t, run).Errors {
			t.Log(e)
		}
	})
}

func TestRed(t *testing.T) {
	broken := map[string]func(t *testing.T, s *suite){
		"task-panics": func(_ *testing.T,
			s *suite,
		) {
			s.Task = func(context.Context, string) (int, error) { panic("no idea") }
		},
		"task-errors": func(_ *testing.T, s *suite) {
			s.Task = func(context.Context, string) (int, error) { return 2, errors.New("no idea") }
		},
		"task-exits": func(_ *testing.T, s *suite) {
			s.Task = func(context.Context, string) (int, error) { runtime.Goexit(); return 2, nil }
		},
		"task-missing": func(_ *testing.T, s *suite) { s.Task = nil },
		"task-late": func(_ *testing.T, s *suite) {
			s.Timeout = 20 * time.Millisecond
			s.Task = func(ctx context.Context, text string) (int, error) { <-ctx.Done(); return words(ctx, text) }
		},
		"task-never-ends": func(_ *testing.T, s *suite) {
			s.Timeout = 20 * time.Millisecond
			s.Task = func(context.Context, string) (int, error) { select {} }
		},
		"scorer-panics": func(_ *testing.T, s *suite) {
			s.Scorers = []scorer{evaltest.NewScorer("panics",
				func(context.Context, string, int, int) (evaltest.Score, error) { panic("no idea") })}
		},
		"scorer-errors": func(_ *testing.T, s *suite) {
			s.Scorers = []scorer{evaltest.NewScorer("errors",
				func(context.Context, string, int, int) (evaltest.Score, error) {
					return evaltest.Score{Value: 1}, errors.New("no idea")
				})}
		},
		"scorer-late": func(_ *testing.T, s *suite) {
			s.Timeout = time.Second
			s.Scorers = []scorer{evaltest.NewScorer("late",
				func(ctx context.Context, _ string, _, _ int) (evaltest.Score, error) {
					<-ctx.Done()
					return evaltest.Score{Value: 1}, nil
				})}
		},
		"scorer-nan":       func(_ *testing.T, s *suite) { s.Scorers = []scorer{scores("nan", math.NaN())} },
		"scorer-above-one": func(_ *testing.T, s *suite) { s.Scorers = []scorer{scores("two", 2)} },
		"scorer-below-zero": func(_ *testing.T,
			s *suite,
		) {
			s.Scorers = []scorer{scores("less", -0.1).Threshold(0.1)}
		},
		"scorer-zero":          func(_ *testing.T, s *suite) { s.Scorers = []scorer{{}} },
		"scorer-twice":         func(_ *testing.T, s *suite) { s.Scorers = []scorer{exact, exact} },
		"scorer-with-a-weight": func(_ *testing.T, s *suite) { s.Scorers = []scorer{exact.Weight(2)} },
		"scorers-averaged":     func(_ *testing.T, s *suite) { s.Scorers = []scorer{exact, scores("low", 0.79)} },
		"scorer-just-below":    func(_ *testing.T, s *suite) { s.Scorers = []scorer{scores("low", 0.79999999)} },
		"scorers-none":         func(_ *testing.T, s *suite) { s.Scorers = nil },
		"scorers-optional":     func(_ *testing.T, s *suite) { s.Scorers = []scorer{exact.Optional()} },
		"optional-errors": func(_ *testing.T, s *suite) {
			s.Scorers = []scorer{exact, scores("nan", math.NaN()).Optional()}
		},
		"part-optional": func(_ *testing.T, s *suite) {
			s.Scorers = []scorer{evaltest.Weighted("both", exact, scores("half", 0.5).Optional())}
		},
		"part-errors": func(_ *testing.T, s *suite) {
			s.Scorers = []scorer{evaltest.Weighted("both", exact.Weight(1000), scores("nan", math.NaN()))}
		},
		"part-below-its-threshold": func(_ *testing.T, s *suite) {
			s.Scorers = []scorer{evaltest.Weighted("both", exact.Weight(1000),
				scores("half", 0.5).Threshold(0.6).Weight(1))}
		},
		"part-just-below-its-threshold": func(_ *testing.T, s *suite) {
			s.Scorers = []scorer{evaltest.Weighted("both", exact.Weight(1000),
				scores("half", 0.59999999).Threshold(0.6).Weight(1))}
		},
		"part-without-weight": func(_ *testing.T, s *suite) {
			s.Scorers = []scorer{evaltest.Weighted("both", exact.Weight(0))}
		},
		"rows-none": func(_ *testing.T, s *suite) { s.Data = nil },
		"rows-twice": func(_ *testing.T, s *suite) {
			s.Generate = func(context.Context) ([]row, error) { return s.Data, nil }
		},
		"generator-errors": func(_ *testing.T, s *suite) {
			s.Data, s.Generate = nil, func(context.Context) ([]row, error) { return nil, errors.New("no idea") }
		},
		"generator-panics": func(_ *testing.T, s *suite) {
			s.Data, s.Generate = nil, func(context.Context) ([]row, error) { panic("no idea") }
		},
		"generator-of-nothing": func(_ *testing.T, s *suite) {
			s.Data, s.Generate = nil, func(context.Context) ([]row, error) { return nil, nil }
		},
		"rows-same-id":        func(_ *testing.T, s *suite) { s.Data = append(s.Data, s.Data...) },
		"rows-without-id":     func(_ *testing.T, s *suite) { s.Data[0].ID = "" },
		"id-none":             func(_ *testing.T, s *suite) { s.ID = "" },
		"threshold-above-one": func(_ *testing.T, s *suite) { s.Threshold = 1.1 },
		"threshold-negative":  func(_ *testing.T, s *suite) { s.Threshold = -1 },
		"threshold-nan":       func(_ *testing.T, s *suite) { s.Threshold = math.NaN() },
		"threshold-zero":      func(_ *testing.T, s *suite) { s.Scorers = []scorer{scores("zero", 0).Threshold(0)} },
		"unset-threshold":     func(_ *testing.T, s *suite) { s.Scorers = []scorer{scores("zero", 0)} },
		"judge-missing-in-ci": func(_ *testing.T, s *suite) {
			s.Judges = []playbook.LLMJudge{{Models: []string{"judge-1"}}}
		},
		"judge-misspelt": func(_ *testing.T, s *suite) {
			s.Judges = []playbook.LLMJudge{{Rubrics: []playbook.Rubric{{ID: "a b", Text: "x"}}}}
		},
		"judge-of-a-bad-id": func(_ *testing.T, s *suite) {
			s.Judges = []playbook.LLMJudge{{Models: []string{"j"}, Rubrics: []playbook.Rubric{{ID: "a b", Text: "x"}}}}
		},
		"judge-of-no-weight": func(_ *testing.T, s *suite) {
			s.Judges = []playbook.LLMJudge{{Models: []string{"judge-1"}, Rubrics: []playbook.Rubric{
				{ID: "a", Text: "x", Weight: math.NaN()},
			}}}
		},
		"cassettes-in-a-file": func(_ *testing.T, s *suite) { s.Dirs.Cassettes = "go.mod" },
		"skipped-in-ci":       func(_ *testing.T, s *suite) { s.SkipIf = func() string { return "it is Sunday" } },
		"skip-panics":         func(_ *testing.T, s *suite) { s.SkipIf = func() string { panic("which day is it?") } },
		"skips-by-exit": func(t *testing.T, s *suite) {
			s.Task = func(context.Context, string) (int, error) { t.SkipNow(); return 2, nil }
		},
	}
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		t.Run(name, func(t *testing.T) {
			s := good()
			broken[name](t, &s)
			s.Run(t)
		})
	}
	entries, err := os.ReadDir("testdata/red")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Run("file-"+e.Name(), func(t *testing.T) { files("red/" + e.Name()).Run(t) })
	}
	t.Run("file-of-another-kind", func(t *testing.T) { files("rows.txt").Run(t) })
	t.Run("file-missing", func(t *testing.T) { files("none.jsonl").Run(t) })
	t.Run("calls-once", func(t *testing.T) { // the row expects two
		evaltest.AgentSuite{
			ID: "calls", Task: ran(call("1", "Read"), done("1"), trajectory.Message{Text: "Done."},
				trajectory.Stop{Reason: "max_tokens"}),
			Data: []evaltest.AgentRow{{
				ID:       "twice",
				Expected: evaltest.Calls{trajectory.Tool("Read"), trajectory.Tool("Read")},
			}},
			Scorers: []evaltest.AgentScorer{
				evaltest.ToolSequence(trajectory.Superset), evaltest.ExcludedTools("Read"),
				evaltest.Completion(),
			},
		}.Run(t)
	})
	t.Run("calls-excluded", func(t *testing.T) { // one of five, which is no 0.8
		evaltest.AgentSuite{
			ID: "calls", Task: ran(call("1", "Read"), done("1"), trajectory.Message{Text: "Done."},
				trajectory.Stop{Reason: "end_turn"}),
			Data:    []evaltest.AgentRow{{ID: "five"}},
			Scorers: []evaltest.AgentScorer{evaltest.ExcludedTools("Bash", "Read", "Write", "WebFetch", "WebSearch")},
		}.Run(t)
	})
	t.Run("calls-misspelt", func(t *testing.T) {
		s := agents(evaltest.Completion())
		s.Data = []evaltest.AgentRow{{ID: "greet", ExpectedFile: "testdata/misspelt.json"}}
		s.Run(t)
	})
	t.Run("calls-twice", func(t *testing.T) {
		s := agents(evaltest.Completion())
		s.Data[0].ExpectedFile = "testdata/calls.json"
		s.Run(t)
	})
	t.Run("calls-not-expected", func(t *testing.T) { agents(evaltest.ToolSequence(nil)).Run(t) })
	t.Run("cassette-missing", func(t *testing.T) { agents(evaltest.Completion()).Run(t) })
	t.Run("cassette-missing-once", func(t *testing.T) { evaltest.RunAgent(t, shop()) })
	t.Run("agent-misspelt", func(t *testing.T) {
		evaltest.RunAgent(t, evaltest.AgentRun{
			ID: "shop", Agent: playbook.Agent{Kind: "fake-acpp"},
			Files: map[string]string{"../a": ""},
		})
	})
	t.Run("agent-error-ignored", func(t *testing.T) { // there is no cassette
		s := agents(evaltest.ExcludedTools("Bash"))
		task := s.Task
		s.Task = func(ctx context.Context, prompt string) (*evaltest.AgentResult, error) {
			_, _ = task(ctx, prompt)
			return &evaltest.AgentResult{Run: new(trajectory.Run)}, nil
		}
		s.Run(t)
	})
	t.Run("tools-of-no-name", func(t *testing.T) { agents(evaltest.ExcludedTools("Bash|Edit", "mcp__.*")).Run(t) })
	t.Run("expected-null", func(t *testing.T) {
		s := good()
		s.Data = []row{{ID: "two", Input: "hello world", ExpectedFile: "testdata/null.json"}}
		s.Run(t)
	})
	t.Run("option-nil", func(t *testing.T) { evaltest.Describe(t, "*.yaml", nil) })
	t.Run("agent-without-suite", func(t *testing.T) {
		if _, err := evaltest.AgentTask(shop())(t.Context(), "Hello."); err != nil {
			t.Error(err)
		}
	})
	t.Run("skills-misplaced", func(t *testing.T) {
		evaltest.RunAgent(t, evaltest.AgentRun{
			ID: "own", Agent: playbook.Agent{Kind: "acp", Command: "own"}, Prompt: "Hello.",
			Skills: []string{"a"}, Instructions: "b.md", Add: []playbook.Addition{{From: "c", To: "../c"}},
		})
	})
	t.Run("skill-missing", func(t *testing.T) {
		run := shop()
		run.ID, run.Skills = "skilled", []string{"testdata/no-skill"}
		evaltest.RunAgent(t, run)
	})
}

// TestRedAgents runs live.
func TestRedAgents(t *testing.T) {
	t.Run("ends-early", func(t *testing.T) {
		run := shop()
		run.Limits.MaxToolCalls = 1
		evaltest.RunAgent(t, run)
	})
	t.Run("forbidden-tool", func(t *testing.T) {
		run := shop()
		run.ID, run.Tools = "forbidden", []string{"Write"}
		evaltest.RunAgent(t, run)
	})
	t.Run("too-many-turns", func(t *testing.T) {
		run := shop()
		run.ID, run.MaxTurns = "turns", 2
		evaltest.RunAgent(t, run)
	})
	t.Run("no-last-word", func(t *testing.T) { // it says something, and then writes
		s := agents(evaltest.Completion())
		s.ID = "silent"
		s.Run(t)
	})
	t.Run("same-name", func(t *testing.T) {
		evaltest.RunAgent(t, shop())
		evaltest.RunAgent(t, shop())
	})
	t.Run("override-of-no-row", func(t *testing.T) {
		s := agents(evaltest.ExcludedTools("Bash"))
		s.Overrides = []playbook.Override{{Tool: "Write", Case: "gret", Error: "disk full"}}
		s.Run(t)
	})
	t.Run("suite", func(t *testing.T) {
		s := agents(evaltest.ExcludedTools("Bash"))
		s.Task = func(ctx context.Context, prompt string) (*evaltest.AgentResult, error) {
			run := shop()
			run.ID, run.Prompts, run.Limits.MaxToolCalls = "", nil, 1
			return evaltest.AgentTask(run)(ctx, prompt)
		}
		s.Run(t)
	})
}

// TestNotInstalled runs live: the advice is for a test in Go, not for a playbook.
func TestNotInstalled(t *testing.T) {
	run := shop()
	run.Agent = playbook.Agent{Kind: "acp", Command: "no-such-agent"}
	evaltest.RunAgent(t, run)
}
