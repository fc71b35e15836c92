package files

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// check is one expectation on the content of a file.
type check struct {
	// what it expects, e.g. `contains "x"`.
	what string
	// problem returns what is wrong with the content, in one line or more, empty if nothing is.
	problem func(content) string
}

// content is the content of a file.
type content struct {
	data []byte
	// json returns the decoded data.
	json func() (any, error)
}

func newContent(data []byte) content {
	return content{data, sync.OnceValues(func() (document any, err error) {
		err = jsonvalue.DecodeStrict(data, &document, 0)
		return document, err
	})}
}

func contains(want string) check {
	return check{"contains " + quote(want), func(c content) string {
		if bytes.Contains(c.data, []byte(want)) {
			return ""
		}
		return "not found\n" + beginning(c.data)
	}}
}

func notContains(want string) check {
	return check{"does not contain " + quote(want), func(c content) string {
		before, _, found := bytes.Cut(c.data, []byte(want))
		if !found {
			return ""
		}
		number := 1 + bytes.Count(before, []byte("\n"))
		start := 1 + bytes.LastIndexByte(before, '\n')
		line, _, _ := bytes.Cut(c.data[start:], []byte("\n"))
		return fmt.Sprintf("found on line %d\n%s", number, quote(string(line)))
	}}
}

func matches(re *regexp.Regexp) check {
	return check{"matches " + quote(re.String()), func(c content) string {
		if re.Match(c.data) {
			return ""
		}
		return "no match\n" + beginning(c.data)
	}}
}

func equals(want string) check {
	return check{"equals " + quote(want), func(c content) string {
		got := string(c.data)
		switch {
		case got == want:
			return ""
		case strings.TrimRight(got, "\n") == strings.TrimRight(want, "\n"):
			return fmt.Sprintf("it ends with %s, want %s", newlines(got), newlines(want))
		case onlyLineEnds(want, got):
			return otherLineEnds
		default:
			return firstDifference(strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n"))
		}
	}}
}

const otherLineEnds = "lines end with CRLF on one side and with LF on the other"

// onlyLineEnds reports whether two texts that differ do so in how their lines end.
func onlyLineEnds(want, got string) bool {
	return strings.ReplaceAll(got, "\r\n", "\n") == strings.ReplaceAll(want, "\r\n", "\n")
}

// newlines counts the newlines at the end.
func newlines(s string) string {
	switch n := len(s) - len(strings.TrimRight(s, "\n")); n {
	case 0:
		return "no newline"
	case 1:
		return "one newline"
	default:
		return fmt.Sprintf("%d newlines", n)
	}
}

// firstDifference shows the first line in which two different texts differ.
func firstDifference(want, got []string) string {
	line := 0
	for line < min(len(want), len(got)) && want[line] == got[line] {
		line++
	}
	at := func(lines []string) string {
		if line >= len(lines) || lines[line] == "" {
			return "the end"
		}
		return quote(lines[line])
	}
	return fmt.Sprintf("they differ on line %d\n-want %s\n+got  %s", line+1, at(want), at(got))
}

const (
	maxCompared  = 512 << 10 // bytes of a file that is compared line by line
	maxDiffLines = 40        // lines of a difference that are shown
	maxDiffLine  = 200       // runes of each
)

// golden is a file that another is to equal.
type golden struct {
	name string // from the playbook
	want string
}

// compileGolden returns the check for a golden file. It reads the file at once, so that a missing file is an error of
// the playbook and not of a unit.
func compileGolden(n *doc.Node, name string) check {
	data, err := readGolden(n, name)
	if err != nil {
		n.Errorf("", "%v", err)
		return check{}
	}
	g := golden{name: name, want: string(data)}
	return check{"equals " + name, func(c content) string {
		if string(c.data) == g.want {
			return ""
		}
		return g.difference(string(c.data)) + "\nto accept it, copy the file from the unit's workspace over " +
			shown(n, name) +
			"; `sdd-eval run` and EVALTEST_RUN_DIR keep workspaces"
	}}
}

func readGolden(n *doc.Node, name string) ([]byte, error) {
	file, err := plan.File(n, name)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, expect.MaxFileSize+1))
	if err == nil && len(data) > expect.MaxFileSize {
		err = fmt.Errorf("%s exceeds the %d MiB limit", name, expect.MaxFileSize>>20)
	}
	return data, err
}

