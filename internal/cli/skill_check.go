package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/internal/suite"
)

// skillOutput is what --json prints.
type skillOutput struct {
	Version int            `json:"version"`
	Skills  []skill.Report `json:"skills"`
	// NotRead are directories evals that have no file that is read.
	NotRead []string `json:"not_read"`
}

// checkSkills prints what was found of skills.
func (a *App) checkSkills(suites []*skill.Suite, others []string, o skillOptions) error {
	out := skillOutput{Version: 1, Skills: []skill.Report{}, NotRead: []string{}}
	for _, other := range others {
		out.NotRead = append(out.NotRead, a.shownFile(other))
	}
	levels := make(map[skill.Level]bool)
	for i, s := range suites {
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
		if o.suggest {
			a.writeSuggestions(&text, s)
		}
		fmt.Fprint(a.Stdout, a.secrets.String(text.String()))
	}
	if o.asJSON {
		if err := a.printJSON(out); err != nil {
			return err
		}
	} else if len(others) > 0 {
		fmt.Fprintln(a.Stderr, "note: no known eval file in: "+strings.Join(out.NotRead, ", "))
		for _, other := range others {
			if line := a.runsOther(other); line != "" {
				fmt.Fprintln(a.Stderr, "note: another command runs the evals in "+a.shownFile(other)+": "+line)
			}
		}
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

// runsOther returns the command that runs the evals of another format in a directory, empty: none does.
func (a *App) runsOther(dir string) string {
	if f, from, ok := suite.Recognise(dir); ok && f.Evals != nil && filepath.Dir(dir) == from {
		return commandLine("run", "--from", a.shown(from))
	}
	return ""
}

// writeSuggestions writes the checks that code could decide.
func (a *App) writeSuggestions(w *strings.Builder, s *skill.Suite) {
	all := s.Suggest()
	fmt.Fprintf(w, "\n%s that code could decide, by the words of its text; read each before you take it over\n",
		excerpt.Count(len(all), "check"))
	for _, g := range all {
		fmt.Fprintf(w, "%s:%d: %s:\n    %s\n", a.shownFile(g.At.File), g.At.Line, g.Case, printable(g.Check))
	}
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
