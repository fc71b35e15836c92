package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/mutate"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// mutateOptions are the flags of `sdd-eval mutate`.
type mutateOptions struct {
	recordingsFlags
	selection
	format, minKilled string
	strict, thorough  bool
	llmJudge          bool
	run               string
	sample, seed      int
}

func mutateCommand() command {
	return command{
		name: "mutate",
		usage: "[--format FORMAT] [--min-killed SHARE] [--strict] [--thorough] [--sample N] [--seed N]\n" +
			"                  [--llm-judge] [--root DIR] [--cassettes DIR] [--units PATTERN] [--case CASES]\n" +
			"                  [--variant VARIANTS] (PLAYBOOK... | --run RUN_ID)",
		short: "ask whether an eval would notice a bad agent",
		long: `Derives from each recorded session others that could have happened, in which the agent did worse, and
has the steps and evaluators of its playbook judge them. What an evaluator or a step fails is killed;
what passes has survived, and is shown with how it differs and what to write into the playbook. What
cannot be judged, such as a question that no recording answers, is unknown, and never killed. No
agent is started, no model is asked and no network is reached. docs/mutate.md has the operators.

With --llm-judge models, or agents that judge, are asked what no recording answers, after it was said
how many questions that are and how many tokens. Their answers are not recorded.

A playbook accepts a survivor with mutate.accept, and a reason.

With --run the playbook is that of a run, and the reports of the run show the score: report.html,
report.md and report.json. The mutants are made of the recordings as they are now.`,
		examples: `sdd-eval mutate evals/*/*.yaml
sdd-eval mutate --min-killed 0.9 evals/refund/refund.yaml
sdd-eval mutate --run latest
EVAL_LLM_MAX_CALLS=200 sdd-eval mutate --llm-judge --sample 20 evals/refund/refund.yaml
sdd-eval mutate --format junit evals/refund/refund.yaml > mutants.xml`,
		codes: `0  it has a score, and no less than --min-killed is known to be noticed
1  less was noticed than --min-killed says
2  the command line or a playbook is wrong, or accepts what does not survive
3  there is no score: a unit does not pass as it was recorded, nothing could be judged, or the tool failed;
   or too many mutants are unknown to tell whether --min-killed is met`,
		args: arguments{max: -1, what: "PLAYBOOK", kind: kindFile},
		define: func(a *App, f *flags) action {
			var o mutateOptions
			f.choice(&o.format, "format", "Print `FORMAT` in place of text: json, junit or markdown.",
				"json", "junit", "markdown")
			f.text(&o.minKilled, "min-killed", kindText, "Fail if a smaller `SHARE` of a playbook's mutants "+
				"is known to be killed, such as 0.9.")
			f.text(&o.run, "run", kindRun, "Judge the playbook of the run `RUN_ID`, or latest, and show the score in "+
				"its reports.")
			f.BoolVar(&o.strict, "strict", false, "Count survivors that the playbook accepts as not noticed.")
			f.BoolVar(&o.thorough, "thorough", false, "Have each step and evaluator judge each mutant, also where "+
				"another has failed it: the whole of who kills what.")
			f.BoolVar(&o.llmJudge, "llm-judge", false, "Ask models about mutants where no answer is recorded, "+
				"EVAL_LLM_MAX_CALLS at most.")
			f.number(&o.sample, "sample", 1, "Judge `N` mutants of each unit at most, chosen by a seed.")
			f.number(&o.seed, "seed", 0, "The `N` that --sample chooses by; default: 0.")
			o.selection.define(f)
			o.recordingsFlags.define(f)
			return func(ctx context.Context, files []string) error { return a.mutate(ctx, o, files) }
		},
	}
}

