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
	"strconv"
	"strings"
	"syscall"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
	_ "github.com/sdd-eval/sdd-eval/internal/tracing/otlp" // sends the traces of runs
)

// runOptions are the flags of `sdd-eval run`.
type runOptions struct {
	playbook, resume           string
	mode, cassettes, configDir string
	root, sandbox              string
	parallel                   int
	llmJudge, acceptChanged    bool
	untrusted, open            bool
}

func runCommand() command {
	return command{
		name: "run",
		usage: "FILE [--mode live|record|missing|replay] [--cassettes DIR] [--parallel N]\n" +
			"               [--config-dir DIR] [--root DIR] [--sandbox auto|bwrap|landlock|command|none]\n" +
			"               [--llm-judge] [--untrusted] [--open]\n" +
			"  sdd-eval run --resume RUN_ID [--accept-changed] [FLAGS]",
		short: "run a playbook",
		long: `Runs the jobs of a playbook for each of its variants, each in a workspace of its own, and keeps
everything that happens in a new directory below .llman/sdd-eval/runs. The path of the directory is
the last line of standard output; everything else goes to standard error: at the end a table of the
variants, and why not everything passed. The reports are in the directory. --resume continues a run
that was interrupted or killed; it does not repeat what has ended, and refuses if the judges,
goldens, prompt files or fixtures of the playbook have changed since.`,
		examples: `sdd-eval run .llman/sdd-eval/playbooks/demo.yaml
sdd-eval run demo.yaml --parallel 4
sdd-eval run --resume latest`,
		codes: `0    all units passed, or completed if nothing judges them
1    a unit or a job failed
2    the command line, the playbook or the configuration is wrong
3    a unit or a job ended in an error: nothing is known about its agent
130  interrupted; continue with --resume`,
		args: arguments{max: 1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			o := runOptions{mode: "live"}
			f.text(&o.playbook, "playbook", kindFile,
				"The playbook `FILE`, relative to the working directory, like the argument.")
			f.text(&o.resume, "resume", kindRun,
				"The `RUN_ID` of the run to continue, the beginning of one, or latest.")
			f.choice(&o.mode, "mode",
				"The `MODE` says where sessions come from: live runs the agents; record runs them and writes "+
					"cassettes; missing records only what has no cassette; replay plays cassettes and runs no agent.",
				"live", "record", "missing", "replay")
			f.text(&o.cassettes, "cassettes", kindDir,
				"The `DIR` of the cassettes; default: cassettes below the project's root.")
			f.number(&o.parallel, "parallel", 1,
				"Run up to `N` units at the same time; default: EVALTEST_PARALLEL, else the playbook's number, else "+
					"the number of processors in replay and 1 in other modes.")
			f.configDir(&o.configDir)
			f.root(&o.root)
			f.choice(&o.sandbox, "sandbox",
				"The `KIND` of sandbox that confines agents and the code they write; default: EVALTEST_SANDBOX, else "+
					"the playbook's, else auto, the strongest that works here.",
				"auto", "bwrap", "landlock", "command", "none")
			f.BoolVar(&o.llmJudge, "llm-judge", false,
				"Let evaluators ask models where no answer is recorded, like EVAL_LLM_JUDGE=1.")
			f.untrusted(&o.untrusted)
			f.BoolVar(&o.open, "open", false, "Open report.html in the browser when the run has ended.")
			f.BoolVar(&o.acceptChanged, "accept-changed", false,
				"Resume a run although what judges its units has changed. The run and its reports say so.")
			return func(ctx context.Context, args []string) error {
				if len(args) > 0 && o.playbook == "" {
					o.playbook, args = args[0], nil
				}
				switch {
				case len(args) > 0:
					return usageError("run: give one playbook, FILE or --playbook FILE").hint("sdd-eval run --help")
				case o.acceptChanged && o.resume == "":
					return usageError("run: --accept-changed is for --resume").hint("sdd-eval run --help")
				case (o.playbook == "") == (o.resume == ""):
					return usageError("run: give either a playbook FILE or --resume RUN_ID").hint("sdd-eval run --help")
				case o.resume != "" && (f.Changed("mode") || f.Changed("cassettes")):
					return usageError("run: --resume continues a run as it began: remove --mode and --cassettes")
				}
				return a.run(ctx, o)
			}
		},
	}
}

