package report

import (
	"strings"
	"unicode"
)

// special are the characters that mean something in GitHub's Markdown, and how they are written to mean nothing.
var special = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "\r\n", " ⏎ ", "\n", " ⏎ ", "\r", " ⏎ ",
	`\`, `\\`, "`", "\\`", "*", `\*`, "~", `\~`, "[", `\[`, "]", `\]`, "!", `\!`, "#", `\#`, "$", `\$`,
	"@", `\@`, "://", `\://`, "www.", `www\.`,
)

// escape makes text inert, wherever in a line it stands.
func escape(s string) string {
	s = special.Replace(visible(s))
	if !strings.Contains(s, "_") {
		return s
	}
	var b strings.Builder
	var before rune
	for i, r := range s {
		after := rune(0)
		for _, next := range s[i+len(string(r)):] {
			after = next
			break
		}
		if r == '_' && !(word(before) && word(after)) { // else it is no emphasis, and reads better as it is
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// code makes any text inert and sets it as code. A code element and not backquotes, since in a table those cannot hold
// everything; in code GitHub makes no links of mentions, issues and commits.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "<code>" + escape(s) + "</code>"
}

// visible replaces what neither XML nor a terminal may see: control characters by their pictures; by U+FFFD what is no
// Unicode or would turn the direction of the text around.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return r
		case r < 0x20:
			return '␀' + r
		case r == 0x7f:
			return '␡'
		case 0x80 <= r && r < 0xa0, r == 0xfffe, r == 0xffff, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
			return unicode.ReplacementChar
		default:
			return r
		}
	}, s)
}