// mutate goes on after a playbook without a score, so that one call shows everything.
func (a *App) mutate(ctx context.Context, o mutateOptions, files []string) error {
	gate, err := o.gate()
	if err != nil {
		return err
	}
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	var of *rundir.Run
	switch {
	case (o.run == "") == (len(files) == 0):
		return usageError("mutate: give playbooks, or --run RUN_ID").hint("sdd-eval mutate --help")
	case o.run != "" && o.selection != (selection{}):
		return usageError("mutate: the reports of a run show the score of all its playbook: remove %s or --run",
			o.selection)
	case o.run != "":
		if of, err = a.openRun(o.root, o.run); err != nil {
			return err
		}
		defer of.Close()
		files = []string{filepath.Join(root, filepath.FromSlash(of.Manifest().Playbook.Path))}
	}
	cfg, err := engine.FromEnvironment(engine.Replay, a.Getenv, a.Environ)
	if err != nil {
		return usageError("%w", err)
	}
	cfg.LLMJudge, cfg.Spent = o.llmJudge, new(llm.Spent)
	var reports []mutate.Report
	bad, asked := &exitError{}, 0
	for _, file := range files {
		runner, planned, err := a.recordingsBy(cfg, root, o.recordingsFlags, file)
		if err != nil {
			return err
		}
		if of != nil && !of.Manifest().Ran(planned.Playbook.Text) {
			return usageError("%s is no longer what it was in the run %s, of which the score would not be", file,
				of.ID()).hint(commandLine("run", file))
		}
		config, err := o.config(planned)
		if err != nil {
			return usageError("mutate: %w", err).hint("sdd-eval mutate --help")
		}
		if o.llmJudge {
			config.Ask = a.askAbout(file, &asked)
		}
		report, err := mutate.Run(ctx, runner, planned, config)
		if ctx.Err() != nil {
			return err
		}
		if err == nil {
			reports = append(reports, report)
			if len(report.Questions) > 0 && !o.llmJudge {
				a.tellPrice(file, "--llm-judge asks them", report.Questions)
			}
			err = o.verdict(report, gate, commandLine("mutate", "--format", "json", file), bad)
		}
		if _, wrong := errors.AsType[doc.Problems](err); wrong {
			bad.worsen(exitUsage, err, "")
		} else if err != nil {
			bad.worsen(exitHarness, err, fault.Advice(err))
		}
	}
	if err := a.tellMutants(ctx, o, root, of, reports); err != nil {
		return err
	}
	if bad.code != 0 {
		return bad
	}
	return nil
}

// tellMutants prints what became of mutants, also for the CI system and, if they are of a run, in its reports.
func (a *App) tellMutants(
	ctx context.Context, o mutateOptions, root string, of *rundir.Run, reports []mutate.Report,
) error {
	text, err := a.formatMutation(o, reports)
	if err != nil {
		return err
	}
	switch o.format {
	case "json", "junit":
		fmt.Fprint(inJSON{a.Stdout}, text)
	default:
		fmt.Fprint(a.Stdout, text)
	}
	if file := a.Getenv(summaryVariable); file != "" && len(reports) > 0 {
		if err := a.summarize(root, file, []byte(a.secrets.String(mutate.Markdown(reports, o.strict)))); err != nil {
			return err
		}
	}
	if of != nil && len(reports) == 1 {
		return a.reportMutants(ctx, of, reports[0], o.strict)
	}
	return nil
}

// askAbout says what questions about a playbook's mutants take, and refuses more than are allowed with those before.
func (a *App) askAbout(file string, before *int) func([]judgment.Question) error {
	return func(all []judgment.Question) error {
		most, err := llm.MaxCalls(a.Getenv)
		if err != nil {
			return err
		}
		a.tellPrice(file, "which are asked now", all)
		if *before += len(all); *before > most {
			return fault.Advise(fmt.Errorf("%s: models would be asked %d questions, and EVAL_LLM_MAX_CALLS allows %d",
				file, *before, most), "set EVAL_LLM_MAX_CALLS to a larger number, or judge fewer mutants: --sample N")
		}
		return nil
	}
}

// tellPrice says what questions take.
func (a *App) tellPrice(file, what string, all []judgment.Question) {
	text := fmt.Sprintf("%s: questions that no recording answers, %s: %s", file, what, mutate.Price(all))
	fmt.Fprintln(a.Stderr, printable(a.secrets.String(text)))
}

