package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// skillRun is a run of one skill's cases that is ready to begin.
type skillRun struct {
	suite   *skill.Suite
	arms    []string // as [skill.ArmWords] returns them
	agent   playbook.Agent
	how     string         // the agent was found
	judge   playbook.Agent // without a kind: the agent
	options runOptions
	before  former // of a run that is resumed
	cfg     engine.Config
	preview engine.Preview
	past    history
	rivals  map[string]skill.Tree // what agents get of further skills, by name
	// unjudged are the cases with a check of which nothing is known when the run has ended.
	unjudged []string
	// stale are the cases whose recordings are of something else, and unrecorded those that have none.
	stale, unrecorded []string
}

// sessions returns how many sessions with agents it would have.
func (r *skillRun) sessions() int {
	n := 0
	for _, u := range r.preview.Units {
		if u.StartsAgent {
			n++
		}
	}
	return n
}

// plugin is what is installed in place of the skill; nil: the skill is.
func (r *skillRun) plugin() *skill.Plugin {
	if r.options.front.triggers {
		return nil
	}
	return r.suite.Plugin
}

// others are the ids of the arms that the one with the skill is compared with.
func (r *skillRun) others() []string {
	var ids []string
	for _, word := range r.arms {
		if id, _, _ := strings.Cut(word, "="); id != skill.With {
			ids = append(ids, id)
		}
	}
	return ids
}

// runSkills runs the evals of skills, one after the other: one question before, one budget for all.
func (a *App) runSkills(ctx context.Context, o skillOptions, suites []*skill.Suite) error {
	mode, why := a.skillMode(o)
	var worst error
	var runs []*skillRun
	for _, s := range suites {
		lock, err := s.Lock()
		if errors.Is(err, disk.ErrLocked) {
			err = fmt.Errorf("another sdd-eval skill is at work on %s: wait until it has ended", s.Name)
		}
		if err != nil {
			return &exitError{code: exitHarness, err: err}
		}
		defer lock.Close()
		of := o
		of.triggers = o.triggers || mode == engine.Replay && s.Runnable() == 0 && s.TriggersRecorded()
		r, err := a.prepareSkill(ctx, of, s, mode, why)
		if err == nil && r.isWhole() && r.cfg.Mode == engine.Replay && s.TriggersRecorded() {
			var queries *skillRun
			if queries, err = a.prepareSkill(ctx, o.ofTriggers(), s, engine.Replay, ""); err == nil {
				runs = append(runs, queries)
			}
		}
		switch {
		case err == nil:
			runs = append(runs, r)
		case len(suites) == 1 || exitCode(ctx, err) == exitUsage || ctx.Err() != nil:
			return err
		default: // the others can be run all the same
			fmt.Fprintf(a.Stderr, "%s: %s\n", printable(s.Name), printable(a.secrets.String(err.Error())))
			worst = worse(worst, err)
		}
	}
	for i, r := range runs {
		if i > 0 {
			fmt.Fprintln(a.Stderr)
		}
		a.announce(r)
		if err := a.refuseRecorded(r); err != nil {
			return err
		}
	}
	agreed, err := a.consent(ctx, o, runs)
	if err != nil {
		return err
	}
	for _, r := range runs {
		asked, _ := engine.ParseSwitch(a.Getenv("EVAL_LLM_JUDGE"))
		if !agreed && !asked || r.recordedProgram() != "" {
			r.cfg.LLMJudge = false // what models said is replayed all the same
		}
	}
	left, _ := strconv.ParseFloat(o.budget, 64) // which the flag has checked
	for i, r := range runs {
		if o.budget != "" {
			if left <= 0 {
				err := &exitError{code: exitHarness, err: fmt.Errorf("the budget is used up: %s was not run",
					strings.Join(namesOf(runs[i:]), ", "))}
				return worse(worst, err)
			}
			r.cfg.Budget.MaxUSD = left
		}
		spent, err := a.runSkill(ctx, r)
		left -= spent
		if worst = worse(worst, err); ctx.Err() != nil {
			break
		}
		if err != nil && len(runs) > 1 {
			a.tellError(err)
		}
	}
	if len(runs) > 1 {
		return told(worst)
	}
	return worst
}

// isWhole reports whether the run is of all cases of a skill and nothing was asked for but that.
func (r *skillRun) isWhole() bool {
	o := *r.options.front
	return !o.triggers && !o.bless && o.cases == "" && o.resume == "" && o.arms == "" && o.trials == 0
}

