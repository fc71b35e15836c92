package evaltest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/mutate"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/words"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Mutation says how much [Mutate] and [Suite.Mutate] want to be noticed. The zero value is right for most suites.
type Mutation struct {
	// MinKilled is the least share of mutants that has to be known to be noticed, above 0 and up to 1; 0 means 0.9.
	MinKilled float64
	// Strict counts survivors that a playbook accepts as not noticed.
	Strict bool
	// Sample is how many mutants of each unit, or row, are judged at most, chosen by Seed; 0: all.
	Sample int
	Seed   uint64
	// Accept has survivors of [Suite.Mutate] that are fine; a playbook has its own, under `mutate`. One that does not
	// survive is an error.
	Accept []Survivor
}

// Survivor is a mutant that passes, and that it is right to pass.
type Survivor struct {
	// Operator is what makes it: one of docs/mutate.md, or output for what [Suite.Mutants] returns.
	Operator string
	// Where is what it has in brackets behind its operator; * stands for any text.
	Where string
	// Why says why it is right.
	Why string
}

// check returns the mutation with its defaults.
func (m Mutation) check() (Mutation, error) {
	m.MinKilled = cmp.Or(m.MinKilled, 0.9)
	if !(m.MinKilled > 0 && m.MinKilled <= 1) {
		return m, fmt.Errorf("Mutation.MinKilled must be above 0 and at most 1, not %v", m.MinKilled)
	}
	if m.Sample < 0 {
		return m, fmt.Errorf("Mutation.Sample is negative: %d", m.Sample)
	}
	for i, a := range m.Accept {
		if a.Operator == "" || a.Where == "" || a.Why == "" {
			return m, fmt.Errorf("Mutation.Accept[%d] needs Operator, Where and Why", i)
		}
	}
	return m, nil
}

func (m Mutation) config() mutate.Config { return mutate.Config{Sample: m.Sample, Seed: m.Seed} }

// Mutate asks whether the playbooks that match glob would notice a bad agent, as `sdd-eval mutate` does: from each
// recorded session it derives others, in which the agent did worse, and has the steps, evaluators and checks judge
// them. Each playbook is a subtest, which fails if too few of these mutants are known to be noticed, and names the
// others with the line to strengthen and what to write there.
//
// It works on recordings alone: it starts no agent and asks no model. Where EVALTEST_MODE is not replay, it is skipped.
// A unit that does not pass as it was recorded is an error, and so is an acceptance in `mutate` that fits no survivor.
func Mutate(t *testing.T, glob string, m Mutation, opts ...Option) {
	t.Helper()
	h, err := newHarness(opts...)
	if err == nil {
		m, err = m.check()
	}
	if err == nil && m.Accept != nil {
		err = errors.New("Mutation.Accept is for suites in Go: write `mutate: {accept: ...}` into the playbook")
	}
	if err != nil {
		door.Of(t).Fatalf("evaltest.Mutate: %v", err)
	}
	h.recordingsAlone(t)
	h.each(t, "evaltest.Mutate", glob, func(t *testing.T, pb *plan.Playbook) {
		t.Helper()
		planned := h.planOf(t, pb)
		ctx, grace, cancel := testContext(t)
		defer cancel()
		runner, err := h.forMutants(ctx, planned, h.mutantConfig(grace))
		var report mutate.Report
		if err == nil {
			report, err = mutate.Run(ctx, runner, planned, m.config())
		}
		h.noticed(t, report, m, err, "sdd-eval mutate "+words.Join(pb.File)+" shows how each differs")
	})
}

// Mutate asks whether the suite's scorers would notice a worse output, as [Mutate] does of playbooks. If a row's task
// runs agents, their recorded sessions are made worse one by one, and the task runs on each; if the suite has Mutants,
// its outputs are judged, too. A row for which there is neither is an error.
func (s Suite[In, Out, Want]) Mutate(t *testing.T, m Mutation) {
	t.Helper()
	m, err := m.check()
	if err != nil {
		door.Of(t).Fatalf("evaltest.Suite: %v", err)
	}
	_, file, line, _ := runtime.Caller(1)
	s.start(t, file, line, func(run *suiteRun, t *testing.T) {
		t.Helper()
		run.recordingsAlone(t)
		report, err := run.mutants(t, m)
		run.noticed(t, report, m, err, "")
	})
}

