package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/scoring/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
)

func reportCommand() command {
	files := report.Names()
	all := slices.Concat(files, []string{humanFormat, githubFormat})
	return command{
		name: "report",
		usage: "[RUN_ID] [--format " + strings.Join(all, ",") + "]\n" +
			"                  [--rejudge] [--root DIR] [--units PATTERN] [--case CASES] [--variant VARIANTS]",
		short: "write the reports of a run again",
		long: `Writes the reports of a run again, from its directory alone, and prints the path of each. The same
run gives the same bytes each time. If the playbook enables the AI judge, it is asked for missing
scores (OPENAI_API_KEY is required).

The format human is what people need to score the variants, human-pack.html and its like. Without
--format it is written too, if the playbook asks people for scores.

These are only written if they are asked for: ctrf, for tools that read the Common Test Report Format;
inspect, a log of Inspect for each variant, in the directory inspect; skill-creator, the files that
the scripts and the viewer of that skill read, of a run that tries a skill; and weights, how long units
took, for run --shard.

The format github is for steps of GitHub Actions: it prints an annotation for each failure, at its
line in the playbook, and adds the report to the summary of the job. It writes no file of the run.
With this format alone the exit code is 0 whatever the outcome of the run, because the step that
made the run has failed already.

--units, --case and --variant report a part of the run, into its directory selected. Such reports say
so, and the exit code stays that of the whole run.`,
		examples: `sdd-eval report
sdd-eval report 20260131-101500-demo-k3v9 --format md,html
sdd-eval report --format github`,
		codes: `0  all units passed, or completed if nothing judges them
1  a unit or a job failed
2  the command line or the environment is wrong
3  a unit or a job ended in an error or was not run: nothing is known about its agent`,
		args: arguments{max: 1, what: "RUN_ID", kind: kindRun},
		define: func(a *App, f *flags) action {
			var run, root, formats string
			o := reporting{ask: true}
			f.text(&run, "run", kindRun, "The `RUN_ID` of the run, the beginning of one, or latest, which is the "+
				"default; like the argument.")
			f.list(&formats, "format", "The `LIST` of formats, separated by commas, of "+
				strings.Join(all, ", ")+"; without it all files but those of ctrf, inspect, skill-creator, "+
				"plugin-evals and weights.", all...)
			f.BoolVar(&o.rejudge, "rejudge", false, "Ask the AI judge for all scores again.")
			o.selection.define(f)
			f.root(&root)
			return func(ctx context.Context, args []string) error {
				if len(args) > 0 && run != "" {
					return usageError("report: give one run, RUN_ID or --run RUN_ID").hint("sdd-eval report --help")
				}
				run = cmp.Or(append(args, run, latest)...)
				if o.selection != (selection{}) && (o.rejudge || strings.Contains(formats, humanFormat)) {
					return usageError("report: people and the AI judge score all units: remove %s", o.selection)
				}
				if formats != "" {
					o.formats = strings.Split(formats, ",")
				}
				return a.report(ctx, root, run, o)
			}
		},
	}
}

// report writes the reports of a run again, or of those of its units that are selected.
func (a *App) report(ctx context.Context, root, run string, o reporting) error {
	// Print annotations, and write the summary of the job.
	github := slices.Contains(o.formats, githubFormat)
	o.formats = without(o.formats, githubFormat)
	r, err := a.openRun(root, run)
	if err != nil {
		return err
	}
	defer r.Close()
	if o.keep, err = o.selection.chosen(r.Manifest().Units); err != nil {
		return usageError("report: %w", err).hint(commandLine("show", r.ID(), "--root", root))
	}
	var rep *report.Report
	if github && len(o.formats) == 0 {
		rep, err = report.LoadOnly(r, o.selection.String(), o.keep)
	} else if rep, err = rebuildReport(ctx, a, r, o); err == nil && o.keep == nil {
		err = a.sendScores(ctx, r, a.note)
	}
	if github && err == nil {
		err = a.reportToGitHub(rep, root)
	}
	if err != nil || github && len(o.formats) == 0 {
		return err
	}
	// The same exit code as that of `sdd-eval run` when it ended, whatever is selected of it.
	whole, err := verdictOn(r)
	if err != nil {
		return err
	}
	return verdict(whole, r.ID(), root)
}

