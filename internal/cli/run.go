package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	_ "github.com/sdd-eval/sdd-eval/internal/tracing/otlp" // sends the traces of runs
)

// runOptions are the flags of `sdd-eval run`.
type runOptions struct {
	playbook, resume           string
	mode, cassettes, configDir string
	root, sandbox              string
	parallel                   int
	llmJudge, acceptChanged    bool
	untrusted, open, bell      bool
	// dryRun runs nothing and says what would be run. mde is the drop of the pass rate to plan for; 0: none.
	dryRun bool
	mde    float64
	// budget is what the run may cost, and assume what a unit counts that does not say, in US dollars; empty: not
	// given.
	budget, assume string
	// wait is how long a rate limit is waited for; empty: not given.
	wait string
	// selection is which units are run. again is the run whose units are run again, only what outcomes those had there,
	// separated by commas; empty: any.
	selection   selection
	again, only string
	// shard is which of several shards is run, i/n or auto, and weights the file that says how long units take; empty:
	// not given.
	shard, weights string
	// merging says that the run is one that was merged, of which only jobs are left.
	merging bool
	// ablate is what arms leave out, or all; empty: what the playbook says.
	ablate string
	// rejudge is the run that is judged anew.
	rejudge string
	// front are the options of `sdd-eval skill`, if that runs it.
	front *skillOptions
	// from says which evals of another tool are run, and how; cite has results name them, nil: they are a playbook's.
	from suiteOptions
	cite func(*plan.Plan)
}

func runCommand() command {
	return command{
		name: "run",
		usage: "FILE [--mode live|record|missing|replay] [--cassettes DIR] [--parallel N]\n" +
			"               [--config-dir DIR] [--root DIR] [--sandbox auto|bwrap|landlock|command|none]\n" +
			"               [--units PATTERN] [--case CASES] [--variant VARIANTS]\n" +
			"               [--ablate NAME|all] [--budget-usd USD] [--assume-cost USD] [--wait TIME]\n" +
			"               [--llm-judge] [--untrusted] [--open] [--bell] [--dry-run]\n" +
			"  sdd-eval run --from DIR [--agent KIND[/PRESET]] [--tag TAGS] [FLAGS] [-- COMMAND ARG...]\n" +
			"  sdd-eval run --again RUN_ID [--only fail,error] [FLAGS]\n" +
			"  sdd-eval run --resume RUN_ID [--accept-changed] [FLAGS]",
		short: "run a playbook",
		long: `Runs the jobs of a playbook for each of its variants, each in a workspace of its own, and keeps
everything that happens in a new directory below .llman/sdd-eval/runs. The path of the directory is
the last line of standard output; everything else goes to standard error: at the end a table of the
variants, and why not everything passed. The reports are in the directory. --resume continues a run
that was interrupted or killed; it does not repeat what has ended, and refuses if the judges,
goldens, prompt files or fixtures of the playbook have changed since.

--units, --case and --variant run a part of the playbook's units, each with all its trials. The run
and its reports say so, and jobs that need all units are skipped. --again makes a new run of the
playbook of another, in its mode: of the units whose results there are what --only says. What came
of the other run stays as it is.

--from runs the evals of another tool as they are: those of a plugin of Claude Code, with the plugin
and without it. Recordings are in .sdd-eval beside the evals. docs/import.md says what is honoured.

With --budget-usd no unit starts that may cost more than is left: one may cost its max_cost_usd,
else the most that one of its variant has cost so far. What is not run for want of money leaves the
run incomplete, which is an error; --resume with a larger budget runs it.`,
		examples: `sdd-eval run .llman/sdd-eval/playbooks/demo.yaml
sdd-eval run demo.yaml --parallel 4 --budget-usd 5
sdd-eval run demo.yaml --units demo/refund/claude
sdd-eval run --from plugins/pdf --mode record
sdd-eval run --again latest --only fail,error
sdd-eval run --resume latest`,
		codes: runCodes,
		args:  arguments{max: -1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			o := runOptions{mode: "live"}
			o.definePlaybook(f)
			o.from.define(f)
			f.text(&o.resume, "resume", kindRun,
				"The `RUN_ID` of the run to continue, the beginning of one, or latest.")
			o.define(f)
			o.defineEnd(f)
			f.Var(&dollars{p: &o.budget, positive: true}, "budget-usd", "End the run before its agents cost more "+
				"than `USD`, or the playbook's limits.run.max_cost_usd, the lower; with --resume this is the new "+
				"bound.")
			f.Var(&dollars{p: &o.assume}, "assume-cost", "Count `USD` for a unit whose agent does not say what it "+
				"cost; without, such a unit ends a run with a budget.")
			f.Var(&patience{&o.wait}, "wait", "The `TIME` that units of an account wait in all for its rate limit, "+
				"until one of them ends; then the run ends, to be resumed. 0: such a unit ends in an error. "+
				"Default: 10m.")
			f.BoolVar(&o.dryRun, "dry-run", false, "Run nothing, and say what sdd-eval plan says.")
			f.BoolVar(&o.acceptChanged, "accept-changed", false,
				"Resume a run although what judges its units has changed. The run and its reports say so.")
			return func(ctx context.Context, args []string) error {
				if args = o.from.take(f, args); o.from.dir == "" && o.from.given(f) != "" {
					return usageError("run: %s: for --from alone", o.from.given(f)).hint("sdd-eval run --help")
				}
				if err := o.complete("run", f, args); err != nil {
					return err
				}
				switch {
				case o.from.dir != "":
					return a.runSuite(ctx, o)
				case o.acceptChanged && o.resume == "":
					return usageError("run: --accept-changed is for --resume").hint("sdd-eval run --help")
				case o.resume != "" && o.dryRun:
					return usageError("run: --dry-run is for new runs: `sdd-eval show` tells what is left of one")
				case o.resume != "" && o.selection != (selection{}):
					return usageError("run: --resume continues a run as it began: remove %s", o.selection)
				case o.resume != "" && o.shard+o.weights != "":
					return usageError("run: --resume continues a run as it began: remove --shard and --weights")
				case o.resume != "" && (f.Changed("mode") || f.Changed("cassettes")):
					return usageError("run: --resume continues a run as it began: remove --mode and --cassettes")
				}
				return a.run(ctx, o)
			}
		},
	}
}