// run runs a playbook, or resumes a run.
func (a *App) run(ctx context.Context, o runOptions) error {
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	cfg, err := a.runConfig(root, o)
	if err != nil {
		return usageError("run: %w", err)
	}
	again := o
	if o.resume == "" {
		o.playbook = a.path(o.playbook)
	} else if o.resume, again, err = a.resumed(root, o); err != nil {
		return err
	}
	cfg.Command = func(m engine.Mode, _ plan.Unit) string { return again.command(m) }
	// A run makes much garbage and keeps little, so the garbage collector would go through a small heap every few
	// milliseconds. The ballast has it wait until as much again is allocated. It is never written to, so it takes no
	// memory.
	ballast := make([]byte, 32<<20)
	defer runtime.KeepAlive(ballast)
	w := a.newWatcher(a.secrets)
	done, rep, err := a.carryOut(ctx, o, cfg, w)
	w.close()
	a.ended(ctx, o, done, rep)
	if err != nil {
		return again.failed(ctx, err, done)
	}
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted, err: errors.New("interrupted"), next: o.resumption(done.ID)}
	}
	return verdict(done.Verdict, done.ID, o.root)
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
		summarise(a.Stderr, rep, columns)
	}
	fmt.Fprintln(a.Stderr, tallyOf(done.Units, done.Listed).String()+notAsked(done.Units))
	if page := filepath.Join(done.Dir, report.Page); rep != nil {
		fmt.Fprintln(a.Stderr, "report: "+a.shown(page))
		if o.open {
			a.open(ctx, page)
		}
	}
	fmt.Fprintln(a.Stdout, done.Dir)
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
	cfg.Secrets, cfg.Models = a.secrets, engine.Models(a.Getenv)
	cfg.Keep = &engine.Keep{Below: root, Tool: tool, AcceptChanged: o.acceptChanged}
	return cfg, nil
}

// carryOut runs the playbook that the options name, or resumes the run. It returns the report on a run that has
// finished.
func (a *App) carryOut(
	ctx context.Context, o runOptions, cfg engine.Config, w *watcher,
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
	} else if plan, err = a.loadPlan(cfg, o.playbook); err != nil {
		return engine.Finished{}, nil, &engine.InputError{Err: err}
	}
	var packed int64 = -1 // the size of the results when people got what they need to score
	cfg.Keep.Report = func(ctx context.Context, run *rundir.Run, last bool) error {
		o := reporting{ask: !last, models: cfg.Models, note: w.Note}
		results, err := run.Size(rundir.ResultsFile)
		if err != nil {
			return err
		}
		if packed == results {
			o.formats = report.Names()
		}
		written, _, err := writeReports(ctx, run, o)
		if err == nil {
			packed = results
		}
		if err == nil && last {
			rep = written
		}
		return err
	}
	runner, err := engine.New(plan, cfg)
	if err == nil && runner.Reports() && plan.Playbook.Report.AIJudge.Enabled {
		_, err = judgeOf(cfg.Models) // fail before agents do work, rather than when the report is made
	}
	if err != nil {
		return engine.Finished{}, nil, &engine.InputError{Err: err}
	}
	done, err = runner.Run(ctx, w)
	return done, rep, err
}

// resumed returns the id of the run that o resumes, and the options that would begin such a run.
func (a *App) resumed(root string, o runOptions) (id string, again runOptions, err error) {
	if id, err = findRun(root, o.resume); err != nil {
		return "", runOptions{}, err
	}
	run, err := rundir.Open(root, id, a.secrets)
	if err != nil {
		return "", runOptions{}, err
	}
	defer run.Close()
	m := run.Manifest()
	if m.Tool == engine.TestTool {
		return "", runOptions{}, usageError("run: %s was made by go test, and this command does not have the test's "+
			"checks in Go: run the test again", id)
	}
	again = o
	again.playbook = filepath.FromSlash(m.Playbook.Path)
	if !filepath.IsAbs(again.playbook) {
		again.playbook = a.shown(filepath.Join(root, again.playbook))
	}
	if m.Cassettes != defaultCassettes {
		again.cassettes = m.Cassettes
	}
	return id, again, nil
}

// command returns the command line of the same run in another mode.
func (o runOptions) command(mode engine.Mode) string {
	return o.commandLine("--playbook", o.playbook, "--mode", string(mode), "--cassettes", o.cassettes)
}

// resumption returns the command line that resumes a run with the same flags.
func (o runOptions) resumption(id string) string { return o.commandLine("--resume", id) }

