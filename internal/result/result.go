// Package result holds the values that travel from the engine to reports, run directories and testing.T.
package result

import "time"

// Outcome is how a unit, a job or an evaluator ended.
type Outcome string

const (
	// Pass: every evaluator reached its threshold.
	Pass Outcome = "pass"
	// Fail: the agent did wrong.
	Fail Outcome = "fail"
	// Error: the harness, a judge, a cassette or the network did; nothing is known about the agent.
	Error Outcome = "error"
	// Skip: it was asked not to run.
	Skip Outcome = "skip"
	// Completed: every step exited 0, and nothing was there to judge it.
	Completed Outcome = "completed"
)

// Evaluation is the verdict of one evaluator on one unit.
type Evaluation struct {
	Name    string
	Type    string
	Outcome Outcome
	// Score is in 0..1, nil when there is none: an error is never a score.
	Score *float64
	// Threshold is the least score that passes.
	Threshold float64
	Weight    float64
	// Reason says in one line why, e.g. "in_order: step 2 not matched".
	Reason string
	// Detail is the full text for people, of several lines, without a final newline; may be empty.
	Detail string
	// Position is where the evaluator stands, "evals/x/x.yaml:23".
	Position string
	Duration time.Duration
}
