package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/agreement"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/scoring/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
)

func agreementCommand() command {
	return command{
		name:  "agreement",
		usage: "[RUN_ID] [--json] [--root DIR]",
		short: "say how far people agree with each other, and judges with them",
		long: `Compares what people said of a run, see import-human, with each other and with the verdicts of its
evaluators: Cohen's kappa and how often each says that a unit is solved, Krippendorff's alpha, and
weighted kappa of scores, each with a 95 % interval. A judge that agrees with people no more than by
chance has a kappa of 0. Pass rates under a judge are corrected by the labels that there are.`,
		examples: `sdd-eval agreement
sdd-eval agreement 20260131-101500-demo-k3v9 --json`,
		codes: `0  there is something to compare
2  the command line is wrong, or nobody has labelled or scored the run`,
		args: arguments{max: 1, what: "RUN_ID", kind: kindRun},
		define: func(a *App, f *flags) action {
			var root string
			var asJSON bool
			f.BoolVar(&asJSON, "json", false, "Print JSON instead of text.")
			f.root(&root)
			return func(_ context.Context, args []string) error {
				return a.agreement(root, cmp.Or(append(args, latest)...), asJSON)
			}
		},
	}
}

func (a *App) agreement(rootFlag, run string, asJSON bool) error {
	r, err := a.openRun(rootFlag, run)
	if err != nil {
		return err
	}
	defer r.Close()
	units, err := r.Units()
	if err != nil {
		return err
	}
	people, err := human.Load(r)
	if err != nil {
		return err
	}
	scores, err := aijudge.Load(r)
	if err != nil {
		return err
	}
	if len(people) == 0 {
		return usageError("agreement: nobody has labelled or scored the run %s: let people say in human-pack.html "+
			"which units are solved, and import their scores.json", r.ID()).
			hint(commandLine("report", r.ID(), "--format", humanFormat, "--root", rootFlag))
	}
	report := agreement.Of(r.ID(), units, people, scores)
	if asJSON {
		data, err := jsonvalue.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "%s\n", data)
		return nil
	}
	fmt.Fprint(a.Stdout, report.Text())
	return nil
}
