// Package commandtest has texts that begin commands of CI systems or control terminals, and finds them in outputs.
package commandtest

import (
	"strings"
	"unicode"
)

// Texts are what an agent could write to be heard by a CI system or a terminal.
var Texts = []string{
	"::stop-commands::x", "fine\n::error::it was us", "fine\r\n \t::add-mask::x", "fine\r::error::x",
	"\u00a0::error::x", "\u034f:\u0301:error::x", "\u200b::error::x", "\u2028::error::x", "\x0b::error::x",
	"fine ##[error]x", "###[error]x", "fine ##vso[task.prependpath]x", "#\u0301#vso[task.complete]x",
	"fine ##teamcity[testFailed name='x']",
	"section_start:1560896352:x\r\x1b[0Kx", "\x1b]0;title\x07", "\x1b[2J\x1b[31mred", "\u009b2J",
	"\u202eesrever", "\x7f\x08",
}

// Find returns the lines of an output that a CI system or a terminal could obey.
func Find(output string) (found []string) {
	for line := range strings.SplitSeq(output, "\n") {
		if obeyed(line) {
			found = append(found, line)
		}
	}
	return found
}

func obeyed(line string) bool {
	unseen := func(r rune) bool {
		return unicode.In(r, unicode.M, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
	}
	seen := strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, line)
	if strings.HasPrefix(strings.TrimSpace(seen), "::") {
		return true
	}
	for rest := seen; ; {
		_, after, ok := strings.Cut(rest, "##")
		if !ok {
			break
		}
		name, _, ok := strings.Cut(after, "[")
		if ok && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) < 0 {
			return true
		}
		rest = "#" + after
	}
	return strings.ContainsFunc(line, func(r rune) bool {
		return r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
	})
}
