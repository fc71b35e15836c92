// Package files is the evaluator kind files: expectations on the files that the agent left in its workspace. What has
// to run to be judged belongs in package command.
package files

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// judge implements [evaluator.Evaluator].
type judge struct{ files []file }

// file is what is expected of one file.
type file struct {
	path           string // clean, below the workspace
	exists, absent bool
	checks         []check // of the content
}

func (judge) Needs() evaluator.Needs { return evaluator.NeedsWorkspace }

func (j judge) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	left, err := expect.OpenTree(in)
	if err != nil {
		return failed(err)
	}
	var t expect.Tally
	for _, f := range j.files {
		if err := ctx.Err(); err != nil {
			return failed(err)
		}
		if err := f.judge(left, &t); err != nil {
			return failed(err)
		}
	}
	return t.Verdict()
}

// failed is the verdict when nothing is known about the agent.
func failed(err error) evaluator.Verdict {
	return evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
}

// judge adds to the tally what holds and what does not. An error means that this is unknown.
func (f file) judge(left *expect.Tree, t *expect.Tally) error {
	add := func(what, problem string) {
		if problem == "" {
			t.Hold(1, f.path+" "+what)
		} else {
			t.Miss(1, f.path+" "+what, problem)
		}
	}
	if f.absent {
		problem, err := left.Absent(f.path)
		add("is absent", problem)
		return err
	}
	if f.exists {
		problem, err := left.Exists(f.path)
		if err != nil {
			return err
		}
		add("exists", problem)
	}
	if len(f.checks) == 0 {
		return nil
	}
	data, missing, err := left.Read(f.path)
	if err != nil {
		return err
	}
	found := newContent(data)
	for _, c := range f.checks {
		problem := missing
		if problem == "" {
			problem = c.problem(found)
		}
		add(c.what, problem)
	}
	return nil
}

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Expect []expectation `yaml:"expect,required" doc:"What is expected of which files."`
}

// expectation is what is expected of one file. Each key besides path is a check of its own.
type expectation struct {
	Path        string  `yaml:"path,required" doc:"The file, relative to the workspace, with slashes."`
	Exists      *bool   `yaml:"exists" doc:"Whether there is a file or directory."`
	Absent      *bool   `yaml:"absent" doc:"True: nothing is there, not even a dangling link."`
	Contains    *string `yaml:"contains" min:"1" doc:"A text that is in the file."`
	NotContains *string `yaml:"not_contains" min:"1" doc:"A text that is not in the file, which must exist."`
	Equals      *string `yaml:"equals" doc:"The whole text of the file."`
	Matches     *string `yaml:"matches" min:"1" doc:"A Go regular expression in the file; (?m) for ^ and $ at lines."`
	JSONPath    []value `yaml:"json_path" min:"1" doc:"What is expected of values in the file, which must be JSON."`
	Golden      string  `yaml:"golden" min:"1" doc:"A file beside the playbook with the whole text of the file."`
}

// Kind returns the kind of evaluator.
func Kind() plan.Kind { return plan.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	n.Decode(&k)
	items := n.Get("expect").Items()
	var j judge
	for i, e := range k.Expect {
		j.files = append(j.files, e.compile(items[i]))
	}
	for i, f := range j.files {
		if !f.absent || f.path == "" {
			continue
		}
		if err := unheld(n, f.path, j.files); err != nil {
			items[i].Errorf("path", "%s: %v", f.path, err)
		}
	}
	return j
}

// compile returns the checks of an expectation, in the order of the keys above.
func (e expectation) compile(item *doc.Node) file {
	var f file
	if e.Path != "" {
		var err error
		if f.path, err = expect.CleanPath(e.Path); err != nil {
			item.Errorf("path", "%v", err)
		}
	}
	if e.Absent != nil && !*e.Absent {
		item.Errorf("absent", "must be true: write `exists: true` instead")
	}
	f.absent = e.Absent != nil || e.Exists != nil && !*e.Exists
	f.exists = e.Exists != nil && *e.Exists
	if e.Contains != nil {
		f.checks = append(f.checks, contains(*e.Contains))
	}
	if e.NotContains != nil {
		f.checks = append(f.checks, notContains(*e.NotContains))
	}
	if e.Equals != nil {
		f.checks = append(f.checks, equals(*e.Equals))
	}
	if e.Matches != nil {
		if re, err := expect.CompilePattern(*e.Matches); err != nil {
			item.Errorf("matches", "%v", err)
		} else {
			f.checks = append(f.checks, matches(re))
		}
	}
	values := item.Get("json_path").Items()
	for i, v := range e.JSONPath {
		f.checks = append(f.checks, v.compile(values[i]))
	}
	if e.Golden != "" {
		f.checks = append(f.checks, compileGolden(item.Get("golden"), e.Golden))
	}
	switch {
	case f.absent && (f.exists || len(f.checks) > 0):
		item.Errorf("", "expects something of a file that must not exist")
	case len(item.Entries()) == 1 && e.Path != "":
		item.Errorf("", "expects nothing of %s: write `exists: true`, `contains`, or another check", e.Path)
	}
	return f
}

const (
	maxQuote = 80 // runes of a text that are shown
	maxLines = 5  // lines of a file that are shown
)

// quote returns s in quotes, cut where it is long.
func quote(s string) string { return excerpt.Quote(s, maxQuote) }

// beginning shows the first lines of a file.
func beginning(content []byte) string {
	switch {
	case len(content) == 0:
		return "the file is empty"
	case !utf8.Valid(content):
		return fmt.Sprintf("the file is not text, %d bytes", len(content))
	}
	lines := bytes.SplitN(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"), maxLines+1)
	text := "the file begins with"
	if len(lines) <= maxLines {
		text = "the file is"
	}
	for _, line := range lines[:min(len(lines), maxLines)] {
		text += "\n" + quote(string(line))
	}
	return text
}