// commandLine returns the command line of a run with args, and with the flags of o that every run can have.
func (o runOptions) commandLine(args ...string) string {
	line := append([]string{"run"}, args...)
	line = append(line, "--root", o.root, "--config-dir", o.configDir, "--sandbox", o.sandbox)
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
	if done.Resumable {
		e.next = o.resumption(done.ID)
	}
	return e
}

// notBegun gives the error of a run that could not begin its exit code and the command to run next. A directory that
// cannot be created or written is an error of the environment.
func (o runOptions) notBegun(e *exitError) {
	full := errors.Is(e.err, syscall.ENOSPC) || errors.Is(e.err, syscall.EDQUOT)
	denied := errors.Is(e.err, fs.ErrPermission) || errors.Is(e.err, syscall.EROFS)
	if o.resume == "" || full || denied {
		e.code = exitUsage
	}
	again := o.resumption(o.resume)
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

// watcher shows a run on standard error, without secrets. It implements [engine.Sink].
type watcher struct {
	screen   screen
	secrets  *secret.Set
	progress *progress // nil before Begin
}

func (a *App) newWatcher(secrets *secret.Set) *watcher {
	return &watcher{screen: screenOf(a.Stderr, a.Getenv, a.Now), secrets: secrets}
}

// close gives the terminal back.
func (w *watcher) close() {
	if w.progress != nil {
		w.progress.close()
	}
}

func (w *watcher) Begin(total int, finished []result.Unit, notes []string) {
	w.progress = newProgress(w.screen, total)
	w.progress.known(finished)
	if len(finished) > 0 {
		w.Note(fmt.Sprintf("%d of %d units already have a result", len(finished), total))
	}
	w.notes(notes)
}

// UnitStarts returns a writer that discards the notes about the unit: its session log has all of them.
func (w *watcher) UnitStarts(u plan.Unit) io.Writer {
	w.progress.start(u.ID())
	return io.Discard
}

func (w *watcher) UnitEnds(_ plan.Unit, u result.Unit) {
	if u.Interrupted {
		return
	}
	shown := u
	if len(u.Steps) > 0 && u.Steps[len(u.Steps)-1].Reason == u.Reason {
		shown.Reason = "" // it is shown with the step
	}
	shown.Reason = w.secrets.String(shown.Reason)
	w.progress.end(shown)
	w.notes(explain(u))
}

func (w *watcher) JobEnds(j result.Job) {
	if j.Interrupted {
		return
	}
	line := fmt.Sprintf("job %s: %s", j.ID, j.Outcome)
	if j.Reason != "" {
		line += ": " + j.Reason
	}
	w.Note(line)
	w.notes(explainSteps(j.Steps))
}

func (w *watcher) Activity(a session.Activity) {
	a.Tool = w.secrets.String(a.Tool)
	w.progress.update(a)
	if a.Pause != "" {
		w.Note(a.Unit + ": " + a.Pause)
	}
}

func (w *watcher) Note(text string) {
	w.progress.note(w.secrets.String(text))
}

func (w *watcher) notes(lines []string) {
	for _, line := range lines {
		w.Note(line)
	}
}

// explain returns lines that say why a unit did not pass, and which evaluators did not judge it.
func explain(u result.Unit) []string {
	lines := explainSteps(u.Steps)
	for _, e := range u.Evaluations {
		switch {
		case e.Outcome == result.Fail || e.Outcome == result.Error:
			lines = append(lines, fmt.Sprintf("  %s: %s: %s", e.Position, e.Name, e.Reason))
		case e.Outcome == result.Skip && u.Metrics == nil: // the agent did not start, which the unit's reason says
		case e.Outcome == result.Skip || e.Outcome == result.Reported:
			line := fmt.Sprintf("  %s: %s: %s: %s", e.Position, e.Name, e.Outcome, e.Reason)
			lines = append(lines, strings.TrimSuffix(line, ": "))
		}
	}
	for _, w := range u.Warnings {
		lines = append(lines, "  warning: "+w)
	}
	if u.Next != "" {
		lines = append(lines, "  next: "+u.Next)
	}
	return lines
}

func explainSteps(steps []result.Step) []string {
	var lines []string
	for _, s := range steps {
		if s.Outcome != result.Fail && s.Outcome != result.Error {
			continue
		}
		if s.Output != "" {
			lines = append(lines, "  "+strings.ReplaceAll(s.Output, "\n", "\n  "))
		}
		lines = append(lines, fmt.Sprintf("  %s: step %q: %s", s.Position, s.Name, s.Reason))
	}
	return lines
}
