package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// endings are the outcomes that --only takes.
var endings = []string{
	string(result.Fail), string(result.Error), string(result.NotRun), string(result.Skip), string(result.Completed),
	string(result.Pass),
}

// former is a run that is resumed, whose units are run again, or that is judged anew.
type former struct {
	// options are those that were given, with what the run says: its id, its playbook, its cassettes.
	options runOptions
	// over says that it has finished, with nothing left to run.
	over bool
	// results are the cases and variants that it has, of those that --only leaves; bad says that some are not well.
	results map[[2]string]bool
	bad     bool
}

// former reads the run that the options resume, or run units of again.
func (a *App) former(root string, o runOptions, id string) (former, error) {
	id, err := findRun(root, id)
	if err != nil {
		return former{}, err
	}
	run, err := rundir.Open(root, id, a.secrets)
	if err != nil {
		return former{}, err
	}
	defer run.Close()
	m := run.Manifest()
	if m.Tool == engine.TestTool && !o.merging {
		return former{}, usageError("run: %s was made by go test, and this command does not have the test's "+
			"checks in Go: run the test again", id)
	}
	units, unitsErr := run.Units()
	jobs, jobsErr := run.Jobs()
	if err := errors.Join(unitsErr, jobsErr); err != nil {
		if o.resume != "" {
			err = fmt.Errorf("resume run: %w", err)
		}
		return former{}, err
	}
	f := former{options: o, results: make(map[[2]string]bool)}
	f.over = m.State == rundir.StateFinished && len(units) == len(m.Units) && len(jobs) == len(m.Jobs)
	counts := make(tally)
	for _, c := range m.Judge(units, jobs).Cases {
		counts[c.Outcome]++
		f.bad = f.bad || c.Counts() == result.Fail || c.Counts() == result.Error
		if has(o.only, string(c.Outcome)) {
			f.results[[2]string{c.Units[0].Case, c.Units[0].Variant}] = true
		}
	}
	if o.again != "" && len(f.results) == 0 {
		return former{}, usageError("run: nothing of the run %s ended as --only %s says: %s", id, o.only, counts).
			hint(commandLine("show", id, "--root", o.root))
	}
	switch {
	case o.resume != "" && m.Rejudged != "":
		return former{}, usageError("run: %s judges %s anew: begin that again", id, m.Rejudged).
			hint(commandLine("rejudge", m.Rejudged, "--root", o.root))
	case o.resume != "":
		f.options.resume = id
	case o.again != "":
		f.options.again = id
	default:
		f.options.rejudge = id
	}
	f.options.mode = cmp.Or(o.mode, m.Mode)
	f.options.ablate = strings.Join(m.Ablate, "")
	f.options.playbook = filepath.FromSlash(m.Playbook.Path)
	if !filepath.IsAbs(f.options.playbook) {
		f.options.playbook = a.shown(filepath.Join(root, f.options.playbook))
	}
	if m.Cassettes != defaultCassettes {
		f.options.cassettes = m.Cassettes
	}
	return f, nil
}

// again returns the command that runs again what was not well in a run that is over.
func (f former) again(root string) string {
	only := ""
	if f.bad {
		only = "fail,error"
	}
	return commandLine("run", "--again", f.options.resume, "--only", only, "--root", root)
}

// Select has a run of a plan that is kept carry out only the units that --units, --case and --variant of `sdd-eval run`
// mean with these values, empty ones meaning all.
func Select(p *plan.Plan, cfg *engine.Config, units, cases, variants string) error {
	return runOptions{selection: selection{units, cases, variants}}.choose(p, former{}, cfg)
}

// choose has a new run carry out only the units that are meant.
func (o runOptions) choose(plan *plan.Plan, before former, cfg *engine.Config) error {
	var ids []string
	for _, u := range plan.Units {
		if o.again == "" && o.rejudge == "" || before.results[[2]string{u.Case.ID, u.Variant.ID}] {
			ids = append(ids, u.ID())
		}
	}
	by := o.selection.String()
	if o.rejudge != "" && len(ids) < len(plan.Units) {
		by = "rejudge " + o.rejudge
	}
	if o.again != "" {
		var gone []string
		for r := range before.results {
			if plan.Trials(r[0], r[1]) == nil {
				gone = append(gone, r[0]+"/"+r[1])
			}
		}
		if slices.Sort(gone); len(gone) > 0 {
			return fmt.Errorf("run: --again %s: the playbook no longer has %s: run it anew, with --units if not all "+
				"is wanted", o.again, some(gone))
		}
		cfg.Keep.Again = o.again
		by = flagLine(append([]string{"--again", o.again, "--only", o.only}, o.selection.flags()...)...)
	}
	if by == "" {
		return nil
	}
	keep, err := o.selection.chosen(ids)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	cfg.Keep.SelectedBy = by
	selectUnits(cfg, slices.DeleteFunc(ids, func(id string) bool {
		return keep != nil && !keep(caseOf(id), variantOf(id))
	}))
	return nil
}

// selectUnits has a run carry out the units with these ids.
func selectUnits(cfg *engine.Config, ids []string) {
	selected := make(map[string]bool, len(ids))
	for _, id := range ids {
		selected[id] = true
	}
	cfg.Selected = func(u plan.Unit) bool { return selected[u.ID()] }
}

// listed returns the texts that are not empty.
func listed(texts ...string) []string {
	return slices.DeleteFunc(texts, func(t string) bool { return t == "" })
}