// defaultWait is how long a rate limit is waited for.
const defaultWait = 10 * time.Minute

// runCodes describes the exit codes of a run.
const runCodes = `0    all units that were to run passed, or completed if nothing judges them
1    a unit or a job failed
2    the command line, the playbook or the configuration is wrong
3    a unit or a job ended in an error, or was not run for want of budget: nothing is known of its agent
130  interrupted; continue with --resume`

// definePlaybook defines the flags that say what is run: a playbook or a part of it, or what another run has.
func (o *runOptions) definePlaybook(f *flags) {
	f.text(&o.playbook, "playbook", kindFile,
		"The playbook `FILE`, relative to the working directory, like the argument.")
	f.text(&o.ablate, "ablate", kindText,
		"Run control arms, too, that leave one thing out of the variants: the `NAME` of a thing, such as "+
			"skills/pdf or mcp.search, or all for each in turn.")
	o.selection.define(f)
	f.text(&o.shard, "shard", kindText, "Only the units of one shard, `I/N`, such as 1/3 for the first of three, or "+
		"auto, as the CI system or the scheduler says; default: EVALTEST_SHARD. sdd-eval merge puts shards together.")
	f.text(&o.weights, "weights", kindFile, "The `FILE` that says how long units take, which report --format "+
		"weights writes of a former run; default: NAME.weights.json beside the playbook NAME.yaml.")
	f.text(&o.again, "again", kindRun,
		"The `RUN_ID` of the run whose units are run again, the beginning of one, or latest.")
	f.list(&o.only, "only", "Only what ended so in the run that --again names: a `LIST` of "+
		strings.Join(endings, ", ")+".", endings...)
	f.choice(&o.mode, "mode",
		"The `MODE` says where sessions come from: live runs the agents; record runs them and writes "+
			"cassettes; missing records only what has no cassette; replay plays cassettes and runs no agent.",
		"live", "record", "missing", "replay")
	f.text(&o.cassettes, "cassettes", kindDir,
		"The `DIR` of the cassettes; default: cassettes below the project's root.")
	f.configDir(&o.configDir)
}