// verdictOn returns the verdict on a run.
func verdictOn(r *rundir.Run) (result.Run, error) {
	units, err := r.Units()
	if err != nil {
		return result.Run{}, err
	}
	jobs, err := r.Jobs()
	return r.Manifest().Judge(units, jobs), err
}

// rebuildReport writes the reports of a run and prints their paths.
func rebuildReport(ctx context.Context, a *App, r *rundir.Run, o reporting) (*report.Report, error) {
	o.models, o.note = engine.Models(a.Getenv, new(llm.Spent)), a.note
	rep, files, err := writeReports(ctx, r, o)
	for _, file := range files {
		fmt.Fprintln(a.Stdout, filepath.Join(r.Dir(), file))
	}
	if input, ok := errors.AsType[*engine.InputError](err); ok {
		return nil, &exitError{code: exitUsage, err: input}
	}
	if errors.Is(err, report.ErrNotOfSkill) || errors.Is(err, report.ErrNotOfPlugin) ||
		errors.Is(err, report.ErrNoTimes) {
		return nil, &exitError{code: exitUsage, err: err, next: fault.Advice(err)}
	}
	return rep, err
}

// note shows a line about the progress.
func (a *App) note(text string) { fmt.Fprintln(a.Stderr, text) }

// reporting says how a run is reported.
type reporting struct {
	// formats are the formats to write; empty for all, with [humanFormat] if the playbook asks people.
	formats []string
	// ask asks the AI judge for missing scores, if the playbook enables it; rejudge asks it for all scores.
	ask, rejudge bool
	// models returns the client for the AI judge, as [engine.Models] does. It is not called for a run without one.
	models func() (llm.Asker, error)
	// selection is which units are reported, keep what tells them; nil: all are.
	selection selection
	keep      func(caseID, variant string) bool
	// note shows a line about the progress.
	note func(string)
}

// writeReports writes the reports of a run, and what people need to score it. It returns the report and its file names.
func writeReports(ctx context.Context, r *rundir.Run, o reporting) (*report.Report, []string, error) {
	judged := error(nil)
	if judge := r.Manifest().AIJudge; judge.Enabled && o.ask && o.keep == nil && r.Manifest().Part == nil {
		client, err := judgeOf(o.models)
		if err != nil {
			return nil, nil, &engine.InputError{Err: err}
		}
		judged = aijudge.Judge(ctx, r, aijudge.Config{
			Model: judge.Model, Client: client, Rejudge: o.rejudge, Progress: o.note,
		})
	}
	formats := o.formats
	if len(formats) == 0 {
		formats = report.Usual()
		if r.Manifest().Human && o.keep == nil && r.Manifest().Part == nil {
			formats = append(formats, humanFormat)
		}
	}
	rep, err := report.LoadOnly(r, o.selection.String(), o.keep)
	if err != nil {
		return nil, nil, errors.Join(judged, err)
	}
	files, err := rep.Write(without(formats, humanFormat))
	if err == nil && slices.Contains(formats, humanFormat) {
		if err = human.Write(r); err == nil {
			files = append(files, human.PageFile)
		}
	}
	return rep, files, errors.Join(judged, err)
}

// without returns the other formats.
func without(formats []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(formats), func(f string) bool { return f == name })
}

// judgeOf returns the client for the AI judge. A missing key is [aijudge.ErrNoKey], which names the judge.
func judgeOf(models func() (llm.Asker, error)) (llm.Asker, error) {
	client, err := models()
	if errors.Is(err, llm.ErrNoKey) {
		return nil, aijudge.ErrNoKey
	}
	return client, err
}

// humanFormat is what people need to score a run.
const humanFormat = "human"

