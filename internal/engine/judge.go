package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/mock"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// judge asks the evaluators and returns the unit's outcome. Failed tells that a step did not pass. An error says that
// the evaluators could not be asked.
func (a *attempt) judge(ctx context.Context, failed bool) error {
	noModels := a.openJudgments()
	in, err := a.evidence(ctx)
	if err != nil {
		return err
	}
	a.evaluate(ctx, in, noModels)
	a.result.Judge()
	if failed && a.result.Outcome != result.Error {
		a.result.Outcome = result.Fail
	}
	a.refuse(in)
	return nil
}

// refuse makes a unit whose agent called a server that is played, in a way which that does not expect, one that has
// failed, whatever the evaluators say.
func (a *attempt) refuse(in evaluator.Input) {
	if in.Run == nil {
		return
	}
	for _, c := range in.Mocks.Calls(in.Run) {
		if c.Reply.Verdict == mock.Refused && a.result.Outcome != result.Error {
			a.result.Outcome, a.result.MockRefused = result.Fail, true
			a.result.Reason = c.Reply.Text
			return
		}
	}
}

// evaluate asks the evaluators. There is nothing to ask them about an agent that a failed step kept from starting.
// NoModels is why what models say cannot be had; nil: it can, or nobody may ask.
func (a *attempt) evaluate(ctx context.Context, in evaluator.Input, noModels error) {
	for _, e := range a.unit.Evaluators {
		start := a.now()
		v := evaluator.Verdict{Outcome: result.Skip, Reason: "the agent was not started"}
		unkept := a.unkept(e, in)
		switch {
		case in.Run == nil:
		case unkept != "":
			v = evaluator.Verdict{Outcome: result.Error, Reason: unkept}
		case noModels != nil && e.Config.(evaluator.Evaluator).Needs().Asks():
			v = evaluator.Verdict{Outcome: result.Error, Reason: noModels.Error()}
			a.result.Next = cmp.Or(a.result.Next, fault.Advice(noModels))
		case a.tape.imported() && e.Config.(evaluator.Evaluator).Needs()&evaluator.NeedsWorkspace != 0:
			v = evaluator.Verdict{
				Outcome: result.Error,
				Reason:  "the session was imported, so the files that the agent left are unknown",
			}
		default:
			v = evaluator.Judge(ctx, e, in)
		}
		said := result.Outcome("")
		if err := a.agrees(e, v); err != nil {
			said = v.Outcome
			v = evaluator.Verdict{
				Outcome: result.Error, Reason: err.Error(), Detail: v.Detail, Activations: v.Activations,
				Checks: v.Checks,
			}
			a.result.Next = cmp.Or(a.result.Next, fault.Advice(err))
		}
		a.result.Evaluations = append(a.result.Evaluations, result.Evaluation{
			Name: e.Name, Type: e.Type, Outcome: v.Outcome, Said: said, Score: v.Score, Threshold: e.Threshold,
			Weight: e.Weight, Reason: v.Reason, Detail: v.Detail, Position: e.Position.String(), Calls: v.Calls,
			Activations: v.Activations, Checks: v.Checks, Duration: result.Duration(a.now().Sub(start)),
		})
	}
	if a.judgments != nil {
		a.result.Judging = a.judgments.Judging()
		a.result.Warnings = append(a.result.Warnings, a.judgments.Others()...)
	}
}

// agrees returns an error if people must agree with a judge that passed or failed a unit, and that is not known.
func (r *Runner) agrees(e plan.Evaluator, v evaluator.Verdict) error {
	if e.MinAgreement == 0 || v.Outcome != result.Pass && v.Outcome != result.Fail {
		return nil
	}
	check, err := r.agreements()
	if err != nil {
		return err
	}
	return check(e)
}

// readAgreements returns what says of an evaluator that people agree with it as they must.
func (r *Runner) readAgreements() (func(plan.Evaluator) error, error) {
	name := judgment.AgreementsPath(r.pb.Name)
	kept, err := judgment.ReadAgreements(filepath.Join(r.cfg.Root, name), filepath.ToSlash(name), r.pb.File)
	if err != nil {
		return nil, err
	}
	files, err := r.judgingFiles()
	return func(e plan.Evaluator) error { return kept.Check(e.Name, e.Digest, files, e.MinAgreement) }, err
}

