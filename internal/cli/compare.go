package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/baseline"
	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// comparing are the flags of `sdd-eval compare`.
type comparing struct {
	root, a, b, scope, gate, alpha, margin string
	asJSON                                 bool
}

func compareCommand() command {
	return command{
		name: "compare",
		usage: "BASE HEAD [--gate worse|not-worse|better|none] [--margin M] [--alpha A]\n" +
			"                  [--scope suite|population] [--json] [--root DIR]\n" +
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
sdd-eval compare main latest:claude --gate not-worse --margin 0.1
sdd-eval compare latest --a claude --b codex`,
		codes: `0  the gate passes; for --gate worse, the default, also if the verdict is inconclusive
1  it is what the gate refuses: worse
2  the command line is wrong, or an arm cannot be read
3  a comparison is invalid: nothing is known
4  it is inconclusive where the gate wants more`,
		args: arguments{min: 1, max: 2, what: "BASE", kind: kindRun},
		define: func(a *App, f *flags) action {
			o := comparing{scope: string(compare.Suite), gate: string(compare.GateWorse), alpha: "0.05", margin: "0.05"}
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
			f.BoolVar(&o.asJSON, "json", false, "Print JSON instead of text.")
			f.root(&o.root)
			return func(_ context.Context, args []string) error { return a.compare(o, args) }
		},
	}
}

func (a *App) compare(o comparing, args []string) error {
	rule := compare.Rule{Scope: compare.Scope(o.scope)}
	var err error
	if rule.Alpha, err = share("alpha", o.alpha); err != nil {
		return err
	}
	if rule.Margin, err = share("margin", o.margin); err != nil {
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
		arms, err = a.armsOfTwo(root, args[0], args[1])
	default:
		arms, err = a.armsOfOne(root, args[0], o)
	}
	if err != nil {
		return err
	}
	all := rule.CompareAll(arms)
	if o.asJSON {
		data, err := jsonvalue.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "%s\n", data)
	} else {
		for i, c := range all {
			if i > 0 {
				fmt.Fprintln(a.Stdout)
			}
			fmt.Fprint(a.Stdout, c.Text())
		}
	}
	if code := compare.Gate(o.gate).Exit(all); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// share reads the value of a flag that is between 0 and 1.
func share(name, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1) {
		return 0, usageError("--%s %s: use a number between 0 and 1, such as 0.05", name,
			text).hint("sdd-eval compare --help")
	}
	return v, nil
}

// armsOfTwo pairs the variants of two sources: the ones that are named, else those of the same id, else the only ones.
func (a *App) armsOfTwo(root, first, second string) ([]compare.Arms, error) {
	base, err := a.source(root, first)
	if err != nil {
		return nil, err
	}
	head, err := a.source(root, second)
	if err != nil {
		return nil, err
	}
	if base.variant != "" || head.variant != "" || len(base.IDs()) == 1 && len(head.IDs()) == 1 {
		x, err := base.only(head.variant)
		if err != nil {
			return nil, err
		}
		y, err := head.only(base.variant)
		return []compare.Arms{{Base: x, Head: y}}, err
	}
	var arms []compare.Arms
	for _, id := range base.IDs() {
		if y, ok := head.Arm(head.word, id); ok {
			x, _ := base.Arm(base.word, id)
			arms = append(arms, compare.Arms{Base: x, Head: y})
		}
	}
	if arms == nil {
		return nil, usageError("%s has the variants %s and %s has %s: none is in both, so name two, such as %s:%s",
			base.word, strings.Join(base.IDs(), ", "), head.word, strings.Join(head.IDs(), ", "), head.word,
			head.IDs()[0])
	}
	return arms, nil
}

// armsOfOne pairs one variant of a source with others.
func (a *App) armsOfOne(root, word string, o comparing) ([]compare.Arms, error) {
	s, err := a.source(root, word)
	if err != nil {
		return nil, err
	}
	if s.variant != "" {
		return nil, usageError("compare: give HEAD, too, or --a %s instead of :%s", s.variant, s.variant)
	}
	if o.a == "" {
		return nil, usageError("compare: give HEAD, or with --a the variant of %s to compare the others with: %s", word,
			alternatives(s.IDs())).hint("sdd-eval compare " + word + " --a " + s.IDs()[0])
	}
	others := slices.DeleteFunc(s.IDs(), func(id string) bool { return id == o.a })
	if o.b != "" {
		others = strings.Split(o.b, ",")
	}
	s.variant = o.a
	base, err := s.only("")
	if err != nil {
		return nil, err
	}
	var arms []compare.Arms
	for _, id := range others {
		if id == o.a {
			return nil, usageError("compare: --a and --b both name %s", id)
		}
		s.variant = id
		head, err := s.only("")
		if err != nil {
			return nil, err
		}
		arms = append(arms, compare.Arms{Base: base, Head: head})
	}
	if arms == nil {
		return nil, usageError("%s has one variant, %s, and no other to compare it with", word, o.a)
	}
	return arms, nil
}

// source is where arms come from.
type source struct {
	*baseline.Baseline
	word    string // as people call it, without the variant
	variant string // that they named, empty: none
}

// only returns the arm that is named, or that has an id, or the only one.
func (s source) only(id string) (compare.Arm, error) {
	switch {
	case s.variant != "":
		id = s.variant
	case len(s.IDs()) == 1:
		id = s.IDs()[0]
	case id == "":
		return compare.Arm{}, usageError("%s has several variants: name one, such as %s:%s", s.word, s.word, s.IDs()[0])
	}
	arm, ok := s.Arm(s.word, id)
	if !ok {
		return arm, usageError("%s has no variant %q, but %s", s.word, id, alternatives(s.IDs()))
	}
	return arm, nil
}

// withVariant matches a source with the variant behind it. A drive of Windows is none.
var withVariant = regexp.MustCompile(`^(..+):([a-zA-Z][a-zA-Z0-9_-]*)$`)

// source reads what a word of the command line stands for.
func (a *App) source(root, word string) (source, error) {
	s := source{word: word}
	if m := withVariant.FindStringSubmatch(word); m != nil {
		s.word, s.variant = m[1], m[2]
	}
	var err error
	if s.Baseline, err = a.baseline(root, s.word); err != nil {
		if _, ok := errors.AsType[*exitError](err); !ok {
			err = &exitError{code: exitUsage, err: err}
		}
		return s, err
	}
	if len(s.IDs()) == 0 {
		return s, usageError("%s has no variants", s.word)
	}
	return s, nil
}

// baseline reads a file, a run's directory, a baseline by its name, or a run.
func (a *App) baseline(root, word string) (*baseline.Baseline, error) {
	path := a.path(word)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return a.ofRun(runRoot(path), filepath.Base(path))
	case err == nil && filepath.Ext(path) == ".json":
		return baseline.Read(path)
	}
	if file, err := baseline.Path(word); err == nil {
		b, err := baseline.Read(filepath.Join(root, file))
		if !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	id, err := findRun(root, word)
	if err != nil {
		return nil, err
	}
	return a.ofRun(root, id)
}

// runRoot returns the root of the project whose run has a directory.
func runRoot(dir string) string {
	return filepath.Clean(filepath.Join(dir, "..", "..", "..", ".."))
}

func (a *App) ofRun(root, id string) (*baseline.Baseline, error) {
	run, err := rundir.Open(root, id, a.secrets)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	return baseline.OfRun(run)
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
	b, err := a.ofRun(root, id)
	if err != nil {
		return err
	}
	if b.Selected != "" {
		return usageError("%s is %s: a baseline is of all units", id, b.Selected).
			hint("sdd-eval run, without a selection")
	}
	path, err := baseline.Write(root, name, b, a.secrets)
	if errors.Is(err, baseline.ErrName) {
		return usageError("--as %s: %w", printable(name), err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s: %s of %s\n", filepath.ToSlash(path), count(len(b.Variants), "variant"), id)
	return nil
}
