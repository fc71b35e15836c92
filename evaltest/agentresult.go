package evaltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// AgentResult is the result of an [AgentRun].
type AgentResult struct {
	// Run is everything the agent did, for the matchers of package trajectory.
	Run *trajectory.Run
	// Errors say what went wrong with the run as a whole: the agent ended early, used a forbidden tool, took too many
	// turns. A failed tool call is not such an error.
	Errors []string
	// Usage and Cost are what the agent reports; Cost is nil if it reports none.
	Usage trajectory.Usage
	Cost  *trajectory.Cost
	// Duration is how long the session took when it was live. Tool calls have their own.
	Duration time.Duration
	// Workspace is a copy of the directory as the agent left it. It is removed when the test has ended.
	Workspace string
	// Changes is the unified diff of the workspace against what the agent started with.
	Changes string
	// Session is the cassette, relative to the module's root; empty: there is none.
	Session string
	// Replayed tells that the session came from the cassette.
	Replayed bool
	// Endpoint is what answered as the agent's model: "real", or "scripted" for a test double.
	Endpoint string

	mayFail bool
}

// Answer returns the agent's last message of the last turn, "" if it said nothing in that turn.
func (r *AgentResult) Answer() string { return r.Run.Answer() }

// ToolCalls returns the agent's tool calls in the order in which they started.
func (r *AgentResult) ToolCalls() []trajectory.ToolCall { return r.Run.ToolCalls() }

// failure is what fails the test, nil if nothing does.
func (r *AgentResult) failure() error {
	if r.mayFail || len(r.Errors) == 0 {
		return nil
	}
	return errors.New(strings.Join(r.Errors, "\n"))
}

// sessionText names the cassette and says so where a scripted model stood behind the agent.
func (r *AgentResult) sessionText() string {
	return sessionText(result.Unit{Session: r.Session, Endpoint: r.Endpoint})
}

// summary is a line on what the agent did.
func (r *AgentResult) summary(name string) string {
	text := fmt.Sprintf("%s: %s in %s", name, excerpt.Count(len(r.Run.ToolCalls()), "tool call"),
		excerpt.Count(r.Run.Turns(), "turn"))
	if r.Session != "" {
		text += ", session: " + r.sessionText()
	}
	return text
}

// observer is the evaluator of a run in Go: it takes what is to be known of it, and judges what the engine does not.
type observer struct {
	run     AgentRun
	t       *testing.T
	cleanup func(func())
	result  *AgentResult // nil: the session did not reach its end
}

// Needs implements [evaluator.Evaluator].
func (o *observer) Needs() evaluator.Needs { return evaluator.NeedsWorkspace | evaluator.NeedsDir }

// Evaluate implements [evaluator.Evaluator]. A session that was recorded is judged again as it replays; what is kept is
// what was live.
func (o *observer) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	res := o.result
	if res == nil {
		var err error
		if res, err = o.observe(ctx, in); err != nil {
			return evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
		}
		o.result = res
	}
	errs := o.errors(in.Run)
	res.Errors = errs
	if len(errs) == 0 || o.run.MayFail {
		return evaluator.Verdict{Outcome: result.Pass, Score: new(1.0), Detail: strings.Join(errs, "\n")}
	}
	return evaluator.Verdict{Outcome: result.Fail, Score: new(0.0), Reason: strings.Join(errs, "; ")}
}

func (o *observer) observe(ctx context.Context, in evaluator.Input) (*AgentResult, error) {
	res := &AgentResult{Run: in.Run, mayFail: o.run.MayFail}
	if m := in.Metrics; m != nil {
		res.Cost = m.Cost
		if u := m.Tokens; u != nil {
			res.Usage = trajectory.Usage{
				Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Thought: u.Thought,
				Total: u.Total,
			}
		}
	}
	if n := len(in.Run.Events); n > 0 {
		res.Duration = in.Run.Events[n-1].At
	}
	var err error
	if res.Changes, err = in.Changes(ctx); err != nil {
		return nil, err
	}
	res.Workspace, err = copyWorkspace(o.t, o.cleanup, in.Workspace)
	return res, err
}

// copyWorkspace copies a workspace to where it is until cleanup, such as that of the test.
func copyWorkspace(t *testing.T, cleanup func(func()), from string) (string, error) {
	base, err := os.MkdirTemp("", "evaltest-")
	if err != nil {
		return "", fmt.Errorf("keep the workspace: %w", err)
	}
	cleanup(func() {
		if err := disk.RemoveAll(base); err != nil {
			door.Of(t).Errorf("remove the workspace: %v", err)
		}
	})
	to := filepath.Join(base, "workspace")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return "", fmt.Errorf("keep the workspace: %w", err)
	}
	return to, nil
}

// errors returns what the agent did wrong as a whole, apart from how its session ended.
func (o *observer) errors(run *trajectory.Run) []string {
	var errs []string
	groups := make(map[int]bool)
	for _, c := range run.ToolCalls() {
		groups[c.Group] = true
		if o.run.Tools != nil && !slices.Contains(o.run.Tools, c.Name) && c.Status != trajectory.Failed {
			errs = append(errs,
				fmt.Sprintf("turn %d: the agent used %s, and may use %s", c.Turn, toolName(c), orNone(o.run.Tools)))
		}
	}
	if turns := len(groups) + run.Turns(); o.run.MaxTurns > 0 && turns > o.run.MaxTurns {
		errs = append(errs, fmt.Sprintf("the model took %d turns, more than the %d of MaxTurns", turns, o.run.MaxTurns))
	}
	return errs
}

func toolName(c trajectory.ToolCall) string {
	if c.Name != "" {
		return c.Name
	}
	return fmt.Sprintf("a tool without a name (%s)", c.Title)
}

func orNone(tools []string) string {
	if len(tools) == 0 {
		return "none"
	}
	return strings.Join(tools, ", ")
}