// complete takes over the arguments, and returns an error for flags that do not go together.
func (o *runOptions) complete(name string, f *flags, args []string) error {
	if len(args) > 0 && o.playbook == "" {
		o.playbook, args = args[0], nil
	}
	var err *exitError
	switch {
	case len(args) > 0:
		err = usageError("%s: give one playbook, FILE or --playbook FILE", name)
	case o.again != "" && o.shard != "":
		return usageError("%s: --again runs on one machine: remove --shard", name)
	case o.only != "" && o.again == "":
		err = usageError("%s: --only is for --again", name)
	case o.resume+o.again != "" && o.ablate != "":
		return usageError("%s: --ablate is for new runs of a playbook: remove it", name)
	case o.again != "" && f.Changed("cassettes"):
		return usageError("%s: --again uses the cassettes of the run: remove --cassettes", name)
	case len(listed(o.playbook, o.resume, o.again, o.from.dir)) != 1:
		ways := []string{"a playbook FILE", "--from DIR", "--resume RUN_ID", "--again RUN_ID"}
		if f.Lookup("resume") == nil {
			ways = []string{ways[0], ways[3]}
		}
		err = usageError("%s: give either %s", name, alternatives(ways))
	default:
		if o.again != "" && !f.Changed("mode") {
			o.mode = "" // that of the run
		}
		return nil
	}
	return err.hint("sdd-eval " + name + " --help")
}

// define defines the flags that every run can have.
func (o *runOptions) define(f *flags) {
	f.number(&o.parallel, "parallel", 1,
		"Run up to `N` units at the same time; default: EVALTEST_PARALLEL, else the playbook's number, else "+
			"the number of processors in replay and 1 in other modes.")
	f.root(&o.root)
	f.choice(&o.sandbox, "sandbox",
		"The `KIND` of sandbox that confines agents and the code they write; default: EVALTEST_SANDBOX, else "+
			"the playbook's, else auto, the strongest that works here.",
		"auto", "bwrap", "landlock", "command", "none")
	f.BoolVar(&o.llmJudge, "llm-judge", false,
		"Let evaluators ask models where no answer is recorded, like EVAL_LLM_JUDGE=1.")
	f.untrusted(&o.untrusted)
}

// defineEnd defines the flags that say what happens when a run has ended.
func (o *runOptions) defineEnd(f *flags) {
	f.BoolVar(&o.bell, "bell", false, "Ring the terminal's bell when the run has ended.")
	f.BoolVar(&o.open, "open", false, "Open report.html in the browser when the run has ended.")
}

// run runs a playbook, resumes a run, runs units of one again, or judges one anew.
func (a *App) run(ctx context.Context, o runOptions) error {
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	var before former
	if id := cmp.Or(o.resume, o.again, o.rejudge); id != "" {
		if before, err = a.former(root, o, id); err != nil {
			return err
		}
		o = before.options
	}
	cfg, err := a.runConfig(root, o)
	if err != nil {
		return usageError("run: %w", err)
	}
	cfg.Command = func(m engine.Mode, _ plan.Unit) string { return o.command(m) }
	if err := o.divide(&cfg, a); err != nil {
		return err
	}
	if o.dryRun {
		return a.paged(ctx, func(out io.Writer, columns int) error {
			return a.dryRun(ctx, out, columns, o, before, cfg)
		})
	}
	// A run makes much garbage and keeps little, so the garbage collector would go through a small heap every few
	// milliseconds. The ballast has it wait until an eighth as much is allocated, 16 MiB, and the percentage until a
	// large session has an eighth of its size in garbage more. The ballast is never written to, so it takes no memory,
	// but for pieces in the place of garbage.
	defer debug.SetGCPercent(debug.SetGCPercent(12))
	var ballast [128][]byte
	for i := range ballast {
		ballast[i] = make([]byte, 1<<20)
	}
	defer runtime.KeepAlive(&ballast)
	_, err = a.runOnce(ctx, o, before, cfg)
	return err
}

// divide has a run carry out one shard of the plan, if that is wanted.
func (o runOptions) divide(cfg *engine.Config, a *App) error {
	if o.merging {
		return nil
	}
	if _, err := cfg.FindShard(o.shard, false); err != nil {
		return usageError("run: %w", err)
	}
	if cfg.Shard.Of == 0 && o.weights != "" {
		return usageError("run: --weights is for --shard")
	}
	if o.weights != "" {
		cfg.Weights = a.path(o.weights)
	}
	return nil
}

