package cli

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/lint"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

func validateCommand() command {
	return command{
		name:  "validate",
		usage: "[--null] [--untrusted] FILE...",
		short: "check playbooks and eval files",
		long: `Checks playbooks and eval files without running anything. Prints every error of every file as
file:line:column: path: reason, and for each valid file a line "ok FILE" with the number of its jobs
and units. A job outside the matrix runs once; a unit is one trial of one case with one variant.
A valid file in which "sdd-eval lint" finds something has a line "found FILE" and the findings.
With --null an agent that does nothing runs each case of which that does not tell whether such an
agent passes: steps, judges and the sandbox are those of a run, and no model is asked.
--untrusted checks what a replay would refuse.`,
		examples: `sdd-eval validate .llman/sdd-eval/playbooks/demo.yaml
sdd-eval validate evals/*/*.yaml`,
		codes: `0  all files are valid, and nothing was found in them
1  all files are valid, and something was found
2  a file has errors, cannot be read, or accepts what is not found`,
		args: arguments{min: 1, max: -1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			var o validateOptions
			f.BoolVar(&o.null, "null", false, "Run an agent that does nothing, with the playbook's steps and judges, "+
				"and warn of the cases that it passes.")
			f.untrusted(&o.untrusted)
			return func(ctx context.Context, files []string) error { return a.validate(ctx, o, files) }
		},
	}
}

// validateOptions are the flags of `sdd-eval validate`.
type validateOptions struct{ null, untrusted bool }

// validate goes on after a file with errors, so that one call shows all errors.
func (a *App) validate(ctx context.Context, o validateOptions, files []string) error {
	bad, findings, next := 0, 0, ""
	for _, file := range files {
		line, report, err := a.validateFile(ctx, o, file)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			bad++
			next = cmp.Or(next, fault.Advice(err))
			fmt.Fprintln(a.Stderr, a.secrets.String(err.Error()))
			continue
		}
		findings += len(report.Findings)
		fmt.Fprintln(a.Stdout, line)
		a.printNotes(report)
		a.printFindings(report)
	}
	switch {
	case bad > 0:
		return usageError("validate: %d of %s not valid", bad, excerpt.Count(len(files), "file")).hint(next)
	case findings > 0:
		return foundError("validate", findings)
	}
	return nil
}

// validateFile returns the line to print for a valid file, and what was found in it.
func (a *App) validateFile(
	ctx context.Context, o validateOptions, file string,
) (line string, found lint.Report, err error) {
	root, err := rundir.ProjectRoot(a.Dir, "", a.Getenv)
	if err != nil {
		root = "" // only a playbook with scripts above its own directory needs one
	}
	p, err := a.readPlaybook(root, file, o.untrusted)
	if err != nil {
		return "", found, err
	}
	plan, err := p.Plan()
	if err != nil {
		return "", found, fmt.Errorf("%s: %w", file, err)
	}
	for _, note := range plan.Notes() {
		fmt.Fprintln(a.Stderr, a.secrets.String(note))
	}
	found, err = a.lintPlaybook(ctx, recordingsFlags{}, root, p)
	if err != nil {
		return "", found, err
	}
	if o.null {
		passed, err := a.validateNull(ctx, o, cmp.Or(root, p.Dir), file, found.Open)
		if err != nil {
			return "", found, fmt.Errorf("%s: %w", file, err)
		}
		found.Findings = append(found.Findings, passed...)
	}
	line = fmt.Sprintf("%s: %s, %s", file, excerpt.Count(len(plan.Jobs), "job"), excerpt.Count(len(plan.Units), "unit"))
	if n := len(found.Findings); n > 0 {
		return fmt.Sprintf("found %s, %s", line, excerpt.Count(n, "finding")), found, nil
	}
	return "ok " + line, found, nil
}

// readPlaybook reads a playbook of which nothing is run.
func (a *App) readPlaybook(root, file string, untrusted bool) (*plan.Playbook, error) {
	if file == "" {
		return nil, errors.New("the file name is empty")
	}
	if err := a.elsewhere(file); err != nil {
		return nil, err
	}
	said, err := engine.Untrusted(a.Getenv)
	if err != nil {
		return nil, err
	}
	return plan.Read(plan.Source{
		Path: a.path(file), Name: file, Root: root, Untrusted: untrusted || said,
	}, kinds.All())
}

func schemaCommand() command {
	return command{
		name:  "schema",
		short: "print the JSON schema of playbooks and eval files",
		long: `Prints the JSON schema (draft 7) of the playbooks and eval files that this version reads, for use in
editors. "sdd-eval init --schema local" writes it to a file and refers to it. A file that matches
the schema can still have errors: "sdd-eval validate" finds all of them.`,
		examples: `sdd-eval schema > playbook.schema.json`,
		define: func(a *App, _ *flags) action {
			return func(context.Context, []string) error {
				_, err := data(a.Stdout).Write(plan.Schema(kinds.All()))
				return err
			}
		},
	}
}

// loadPlan reads the user's playbook, whose path is absolute. Errors in the playbook cite its path relative to the
// working directory, results cite it relative to the root. Ablate is as in [plan.Source].
func (a *App) loadPlan(cfg engine.Config, file string, ablate ...string) (*plan.Plan, error) {
	shown := a.shown(file)
	if err := a.elsewhere(shown); err != nil {
		return nil, err
	}
	source := sourceOf(cfg)
	source.Path, source.Name, source.Ablate = file, filepath.ToSlash(shown), ablate
	pb, err := plan.Read(source, kinds.All())
	if err != nil {
		return nil, err
	}
	source.Name, source.Data = nameBelow(cfg.Root, file), pb.Text
	return planOf(source)
}

// loadResumed reads the copy of a playbook that is in the directory of the run to resume.
func loadResumed(cfg engine.Config, run *rundir.Run) (*plan.Plan, error) {
	data, err := run.ReadFile("playbook.yaml", doc.MaxSize)
	if err != nil {
		return nil, err
	}
	name := run.Manifest().Playbook.Path
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(cfg.Root, path)
	}
	source := sourceOf(cfg)
	source.Path, source.Name, source.Data, source.Ablate = path, name, data, run.Manifest().Ablate
	return planOf(source)
}

// sourceOf returns what a run says of its playbook's file.
func sourceOf(cfg engine.Config) plan.Source {
	return plan.Source{
		Root: cfg.Root, Untrusted: cfg.Untrusted, StartsAgents: cfg.Mode != engine.Replay && !cfg.OwnAgents,
		AsksJudges: (cfg.LLMJudge || cfg.RecordJudges) && !cfg.OwnAgents,
	}
}

func planOf(source plan.Source) (*plan.Plan, error) {
	pb, err := plan.Read(source, kinds.All())
	if err != nil {
		return nil, err
	}
	return pb.Plan()
}

// nameBelow returns the path of a file below root, with slashes, or else its absolute path.
func nameBelow(root, file string) string {
	// Resolve links in both, so that a project that is reached through a link still counts.
	if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(real, filepath.Base(file))
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return disk.Shown(root, file)
}
