package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// once is the configuration of an evaluator that is sure when a tool is called by a title.
type once string

func (o once) Awaits(string) []string { return []string{string(o)} }

func (o once) Watch(plan.Variant, float64) func(trajectory.Body) bool {
	called := false
	return func(b trajectory.Body) bool {
		start, _ := b.(trajectory.ToolStart)
		called = called || start.Title == string(o)
		return called
	}
}

// TestUntil has sessions end as soon as the verdict is sure: while a call is under way, while the agent waits for a
// permission, once the call is told whole, and whether the agent listens or not.
func TestUntil(t *testing.T) {
	const long, decided = time.Hour, plan.UntilDecided
	titled := func(title string) scripted.Action {
		return scripted.Action{Tool: &scripted.Tool{Name: "Read", Title: title, Do: acts{sleep(long)}}}
	}
	late := scripted.Action{Update: scripted.Update{"sessionUpdate": "tool_call", "toolCallId": "x", "title": "?"}}
	told := scripted.Action{Update: scripted.Update{
		"sessionUpdate": "tool_call_update", "toolCallId": "x", "title": "a",
	}}
	asks := scripted.Action{Tool: &scripted.Tool{Name: "Read", Title: "a", Ask: &scripted.Ask{}, Do: acts{sleep(long)}}}
	for _, tt := range []struct {
		name    string
		until   string
		others  any // an evaluator beside
		actions acts
		stops   string
		took    time.Duration
	}{
		{"while it works", decided, nil, acts{titled("a")}, "decided", 0},
		{
			"when the call is told", decided, nil,
			acts{late, sleep(time.Minute), told, sleep(long)},
			"decided",
			time.Minute,
		},
		{"while it asks", decided, nil, acts{asks}, "decided", 0},
		{"though it does not listen", decided, nil, acts{titled("a"), {Silence: true}}, "decided", 0},
		{"not sure", decided, nil, acts{titled("b")}, "end_turn decided", long},
		{"another is not sure", decided, once("b"), acts{titled("a")}, "end_turn decided", 2 * long},
		{"another needs all", decided, 1, acts{titled("a")}, "end_turn end_turn", 3 * long},
		{"no limit", "", nil, acts{titled("a")}, "end_turn end_turn", 3 * long},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := script(tt.actions, acts{titled("a"), titled("b")})
				c := config(t, "limits: {timeout: 10h}", script)
				c.Playbook.Limits.Until = tt.until
				c.Unit.Evaluators = []plan.Evaluator{{Config: once("a"), Threshold: 1}}
				if tt.others != nil {
					c.Unit.Evaluators = append(c.Unit.Evaluators, plan.Evaluator{Config: tt.others, Threshold: 1})
				}
				o := hold(t.Context(), c, "one", "two")
				require.NoError(t, o.err)
				require.Equal(t, tt.stops, o.stops())
				require.InDelta(t, tt.took.Seconds(), o.took.Seconds(), 10, "grace aside")
			})
		})
	}
}