// shown returns the golden file's path, relative to the same directory as the playbook's path.
func shown(n *doc.Node, name string) string {
	file, err := plan.File(n, name)
	if err != nil || filepath.IsAbs(name) {
		return name
	}
	rel, err := filepath.Rel(plan.Dir(n), file)
	if err != nil {
		return name
	}
	return path.Join(path.Dir(filepath.ToSlash(n.Position().File)), filepath.ToSlash(rel))
}

// difference describes how a text differs from the golden one.
func (g golden) difference(got string) string {
	switch {
	case isBinary(got) || isBinary(g.want):
		at := 0
		for at < min(len(got), len(g.want)) && got[at] == g.want[at] {
			at++
		}
		return fmt.Sprintf("they differ from byte %d: %d bytes, want %d", at, len(got), len(g.want))
	case onlyLineEnds(g.want, got):
		return otherLineEnds
	case max(len(got), len(g.want)) > maxCompared:
		return firstDifference(strings.SplitAfter(g.want, "\n"), strings.SplitAfter(got, "\n"))
	}
	diff, err := udiff.ToUnifiedDiff("want", "got", g.want, udiff.Lines(g.want, got), udiff.DefaultContextLines)
	if err != nil {
		panic(fmt.Sprintf("files: compare with %s: %v", g.name, err)) // the edits come from udiff itself
	}
	return "they differ\n" + readable(diff.String())
}

func isBinary(text string) bool { return strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) }

// readable cuts a difference to a readable length and makes control characters visible.
func readable(diff string) string {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	more := len(lines) - maxDiffLines
	var b bytes.Buffer
	for _, line := range lines[:min(len(lines), maxDiffLines)] {
		b.WriteString(excerpt.Visible(line, maxDiffLine))
		b.WriteByte('\n')
	}
	if more > 0 {
		fmt.Fprintf(&b, "… %d more lines\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// value is what is expected of one value in a JSON file.
type value struct {
	At     string    `yaml:"at,required" doc:"Where the value stands: keys and indexes, e.g. lines[0].price."`
	Equals *doc.Node `yaml:"equals" doc:"The value, of any type. Either equals or exists."`
	Exists *bool     `yaml:"exists" doc:"Whether there is a value, be it null. Either equals or exists."`
}

func (v value) compile(item *doc.Node) check {
	path, err := expect.ParseJSONPath(v.At)
	if err != nil && v.At != "" {
		item.Errorf("at", "%v", err)
	}
	if (item.Get("equals") != nil) == (item.Get("exists") != nil) {
		item.Errorf("", "exactly one of `equals` and `exists` is required")
	}
	switch {
	case v.Exists == nil:
		return hasValue(path, item.Get("equals").Value())
	case *v.Exists:
		return has(path)
	default:
		return hasNot(path)
	}
}

func hasValue(path expect.JSONPath, want any) check {
	return ofJSON("has "+path.String()+" = "+expect.ShowJSON(want), func(document any) string {
		got, missing := path.Find(document)
		if missing == "" && !jsonvalue.Equal(want, got) {
			return "it is " + expect.ShowJSON(got)
		}
		return missing
	})
}

func has(path expect.JSONPath) check {
	return ofJSON("has "+path.String(), func(document any) string {
		_, missing := path.Find(document)
		return missing
	})
}

func hasNot(path expect.JSONPath) check {
	return ofJSON("has no "+path.String(), func(document any) string {
		got, missing := path.Find(document)
		if missing != "" {
			return ""
		}
		return "it is " + expect.ShowJSON(got)
	})
}

// ofJSON is a check of a file that must be JSON.
func ofJSON(what string, problem func(document any) string) check {
	return check{what, func(c content) string {
		document, err := c.json()
		if err != nil {
			return "the file is not JSON: " + err.Error() + "\n" + beginning(c.data)
		}
		return problem(document)
	}}
}
