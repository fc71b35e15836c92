// Package result holds the values that travel from the engine to reports, run directories and testing.T.
package result

import (
	"fmt"
	"strconv"
	"time"
)

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
	// Reported: an evaluator's score is shown and decides nothing.
	Reported Outcome = "reported"
	// Completed: every step exited 0, and nothing was there to judge it.
	Completed Outcome = "completed"
	// NotRun: it is listed and has no result, because the run was interrupted or still goes on. Nothing ends so.
	NotRun Outcome = "not_run"
)

// Evaluation is the verdict of one evaluator on one unit.
type Evaluation struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Outcome Outcome `json:"outcome"`
	// Score is in 0..1, nil when there is none: an error is never a score.
	Score *float64 `json:"score"`
	// Threshold is the least score that passes.
	Threshold float64 `json:"threshold"`
	Weight    float64 `json:"weight"`
	// Reason says in one line why, e.g. "in_order: step 2 not matched".
	Reason string `json:"reason,omitempty"`
	// Detail is the full text for people, of several lines, without a final newline; may be empty.
	Detail string `json:"detail,omitempty"`
	// Position is where the evaluator stands, "evals/x/x.yaml:23".
	Position string   `json:"position,omitempty"`
	Duration Duration `json:"duration_ms"`
}

// Duration is a [time.Duration] that JSON has in milliseconds.
type Duration time.Duration

// MarshalJSON implements [json.Marshaler].
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(d).Milliseconds(), 10), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *Duration) UnmarshalJSON(data []byte) error {
	ms, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return fmt.Errorf("duration in milliseconds: %w", err)
	}
	*d = Duration(time.Duration(ms) * time.Millisecond)
	return nil
}

// String returns the duration as [time.Duration.String] does.
func (d Duration) String() string { return time.Duration(d).String() }
