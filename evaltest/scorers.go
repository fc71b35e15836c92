package evaltest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// ToolSequence returns a scorer that matches the agent's tool calls with those that the row expects, including
// arguments. No call matches two expected ones. Match is a matcher of package trajectory: Superset for "at least
// these", InOrder for "these in this order, perhaps with others in between", Exact, Unordered or Subset.
func ToolSequence(match func(...trajectory.Call) trajectory.Matcher) AgentScorer {
	s := expectedCalls("tool-sequence", match)
	if match == nil {
		s.err = errors.New("it has no matcher: give it trajectory.Superset, or another")
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

// ExcludedTools returns a scorer that expects that these tools were not called: a single call makes its score 0,
// however many tools there are. It passes for an agent that did nothing:
// add another scorer.
func ExcludedTools(tools ...string) AgentScorer {
	s := ofRun("excluded-tools", func(run *trajectory.Run, _ Calls) finding {
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
// final message and no tool call left open.
func Completion() AgentScorer {
	return ofRun("completion", func(run *trajectory.Run, _ Calls) finding {
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