// ofTriggers are the options of the run of a skill's queries that goes along with that of its cases.
func (o skillOptions) ofTriggers() skillOptions {
	o.triggers, o.plugin, o.judge, o.gate = true, false, "", ""
	return o
}

func namesOf(runs []*skillRun) []string {
	var names []string
	for _, r := range runs {
		names = append(names, r.suite.Name)
	}
	return names
}

// tellError prints an error that is not the last thing that the command says.
func (a *App) tellError(err error) {
	if e, ok := errors.AsType[*exitError](err); !ok || e.err != nil {
		fmt.Fprintf(a.Stderr, "%s\n", a.secrets.String(err.Error()))
	}
	if next := a.nextAfter(err); next != "" {
		fmt.Fprintf(a.Stderr, "next: %s\n", next)
	}
}

// told returns an error with the exit code of one that was printed.
func told(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitCode(context.Background(), err)}
}

// worse returns the error that decides the exit code: that of the harness outranks a fail.
func worse(a, b error) error {
	rank := func(err error) int {
		if err == nil {
			return 0
		}
		return 1 + slices.Index([]int{exitOpen, exitFailed, exitUsage, exitHarness, exitInterrupted},
			exitCode(context.Background(), err))
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// skillMode returns the mode of a run, and why it is that if it was not given.
func (a *App) skillMode(o skillOptions) (mode engine.Mode, why string) {
	switch {
	case o.mode != "":
		return engine.Mode(o.mode), ""
	case testrun.InCI(a.Getenv):
		return engine.Replay, "CI is set"
	}
	return engine.Missing, ""
}

// prepareSkill finds out all that can be known of a run before it begins.
func (a *App) prepareSkill(
	ctx context.Context, o skillOptions, s *skill.Suite, mode engine.Mode, why string,
) (*skillRun, error) {
	words := cmp.Or(o.arms, skill.With+","+skill.Without)
	if o.triggers {
		words = skill.With
	}
	arms, err := skill.ArmWords(words)
	if err != nil {
		return nil, usageError("skill: --arms: %w", err).hint("sdd-eval skill --help")
	}
	if s.Dir == "" || s.Installed.Files == nil || !o.triggers && s.Runnable() == 0 || o.triggers && s.Asked() == nil {
		return nil, a.notRunnable(o, s)
	}
	r := &skillRun{suite: s, arms: arms}
	if err := a.checkGate(o, s); err != nil {
		return nil, err
	}
	r.agent, r.how, err = a.skillAgent(o, s, mode != engine.Replay)
	if err != nil && mode == engine.Missing && o.mode == "" && o.agent == "" {
		if was, ok := s.RecordedAgent(o.triggers); ok { // then it can be replayed
			mode, why = engine.Replay, strings.TrimPrefix(err.Error(), "skill: ")
			r.agent, r.how = was, "as recorded"
			r.agent.Preset, err = a.presetOf(was, o.preset, o.configDir, false)
		}
	}
	if err != nil {
		return nil, a.noAgent(err)
	}
	options := skill.Options{By: "sdd-eval skill", Agent: r.agent, Trials: o.trials}
	if options.Judge, err = a.skillJudge(o, s, mode != engine.Replay); err != nil {
		return nil, err
	}
	var file string
	if o.triggers {
		if err := shows(r.agent.Kind); err != nil {
			return nil, err
		}
		if file, err = s.GenerateTriggers(ctx, options); err == nil {
			r.rivals, err = s.InstalledRivals(ctx)
		}
	} else {
		r.judge = options.Judge
		file, err = s.Generate(ctx, options, arms)
	}
	if err != nil {
		return nil, usageError("skill: %w", err)
	}
	r.options = runOptions{
		playbook: a.shown(file), resume: o.resume, mode: string(mode), cassettes: filepath.FromSlash(s.Cassettes()),
		configDir: o.configDir, sandbox: o.sandbox, parallel: o.parallel, llmJudge: mode != engine.Replay,
		untrusted: true, budget: o.budget, assume: o.assume, wait: o.wait,
		selection: selection{cases: o.cases}, front: &o,
	}
	if here, err := a.projectRoot(""); err != nil || here != s.Root {
		r.options.root = a.shown(s.Root)
	}
	if why != "" {
		fmt.Fprintf(a.Stderr, "%s: replays recordings, since %s\n", printable(s.Name), printable(why))
	}
	return r, a.previewSkill(ctx, r)
}

// noAgent gives the error of an agent that cannot be started its exit code.
func (a *App) noAgent(err error) error {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e
	}
	return usageError("skill: %w", err).hint(fault.Advice(err))
}

// notRunnable says why nothing of a skill can be run.
func (a *App) notRunnable(o skillOptions, s *skill.Suite) error {
	var reasons []string
	for _, f := range s.Findings {
		if f.Level == skill.Error && len(reasons) < 5 {
			at := ""
			if f.At.Line > 0 {
				at = a.shownFile(f.At.File) + ":" + strconv.Itoa(f.At.Line) + ": "
			}
			reasons = append(reasons, at+f.What)
		}
	}
	if reasons == nil {
		reasons = []string{"it has no case that can be run" + atQueries(o, s)}
	}
	o.dir = a.shown(s.File(s.EvalsDir()))
	return &exitError{
		code: exitHarness, err: fmt.Errorf("%s cannot be run: %s", cmp.Or(s.Name, s.EvalsDir()),
			strings.Join(reasons, "; ")),
		next: o.line("--check"),
	}
}

// previewSkill makes all checks that come before the run, and finds recordings that are stale.
func (a *App) previewSkill(ctx context.Context, r *skillRun) (err error) {
	root := r.suite.Root
	if r.options.resume != "" {
		r.options.mode = "" // that of the run
		if r.before, err = a.former(root, r.options, r.options.resume); err != nil {
			return err
		}
		if was := r.before.options; a.path(was.playbook) != a.path(r.options.playbook) {
			return usageError("skill: the run %s is of %s, and not of the evals of %s", was.resume,
				a.shownFile(a.path(was.playbook)), r.suite.Name).hint("sdd-eval list")
		}
		front := r.options.front
		r.options = r.before.options
		r.options.front = front
	}
	if r.cfg, err = a.runConfig(root, r.options); err != nil {
		return usageError("skill: %w", err)
	}
	r.cfg.OwnAgents = true
	if assumed := r.cfg.Budget.AssumedUSD; r.options.resume != "" { // the run's directory has the budget of that
		r.cfg.Budget.AssumedUSD = nil
		defer func() { r.cfg.Budget.AssumedUSD = assumed }()
	}
	if r.options.front.triggers {
		r.cfg.Doubt = skill.Doubted
	}
	front := *r.options.front
	r.cfg.Command = func(m engine.Mode, u plan.Unit) string {
		mode := string(m)
		if m == engine.Missing {
			mode = ""
		}
		return front.line("--case", u.Case.ID, "--mode", mode)
	}
	planned, err := a.loadPlan(r.cfg, a.path(r.options.playbook))
	if err == nil {
		err = r.options.choose(planned, r.before, &r.cfg)
	}
	var runner *engine.Runner
	if err == nil {
		runner, err = newRunner(planned, r.cfg)
	}
	if err != nil {
		return a.skillFailed(ctx, r, &engine.InputError{Err: err}, engine.Finished{})
	}
	if err := a.findStale(ctx, r, runner, planned); err != nil {
		return err
	}
	// Which of them are recorded anew is known only now.
	if runner, err = newRunner(planned, r.cfg); err == nil {
		r.preview, err = runner.Preview(ctx)
	}
	if err != nil {
		return a.skillFailed(ctx, r, err, engine.Finished{})
	}
	r.past = historyOf(a.past(root, planned.Playbook.File))
	return nil
}

// findStale finds the recordings that are of something else than what would be run now. In mode missing they are made
// anew.
func (a *App) findStale(ctx context.Context, r *skillRun, runner *engine.Runner, planned *plan.Plan) error {
	if r.cfg.Mode != engine.Missing && r.cfg.Mode != engine.Replay {
		return nil
	}
	stale := make(map[string]bool)
	for _, u := range planned.Units {
		if r.cfg.Selected != nil && !r.cfg.Selected(u) {
			continue
		}
		defects, _, err := runner.Verify(ctx, u)
		if err != nil {
			return fmt.Errorf("skill: %w", err)
		}
		for _, d := range defects {
			switch id := u.Case.ID; {
			case d.Kind == engine.DefectStale:
				if stale[u.ID()] = true; !slices.Contains(r.stale, id) {
					r.stale = append(r.stale, id)
				}
			case d.Kind == engine.DefectMissing && !slices.Contains(r.unrecorded, id):
				r.unrecorded = append(r.unrecorded, id)
			}
		}
	}
	r.cfg.Renew = func(u plan.Unit) bool { return stale[u.ID()] }
	return nil
}

// runSkill carries a run out, and says what came of it and what its agents cost.
func (a *App) runSkill(ctx context.Context, r *skillRun) (spent float64, err error) {
	w := a.newWatcher(a.secrets)
	done, rep, err := a.carryOut(ctx, r.options, r.before, r.cfg, w)
	w.close(false)
	if w.spent != nil {
		spent = w.spent()
	}
	var arms []compare.Arms
	if done.ID != "" {
		if r.options.front.triggers {
			a.tellTriggers(r, done, rep)
		} else {
			r.unjudged = a.tellChecks(r, done)
		}
		if arms, err = a.compareArms(r, done, err); len(arms) > 0 {
			a.tellComparison(arms)
		}
		a.tellSkill(done, rep)
	}
	if rep != nil && err == nil {
		if _, err = rep.Write([]string{report.SkillCreator}); errors.Is(err, report.ErrNotOfSkill) {
			err = nil // it has no reference, or one that has the same skill
		}
	}
	switch {
	case err != nil:
		return spent, a.skillFailed(ctx, r, err, done)
	case ctx.Err() != nil:
		return spent, &exitError{
			code: exitInterrupted, err: errors.New("interrupted"), next: r.options.resumption(done.ID),
		}
	}
	return spent, a.skillVerdict(r, done)
}

// tellSkill says where the report is, and which cases were left out.
func (a *App) tellSkill(done engine.Finished, rep *report.Report) {
	came := tallyOf(done.Units, done.Listed).String() + notAsked(done.Units)
	if done.Selected != "" {
		came += "; " + done.Selected
	}
	fmt.Fprintln(a.Stderr, came)
	if rep != nil {
		fmt.Fprintln(a.Stderr, "report: "+a.shown(filepath.Join(done.Dir, report.Page)))
	}
	fmt.Fprintln(a.Stdout, done.Dir)
}

// skillVerdict returns the error of a run that has ended, nil if all is well.
func (a *App) skillVerdict(r *skillRun, done engine.Finished) error {
	front := *r.options.front
	var err error
	switch cases := slices.Concat(r.stale, r.unrecorded); {
	case r.cfg.Mode == engine.Replay && len(cases) > 0:
		slices.Sort(cases)
		what := excerpt.Count(len(slices.Compact(cases)), "case")
		text := fmt.Errorf("the recordings of %s are stale or missing: a maintainer records them", what)
		front.yes = false
		err = &exitError{
			code: exitHarness, err: text,
			next: front.line("--case", strings.Join(slices.Compact(cases), ",")),
		}
	case len(r.unjudged) > 0: // be it that judges were skipped, which fails no unit
		err = &exitError{
			code: exitHarness,
			err: fmt.Errorf("not all checks were judged of %s: %s", excerpt.Count(len(r.unjudged), "case"),
				some(r.unjudged)),
			next: front.line("--case", strings.Join(r.unjudged, ","), "--yes"),
		}
	default:
		err = a.gateSkill(r, done)
	}
	if broken := r.broken(); len(broken) > 0 {
		text := fmt.Errorf("%s cannot be run or judged: %s", excerpt.Count(len(broken), "case"), some(broken))
		err = worse(err, &exitError{code: exitHarness, err: text, next: front.line("--check")})
	}
	return err
}

// broken returns the cases that cannot be run, or the queries.
func (r *skillRun) broken() []string {
	var ids []string
	if r.options.front.triggers {
		for _, q := range r.suite.Queries {
			if q.Absent != "" {
				ids = append(ids, q.ID)
			}
		}
		return ids
	}
	for _, c := range r.suite.Cases {
		if c.Broken {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// skillFailed is [runOptions.failed] for the run of a skill. Where no sandbox works, a skill is not run without one.
func (a *App) skillFailed(ctx context.Context, r *skillRun, err error, done engine.Finished) error {
	failed := r.options.failed(ctx, err, done)
	if e, ok := errors.AsType[*exitError](failed); ok {
		if _, none := errors.AsType[*confine.UnavailableError](err); none {
			e.next = "run it in a Linux container, by sdd-eval's Dockerfile: a skill is code that somebody wrote"
		}
	}
	return failed
}