// recordingsAlone skips a test that would have to record, and keeps models from being asked.
func (h *harness) recordingsAlone(t *testing.T) {
	t.Helper()
	if h.mode() != engine.Replay {
		door.Of(t).Attr("outcome", string(result.Skip))
		door.Of(t).Skip(fmt.Sprintf("EVALTEST_MODE is %s, and mutants are made of recordings: run the test without it",
			h.mode()))
	}
	h.environment.LLMJudge, h.environment.RecordJudges, h.runDir = false, false, ""
}

// mutantConfig is how the engine judges mutants.
func (h *harness) mutantConfig(grace time.Duration) engine.Config {
	return h.config(grace, func(m engine.Mode, _ plan.Unit) string { return command(h, m, "") })
}

// forMutants returns what judges mutants of a plan.
func (h *harness) forMutants(ctx context.Context, planned *plan.Plan, cfg engine.Config) (*engine.Runner, error) {
	runner, err := engine.New(planned, cfg)
	if err == nil && runner.Impure(ctx) {
		err = project.KeepOutOfCache(h.module)
	}
	return runner, err
}

// noticed tells how many mutants were noticed, and fails the test if it is too few, or if err says that nobody knows.
func (h *harness) noticed(t *testing.T, r mutate.Report, m Mutation, err error, next string) {
	t.Helper()
	text := r.Brief(next == "")
	c, outcome := r.Count(), result.Pass
	score, known := c.Score(m.Strict)
	low := false
	if err == nil {
		low, err = c.Gate(m.MinKilled, m.Strict)
	}
	switch {
	case low:
		outcome = result.Fail
	case err != nil:
		outcome = result.Error
	}
	door.Of(t).Attr("outcome", string(outcome))
	if known {
		door.Of(t).Attr("score", result.FormatScore(score))
	}
	if err == nil {
		door.Of(t).Logf("%s: the eval notices %.1f %% of the mutants\n%s", t.Name(), 100*score, text)
		return
	}
	if advice := fault.Advice(err); advice != "" {
		text += "\nnext: " + advice
	} else if next != "" && c.Survived > 0 {
		text += "\nnext: " + next
	}
	door.Of(t).Errorf("%s: %s\n%v\n%s\n%s", t.Name(), strings.ToUpper(string(outcome)), err, text, h.again(t, true))
}

// mutation is what is worse about a run of a row.
type mutation struct {
	// session is the unit whose session is recast; empty: none is.
	session string
	recast  *cassette.Cassette

	mu        sync.Mutex
	sessions  []mutable
	forbidden []result.Evaluation // by the permissions of a session
	cleanups  []func()
}

// forbids adds what permissions say of a session, and returns all that they have said.
func (m *mutation) forbids(by ...result.Evaluation) []result.Evaluation {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forbidden = append(m.forbidden, by...)
	return m.forbidden
}

// mutable is a session of a row's task, of which there can be worse ones.
type mutable struct {
	runner *engine.Runner
	plan   *plan.Plan
}

func (m *mutation) cleanup(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cleanups = append(m.cleanups, f)
}

// end removes what the row has left.
func (m *mutation) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.cleanups {
		f()
	}
	m.cleanups = nil
}

// mutated judges the plan's only unit as it was recorded, or as the mutation has it.
func (s *agentSession) mutated(ctx context.Context, planned *plan.Plan) (result.Unit, error) {
	cfg := s.mutantConfig(s.grace)
	cfg.Secrets = s.secrets
	runner, err := s.forMutants(ctx, planned, cfg)
	if err != nil {
		return result.Unit{}, withAdvice(err)
	}
	unit, m := planned.Units[0], s.mutation
	if m.session == unit.ID() {
		return runner.Recast(ctx, unit, m.recast, nil, nil), nil
	}
	tape, err := runner.Recording(ctx, unit, func(workspace.Files, workspace.Manifest) error { return nil })
	if err != nil {
		return result.Unit{}, withAdvice(err)
	}
	m.mu.Lock()
	m.sessions = append(m.sessions, mutable{runner, planned})
	m.mu.Unlock()
	return runner.Recast(ctx, unit, tape, nil, nil), nil
}