// runOnce carries a run out, tells what it came to, and returns the error by which the command ends.
func (a *App) runOnce(
	ctx context.Context, o runOptions, before former, cfg engine.Config,
) (done engine.Finished, err error) {
	w := a.newWatcher(a.secrets)
	done, rep, err := a.carryOut(ctx, o, before, cfg, w)
	w.close(o.bell)
	a.ended(ctx, o, done, rep)
	if err != nil {
		return done, o.failed(ctx, err, done)
	}
	if ctx.Err() != nil {
		return done, &exitError{code: exitInterrupted, err: errors.New("interrupted"), next: o.resumption(done.ID)}
	}
	a.warnNull(ctx, o, cfg, done)
	err = verdict(done.Verdict, done.ID, o.root)
	if e, ok := errors.AsType[*exitError](err); ok && cfg.Mode != engine.Replay && onlyNotAsked(done.Units) {
		e.next = "have the judges asked: " + commandLine("rejudge", done.ID, "--llm-judge", "--root", o.root)
	}
	if before.over && o.resume != "" {
		fmt.Fprintf(a.Stderr, "the run %s was finished already: nothing was left to run\n", done.ID)
		if e, ok := errors.AsType[*exitError](err); ok {
			e.next = before.again(o.root)
		}
	}
	return done, err
}

// ended tells what a run came to; rep is nil if it has no reports.
func (a *App) ended(ctx context.Context, o runOptions, done engine.Finished, rep *report.Report) {
	if done.ID == "" {
		return
	}
	if rep != nil {
		columns := 0
		if size := screenOf(a.Stderr, a.Getenv, a.Now).size; size != nil {
			columns, _ = size()
		}
		// The reasons of a single result have just been told.
		summarise(a.Stderr, rep, columns, len(rep.Results)+len(rep.Jobs) > 1)
		fmt.Fprintln(a.Stderr)
	}
	came := tallyOf(done.Units, done.Listed).String() + notAsked(done.Units)
	if done.Selected != "" {
		came += "; " + done.Selected
	}
	fmt.Fprintln(a.Stderr, came)
	if page := filepath.Join(done.Dir, report.Page); rep != nil {
		fmt.Fprintln(a.Stderr, "report: "+a.shown(page))
		if o.open {
			a.open(ctx, page)
		}
	}
	fmt.Fprintln(a.Stdout, done.Dir)
}

// citing has results of a plan name what it was made of.
func (o runOptions) citing(p *plan.Plan) {
	if o.cite != nil {
		o.cite(p)
	}
}

// newRunner returns what runs a plan. That the AI judge has no key is told before agents do work, not when the report
// is made.
func newRunner(plan *plan.Plan, cfg engine.Config) (*engine.Runner, error) {
	runner, err := engine.New(plan, cfg)
	if err == nil && runner.Reports() && plan.Playbook.Report.AIJudge.Enabled {
		_, err = judgeOf(cfg.Models)
	}
	return runner, err
}

// dryRun tells what a run would do.
func (a *App) dryRun(
	ctx context.Context, out io.Writer, columns int, o runOptions, before former, cfg engine.Config,
) error {
	plan, err := a.loadPlan(cfg, a.path(o.playbook), listed(o.ablate)...)
	if err == nil {
		o.citing(plan)
		err = o.choose(plan, before, &cfg)
	}
	var runner *engine.Runner
	if err == nil {
		runner, err = newRunner(plan, cfg)
	}
	if err != nil {
		return o.failed(ctx, &engine.InputError{Err: err}, engine.Finished{})
	}
	preview, err := runner.Preview(ctx)
	if err != nil {
		return o.failed(ctx, err, engine.Finished{})
	}
	budget := ""
	if most := runner.Budget().MaxUSD; most > 0 {
		budget = money(most, "USD") + " for the run"
	}
	dryRun{
		w: out, columns: columns, playbook: plan.Playbook, cfg: cfg, of: len(plan.Units), preview: preview,
		reports: runner.Reports(), past: historyOf(a.past(cfg.Root, plan.Playbook.File)), mde: o.mde, budget: budget,
	}.print()
	return nil
}