// githubFormat is the format for steps of GitHub Actions, which writes no files of the run.
const githubFormat = "github"

// summaryVariable is the environment variable with the path of the file that becomes the summary of the job.
const summaryVariable = "GITHUB_STEP_SUMMARY"

// reportToGitHub prints annotations, and adds the run to the summary of the job.
func (a *App) reportToGitHub(rep *report.Report, rootFlag string) error {
	root, err := a.projectRoot(rootFlag)
	if err != nil {
		return err
	}
	if _, err := data(a.Stdout).Write(rep.Annotations(inRepository(a.Getenv("GITHUB_WORKSPACE"), root))); err != nil {
		return err
	}
	file := a.Getenv(summaryVariable)
	if file == "" {
		fmt.Fprintf(a.Stderr, "no summary was written: %s is not set; GitHub Actions sets it\n", summaryVariable)
		return nil
	}
	if err := disk.Within(root, file).Check(file); err != nil {
		return err
	}
	added, err := appendSummary(file, rep.Summary)
	if err != nil {
		return fmt.Errorf("add run %s to the summary of the job: %w", rep.Run.ID, err)
	}
	if !added {
		fmt.Fprintf(a.Stderr, "the summary of the job is full: run %s was not added\n", rep.Run.ID)
	}
	return nil
}

// inRepository returns a project's directory relative to the repository that is checked out, with slashes, or "" if it
// is not below it.
func inRepository(checkout, root string) string {
	if checkout == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(checkout); err == nil {
		checkout = real
	}
	dir, err := filepath.Rel(checkout, root)
	if err != nil || !filepath.IsLocal(dir) {
		return ""
	}
	return filepath.ToSlash(dir)
}

// appendSummary adds to the file what summary makes of the bytes that GitHub will still show; nil: nothing. Secrets in
// it have been masked.
func appendSummary(file string, summary func(room int) []byte) (added bool, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	const between = "\n"
	text := summary(report.MaxSummary - int(info.Size()) - len(between))
	if text == nil {
		return false, nil
	}
	_, err = f.Write(append(text, between...))
	return err == nil, err
}

func importHumanCommand() command {
	return command{
		name:  "import-human",
		usage: "--run RUN_ID --file FILE [--root DIR]",
		short: "add a person's scores to a run",
		long: `Adds a person's scores to a run and writes its reports again. The file is the one that
human-pack.html saves, or human-scores.template.json filled in. Earlier scores of the same rater are
replaced. A file with an error changes nothing.`,
		examples: `sdd-eval import-human --run latest --file scores.json`,
		define: func(a *App, f *flags) action {
			var run, file, root string
			f.text(&run, "run", kindRun, "The `RUN_ID` of the run, the beginning of one, or latest.")
			f.text(&file, "file", kindFile, "The `FILE` with the scores.")
			f.root(&root)
			f.require("run", "file")
			return func(ctx context.Context, _ []string) error { return a.importHuman(ctx, root, run, file) }
		},
	}
}

func (a *App) importHuman(ctx context.Context, rootFlag, run, file string) error {
	r, err := a.openRun(rootFlag, run)
	if err != nil {
		return err
	}
	defer r.Close()
	scores, err := human.Import(r, a.path(file))
	if err != nil {
		return usageError("%w", err)
	}
	added := "added"
	if scores.Replaced {
		added = "replaced"
	}
	var what []string
	if n := len(scores.Variants); n > 0 {
		what = append(what, "scores of "+printable(scores.Rater)+" for "+excerpt.Count(n, "variant"))
	}
	if n := len(scores.Units); n > 0 {
		what = append(what, "labels of "+printable(scores.Rater)+" for "+excerpt.Count(n, "unit"))
	}
	fmt.Fprintf(a.Stderr, "%s: %s\n", added, strings.Join(what, ", "))
	if _, err = rebuildReport(ctx, a, r, reporting{formats: report.Usual()}); err != nil {
		return err
	}
	return a.sendScores(ctx, r, a.note)
}
