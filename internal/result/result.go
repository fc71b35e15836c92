// Package result has the results of units, jobs and runs, which the engine hands to reports, run directories and
// testing.T, and the rules by which outcomes are combined. It computes no metrics and writes no files.
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
	// Fail: the agent failed.
	Fail Outcome = "fail"
	// Error: the harness, a judge, a cassette or the network failed; nothing is known about the agent.
	Error Outcome = "error"
	// Skip: the user or the playbook asked for it not to run.
	Skip Outcome = "skip"
	// Reported: an evaluator's score is shown, but does not affect the outcome.
	Reported Outcome = "reported"
	// Completed: every step exited 0, and there was no evaluator.
	Completed Outcome = "completed"
	// NotRun: it is listed but has no result, because the run was interrupted or has not finished.
	NotRun Outcome = "not_run"
)

// Evaluation is the verdict of one evaluator on one unit.
type Evaluation struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Outcome Outcome `json:"outcome"`
	// Said is what the evaluator said, pass or fail, where its outcome is an error because nobody knows that people
	// agree with it.
	Said Outcome `json:"said,omitempty"`
	// Score is between 0 and 1, nil if there is none: an error is never a score.
	Score *float64 `json:"score"`
	// Threshold is the lowest score that passes.
	Threshold float64 `json:"threshold"`
	Weight    float64 `json:"weight"`
	// Reason says in one line why, e.g. "in_order: step 2 not matched".
	Reason string `json:"reason,omitempty"`
	// Detail is the full text for people, of several lines, without a final newline; may be empty.
	Detail string `json:"detail,omitempty"`
	// Position is the evaluator's position in the playbook, "evals/x/x.yaml:23".
	Position string   `json:"position,omitempty"`
	Duration Duration `json:"duration_ms"`
	// Calls are the first of the agent's calls that were not as expected.
	Calls []Call `json:"calls,omitempty"`
	// Activations are the skills and tools of which it was judged whether the agent used them.
	Activations []Activation `json:"activations,omitempty"`
	// Checks are what it judged one by one; none: it judged one thing.
	Checks []Check `json:"checks,omitempty"`
}

// Check is one of several things that an evaluator judged, each on its own: a rubric, say.
type Check struct {
	// ID is unique in the evaluation, Text says in words what must hold.
	ID   string `json:"id"`
	Text string `json:"text,omitempty"`
	// Outcome is pass or fail.
	Outcome Outcome `json:"outcome"`
	// Evidence says what of the session decided; may be empty.
	Evidence string `json:"evidence,omitempty"`
}

// ActivationType is the type of the evaluator that judges which skills and tools an agent used.
const ActivationType = "activation"

// Activation says of a skill or a tool whether an agent used it.
type Activation struct {
	Name string `json:"name"`
	// Wanted says whether the agent should use it.
	Wanted bool `json:"wanted"`
	// Fired says whether it did, nil if nothing is known of that.
	Fired *bool `json:"fired"`
}

// Call is a call of the agent that was not as an evaluator expected.
type Call struct {
	// Number counts the calls of the session from 1, in the order in which they started.
	Number int `json:"call"`
	// Want says in one line what it should have been.
	Want string `json:"want"`
}

// Duration is a [time.Duration] that is in milliseconds in JSON.
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
	// Reference says that the variant is there to be compared with: a fail decides nothing. The run's manifest has it.
	Reference bool `json:"-"`
	// Outcome is never empty once the unit has ended.
	Outcome Outcome `json:"outcome"`
	// Reason is the reason for the outcome, in one line, if the evaluations do not give it: a failed step, an error, a
	// limit.
	Reason string `json:"reason,omitempty"`
	// Next is the command that a person should run after an error, empty if there is none.
	Next string `json:"next,omitempty"`
	// Stop is why the last turn ended, after the Agent Client Protocol, or the name of the limit that ended it.
	Stop string `json:"stop,omitempty"`
	Ending
	Steps       []Step       `json:"steps,omitempty"`
	Evaluations []Evaluation `json:"evaluations,omitempty"`
	// Metrics count what the agent did, nil if it never started.
	Metrics *Metrics `json:"metrics"`
	// Judging is what agents that judge took in this run, nil if none was asked.
	Judging *Judging `json:"judging,omitempty"`
	// Run is what the agent did, nil if it never started.
	Run *trajectory.Run `json:"-"`
	// Session is the cassette's path, empty in live mode.
	Session string `json:"session,omitempty"`
	// Recording is the checksum of the cassette's content, empty if it was neither read nor written.
	Recording string `json:"recording,omitempty"`
	// Replayed says that the session came from the cassette.
	Replayed bool `json:"replayed,omitempty"`
	// Endpoint says what kind of model the agent used, "real" or "scripted"; empty if unknown.
	Endpoint string `json:"endpoint,omitempty"`
	// Modes are the session modes that the agent was in, as [trajectory.Agent] has them.
	Modes []string `json:"modes,omitempty"`
	// MockRefused says that the agent called an MCP server that is played, in a way which that does not expect: then
	// the unit has failed.
	MockRefused bool `json:"mock_refused,omitempty"`
	// AsLeft says that the workspace that is kept of a live unit is as the agent left it, steps after it or not.
	AsLeft bool `json:"workspace_as_left,omitempty"`
	// Masked says that keys are masked in what is kept of a live unit, which evaluators saw.
	Masked bool `json:"keys_masked,omitempty"`
	// Warnings are for people. They do not affect the outcome. An example is a stale cassette that was allowed.
	Warnings []string `json:"warnings,omitempty"`
	// Attempts are the errors of the attempts before this one, in order.
	Attempts []string `json:"attempts,omitempty"`
	// Started is when the unit began, in UTC.
	Started  time.Time `json:"started_at"`
	Duration Duration  `json:"duration_ms"`
	// SessionStarted is when the agent was started, in UTC. The times in Run count from it. It is zero if the session
	// was replayed or never began.
	SessionStarted time.Time `json:"-"`

	// Interrupted says that the run ended before the unit: nothing is known about the unit, and it is not kept.
	Interrupted bool `json:"-"`
}

