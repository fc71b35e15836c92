// Package result holds the values that travel from the engine to reports, run directories and testing.T.
package result

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
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

// Unit is how one unit ended: one trial of one case under one variant.
type Unit struct {
	// ID is playbook/case/variant/trial.
	ID      string `json:"unit"`
	Case    string `json:"case"`
	Variant string `json:"variant"`
	Trial   int    `json:"trial"` // from 1
	// Outcome is never empty once the unit has ended.
	Outcome Outcome `json:"outcome"`
	// Reason says in one line why, unless the evaluations say it all: a step that failed, an error, a limit.
	Reason string `json:"reason,omitempty"`
	// Next is the command that a person runs to get on after an error, empty if there is none to name.
	Next string `json:"next,omitempty"`
	// Stop is why the last turn ended, after the Agent Client Protocol, or the name of the limit that ended it.
	Stop        string       `json:"stop,omitempty"`
	Steps       []Step       `json:"steps,omitempty"`
	Evaluations []Evaluation `json:"evaluations,omitempty"`
	// Metrics count what the agent did, nil if it never started.
	Metrics *Metrics `json:"metrics"`
	// Run is what the agent did, nil if it never started.
	Run *trajectory.Run `json:"-"`
	// Session is the cassette's path, empty in live mode.
	Session string `json:"session,omitempty"`
	// Replayed tells that the session came from the cassette.
	Replayed bool `json:"replayed,omitempty"`
	// Endpoint is what stood behind the agent, "real" or "scripted"; empty if unknown.
	Endpoint string `json:"endpoint,omitempty"`
	// Warnings are things a person must see though they decide nothing, e.g. a stale cassette that was allowed.
	Warnings []string `json:"warnings,omitempty"`
	// Attempts are the errors of the attempts before this one, in order.
	Attempts []string `json:"attempts,omitempty"`
	// Started is when the unit began, in UTC.
	Started  time.Time `json:"started_at"`
	Duration Duration  `json:"duration_ms"`
	// SessionStarted is when the agent was started, which the times in Run count from, in UTC; zero if it was not, because
	// the session was replayed or never began.
	SessionStarted time.Time `json:"-"`

	// Interrupted tells that the run ended before the unit: nothing is known about it, and it is not kept.
	Interrupted bool `json:"-"`
}

// Job is how a job outside the matrix ended.
type Job struct {
	ID      string  `json:"job"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	Steps   []Step  `json:"steps,omitempty"`
	// Commands is how many commands its steps ran: a job that only reports has none.
	Commands int       `json:"commands,omitempty"`
	Started  time.Time `json:"started_at"`
	Duration Duration  `json:"duration_ms"`

	// Interrupted is as in [Unit].
	Interrupted bool `json:"-"`
}

// Step is how one step of a unit or a job ended.
type Step struct {
	// Name is the step's name, else its action or command.
	Name string `json:"name"`
	// Position is where the step stands, "evals/x/x.yaml:23".
	Position string  `json:"position,omitempty"`
	Outcome  Outcome `json:"outcome"`
	Reason   string  `json:"reason,omitempty"`
	// Output is what a command printed, both streams in order, cut to its end.
	Output   string   `json:"output,omitempty"`
	Duration Duration `json:"duration_ms"`
	// Command is the command as it was run and how it exited, nil for an action.
	Command *Command `json:"-"`
}

// Score returns the mean of the evaluations' scores by weight, nil if none has a score. It is only ever reported:
// the outcome of a unit never comes from it.
func (u Unit) Score() *float64 {
	var sum, weight float64
	for _, e := range u.Evaluations {
		if e.Score == nil {
			continue
		}
		sum += *e.Score * e.Weight
		weight += e.Weight
	}
	if weight == 0 {
		return nil
	}
	mean := sum / weight
	return &mean
}

// Why sessions end, besides the reasons of the Agent Client Protocol: the limits that the harness sets.
const (
	StopEndTurn = "end_turn" // the protocol's: the agent is done with its turn
	// StopByLimit: all iterations of a loop were used, which is how a loop ends.
	StopByLimit    = "completed-by-limit"
	StopTimeout    = "timeout"
	StopToolCalls  = "max_tool_calls"
	StopTokenLimit = "token_limit"
	StopCostLimit  = "cost_limit"
)

// EndedEarly reports whether something else than the agent's own end of its work ended the session.
func (u Unit) EndedEarly() bool {
	return u.Stop != "" && u.Stop != StopEndTurn && u.Stop != StopByLimit
}

// Judge sets the outcome of a unit whose steps all ran from its evaluations: error before fail, fail before pass; all
// skipped is skip; none at all is completed, or fail if the agent stopped for any reason but the end of its turn. An agent
// that did not answer in time has failed: one that does nothing meets every expectation of what must not happen.
func (u *Unit) Judge() {
	count := make(map[Outcome]int)
	for _, e := range u.Evaluations {
		count[e.Outcome]++
	}
	switch {
	case count[Error] > 0:
		u.Outcome = Error
	case count[Fail] > 0:
		u.Outcome = Fail
	case u.Stop == StopTimeout:
		u.Outcome, u.Reason = Fail, "the agent did not end its turn in time (limits.timeout)"
	case count[Pass] > 0:
		u.Outcome = Pass
	case count[Skip] > 0:
		u.Outcome = Skip
	case u.EndedEarly():
		u.Outcome, u.Reason = Fail, "the agent stopped early: "+u.Stop
	default:
		u.Outcome = Completed
	}
}

// Check returns an error if the unit did not end as [Unit.Judge] says of its evaluations and steps. What went wrong besides
// them makes it worse, for a reason, and never better; it is skipped without any if nothing of it was begun.
func (u Unit) Check() error {
	for _, e := range u.Evaluations {
		switch e.Outcome {
		case Pass, Fail, Error, Skip, Reported:
		default:
			return fmt.Errorf("%q is not an outcome of the evaluator %q", e.Outcome, e.Name)
		}
	}
	judged := u
	judged.Judge()
	want := judged.Outcome
	failed := func(s Step) bool { return s.Outcome == Fail }
	if want != Error && slices.ContainsFunc(u.Steps, failed) {
		want = Fail
	}
	switch {
	case u.Outcome == want,
		u.Outcome == Error && u.Reason != "",
		u.Outcome == Fail && want != Error && u.Reason != "",
		u.Outcome == Skip && u.Reason != "" && len(u.Evaluations)+len(u.Steps) == 0 && u.Stop == "" && u.Metrics == nil:
		return nil
	}
	return fmt.Errorf("the outcome is %q, and its evaluations and steps make it %q", u.Outcome, want)
}

// Check returns an error if the job ended well though a step did not.
func (j Job) Check() error {
	for _, s := range j.Steps {
		if s.Outcome.Bad() && !j.Outcome.Bad() {
			return fmt.Errorf("the outcome is %q, and that of its step %q is %q", j.Outcome, s.Name, s.Outcome)
		}
	}
	return nil
}

// CheckJudges returns an error unless the unit was judged by the evaluators of these names. An error, or that it was skipped,
// keeps it from being judged.
func (u Unit) CheckJudges(names []string) error {
	if len(u.Evaluations) == 0 && (u.Outcome == Error || u.Outcome == Skip) {
		return nil
	}
	var judged []string
	for _, e := range u.Evaluations {
		judged = append(judged, e.Name)
	}
	if slices.Equal(judged, names) {
		return nil
	}
	return fmt.Errorf("it was judged by %q, and what judges its case is %q", judged, names)
}
