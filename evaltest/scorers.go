package evaltest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// ToolSequence returns a scorer that matches the agent's tool calls with those that the row expects, including
// arguments. No call matches two expected ones. Match is a matcher of package trajectory: Superset for "at least
// these", InOrder for "these in this order, perhaps with others in between", Exact, Unordered or Subset.
func ToolSequence(match func(...trajectory.Call) trajectory.Matcher) AgentScorer {
	s := expectedCalls("tool-sequence", match)
	if match == nil {
		s.err = errors.New("it has no matcher: pass trajectory.Superset or another matcher")
	}
	return s
}

// ToolOrder returns a scorer that expects calls of the row's tools in this order, whatever their arguments; there may
// be others in between.
func ToolOrder() AgentScorer {
	return expectedCalls("tool-order", func(calls ...trajectory.Call) trajectory.Matcher {
		names := make([]trajectory.Call, len(calls))
		for i, c := range calls {
			names[i] = c.Args(nil).Mode(trajectory.IgnoreArgs)
		}
		return trajectory.InOrder(names...)
	})
}

// ExcludedTools returns a scorer that expects that these tools, in whose names * stands for any characters, were not
// called: a single call makes its score 0, however many tools there are. It passes for an agent that did nothing: add
// another scorer. A run in which a call has no name is an error.
func ExcludedTools(tools ...string) AgentScorer {
	s := ofRun("excluded-tools", func(run *trajectory.Run, _ Calls) finding {
		f := matched(run, trajectory.Never(tools...))
		if f.Value < 1 { // four tools of five that were not called are no 0.8, which would pass
			f.Value = 0
		}
		return f
	})
	if s.err = trajectory.Never(tools...).Check(); len(tools) == 0 {
		s.err = errors.New("it names no tools")
	}
	return s
}

// Completion returns a scorer of whether the agent finished: the share of its turns that it ended by itself, with a
// final message and no tool call left open.
func Completion() AgentScorer {
	return ofRun("completion", func(run *trajectory.Run, _ Calls) finding {
		open := make(map[int][]string) // what is missing, by turn
		for _, c := range run.ToolCalls() {
			if c.Outcome() == trajectory.OutcomePending {
				open[c.Turn] = append(open[c.Turn], toolName(c)+" never ended")
			}
		}
		said := make(map[int]bool)    // a last word: what is said before a call announces it
		stops := make(map[int]string) // why turns ended
		for _, e := range run.Events {
			switch b := e.Body.(type) {
			case trajectory.Stop:
				stops[e.Turn] = b.Reason
			case trajectory.ToolStart:
				said[e.Turn] = false
			case trajectory.Message:
				said[e.Turn] = said[e.Turn] || strings.TrimSpace(b.Text) != ""
			}
		}
		if len(stops) == 0 {
			return finding{outcome: result.Pass, Score: Score{Reason: "the agent completed no turn"}}
		}
		whole, lines := 0, []string{}
		for turn := 1; turn <= run.Turns(); turn++ {
			switch reason := stops[turn]; reason {
			case result.StopEndTurn:
			case "":
				open[turn] = append(open[turn], "it never ended")
			default:
				open[turn] = append(open[turn], "it ended early: "+reason)
			}
			if !said[turn] {
				open[turn] = append(open[turn], "it ended without a final message")
			}
			if len(open[turn]) == 0 {
				whole++
				continue
			}
			lines = append(lines, fmt.Sprintf("turn %d: %s", turn, strings.Join(open[turn], ", ")))
		}
		return finding{outcome: result.Pass, Score: Score{
			Value: float64(whole) / float64(run.Turns()), Reason: strings.Join(lines, "\n"),
		}}
	})
}

// expectedCalls matches an agent's run with what its row expects.
func expectedCalls(name string, match func(...trajectory.Call) trajectory.Matcher) AgentScorer {
	return ofRun(name, func(run *trajectory.Run, expected Calls) finding { return matched(run, match(expected...)) })
}

// ofRun judges an agent's run.
func ofRun(name string, judge func(run *trajectory.Run, expected Calls) finding) AgentScorer {
	return AgentScorer{
		scorer: scorer{name: name},
		judge: func(_ context.Context, _ string, res *AgentResult, expected Calls) finding {
			if res == nil || res.Run == nil {
				return unknown(errors.New("the task returned no run"))
			}
			return judge(res.Run, expected)
		},
	}
}

func matched(run *trajectory.Run, m trajectory.Matcher) finding {
	if err := evaluator.Unseen(run); err != nil {
		return unknown(err)
	}
	r := m.Match(run)
	if r.Err != nil {
		return unknown(r.Err)
	}
	return finding{outcome: result.Pass, Score: Score{Value: r.Score, Reason: r.Reason(), Details: r.Table()}}
}

// judgeScorer returns a scorer that asks models about the output.
func judgeScorer(j playbook.LLMJudge) scorer {
	s := scorer{name: cmp.Or(j.Name, "llm-judge")}
	if j.Threshold != 0 {
		s.threshold = &j.Threshold
	}
	panel, err := judgeOf(j)
	s.err = err
	s.judge = func(ctx context.Context, c scored) finding {
		in, err := evidence(c)
		if err != nil {
			return unknown(err)
		}
		file, unasked, err := c.row.openJudgments(panel.Needs()&evaluator.AsksModel == 0)
		if next := fault.Advice(err); next != "" {
			err = fmt.Errorf("%w\nnext: %s", err, next)
		}
		if err != nil {
			return unknown(err)
		}
		if in.NoModels = unasked; file != nil {
			in.Models = file
		}
		v := panel.Evaluate(ctx, in)
		f := finding{outcome: v.Outcome, Score: Score{Reason: v.Reason, Details: v.Detail}, final: v.Final}
		if v.Score != nil {
			f.outcome, f.Value = result.Pass, *v.Score
		}
		return f
	}
	return s
}

