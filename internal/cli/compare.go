package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/baseline"
	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// comparing are the flags of `sdd-eval compare`.
type comparing struct {
	root, a, b, scope, gate, alpha, margin, format string
	asJSON                                         bool
}

func compareCommand() command {
	return command{
		name: "compare",
		usage: "BASE HEAD [--gate worse|not-worse|better|none] [--margin M] [--alpha A]\n" +
			"                  [--scope suite|population] [--format text|json|md|html|junit] [--root DIR]\n" +
			"  sdd-eval compare RUN --a VARIANT [--b VARIANTS] ...",
		short: "say whether one arm does better than another, and how sure that is",
		long: `Compares the pass rates of two runs, variant by variant, or of the variants of one run, case by
case. BASE and HEAD are each a run's id or the beginning of one, latest, latest~1 (the one before), a
run's directory, a report.json, or the name of a baseline; :VARIANT behind it selects one variant.
What ended in an error, was skipped or did not run is missing; it is no failure.

The verdict stands first: better, worse, not worse (a drop as large as the margin is refused),
inconclusive (and what would decide it), or invalid: then nothing is known. docs/decisions.md says
how it is reached, and how often it is wrong.`,
		examples: `sdd-eval compare latest~1 latest
sdd-eval compare latest~1 latest --format html > compare.html
sdd-eval compare main latest:claude --gate not-worse --margin 0.1
sdd-eval compare latest --a claude --b codex`,
		codes: `0  the gate passes; for --gate worse, the default, also if the verdict is inconclusive
1  it is what the gate refuses: worse
2  the command line is wrong, or an arm cannot be read
3  a comparison is invalid: nothing is known
4  it is inconclusive where the gate wants more`,
		args: arguments{min: 1, max: 2, what: "BASE", kind: kindRun},
		define: func(a *App, f *flags) action {
			o := comparing{
				scope: string(compare.Suite), gate: string(compare.GateWorse), alpha: "0.05", margin: "0.05",
				format: "text",
			}
			f.text(&o.a, "a", kindText, "The `VARIANT` of the one run to compare the others with.")
			f.text(&o.b, "b", kindText,
				"The `VARIANTS` of the one run to compare, separated by commas; default: all others.")
			f.choice(&o.gate, "gate",
				"Which `VERDICT` fails: worse (only that), not-worse (all but better and not worse), "+
					"better (all but better) or none.", "worse", "not-worse", "better", "none")
			f.text(&o.margin, "margin", kindText, "The loss of the mean pass rate that does not matter, a `SHARE`.")
			f.text(&o.alpha, "alpha", kindText, "How often a difference is seen where there is none, a `SHARE`.")
			f.choice(&o.scope, "scope",
				"Whether the verdict is of these cases (`SCOPE` suite) or of all of which they are a "+
					"sample (population).", string(compare.Suite), string(compare.Population))
			formats := []string{"text"}
			for _, format := range report.ComparisonFormats {
				formats = append(formats, format.Name)
			}
			f.choice(&o.format, "format", "Print the `FORMAT` text, json, md (for the summary of a CI job), html (a "+
				"page) or junit.", formats...)
			f.BoolVar(&o.asJSON, "json", false, "The same as --format json.")
			f.root(&o.root)
			return func(_ context.Context, args []string) error { return a.compare(o, args) }
		},
	}
}

