package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/agreement"
	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/scoring/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
)

func agreementCommand() command {
	return command{
		name:  "agreement",
		usage: "[RUN_ID] [--keep] [--json] [--root DIR]",
		short: "say how far people agree with each other, and judges with them",
		long: `Compares what people said of a run, see import-human, with each other and with the verdicts of its
evaluators: Cohen's kappa and how often each says that a unit is solved, Krippendorff's alpha, and
weighted kappa of scores, each with a 95 % interval. A judge that agrees with people no more than by
chance has a kappa of 0. Pass rates under a judge are corrected by the labels that there are.

--keep writes how far judges agree with people to baselines/NAME.agreement.json, of the playbook NAME:
commit it. An evaluator with min_agreement ends in error where that file does not show that people
agree with it, as it is now.`,
		examples: `sdd-eval agreement
sdd-eval agreement 20260131-101500-demo-k3v9 --json`,
		codes: `0  there is something to compare
2  the command line is wrong, or nobody has labelled or scored the run`,
		args: arguments{max: 1, what: "RUN_ID", kind: kindRun},
		define: func(a *App, f *flags) action {
			var root string
			var asJSON, keep bool
			f.BoolVar(&keep, "keep", false, "Keep what it finds for evaluators with min_agreement.")
			f.BoolVar(&asJSON, "json", false, "Print JSON instead of text.")
			f.root(&root)
			return func(_ context.Context, args []string) error {
				return a.agreement(root, cmp.Or(append(args, latest)...), asJSON, keep)
			}
		},
	}
}

func (a *App) agreement(rootFlag, run string, asJSON, keep bool) error {
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
	if keep {
		path, err := a.keepAgreements(rootFlag, r.Manifest(), report)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Stderr, "kept: "+a.shown(path))
	}
	if asJSON {
		return a.printJSON(report)
	}
	fmt.Fprint(a.Stdout, report.Text())
	return nil
}

// keepAgreements writes how far the judges of a run agree with people, and returns the path.
func (a *App) keepAgreements(rootFlag string, m rundir.Manifest, report *agreement.Report) (string, error) {
	root, err := a.projectRoot(rootFlag)
	if err != nil {
		return "", err
	}
	kept := judgment.Agreements{
		Version: 1, Playbook: m.Playbook.Path, Run: m.RunID, Judges: make(map[string]judgment.Agreement),
	}
	for _, c := range m.Cases {
		kept.Files = c.Digests["judging files"]
	}
	for _, p := range report.Judges {
		if digest := m.JudgeDigests[p.B]; digest != "" && p.Units > 0 {
			kept.Judges[p.B] = judgment.Agreement{
				Digest: digest, Units: p.Units, Kappa: figure(p.Kappa.Value), Low: figure(p.Kappa.Interval[0]),
				High: figure(p.Kappa.Interval[1]),
			}
		}
	}
	if len(kept.Judges) == 0 {
		return "", usageError("agreement: nothing to keep: people have labelled no unit that an evaluator of a "+
			"playbook judged in the run %s", m.RunID)
	}
	path := filepath.Join(root, judgment.AgreementsPath(m.Name))
	return path, kept.Write(disk.Tree(root), path, a.shown(path), a.secrets)
}

// figure returns a figure as people read it, nil if it is not known.
func figure(n compare.Number) *float64 {
	if math.IsNaN(float64(n)) {
		return nil
	}
	rounded := math.Round(float64(n)*1e4) / 1e4
	return &rounded
}