// runConfig returns the engine's configuration from the flags and the environment.
func (a *App) runConfig(root string, o runOptions) (engine.Config, error) {
	mode, err := engine.ParseMode(o.mode, engine.Live, a.Getenv)
	if err != nil {
		return engine.Config{}, fmt.Errorf("--mode: %w", err)
	}
	if said := a.Getenv("EVALTEST_MODE"); o.resume == "" && said != "" && said != string(mode) {
		return engine.Config{}, fmt.Errorf("EVALTEST_MODE is %q and the mode is %s: the variable is for go test, "+
			"so unset it, or give --mode %s", said, mode, said)
	}
	cfg, err := engine.FromEnvironment(mode, a.Getenv, a.Environ)
	if err != nil {
		return engine.Config{}, err
	}
	cfg.Root, cfg.Source, cfg.Cassettes, cfg.ConfigDir = root, root, cmp.Or(o.cassettes, defaultCassettes), o.configDir
	cfg.Sandbox, cfg.Parallel = cmp.Or(o.sandbox, cfg.Sandbox), cmp.Or(o.parallel, cfg.Parallel)
	cfg.LLMJudge = cfg.LLMJudge || o.llmJudge
	cfg.Untrusted = cfg.Untrusted || o.untrusted
	cfg.Secrets, cfg.Spent = a.secrets, new(llm.Spent)
	cfg.Models = engine.Models(a.Getenv, cfg.Spent)
	cfg.Budget.MaxUSD, _ = strconv.ParseFloat(o.budget, 64) // which the flags have checked
	if usd, err := strconv.ParseFloat(o.assume, 64); err == nil {
		cfg.Budget.AssumedUSD = &usd
	}
	cfg.Wait = defaultWait
	if o.wait != "" {
		cfg.Wait, _ = time.ParseDuration(o.wait) // which the flags have checked
	}
	cfg.Keep = &engine.Keep{Below: root, Tool: tool, AcceptChanged: o.acceptChanged}
	return cfg, nil
}

// carryOut runs the playbook that the options name, or resumes the run. It returns the report on a run that has
// finished.
func (a *App) carryOut(
	ctx context.Context, o runOptions, before former, cfg engine.Config, w *watcher,
) (done engine.Finished, rep *report.Report, err error) {
	var plan *plan.Plan
	if o.resume != "" {
		run, err := rundir.Resume(cfg.Root, o.resume, a.secrets)
		if err != nil {
			return engine.Finished{}, nil, err
		}
		defer run.Close()
		if cfg.Mode, err = engine.ParseMode(run.Manifest().Mode, engine.Live, a.Getenv); err != nil {
			return engine.Finished{}, nil, &engine.InputError{Err: err}
		}
		if plan, err = loadResumed(cfg, run); err != nil {
			return engine.Finished{}, nil, &engine.InputError{Err: err}
		}
		cfg.Keep.Resumed, cfg.Cassettes = run, run.Manifest().Cassettes
		selectUnits(&cfg, run.Manifest().Units)
	} else {
		if plan, err = a.loadPlan(cfg, a.path(o.playbook), listed(o.ablate)...); err == nil {
			o.citing(plan)
			err = o.choose(plan, before, &cfg)
		}
		if err == nil && o.rejudge != "" {
			cfg.Keep.Rejudged, err = rundir.Open(cfg.Root, o.rejudge, a.secrets)
		}
		if err != nil {
			return engine.Finished{}, nil, &engine.InputError{Err: err}
		}
		if of := cfg.Keep.Rejudged; of != nil {
			defer of.Close()
		}
	}
	var packed int64 = -1 // the size of the results when people got what they need to score
	cfg.Keep.Report = func(ctx context.Context, run *rundir.Run, last bool) error {
		o := reporting{ask: !last, models: cfg.Models, note: w.Note}
		results, err := run.Size(rundir.ResultsFile)
		if err != nil {
			return err
		}
		if packed == results {
			o.formats = report.Usual()
		}
		written, _, err := writeReports(ctx, run, o)
		if err != nil {
			return err
		}
		packed = results
		if last {
			rep = written
			return nil
		}
		return a.sendScores(ctx, run, w.Note)
	}
	past := sync.OnceValue(func() []result.Unit { return a.past(cfg.Root, plan.Playbook.File) })
	if cfg.Budget.Past = past; cfg.Mode != engine.Replay {
		w.past = past
	}
	runner, err := newRunner(plan, cfg)
	if err != nil {
		return engine.Finished{}, nil, &engine.InputError{Err: err}
	}
	if w.budget = runner.Budget().MaxUSD; w.budget > 0 {
		w.spent = runner.Spent
	}
	done, err = runner.Run(ctx, w)
	return done, rep, err
}