// gate is the share of mutants that has to be killed; 0: any.
func (o mutateOptions) gate() (float64, error) {
	if o.minKilled == "" {
		return 0, nil
	}
	gate, err := strconv.ParseFloat(o.minKilled, 64)
	if err != nil || !(gate > 0 && gate <= 1) {
		return 0, usageError("--min-killed %s: use a share of more than 0, up to 1, such as 0.9",
			printable(o.minKilled)).hint("sdd-eval mutate --help")
	}
	return gate, nil
}

// verdict makes bad worse by a score that is too low, and returns an error for one that nobody knows.
func (o mutateOptions) verdict(of mutate.Report, gate float64, details string, bad *exitError) error {
	low, err := of.Count().Gate(gate, o.strict)
	if err == nil {
		return nil
	}
	if _, known := of.Count().Score(o.strict); !known {
		return fault.Advise(fmt.Errorf("%s: %w", of.Playbook, err), "see why each is unknown: "+details)
	}
	if err = fmt.Errorf("%s: %w (--min-killed)", of.Playbook, err); low {
		bad.worsen(exitFailed, err, "strengthen what the survivors name")
		return nil
	}
	return fault.Advise(err, "add evaluators that ask no model, and notice what the unknown mutants do")
}

// reportMutants has the reports of a run show whether its evals would notice a bad agent.
func (a *App) reportMutants(ctx context.Context, r *rundir.Run, of mutate.Report, strict bool) error {
	sessions := "They were made of the recordings as they are now, which this run has replayed or made."
	if m := r.Manifest(); m.Mode == string(engine.Live) {
		sessions = "They were made of the recordings, not of this run's sessions, which were live."
	}
	if err := r.SetMutants(of.Kept(sessions, strict)); err != nil {
		return err
	}
	_, files, err := writeReports(ctx, r, reporting{formats: []string{"md", "json", "html"}})
	for _, file := range files {
		a.note(filepath.Join(r.Dir(), file))
	}
	return err
}

// config says which mutants of a plan are judged.
func (o mutateOptions) config(planned *plan.Plan) (mutate.Config, error) {
	c := mutate.Config{
		Sample: o.sample, Seed: uint64(o.seed), Thorough: o.thorough, Only: o.selection.String(),
	}
	ids := make([]string, len(planned.Units))
	for i, u := range planned.Units {
		ids[i] = u.ID()
	}
	keep, err := o.chosen(ids)
	if keep != nil {
		c.Selected = func(u plan.Unit) bool { return keep(u.Case.ID, u.Variant.ID) }
	}
	return c, err
}

// worsen adds an error; the highest code stays.
func (e *exitError) worsen(code int, err error, next string) {
	e.err = errors.Join(e.err, err)
	if code > e.code {
		e.code, e.next = code, next
	}
}

// formatMutation writes reports in the format that is wanted, without secrets.
func (a *App) formatMutation(o mutateOptions, reports []mutate.Report) (string, error) {
	switch o.format {
	case "json":
		data, err := mutate.JSON(reports, o.strict)
		return a.secrets.String(string(data)), err
	case "junit":
		var b bytes.Buffer
		err := mutate.JUnit(&b, reports)
		return a.secrets.String(b.String()), err
	case "markdown":
		return a.secrets.String(mutate.Markdown(reports, o.strict)), nil
	}
	return a.secrets.String(mutate.Text(reports, o.strict)), nil
}

// summarize adds a text, in which secrets are masked, to the summary of a job of GitHub's, if there is room for it.
func (a *App) summarize(root, file string, text []byte) error {
	if err := disk.Within(root, file).Check(file); err != nil {
		return err
	}
	added, err := appendSummary(file, func(room int) []byte {
		if len(text) > room {
			return nil
		}
		return text
	})
	if err == nil && !added {
		fmt.Fprintln(a.Stderr, "the summary of the job has no room for the mutants")
	}
	return err
}