// judgeOf makes the evaluator that a playbook with the judge's keys would have.
func judgeOf(j playbook.LLMJudge) (e evaluator.Evaluator, err error) {
	if j.Agent.Kind != "" {
		if err := (plan.Run{Agent: j.Agent}).Check(); err != nil {
			return nil, err
		}
	} else if len(j.Models) == 0 {
		return nil, errors.New("it names neither models nor an agent")
	}
	d, err := doc.Of(j)
	if err != nil {
		return nil, err
	}
	e = kinds.All()["llm_judge"].Decode(d.Root).(evaluator.Evaluator)
	return e, doc.Unplaced(d.Err())
}

// evidence is what a judge looks at.
func evidence(c scored) (evaluator.Input, error) {
	input, err := textOf(c.input)
	if err != nil {
		return evaluator.Input{}, fmt.Errorf("the input: %w", err)
	}
	in := evaluator.Input{
		Unit: c.row.name(), Case: plan.Case{ID: c.row.id, Prompts: []string{input}},
		Changes: func(context.Context) (string, error) { return "", nil },
	}
	if calls, ok := c.expected.(Calls); ok {
		in.Case.ExpectedOutcome = callLines(calls)
	} else if in.Case.ReferenceAnswer, err = textOf(c.expected); err != nil {
		return evaluator.Input{}, fmt.Errorf("what is expected: %w", err)
	}
	if a, ok := c.output.(*AgentResult); ok && a != nil {
		in.Run, in.Workspace = a.Run, a.Workspace
		in.Changes = func(context.Context) (string, error) { return a.Changes, nil }
	}
	if in.Run == nil {
		answer, err := textOf(c.output)
		if err != nil {
			return evaluator.Input{}, fmt.Errorf("the output: %w", err)
		}
		in.Run = &trajectory.Run{Events: []trajectory.Event{
			{Turn: 1, Body: trajectory.Prompt{Text: input}}, {Turn: 1, Body: trajectory.Message{Text: answer}},
		}}
	}
	return in, nil
}

// callLines tells a judge which tool calls are expected.
func callLines(calls Calls) string {
	if len(calls) == 0 {
		return ""
	}
	lines := []string{"These tools are called:"}
	for _, call := range calls {
		lines = append(lines, "- "+call.String())
	}
	return strings.Join(lines, "\n")
}

// textOf is a value for a model to read: a text as it is, else JSON.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case fmt.Stringer:
		return v.String(), nil
	}
	text, err := json.MarshalIndent(v, "", "  ")
	return string(text), err
}

// spent counts what models and agents that judge are asked, for the budget of the whole test process, and models
// returns the client of the models.
var (
	spent  = new(llm.Spent)
	models = engine.Models(os.Getenv, spent)
)

// openJudgments opens the recording of what models say of the row, nil if none may be asked, and says why that is.
// NoServer is as in [engine.Judges].
func (r *rowRun) openJudgments(noServer bool) (file *judgment.File, unasked string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.judgments != nil {
		return r.judgments, "", nil
	}
	r.secrets.AddEnvironment(os.Environ())
	dir := r.cassettes()
	if r.environment.LLMJudge || r.environment.RecordJudges || r.fromRoot(dir) == "" { // whose changes go test misses
		if err := project.KeepOutOfCache(r.root); err != nil {
			return nil, "", err
		}
	}
	if !r.claimed && r.mutation == nil {
		if err := claimRecording(r.t, r.stem(r.suiteRun.id)+"/"+r.id+"/judges"); err != nil {
			return nil, "", err
		}
		r.claimed = true
	}
	path := judgment.Path(cassette.Path(dir, r.stem(r.suiteRun.id), r.id, "task", 1))
	cfg := r.config(r.patience, func(engine.Mode, plan.Unit) string { return "" })
	cfg.Secrets = r.secrets
	judges := engine.Judges{
		Path: path, Name: cmp.Or(filepath.ToSlash(r.fromRoot(path)), path),
		Tree: disk.Within(r.root, dir), Decider: "an LLM judge",
		Advice:      "set EVAL_LLM_JUDGE=1, or commit the recording of what models said",
		Command:     "EVALTEST_JUDGES=record " + command(r.harness, engine.Replay, r.t.Name()) + " -count=1",
		CommandOpen: "EVAL_LLM_JUDGE=1 " + command(r.harness, engine.Missing, r.t.Name()) + " -count=1",
		Mode:        r.mode(),
		Record:      r.environment.RecordJudges, Allowed: r.environment.LLMJudge, Secrets: r.secrets, Models: models,
		Agents:   engine.Agents(cfg, r.at.File, playbook.Sandbox{}, door.Of(r.t).Output()),
		NoServer: noServer, Getenv: os.Getenv,
	}
	r.judgments, err = judges.Open()
	return r.judgments, judges.Unasked(), err
}
