package evaltest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// ToolSequence returns a scorer that matches the agent's tool calls with those that the row expects, including
// arguments. No call matches two expected ones. Match is a matcher of package trajectory: Superset for "at least
// these", InOrder for "these in this order, perhaps with others in between", Exact, Unordered or Subset.
//
// It judges outputs of type [*AgentResult] or [*trajectory.Run], and expects [Calls].
func ToolSequence(match func(...trajectory.Call) trajectory.Matcher) Scorer {
	s := expectedCalls("tool-sequence", match)
	if match == nil {
		s.err = errors.New("it has no matcher: give it trajectory.Superset, or another")
	}
	return s
}

// ToolOrder returns a scorer that expects calls of the row's tools in this order, whatever their arguments; there may
// be others in between. Its types are those of [ToolSequence].
func ToolOrder() Scorer {
	return expectedCalls("tool-order", func(calls ...trajectory.Call) trajectory.Matcher {
		names := make([]trajectory.Call, len(calls))
		for i, c := range calls {
			names[i] = c.Args(nil).Mode(trajectory.IgnoreArgs)
		}
		return trajectory.InOrder(names...)
	})
}

// ExcludedTools returns a scorer that expects that these tools were not called: a single call makes its score 0,
// however many tools there are. It judges the same outputs as [ToolSequence]. It passes for an agent that did nothing:
// add another scorer.
func ExcludedTools(tools ...string) Scorer {
	s := ofRun("excluded-tools", func(run *trajectory.Run, _ any) finding {
		f := matched(run, trajectory.Never(tools...))
		if f.Value < 1 { // four tools of five that were not called are no 0.8, which would pass
			f.Value = 0
		}
		return f
	})
	if len(tools) == 0 {
		s.err = errors.New("it names no tools")
	}
	return s
}

// Completion returns a scorer of whether the agent finished: the share of its turns that it ended by itself, with a
// final message and no tool call left open. It judges the same outputs as [ToolSequence].
func Completion() Scorer {
	return ofRun("completion", func(run *trajectory.Run, _ any) finding {
		open := make(map[int][]string) // what is missing, by turn
		for _, c := range run.ToolCalls() {
			if c.Outcome() == trajectory.OutcomePending {
				open[c.Turn] = append(open[c.Turn], toolName(c)+" never ended")
			}
		}
		said := make(map[int]bool) // a last word: what is said before a call announces it
		for _, e := range run.Events {
			switch b := e.Body.(type) {
			case trajectory.ToolStart:
				said[e.Turn] = false
			case trajectory.Message:
				said[e.Turn] = said[e.Turn] || strings.TrimSpace(b.Text) != ""
			}
		}
		stops := run.StopReasons()
		if len(stops) == 0 {
			return finding{outcome: result.Pass, Score: Score{Reason: "the agent ended no turn"}}
		}
		whole, lines := 0, []string{}
		for i, reason := range stops {
			turn := i + 1
			if reason != result.StopEndTurn {
				open[turn] = append(open[turn], "it ended early: "+reason)
			}
			if !said[turn] {
				open[turn] = append(open[turn], "it ended without a last word")
			}
			if len(open[turn]) == 0 {
				whole++
				continue
			}
			lines = append(lines, fmt.Sprintf("turn %d: %s", turn, strings.Join(open[turn], ", ")))
		}
		return finding{outcome: result.Pass, Score: Score{
			Value: float64(whole) / float64(len(stops)), Reason: strings.Join(lines, "\n"),
		}}
	})
}

// Part is a part of a [Weighted] scorer.
type Part struct {
	// Weight is above 0.
	Weight float64
	Scorer Scorer
}

// Weighted returns a scorer whose score is the weighted mean of its parts' scores. A part with a threshold of its own
// has to reach that, whatever the mean. If a part ends in error or is skipped, so does the whole.
func Weighted(name string, parts ...Part) Scorer {
	s := Scorer{name: name}
	if len(parts) == 0 {
		s.err = errors.New("it has no parts")
	}
	for _, p := range parts {
		if !(p.Weight > 0) || math.IsInf(p.Weight, 1) {
			s.err = errors.Join(s.err, fmt.Errorf("the weight of %q must be above 0, not %v", p.Scorer.name, p.Weight))
		}
		s.models = s.models || p.Scorer.models
	}
	s.takes = func(t types) error {
		var errs []error
		for _, p := range parts {
			errs = append(errs, p.Scorer.check(t))
		}
		return errors.Join(errs...)
	}
	s.judge = func(ctx context.Context, c scored) finding { return weigh(ctx, parts, c) }
	return s
}

func weigh(ctx context.Context, parts []Part, c scored) finding {
	all := finding{outcome: result.Pass}
	var sum, weight float64
	var lines []string
	for _, p := range parts {
		f := p.Scorer.judge(ctx, c).hold(p.Scorer.least(0))
		if f.outcome == result.Error || f.outcome == result.Skip {
			f.Reason = p.Scorer.name + ": " + f.Reason
			return f
		}
		sum, weight = sum+p.Weight*f.Value, weight+p.Weight
		all.final = all.final || f.outcome == result.Fail
		var line strings.Builder
		fmt.Fprintf(&line, "%s: %s, weight %s", p.Scorer.name, formatScore(f.Value), formatScore(p.Weight))
		switch {
		case f.outcome == result.Fail && f.final:
			line.WriteString(", which fails whatever the score")
		case f.outcome == result.Fail:
			line.WriteString(", below its own threshold of " + formatScore(*p.Scorer.threshold))
		}
		for _, text := range []string{f.Details, f.Reason} {
			if text != "" {
				line.WriteString("\n    " + strings.ReplaceAll(text, "\n", "\n    "))
			}
		}
		lines = append(lines, line.String())
	}
	all.Value, all.Details = min(sum/weight, 1), strings.Join(lines, "\n")
	return all
}

// expectedCalls matches an agent's run with what its row expects.
func expectedCalls(name string, match func(...trajectory.Call) trajectory.Matcher) Scorer {
	s := ofRun(name, func(run *trajectory.Run, expected any) finding { return matched(run, match(as[Calls](expected)...)) })
	agent := s.takes
	s.takes = func(t types) error { return errors.Join(agent(t), assignable[Calls]("expected", t.expected)) }
	return s
}

// ofRun judges an agent's run.
func ofRun(name string, judge func(run *trajectory.Run, expected any) finding) Scorer {
	return Scorer{
		name: name,
		judge: func(_ context.Context, c scored) finding {
			run := runOf(c.output)
			if run == nil {
				return unknown(errors.New("the task returned no run"))
			}
			return judge(run, c.expected)
		},
		takes: func(t types) error {
			if t.output != reflect.TypeFor[*AgentResult]() && t.output != reflect.TypeFor[*trajectory.Run]() {
				return fmt.Errorf("it judges outputs of type *evaltest.AgentResult or *trajectory.Run, and the suite's are of type %v", t.output)
			}
			return nil
		},
	}
}

// runOf returns the run of an agent's output, nil if there is none.
func runOf(output any) *trajectory.Run {
	switch o := output.(type) {
	case *AgentResult:
		if o != nil {
			return o.Run
		}
	case *trajectory.Run:
		return o
	}
	return nil
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