// input is what evaluators look at, but for files and metrics.
func (a *attempt) input() (in evaluator.Input, err error) {
	in = evaluator.Input{
		Unit: a.unit.ID(), Case: a.unit.Case, Variant: a.unit.Variant.ID, Run: a.result.Run,
		NoModels: a.judges().Unasked(),
	}
	if in.Mocks, err = a.mocks(a.pb.For(a.unit.Variant).MCP); err != nil {
		return in, err
	}
	if a.judgments != nil {
		in.Models = a.judgments
	}
	if evaluatorNeeds(a.unit)&evaluator.StartsChild != 0 {
		in.Scripts, err = a.scripts()
	}
	return in, err
}

// evidence is what evaluators look at.
func (a *attempt) evidence(ctx context.Context) (evaluator.Input, error) {
	in, err := a.input()
	if err != nil {
		return in, err
	}
	if in.Run != nil {
		in.Metrics = a.measure(nil)
	}
	if a.site.observed() && !a.tape.imported() {
		in.Files, in.Workspace, in.Given = a.site.files(), a.site.dirs.asLeft(), a.site.givenPaths(ctx)
		in.Changes = a.changes(func(ctx context.Context) (workspace.Diff, error) {
			return a.site.diff(ctx, a.session.Turns(), a.site.ownUnit())
		})
		if a.site.ended != nil {
			in.AfterSteps = &evaluator.State{
				Files: workspace.OnDisk(a.site.dirs.workspace), Workspace: a.site.dirs.workspace,
				Changes: a.changes(func(ctx context.Context) (workspace.Diff, error) {
					return a.site.compared().Diff(ctx, a.site.dirs.workspace)
				}),
			}
		}
	}
	left := a.session.LeftOut()
	in.Kept = func(path string) error {
		if err := left.Check(path); err != nil {
			return fmt.Errorf("%w: %s", err, keepAdvice)
		}
		return nil
	}
	return in, nil
}

// changes returns a diff as text, without secrets.
func (a *attempt) changes(diff func(context.Context) (workspace.Diff, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		d, err := diff(ctx)
		if err != nil {
			return "", fmt.Errorf("compare the workspace with what the agent began with: %w", err)
		}
		return a.secrets.String(string(d.Text)), nil
	}
}

// openJudgments opens the recording of what models said of the unit, if an evaluator asks one and may.
func (a *attempt) openJudgments() error {
	asks, decider := a.asksModels()
	if a.judgments != nil || !asks {
		return nil
	}
	j := a.judges()
	j.Decider = decider
	var err error
	a.judgments, err = j.Open()
	return err
}

// judges says where what models say of the unit comes from.
func (a *attempt) judges() Judges {
	j := a.judgesOf(a.unit)
	j.Agents = a.agents()
	return j
}

// judgesOf says the same of a unit, but for who asks agents.
func (r *Runner) judgesOf(u plan.Unit) Judges {
	mode := r.cfg.Mode
	if r.former != nil { // what is recorded are answers to others
		mode = Live
	}
	return Judges{
		Path: judgment.Path(r.CassettePath(u)), Name: judgment.Path(r.relCassette(u)), Tree: r.tree(),
		Command:     "EVALTEST_JUDGES=record " + r.cfg.Command(Replay, u),
		CommandOpen: "EVAL_LLM_JUDGE=1 " + r.cfg.Command(Missing, u),
		Advice: "set EVAL_LLM_JUDGE=1, or give sdd-eval run --llm-judge, or add `required: false` to " +
			"the evaluator",
		Mode: mode, Record: r.cfg.RecordJudges, Allowed: r.cfg.LLMJudge, Secrets: r.secrets, Models: r.models,
		NoServer: evaluatorNeeds(u)&evaluator.AsksModel == 0, Getenv: r.cfg.Getenv,
	}
}

// Judges says where what models say comes from.
type Judges struct {
	// Path is where the recording is, Name what errors call it, Command records it, and CommandOpen what it lacks.
	Path, Name, Command, CommandOpen string
	// Tree is the tree that the recording is in.
	Tree disk.Tree
	// Decider is what asks a model and decides, for people; empty: nothing does. In CI, where nobody sees what is
	// skipped, it is an error that it may not ask, whatever the mode, with Advice on how to get on.
	Decider, Advice string
	Mode            Mode
	// Record has models asked anew, Allowed lets them be asked.
	Record, Allowed bool
	Secrets         *secret.Set
	// Models returns the client that asks models on a server, and Agents asks agents. With NoServer no model on a
	// server is asked, so that a client which cannot be had is no error.
	Models   func() (llm.Asker, error)
	Agents   llm.Asker
	NoServer bool
	Getenv   func(string) string
}

