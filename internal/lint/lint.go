// Package lint looks for what makes a verdict worthless although everything works: answers that the agent can read,
// judges that it can change, and expectations that hold before it has done anything. It only reads: it starts no
// process, runs nothing that a playbook names, and reaches no network, but for [NullPasses]. Errors of playbooks are
// package plan's.
//
// A rule is a row of the table in rules.go. docs/lint.md says what they find and what they leave
// alone.
package lint

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// Finding is one thing that a rule found.
type Finding struct {
	// Rule is the id of the rule.
	Rule string
	// Position is where it can be mended: a line of the playbook, or of a file that the workspace is copied from. The
	// file is named as the playbook's is, or absolute.
	Position doc.Position
	// Where names the place for `lint.accept`, and stays the same when lines move: a path in the workspace, the id of a
	// case, the name of a step or an evaluator, or the path of a judge's file.
	Where string
	// What says what was found, Remedy what to do about it; each is one line.
	What, Remedy string

	open bool // see [Report.Open]
}

// Accepted is a finding that the playbook accepts.
type Accepted struct {
	Finding
	// Why is the playbook's reason.
	Why string
}

// Report is what there is to say about a playbook.
type Report struct {
	// Findings are sorted by file, line and rule.
	Findings []Finding
	Accepted []Accepted
	// Open are what is not known, since it takes to start what the playbook names: of the rule idle-passes alone, a
	// case each, in Where. Each is a finding if an agent that does nothing passes the case. None is accepted.
	Open []Finding
	// Notes are lines for people about what was not looked at.
	Notes []string
}

// Config says where a playbook belongs.
type Config struct {
	// Root is the project's root, absolute: what workspaces are copied from if the playbook does not say.
	Root string
	// Ours are absolute paths of our own files, such as cassettes: they are not copied into workspaces.
	Ours []string
	// TempDir is where copies of workspaces are made, and removed; empty: the system's.
	TempDir string
}

// Run applies all rules to a playbook that was read from a file. The error is [doc.Problems] if the playbook accepts
// what is not found.
func Run(ctx context.Context, p *plan.Playbook, cfg Config) (Report, error) {
	s, err := load(ctx, p, cfg)
	if err != nil {
		return Report{}, fmt.Errorf("lint %s: %w", p.File, err)
	}
	var found []Finding
	for _, r := range rules {
		err := r.find(ctx, s, func(f Finding) {
			f.Rule, f.Remedy = r.id, cmp.Or(f.Remedy, r.remedy)
			f.What = excerpt.Line(f.What, maxWhat)
			found = append(found, f)
		})
		if err != nil {
			return Report{}, fmt.Errorf("lint %s: %s: %w", p.File, r.id, err)
		}
	}
	report := Report{Notes: s.notes}
	unused := make([]bool, len(p.Lint.Accept))
	for i := range unused {
		unused[i] = true
	}
	for _, f := range sorted(found) {
		i := slices.IndexFunc(p.Lint.Accept, func(a plan.Accept) bool { return accepts(a, f) })
		if i >= 0 {
			unused[i] = false
		}
		switch {
		case i >= 0 && !f.open:
			report.Accepted = append(report.Accepted, Accepted{f, p.Lint.Accept[i].Why})
		case i < 0 && f.open:
			report.Open = append(report.Open, f)
		case i < 0:
			report.Findings = append(report.Findings, f)
		}
	}
	return report, unmatched(p.Lint.Accept, unused)
}

// maxWhat is how many characters of a finding are shown.
const maxWhat = 400

// sorted sorts findings and drops those that say the same.
func sorted(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.Where, b.Where), strings.Compare(a.What, b.What))
	})
	return slices.Compact(found)
}

func accepts(a plan.Accept, f Finding) bool {
	return a.Rule == f.Rule && (a.Where == f.Where || doublestar.MatchUnvalidated(a.Where, f.Where))
}

// unmatched returns a problem for each entry of lint.accept that matches no finding.
func unmatched(accept []plan.Accept, unused []bool) error {
	var problems doc.Problems
	for i, a := range accept {
		if unused[i] {
			problems = append(problems, doc.Problem{
				Position: a.Position, Path: fmt.Sprintf("lint.accept[%d]", i),
				Reason: fmt.Sprintf("%s finds nothing at %q: remove the entry, or write what the finding has in "+
					"brackets", a.Rule, a.Where),
			})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// shownPath returns the path of a file in the way in which the playbook is named: relative to the same directory.
func (s *suite) shownPath(path string) string {
	rel, err := filepath.Rel(s.p.Dir, path)
	if err != nil || filepath.IsAbs(s.p.File) {
		return path
	}
	return filepath.ToSlash(filepath.Join(filepath.Dir(filepath.FromSlash(s.p.File)), rel))
}
