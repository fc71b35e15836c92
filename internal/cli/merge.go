package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// mergeOptions are the flags of `sdd-eval merge`.
type mergeOptions struct {
	into string
	run  runOptions // of the jobs after the units
}

func mergeCommand() command {
	return command{
		name:  "merge",
		usage: "DIR... [--into NAME] [--root DIR] [--sandbox KIND] [--untrusted] [--open]",
		short: "put the shards of a run together",
		long: `Makes one run of the shards of a plan, which run --shard has run, with the reports that the run would
have had on one machine. A DIR is the directory of a run, one with several of them, or the root of
a project. The jobs after the units run now, so the command needs the checkout that the shards had.

Shards of different plans, a shard that is given twice and a unit that ended in two ways are errors.
Units of a shard that is missing have not run: the merged run is incomplete, and --resume runs them.`,
		examples: `sdd-eval merge shards/* --into ci`,
		codes:    strings.Replace(runCodes, "the command line,", "a shard does not fit; the command line,", 1),
		args:     arguments{min: 1, max: -1, what: "DIR", kind: kindDir},
		define: func(a *App, f *flags) action {
			o := mergeOptions{run: runOptions{merging: true}}
			f.text(&o.into, "into", kindText, "The `NAME` at the end of the new run's id: letters, digits, _ and -; "+
				"default: a random one.")
			f.root(&o.run.root)
			f.choice(&o.run.sandbox, "sandbox", "The `KIND` of sandbox that confines the jobs after the units.",
				"auto", "bwrap", "landlock", "command", "none")
			f.untrusted(&o.run.untrusted)
			f.BoolVar(&o.run.open, "open", false, "Open report.html in the browser.")
			return func(ctx context.Context, args []string) error { return a.merge(ctx, o, args) }
		},
	}
}

// merge makes one run of the shards in directories.
func (a *App) merge(ctx context.Context, o mergeOptions, dirs []string) error {
	if o.into != "" && !rundir.ValidName(o.into) {
		return usageError("merge: --into: %.80q cannot end a run's id: use up to 64 letters, digits, _ and -", o.into)
	}
	root, err := a.projectRoot(o.run.root)
	if err != nil {
		return err
	}
	var parts []*rundir.Run
	for _, dir := range dirs {
		found, err := rundir.PartsIn(a.path(dir))
		if err != nil {
			return misfit(fmt.Errorf("merge: %w", err))
		}
		parts = append(parts, found...)
	}
	now := time.Now()
	id := rundir.NewID(now, parts[0].Manifest().Name, o.into)
	merged, err := rundir.Merge(ctx, root, id, now, parts, a.secrets)
	if err != nil {
		return misfit(err)
	}
	defer merged.Close()
	jobs, err := merged.Jobs()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "merged %s into %s\n", excerpt.Count(len(parts), "shard"), merged.ID())
	if m := merged.Manifest(); merged.Missing == nil && len(jobs) < len(m.Jobs) {
		err := errors.Join(merged.Finish(rundir.StateInterrupted), merged.Close())
		if err != nil {
			return err
		}
		o.run.resume, o.run.mode = merged.ID(), m.Mode
		return a.run(ctx, o.run)
	}
	if err := merged.Finish(merged.State); err != nil {
		return err
	}
	return a.mergedWithoutJobs(ctx, o.run, merged)
}

// mergedWithoutJobs reports on a merged run, of which no job is to be run now.
func (a *App) mergedWithoutJobs(ctx context.Context, o runOptions, merged rundir.Merged) error {
	rep, _, err := writeReports(ctx, merged.Run, reporting{formats: report.Usual(), note: a.note})
	if err != nil {
		return err
	}
	m := merged.Manifest()
	done := engine.Finished{ID: merged.ID(), Dir: merged.Dir(), Listed: len(m.Units), Selected: m.Selected()}
	if done.Verdict, err = verdictOn(merged.Run); err != nil {
		return err
	}
	if done.Units, err = merged.Units(); err != nil {
		return err
	}
	a.ended(ctx, o, done, rep)
	if merged.Missing != nil {
		return &exitError{
			code: exitHarness, err: errors.New("merge: the run is incomplete: " + strings.Join(merged.Missing, "; ")),
			next: "run what is missing and merge again, or: " + o.resumption(merged.ID()),
		}
	}
	return verdict(done.Verdict, done.ID, o.root)
}

// misfit is an error about what was to be merged.
func misfit(err error) error { return &exitError{code: exitUsage, err: err, next: fault.Advice(err)} }