// mode says where answers come from; false: nothing is asked, and what asks is skipped.
func (j Judges) mode() (judgment.Mode, bool) {
	return judgment.Choose(judgment.Mode(j.Mode), j.Record, j.Allowed, cassette.Exists(j.Path))
}

// asker asks models on a server, and agents.
type asker struct {
	models func() (llm.Asker, error)
	agents llm.Asker
}

// Complete implements [llm.Asker].
func (a asker) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if r.Agent != nil {
		return a.agents.Complete(ctx, r)
	}
	client, err := a.models()
	if err != nil {
		return llm.Reply{}, err
	}
	return client.Complete(ctx, r)
}

// Unasked says why what asks a model is skipped where there is no recording, and how to get one.
func (j Judges) Unasked() string {
	reason := "not asked: it needs EVAL_LLM_JUDGE=1 or --llm-judge"
	if j.Mode == Live {
		return reason // nothing would be recorded
	}
	return reason + ", or a recording: " + j.Command
}

// Open opens the recording. It is nil if there is none and no model may be asked: then what asks one is skipped.
func (j Judges) Open() (*judgment.File, error) {
	mode, ok := j.mode()
	unseen := !ok && j.Decider != "" && testrun.InCI(j.Getenv)
	switch {
	case unseen && j.Mode == Replay:
		mode = judgment.Replay // which says that it is missing
	case unseen:
		return nil,
			fault.Advise(fmt.Errorf("%s needs a model, but model calls are disabled; CI is set, so this is an error",
				j.Decider), j.Advice)
	case !ok:
		return nil, nil
	}
	c := judgment.Config{
		Mode: mode, Tree: j.Tree, Secrets: j.Secrets, Name: j.Name, Command: j.Command, CommandOpen: j.CommandOpen,
	}
	if mode != judgment.Replay {
		if _, err := j.Models(); err != nil && !j.NoServer {
			return nil, err
		}
		c.Live = asker{j.Models, j.Agents}
	}
	file, err := judgment.Open(j.Path, c)
	if err != nil && fault.Advice(err) == "" {
		err = fault.Advise(err, j.Command)
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

// asksModels tells whether an evaluator of the unit asks a model, and names the first of those that decides, if one
// does.
func (a *attempt) asksModels() (asks bool, decider string) {
	for _, e := range a.unit.Evaluators {
		if !e.Config.(evaluator.Evaluator).Needs().Asks() {
			continue
		}
		asks = true
		if decider == "" && !e.Advisory {
			decider = fmt.Sprintf("%s: evaluator %q", e.Position, e.Name)
		}
	}
	return asks, decider
}

// Models returns a function that returns the client of the models that judge, as the environment describes it at that
// time: the same client as long as that stays the same. All of them share the budget of spent. The error,
// [llm.ErrNoKey] among others, comes when a client is first asked for.
func Models(getenv func(string) string, spent *llm.Spent) func() (llm.Asker, error) {
	var (
		mu      sync.Mutex
		clients = make(map[llm.Config]*llm.Client)
	)
	return func() (llm.Asker, error) {
		cfg, err := llm.FromEnvironment(getenv)
		if errors.Is(err, llm.ErrNoKey) {
			return nil, fault.Advise(err, "set OPENAI_API_KEY, and OPENAI_BASE_URL for another server than OpenAI's")
		}
		if err != nil {
			return nil, err
		}
		cfg.Spent = spent
		mu.Lock()
		defer mu.Unlock()
		if clients[cfg] == nil {
			clients[cfg] = llm.New(cfg)
		}
		return clients[cfg], nil
	}
}

// The kinds of a [Defect].
const (
	DefectMissing  = "missing"
	DefectStale    = "stale" // recorded from something else, or too long ago
	DefectCorrupt  = "corrupt"
	DefectOrphaned = "orphaned" // of no unit
)

// Defect is what is wrong with a recording.
type Defect struct {
	Kind string
	// File is relative to the root, if it is below it.
	File   string
	Reason string // may have several lines
}

// Verify returns what keeps the unit from being replayed, and warnings that a replay would give. It prepares the unit's
// workspace and runs nothing that the playbook names. Whether judges would still ask what is recorded is not known
// without asking them.
func (r *Runner) Verify(ctx context.Context, u plan.Unit) (defects []Defect, warnings []string, err error) {
	a := r.newAttempt(u, replays, io.Discard, newUnit(u, r.now(), nil))
	defer func() { err = errors.Join(err, a.site.dirs.remove()) }()
	if err := a.openDirs(ctx); err != nil {
		return nil, nil, err
	}
	if err := a.prepareFor(ctx); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", u.ID(), err)
	}
	if err := a.tape.open(a.site.manifest); err != nil {
		d, known := a.tape.defect(err)
		if !known {
			return nil, nil, err
		}
		defects = append(defects, d)
	}
	path := judgment.Path(a.tape.path)
	if cassette.Exists(path) {
		config := judgment.Config{Mode: judgment.Replay, Tree: a.tape.tree, Secrets: r.secrets}
		if _, err := judgment.Open(path, config); err != nil {
			defects = append(defects,
				Defect{DefectCorrupt, r.rel(path), strings.ReplaceAll(err.Error(), path, r.rel(path))})
		}
	}
	return defects, a.tape.warnings, nil
}

// Fingerprints returns what a recording of the unit would depend on now, its prompts excepted. It prepares the unit's
// workspace and runs nothing that the playbook names.
func (r *Runner) Fingerprints(ctx context.Context, u plan.Unit) (f cassette.Fingerprints, err error) {
	a := r.newAttempt(u, replays, io.Discard, newUnit(u, r.now(), nil))
	defer func() { err = errors.Join(err, a.site.dirs.remove()) }()
	if err := a.openDirs(ctx); err != nil {
		return f, err
	}
	if err := a.prepareFor(ctx); err != nil {
		return f, fmt.Errorf("%s: %w", u.ID(), err)
	}
	return a.tape.fingerprints(a.site.manifest), nil
}

// prepareFor takes the steps that make the workspace which the agent begins with.
func (a *attempt) prepareFor(ctx context.Context) error {
	for _, s := range a.unit.Steps {
		switch do := action.Of(s.Uses); {
		case do.Asks():
			return nil
		case do.Setup:
			if err := do.InUnit(&unitStep{attempt: a, step: s}, ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// defect tells what an error says of the cassette, if it is about that.
func (t *tape) defect(err error) (d Defect, known bool) {
	d = Defect{File: t.name(), Reason: err.Error()}
	if _, ok := errors.AsType[*cassette.MissingError](err); ok {
		d.Kind, d.Reason = DefectMissing, t.unit.ID()+" was not recorded"
		return d, true
	}
	if stale, ok := errors.AsType[*cassette.StaleError](err); ok {
		d.Kind, d.Reason = DefectStale, ""
		for i, c := range stale.Changes {
			if i > 0 {
				d.Reason += "\n"
			}
			d.Reason += c.String()
		}
		return d, true
	}
	if _, ok := errors.AsType[*oldError](err); ok {
		d.Kind = DefectStale
		return d, true
	}
	d.Kind = DefectCorrupt
	if _, ok := errors.AsType[*cassette.CorruptError](err); ok {
		return d, true
	}
	_, ok := errors.AsType[*cassette.UnitError](err)
	return d, ok
}

// Orphans returns the recordings in the playbook's place that belong to no unit of it, absolute and sorted.
func (r *Runner) Orphans() ([]string, error) {
	files, err := cassette.List(r.tree(), r.cassettes(), r.stem())
	if err != nil {
		return nil, err
	}
	own := make(map[string]bool, 3*len(r.plan.Units))
	for _, u := range r.plan.Units {
		path := r.CassettePath(u)
		own[path], own[cassette.Compressed(path)], own[judgment.Path(path)] = true, true, true
	}
	return slices.DeleteFunc(files, func(file string) bool { return own[file] }), nil
}

// Migrate makes a unit's cassette what it would be if its session were recorded today, and reports whether that changes
// it; with dry it does not change it. A unit without a cassette has nothing to migrate.
func (r *Runner) Migrate(u plan.Unit, dry bool) (changed bool, err error) {
	path := r.CassettePath(u)
	if !cassette.Exists(path) {
		return false, nil
	}
	kind := u.Variant.Agent.Kind
	profile, ok := agent.Lookup(kind)
	if !ok {
		return false, fmt.Errorf("%s: unknown agent kind %q", u.ID(), kind)
	}
	changed, err = cassette.Migrate(r.tree(), path, u.ID(),
		cassette.NewNormaliser(nil, profile.Patterns(r.pb.Cassette.Normalise), profile.Volatile), dry)
	if _, ok := errors.AsType[*cassette.UnitError](err); ok {
		err = fmt.Errorf("%s:1: %w", r.relCassette(u), err)
	}
	return changed, r.shorten(err, u)
}