// command returns the command line of the same run in another mode.
func (o runOptions) command(mode engine.Mode) string {
	if o.front != nil {
		return o.front.line("--case", o.selection.cases, "--mode", string(mode))
	}
	if o.from.dir != "" {
		return o.fromLine(string(mode))
	}
	if o.rejudge != "" {
		return o.resumption(o.rejudge)
	}
	line := []string{"--playbook", o.playbook, "--mode", string(mode), "--cassettes", o.cassettes, "--ablate", o.ablate}
	line = append(line, "--shard", o.shard, "--weights", o.weights)
	if o.again != "" {
		line = []string{"--again", o.again, "--only", o.only, "--mode", string(mode)}
	}
	return o.commandLine(append(line, o.selection.flags()...)...)
}

// resumption returns the command line that resumes a run with the same flags and with more, or judges one anew from the
// beginning. The run's directory has its budget.
func (o runOptions) resumption(id string, more ...string) string {
	if o.front != nil {
		return o.front.line(append([]string{"--resume", id}, more...)...)
	}
	if o.rejudge != "" {
		return o.commandLine(o.rejudge)
	}
	o.budget, o.assume = "", ""
	return o.commandLine(append([]string{"--resume", id}, more...)...)
}

// commandLine returns the command line of a run with args, and with the flags of o that every run can have.
func (o runOptions) commandLine(args ...string) string {
	name := "run"
	if o.rejudge != "" {
		name = "rejudge"
	}
	line := append([]string{name}, args...)
	line = append(line, "--root", o.root, "--config-dir", o.configDir, "--sandbox", o.sandbox)
	line = append(line, "--budget-usd", o.budget, "--assume-cost", o.assume, "--wait", o.wait)
	if o.parallel > 0 {
		line = append(line, "--parallel", strconv.Itoa(o.parallel))
	}
	if o.llmJudge {
		line = append(line, "--llm-judge")
	}
	if o.untrusted {
		line = append(line, "--untrusted")
	}
	return commandLine(line...)
}

// failed gives an error its exit code and the command to run next.
func (o runOptions) failed(ctx context.Context, err error, done engine.Finished) error {
	if input, ok := errors.AsType[*engine.InputError](err); ok {
		e := &exitError{code: exitUsage, err: input, next: fault.Advice(input)}
		if _, unmet := errors.AsType[*engine.UnmetError](err); unmet { // the machine's fault, not the user's
			e.code = exitHarness
		}
		return e
	}
	e := &exitError{code: exitCode(ctx, err), err: err}
	if done.ID == "" && ctx.Err() == nil {
		o.notBegun(e)
	}
	if over, ok := errors.AsType[*engine.BudgetError](err); ok {
		e.next = o.resumption(done.ID, afford(over.Enough())...)
	} else if done.Resumable {
		e.next = o.resumption(done.ID)
	}
	return e
}

// afford returns the flags by which a run goes on whose budget was used up: one that is enough, or, if none is known to
// be, a cost for units that do not say theirs, which the user has to fill in.
func afford(enough float64) []string {
	if enough > 0 {
		return []string{"--budget-usd", fmt.Sprintf("%.2f", enough)}
	}
	return []string{"--assume-cost", "USD"}
}

// notBegun gives the error of a run that could not begin its exit code and the command to run next. A directory that
// cannot be created or written is an error of the environment.
func (o runOptions) notBegun(e *exitError) {
	full := errors.Is(e.err, syscall.ENOSPC) || errors.Is(e.err, syscall.EDQUOT)
	denied := errors.Is(e.err, fs.ErrPermission) || errors.Is(e.err, syscall.EROFS)
	if o.resume == "" || full || denied {
		e.code = exitUsage
	}
	again := o.resumption(o.resume, "--budget-usd", o.budget, "--assume-cost", o.assume)
	if o.resume == "" {
		again = o.command(engine.Mode(o.mode))
	}
	switch {
	case full:
		clean := commandLine("clean", "--keep", "20", "--root", o.root)
		e.next = "make room, for example with `" + clean + "`, then: " + again
	case denied:
		e.next = "make the directory writable for you, then: " + again
	}
}