func (a *App) compare(o comparing, args []string) error {
	rule := compare.Rule{Scope: compare.Scope(o.scope)}
	var err error
	if rule.Alpha, err = share("compare", "alpha", o.alpha); err != nil {
		return err
	}
	if rule.Margin, err = share("compare", "margin", o.margin); err != nil {
		return err
	}
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	var arms []compare.Arms
	switch {
	case len(args) == 2 && (o.a != "" || o.b != ""):
		return usageError("compare: --a and --b are for one run; with two, write BASE:VARIANT and HEAD:VARIANT")
	case len(args) == 2:
		arms, err = a.find(root).Two(args[0], args[1])
	default:
		arms, err = a.find(root).One(args[0], o.a, o.b)
	}
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	all := rule.CompareAll(arms)
	for i, c := range all {
		c.Base.Page, c.Head.Page = a.pageOf(arms[i].Base.Dir), a.pageOf(arms[i].Head.Dir)
	}
	if o.asJSON {
		o.format = "json"
	}
	if err := a.printComparisons(all, o); err != nil {
		return err
	}
	if code := compare.Gate(o.gate).Exit(all); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// pageOf returns the path of the page of a run in a directory, relative to the working directory, where what is printed
// is likely to be kept; empty if there is none.
func (a *App) pageOf(dir string) string {
	page := filepath.Join(dir, report.Page)
	if info, err := os.Lstat(page); dir == "" || err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if rel, err := filepath.Rel(a.Dir, page); err == nil {
		page = rel
	}
	return filepath.ToSlash(page)
}

// printComparisons prints them in the format that was asked for.
func (a *App) printComparisons(all []*compare.Comparison, o comparing) error {
	for _, f := range report.ComparisonFormats {
		if f.Name != o.format {
			continue
		}
		data, err := f.Render(all, compare.Gate(o.gate))
		if err != nil {
			return err
		}
		w := a.Stdout
		if f.Name == "json" {
			w = inJSON{w}
		}
		_, err = w.Write(data)
		return err
	}
	for i, c := range all {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		fmt.Fprint(a.Stdout, c.Text())
	}
	return nil
}

// share reads the value of a flag that is between 0 and 1.
func share(command, name, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1) {
		return 0, usageError("--%s %s: use a number between 0 and 1, such as 0.05", name, printable(text)).
			hint("sdd-eval " + command + " --help")
	}
	return v, nil
}

// find returns what finds arms for the words of a command line.
func (a *App) find(root string) baseline.Finder {
	return baseline.Finder{Root: root, Dir: a.Dir, Mask: a.secrets}
}

func blessCommand() command {
	return command{
		name:  "bless",
		usage: "RUN --as NAME [--root DIR]",
		short: "keep what a run came to as a baseline, to compare later ones with",
		long: `Writes baselines/NAME.json below the project's root: the outcomes, scores and costs of a run's
units and the digests of its cases, without what agents said. Commit it, and compare later runs with
it: sdd-eval compare NAME latest. Nothing else changes it.`,
		examples: `sdd-eval bless latest --as main`,
		codes: `0  the baseline is written
2  the command line is wrong, or there is no such run`,
		args: arguments{min: 1, max: 1, what: "RUN", kind: kindRun},
		define: func(a *App, f *flags) action {
			var root, name string
			f.text(&name, "as", kindText, "The `NAME` of the baseline.")
			f.require("as")
			f.root(&root)
			return func(_ context.Context, args []string) error { return a.bless(root, args[0], name) }
		},
	}
}

func (a *App) bless(rootFlag, word, name string) error {
	root, err := a.projectRoot(rootFlag)
	if err != nil {
		return err
	}
	id, err := findRun(root, word)
	if err != nil {
		return err
	}
	b, err := a.find(root).Run(id)
	if err != nil {
		return err
	}
	if b.Selected != "" {
		return usageError("%s is %s: a baseline is of all units", id, b.Selected).
			hint("sdd-eval run, without a selection")
	}
	if b.State != rundir.StateFinished {
		return usageError("%s is %s: a baseline is of all units", id, b.State).
			hint(commandLine("show", id, "--root", rootFlag))
	}
	path, err := baseline.Write(root, name, b, a.secrets)
	if errors.Is(err, baseline.ErrName) {
		return usageError("--as %s: %w", printable(name), err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s: %s of %s\n", filepath.ToSlash(path), excerpt.Count(len(b.Variants), "variant"), id)
	return nil
}