// Judging is what agents took that were asked to judge a unit.
type Judging struct {
	// Turns is how often agents were asked.
	Turns int `json:"turns"`
	// InputTokens and OutputTokens are those that they report.
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CostUSD is what all turns together cost, nil if that is not known of one.
	CostUSD *float64 `json:"cost_usd"`
}

// Add counts a turn, whose cost may be unknown.
func (j *Judging) Add(input, output int, usd *float64) {
	j.InputTokens, j.OutputTokens = j.InputTokens+input, j.OutputTokens+output
	switch {
	case usd == nil || j.Turns > 0 && j.CostUSD == nil:
		j.CostUSD = nil
	case j.Turns == 0:
		j.CostUSD = new(*usd)
	default:
		*j.CostUSD += *usd
	}
	j.Turns++
}

// Job is how a job outside the matrix ended.
type Job struct {
	ID      string  `json:"job"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	Steps   []Step  `json:"steps,omitempty"`
	// Commands is the number of commands that its steps ran. It is 0 for a job that only reports.
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
	// Position is the step's position in the playbook, "evals/x/x.yaml:23".
	Position string  `json:"position,omitempty"`
	Outcome  Outcome `json:"outcome"`
	Reason   string  `json:"reason,omitempty"`
	// Output is the end of what the command printed, both streams in order.
	Output   string   `json:"output,omitempty"`
	Duration Duration `json:"duration_ms"`
	// Command is the command that was run and how it exited, nil for an action.
	Command *Command `json:"-"`
}

// Score returns the weighted mean of the evaluations' scores, nil if none has a score. It is only reported: the outcome
// of a unit does not depend on it.
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

// Graded returns the share of the evaluators that passed, by weight, as evals of plugins count it: those that only
// report do not count, and a unit that failed by a limit or a step, although all passed, has failed a further one. It
// is 0 if the agent did what a mock refuses. Ok is false if nothing is known.
func (u Unit) Graded() (score float64, ok bool) {
	if u.Outcome != Pass && u.Outcome != Fail {
		return 0, false
	}
	if u.MockRefused {
		return 0, true
	}
	sum, weight := 0.0, 0.0
	for _, e := range u.Evaluations {
		switch e.Outcome {
		case Reported:
			continue
		case Pass:
			sum += e.Weight
		case Fail:
		default:
			return 0, false
		}
		weight += e.Weight
	}
	if u.Outcome == Fail && sum == weight {
		weight++
	}
	if weight == 0 {
		return 0, false
	}
	return sum / weight, true
}

// Telling reports whether what the unit took says something about others: an agent ran and did its work.
func (u Unit) Telling() bool {
	return !u.Replayed && (u.Outcome == Pass || u.Outcome == Fail || u.Outcome == Completed)
}

// NotAsked returns how many evaluators were skipped although the agent ran: no model may be asked, say. That a variant
// does not have what an evaluator looks for is no such reason.
func (u Unit) NotAsked() int {
	if u.Metrics == nil {
		return 0
	}
	n := 0
	for _, e := range u.Evaluations {
		if e.Outcome == Skip && e.Type != ActivationType {
			n++
		}
	}
	return n
}

// Check returns an error if the outcome does not follow from the evaluations and steps as [Unit.Judge] says, or a pass
// not from its score. With a reason the outcome may be worse, but never better. A unit without evaluations and steps
// may have been skipped.
func (u Unit) Check() error {
	for _, e := range u.Evaluations {
		switch e.Outcome {
		case Pass, Fail, Error, Skip, Reported:
		default:
			return fmt.Errorf("evaluator %q cannot have the outcome %q", e.Name, e.Outcome)
		}
		if e.Outcome == Pass && (e.Score == nil || !(*e.Score >= e.Threshold)) {
			return fmt.Errorf("evaluator %q cannot have passed: its score does not reach the threshold", e.Name)
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
	return fmt.Errorf("the outcome is %q, but by its evaluations, its steps and its end it should be %q", u.Outcome,
		want)
}

// Check returns an error if the job ended well though a step did not.
func (j Job) Check() error {
	for _, s := range j.Steps {
		if s.Outcome.Bad() && !j.Outcome.Bad() {
			return fmt.Errorf("the outcome is %q, but that of its step %q is %q", j.Outcome, s.Name, s.Outcome)
		}
	}
	return nil
}

// CheckJudges returns an error unless the unit was judged by the evaluators with these names. A unit with an error, or
// one that was skipped, need not have been judged.
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
	return fmt.Errorf("it was judged by %q, but the evaluators of its case are %q", judged, names)
}

// Activations returns what is known of the use of skills and tools in the unit, each once: what its first evaluator
// says that speaks of it.
func (u Unit) Activations() (all []Activation) {
	seen := make(map[string]bool)
	for _, e := range u.Evaluations {
		for _, a := range e.Activations {
			if !seen[a.Name] {
				seen[a.Name] = true
				all = append(all, a)
			}
		}
	}
	return all
}