// scoredBy stands for a scorer in the plan of a row: the row judges.
type scoredBy struct{}

// Needs implements [evaluator.Evaluator].
func (scoredBy) Needs() evaluator.Needs { return 0 }

// Evaluate implements [evaluator.Evaluator].
func (scoredBy) Evaluate(context.Context, evaluator.Input) evaluator.Verdict {
	return evaluator.Verdict{Outcome: result.Error, Reason: "the row judges"}
}

// unit is a row as a unit that the suite's scorers judge.
func (s *suiteRun) unit(row string) plan.Unit {
	u := plan.Unit{
		Playbook: s.id, Case: plan.Case{ID: row}, Trial: 1,
		Variant: plan.Variant{ID: "output", InGo: true, Position: s.at},
	}
	for _, scorer := range s.scorers {
		u.Evaluators = append(u.Evaluators, plan.Evaluator{
			Name: scorer.name, Type: "go", Position: s.at, Config: scoredBy{}, Advisory: scorer.optional,
		})
	}
	return u
}

// mutants judges what is worse than the suite's rows.
func (s *suiteRun) mutants(t *testing.T, m Mutation) (mutate.Report, error) {
	t.Helper()
	ctx, grace, cancel := testContext(t)
	defer cancel()
	report := mutate.Report{Playbook: s.at.String(), Sample: m.Sample, Seed: m.Seed}
	var answers []mutate.Answer
	type base struct {
		row      suiteRow
		output   any
		sessions []mutable
	}
	var bases []base
	for _, r := range s.rows {
		row := s.worse(t, r, grace, &mutation{})
		defer row.mutation.end()
		output, res := row.judged(ctx, r, nil)
		if err := mutate.Passes(row.name(), res); err != nil {
			return report, err
		}
		sessions := row.mutation.sessions
		if agents := row.ran(); len(agents) == 1 && len(sessions) == 1 {
			answers = append(answers, mutate.Answer{
				Case: r.id, Variant: sessions[0].plan.Units[0].Variant.ID, Text: agents[0].Answer(),
			})
		}
		bases = append(bases, base{r, output, sessions})
		if len(sessions) == 0 && r.mutants == nil {
			return report, fmt.Errorf("%s: row %q: its task runs no agent, and the suite has no Mutants, so that "+
				"nothing is known to be worse", s.at, r.id)
		}
	}
	for _, b := range bases {
		for _, session := range b.sessions {
			units, err := s.mutantsOf(ctx, t, grace, b.row, session, answers, m)
			if err != nil {
				return report, err
			}
			report.Units = append(report.Units, units...)
		}
		if b.row.mutants != nil {
			unit, err := s.outputs(ctx, t, grace, b.row, b.output, m)
			if err != nil {
				return report, err
			}
			report.Units = append(report.Units, unit)
		}
	}
	var accept []plan.AcceptMutant
	for _, a := range m.Accept {
		accept = append(accept, plan.AcceptMutant{Operator: a.Operator, Where: a.Where, Why: a.Why, Position: s.at})
	}
	return report, report.Accept(accept, "Mutation.Accept", mutate.OutputOperator)
}

// worse returns a run of a row in which something is worse.
func (s *suiteRun) worse(t *testing.T, r suiteRow, grace time.Duration, m *mutation) *rowRun {
	return &rowRun{
		suiteRun: s, id: r.id, t: t, secrets: new(secret.Set), patience: s.patience(grace), mutation: m,
	}
}

