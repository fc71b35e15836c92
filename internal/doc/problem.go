package doc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file. The zero value is nowhere.
type Position struct {
	File string
	// Line and Column count from 1; columns are characters.
	Line, Column int
}

// String returns "file:line", the form in which failures cite a playbook.
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Problem is one thing that is wrong with a file.
type Problem struct {
	Position Position
	// Path is its place in the tree, e.g. "cases[0].id"; empty for the file as a whole.
	Path string
	// Reason says what is wrong and, where it is known, what would be right.
	Reason string
}

// Error returns "file:line:column: path: reason".
func (p Problem) Error() string {
	at := fmt.Sprintf("%s:%d", p.Position, p.Position.Column)
	if p.Path == "" {
		return at + ": " + p.Reason
	}
	return at + ": " + p.Path + ": " + p.Reason
}

// Problems are all problems of a file, in the order of the file.
type Problems []Problem

// Error returns a line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds the text that a file full of nonsense can cause.
const maxProblems = 200

// report adds a problem, once.
func (d *Document) report(pos Position, path, reason string) {
	d.reported++
	p := Problem{Position: pos, Path: path, Reason: reason}
	if slices.Contains(d.problems, p) {
		return
	}
	switch {
	case len(d.problems) < maxProblems:
		d.problems = append(d.problems, p)
	case len(d.problems) == maxProblems:
		p.Path, p.Reason = "", "too many problems, the rest is not shown"
		d.problems = append(d.problems, p)
	}
}

// Err returns the [Problems] reported so far, sorted by position, nil if there are none.
func (d *Document) Err() error {
	if len(d.problems) == 0 {
		return nil
	}
	ps := slices.Clone(d.problems)
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return Problems(ps)
}
