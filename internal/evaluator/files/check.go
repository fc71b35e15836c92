package files

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
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
	// json returns the value that the data is.
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
		return "it is not in it\n" + beginning(c.data)
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
		return fmt.Sprintf("it is in line %d\n%s", number, quote(string(line)))
	}}
}

func matches(re *regexp.Regexp) check {
	return check{"matches " + quote(re.String()), func(c content) string {
		if re.Match(c.data) {
			return ""
		}
		return "it is not found\n" + beginning(c.data)
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
	return fmt.Sprintf("they differ in line %d\n-want %s\n+got  %s", line+1, at(want), at(got))
}