// mutantsOf judges the mutants of a session of a row.
func (s *suiteRun) mutantsOf(
	ctx context.Context, t *testing.T, grace time.Duration, r suiteRow, session mutable, answers []mutate.Answer,
	m Mutation,
) ([]mutate.UnitReport, error) {
	cfg := m.config()
	cfg.Others = answers
	cfg.Judge = func(ctx context.Context, u plan.Unit, c *cassette.Cassette) result.Unit {
		row := s.worse(t, r, grace, &mutation{session: u.ID(), recast: c})
		defer row.mutation.end()
		_, res := row.judged(ctx, r, nil)
		return res
	}
	judged := *session.plan
	judged.Units = slices.Clone(judged.Units)
	judged.Units[0].Evaluators = s.unit(r.id).Evaluators
	report, err := mutate.Run(ctx, session.runner, &judged, cfg)
	return report.Units, err
}

// outputs judges the worse outputs that the suite gives for a row.
func (s *suiteRun) outputs(
	ctx context.Context, t *testing.T, grace time.Duration, r suiteRow, output any, m Mutation,
) (mutate.UnitReport, error) {
	of := s.unit(r.id)
	unit := mutate.UnitReport{ID: of.ID(), Case: r.id, Variant: of.Variant.ID}
	var all map[string]any
	var err error
	if e := (<-guard(func() { all, err = r.mutants(ctx, output) })).err("function of mutants"); e != nil || err != nil {
		return unit, fmt.Errorf("%s: row %q: Mutants: %w", s.at, r.id, errors.Join(e, err))
	}
	if len(all) == 0 {
		return unit, fmt.Errorf("%s: row %q: Mutants returned none, so that nothing is known to be worse", s.at, r.id)
	}
	names := slices.Sorted(maps.Keys(all))
	for _, i := range m.config().Choose(len(names)) {
		mutant := mutate.Mutant{
			Operator: mutate.OutputOperator, Where: names[i], What: fmt.Sprintf("the task returns %#v", all[names[i]]),
		}
		if reflect.DeepEqual(all[names[i]], output) {
			unit.Findings = append(unit.Findings,
				mutate.Finding{Mutant: mutant, Status: mutate.Equivalent, Reason: "it is the output"})
			continue
		}
		row := s.worse(t, r, grace, &mutation{})
		_, res := row.judged(ctx, r, func() any { return all[names[i]] })
		row.mutation.end()
		unit.Findings = append(unit.Findings, mutate.Output(mutant, of, res))
	}
	return unit, context.Cause(ctx)
}

// judged runs the row's task, or takes another output in its place, and returns what the scorers say.
func (r *rowRun) judged(ctx context.Context, row suiteRow, instead func() any) (output any, res result.Unit) {
	res = result.Unit{ID: r.name(), Case: r.id, Outcome: result.Pass}
	ctx = context.WithValue(ctx, metadataKey{}, row.metadata)
	if instead != nil {
		output = instead()
	} else {
		var err error
		output, err = r.task(ctx, row)
		if res.Evaluations = r.mutation.forbids(); res.Evaluations != nil {
			res.Outcome, res.Reason = result.Fail, res.Evaluations[0].Reason
			return nil, res
		}
		if err != nil {
			res.Outcome, res.Reason = result.Error, err.Error()
			return nil, res
		}
	}
	count := make(map[result.Outcome]int)
	for _, s := range r.scorers {
		f := r.score(ctx, s, scored{r, row.input, output, row.expected})
		if s.optional && (f.outcome == result.Pass || f.outcome == result.Fail) {
			f.outcome = result.Reported
		}
		if !s.optional {
			count[f.outcome]++
		}
		res.Evaluations = append(res.Evaluations, result.Evaluation{
			Name: s.name, Type: "go", Outcome: f.outcome, Reason: strings.TrimSpace(f.Reason + " " + f.Details),
		})
	}
	for _, a := range r.ran() {
		if err := a.failure(); err != nil {
			res.Outcome, res.Reason = result.Fail, err.Error()
			return output, res
		}
	}
	for _, o := range []result.Outcome{result.Error, result.Fail, result.Skip} {
		if count[o] > 0 {
			res.Outcome = o
			break
		}
	}
	return output, res
}
