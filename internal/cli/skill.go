package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/skill"
)

// skillOptions are the flags of `sdd-eval skill`.
type skillOptions struct {
	check, all, asJSON bool
}

func skillCommand() command {
	return command{
		name:  "skill",
		usage: "[DIR] --check [--all] [--json]",
		short: "check the evals that a skill brings",
		long: `Finds the skill in DIR (default: the working directory) and its evals, evals/evals.json and files of
triggers beside it, reads them and says what would be run, who would judge what, and what is wrong:
missing files, answers that are installed with the skill, checks that hold if nothing is done. It
only reads: no agent, no model, no network. docs/skills.md says what is read.

This version checks; it does not run the evals.`,
		examples: `sdd-eval skill --check
sdd-eval skill plugins/pdf --check --json
sdd-eval skill --check --all`,
		codes: `0  nothing was found but notes
1  a verdict would mean nothing: see the warnings
2  the command line is wrong, there are no evals, or several skills and no --all
3  something cannot be run or judged: see the errors; or the tool itself failed`,
		args: arguments{max: 1, what: "DIR", kind: kindDir},
		define: func(a *App, f *flags) action {
			var o skillOptions
			f.BoolVar(&o.check, "check", false, "Check the evals; nothing is run.")
			f.BoolVar(&o.all, "all", false, "Take all skills with evals in DIR and below it, in turn.")
			f.BoolVar(&o.asJSON, "json", false, "Print one JSON object instead of text.")
			return func(ctx context.Context, args []string) error {
				dir := "."
				if len(args) > 0 {
					dir = args[0]
				}
				return a.skill(ctx, o, dir)
			}
		},
	}
}

// skillOutput is what --json prints.
type skillOutput struct {
	Version int            `json:"version"`
	Skills  []skill.Report `json:"skills"`
	// NotRead are directories evals that have no file that is read.
	NotRead []string `json:"not_read"`
}

func (a *App) skill(ctx context.Context, o skillOptions, dir string) error {
	named := []string{"skill"}
	if dir != "." {
		named = append(named, dir)
	}
	named = append(named, "--check")
	if !o.check {
		return usageError("skill: this version checks the evals of a skill, and does not run them").
			hint(commandLine(named...))
	}
	places, others, err := skill.Find(a.path(dir), o.all)
	switch {
	case err != nil:
		return usageError("skill: %w", err)
	case len(places) == 0:
		return usageError("skill: %s has no evals: there is no evals/evals.json, and no file of triggers in evals%s",
			dir, notRead(others)).hint("sdd-eval skill --help")
	case len(places) > 1 && !o.all:
		var list strings.Builder
		for _, p := range places {
			fmt.Fprintf(&list, "\n  %s", a.shown(filepath.Join(p.Root, filepath.FromSlash(p.Dir))))
		}
		return usageError("skill: there are %d skills with evals, name one:%s", len(places), list.String()).
			hint(commandLine(append(named, "--all")...))
	}
	out := skillOutput{Version: 1, Skills: []skill.Report{}, NotRead: []string{}}
	for _, other := range others {
		out.NotRead = append(out.NotRead, a.shownFile(other))
	}
	levels := make(map[skill.Level]bool)
	for i, p := range places {
		s, err := skill.Load(ctx, p)
		if err != nil {
			return err
		}
		levels[s.Level()] = true
		report := s.Report(a.shownFile)
		out.Skills = append(out.Skills, report)
		if o.asJSON {
			continue
		}
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		var text strings.Builder
		if err := report.WriteText(&text); err != nil {
			return err
		}
		fmt.Fprint(a.Stdout, a.secrets.String(text.String()))
	}
	if o.asJSON {
		text, err := jsonvalue.MarshalIndent(out, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(inJSON{a.Stdout}, a.secrets.String(string(text)))
	} else if len(others) > 0 {
		fmt.Fprintln(a.Stderr, "note: no known eval file in: "+strings.Join(out.NotRead, ", "))
	}
	result := exitError{next: "mend what was found, then check again"}
	switch {
	case levels[skill.Error]:
		result.code, result.err = exitHarness, errors.New("the skill has evals that cannot be run or judged")
		return &result
	case levels[skill.Warning]:
		result.code, result.err = exitFailed, errors.New("the skill has evals whose verdict would mean nothing")
		return &result
	}
	return nil
}

// notRead counts directories evals of whose files none is known.
func notRead(others []string) string {
	switch len(others) {
	case 0:
		return ""
	case 1:
		return "; of the files in 1 directory evals none is known"
	}
	return fmt.Sprintf("; of the files in %d directories evals none is known", len(others))
}
