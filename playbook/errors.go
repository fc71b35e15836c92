package playbook

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Error is one thing that is wrong with a playbook.
type Error struct {
	Position Position
	// Path is its place in the file, e.g. "variants.claude.agent.kind"; empty for the file as a whole.
	Path string
	// Reason says what is wrong and, where it is known, what would be right.
	Reason string
}

// Error returns "file:line:column: path: reason".
func (e Error) Error() string {
	p := doc.Problem{Position: doc.Position(e.Position), Path: e.Path, Reason: e.Reason}
	return p.Error()
}

// Errors are all the things that are wrong with a playbook, in the order of the file.
type Errors []Error

// Error returns a line for each error.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// errorsOf returns what was reported on a document as [Errors], nil if nothing was.
func errorsOf(d *doc.Document) error {
	problems, ok := errors.AsType[doc.Problems](d.Err())
	if !ok {
		return nil
	}
	es := make(Errors, len(problems))
	for i, p := range problems {
		es[i] = Error{Position: Position(p.Position), Path: p.Path, Reason: p.Reason}
	}
	return es
}

// at puts a position before an error that comes up when a playbook runs.
func (p Position) at(key string, err error) error {
	return fmt.Errorf("%s: %s: %w", p, key, err)
}
