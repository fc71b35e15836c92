package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/lint"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// lintOptions are the flags of `sdd-eval lint`.
type lintOptions struct {
	recordingsFlags
	asJSON, untrusted bool
}

func lintCommand() command {
	return command{
		name:  "lint",
		usage: "[--json] [--untrusted] [--root DIR] [--cassettes DIR] PLAYBOOK...",
		short: "find answers that agents can read, and judges that they can change",
		long: `Looks for what makes a verdict worthless although everything works: answers in prompts, in
workspaces and in their git histories, files of judges where an agent can read or change them, and
cases that pass without any work. It only reads: it starts no process, and reaches no network.
Findings are printed as file:line: rule [where]: what, with the remedy below; a playbook accepts one
with lint.accept, and a reason. docs/lint.md has the rules. "sdd-eval validate" does the same.`,
		examples: `sdd-eval lint evals/*/*.yaml
sdd-eval lint --json .llman/sdd-eval/playbooks/demo.yaml`,
		codes: `0  nothing was found, but for what the playbooks accept
1  something was found
2  a playbook has errors, cannot be read, or accepts what is not found
3  the tool itself failed`,
		args: arguments{min: 1, max: -1, what: "PLAYBOOK", kind: kindFile},
		define: func(a *App, f *flags) action {
			var o lintOptions
			f.BoolVar(&o.asJSON, "json", false, "Print one JSON object instead of lines.")
			f.untrusted(&o.untrusted)
			o.define(f)
			return func(ctx context.Context, files []string) error { return a.lint(ctx, o, files) }
		},
	}
}

// lint goes on after a playbook with errors, so that one call shows everything.
func (a *App) lint(ctx context.Context, o lintOptions, files []string) error {
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	all := lintOutput{Findings: []lintFinding{}, Accepted: []lintFinding{}}
	bad, next := 0, ""
	for _, file := range files {
		report, err := a.lintFile(ctx, o, root, file)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			bad++
			next = cmp.Or(next, fault.Advice(err))
			fmt.Fprintln(a.Stderr, a.secrets.String(err.Error()))
			continue
		}
		all.add(report)
		a.printNotes(report)
		if !o.asJSON {
			a.printFindings(report)
			if len(report.Findings) == 0 {
				fmt.Fprintf(a.Stdout, "ok %s: nothing found%s\n", printable(file), acceptedSuffix(report))
			}
		}
	}
	if o.asJSON {
		if err := a.printJSON(all); err != nil {
			return err
		}
	}
	switch {
	case bad > 0:
		return usageError("lint: %d of %s not valid", bad, excerpt.Count(len(files), "file")).hint(next)
	case len(all.Findings) > 0:
		return foundError("lint", len(all.Findings))
	}
	return nil
}

// foundError is the error of a command that found something.
func foundError(command string, findings int) error {
	return &exitError{
		code: exitFailed, err: errors.New(command + ": " + excerpt.Count(findings, "finding")),
		next: "mend what was found, or accept it with its reason: " +
			"`lint: {accept: [{rule: RULE, where: WHERE, why: ...}]}`",
	}
}

func acceptedSuffix(r lint.Report) string {
	if len(r.Accepted) == 0 {
		return ""
	}
	return fmt.Sprintf(" but what it accepts (%d)", len(r.Accepted))
}

// lintFile reads a playbook and returns what is found in it.
func (a *App) lintFile(ctx context.Context, o lintOptions, root, file string) (lint.Report, error) {
	p, err := a.readPlaybook(root, file, o.untrusted)
	if err != nil {
		return lint.Report{}, err
	}
	return a.lintPlaybook(ctx, o.recordingsFlags, root, p)
}

// lintPlaybook returns what is found in a playbook. Root may be empty: then it is the playbook's directory.
func (a *App) lintPlaybook(
	ctx context.Context, where recordingsFlags, root string, p *plan.Playbook,
) (lint.Report, error) {
	root = cmp.Or(root, p.Dir)
	return lint.Run(ctx, p, lint.Config{
		Root: root, Ours: []string{where.dir(root), filepath.Join(root, ".evaltest"), rundir.Below(root)},
	})
}

func (a *App) printNotes(r lint.Report) {
	for _, note := range r.Notes {
		fmt.Fprintln(a.Stderr, printable(a.secrets.String(note)))
	}
}

func (a *App) printFindings(r lint.Report) {
	for _, f := range r.Findings {
		fmt.Fprint(a.Stdout, a.findingText(f))
	}
}

// findingText returns the two lines of a finding, harmless and without secrets.
func (a *App) findingText(f lint.Finding) string {
	at := doc.Position{File: a.shownFile(f.Position.File), Line: f.Position.Line}
	line := fmt.Sprintf("%s: %s [%s]: %s", at, f.Rule, f.Where, f.What)
	return printable(a.secrets.String(line)) + "\n    " + f.Remedy + "\n"
}

// shownFile returns a file that is named like the playbook, or is absolute, as the user would write it.
func (a *App) shownFile(file string) string {
	return filepath.ToSlash(a.shown(filepath.FromSlash(file)))
}

// lintOutput is what --json prints.
type lintOutput struct {
	Findings []lintFinding `json:"findings"`
	Accepted []lintFinding `json:"accepted"`
	Notes    []string      `json:"notes,omitempty"`
}

type lintFinding struct {
	Rule   string `json:"rule"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Where  string `json:"where"`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
	Why    string `json:"why,omitempty"`
}

func (o *lintOutput) add(r lint.Report) {
	entry := func(f lint.Finding, why string) lintFinding {
		return lintFinding{f.Rule, f.Position.File, f.Position.Line, f.Where, f.What, f.Remedy, why}
	}
	for _, f := range r.Findings {
		o.Findings = append(o.Findings, entry(f, ""))
	}
	for _, f := range r.Accepted {
		o.Accepted = append(o.Accepted, entry(f.Finding, f.Why))
	}
	o.Notes = append(o.Notes, r.Notes...)
}
