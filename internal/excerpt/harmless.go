package excerpt

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// What CI systems take for commands in the output of a job. GitHub Actions reads those that begin a line, after white
// space and characters that its comparison does not see. TeamCity, Azure Pipelines and GitHub Actions in its older form
// read the others wherever they stand. GitLab's and Travis' need control characters.
var (
	lineCommand = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^([\t\p{Z}\p{M}]*)(:\p{M}*:)`)
	})
	inlineCommand = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`#(\p{M}*#[\p{L}\p{M}\p{N}_.-]*\[)`)
	})
)

// Harmless returns a text of several lines that controls no terminal and holds no command for a CI system. It escapes
// characters that are not printable or not visible, except for tabs, line ends and spaces, and puts a backslash before
// or into what would be a command. A text that it has returned does not change any more.
func Harmless(text string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		if r == '\n' || shown(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escaped(r))
		}
	}
	text = lineCommand().ReplaceAllString(b.String(), `${1}\${2}`)
	return inlineCommand().ReplaceAllString(text, `#\${1}`)
}

func shown(r rune) bool {
	invisible := unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	return r == '\t' || unicode.In(r, unicode.Zs) || unicode.IsPrint(r) && !invisible
}

func escaped(r rune) string { return strings.Trim(strconv.QuoteRuneToASCII(r), "'") }
