package files

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// check is one expectation on the content of a file.
type check struct {
	// what it expects, e.g. `contains "x"`.
	what string
	// problem returns what is wrong with the content, in one line or more, empty if nothing is.
	problem func(content []byte) string
}

func contains(want string) check {
	return check{"contains " + quote(want), func(content []byte) string {
		if bytes.Contains(content, []byte(want)) {
			return ""
		}
		return "it is not in it\n" + beginning(content)
	}}
}

func notContains(want string) check {
	return check{"does not contain " + quote(want), func(content []byte) string {
		before, _, found := bytes.Cut(content, []byte(want))
		if !found {
			return ""
		}
		number := 1 + bytes.Count(before, []byte("\n"))
		start := 1 + bytes.LastIndexByte(before, '\n')
		line, _, _ := bytes.Cut(content[start:], []byte("\n"))
		return fmt.Sprintf("it is in line %d\n%s", number, quote(string(line)))
	}}
}

func matches(re *regexp.Regexp) check {
	return check{"matches " + quote(re.String()), func(content []byte) string {
		if re.Match(content) {
			return ""
		}
		return "it is not found\n" + beginning(content)
	}}
}

func equals(want string) check {
	return check{"equals " + quote(want), func(content []byte) string {
		got := string(content)
		switch {
		case got == want:
			return ""
		case strings.TrimRight(got, "\n") == strings.TrimRight(want, "\n"):
			return fmt.Sprintf("it ends with %s, want %s", newlines(got), newlines(want))
		case strings.ReplaceAll(got, "\r\n", "\n") == strings.ReplaceAll(want, "\r\n", "\n"):
			return "lines end with CRLF on one side and with LF on the other"
		default:
			return firstDifference(strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n"))
		}
	}}
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
