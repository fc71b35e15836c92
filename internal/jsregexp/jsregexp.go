// Package jsregexp writes regular expressions of JavaScript as those of Go, which find the same. What Go's cannot
// express is an error that names it; nothing is passed over.
//
// Texts with line ends other than \n, and characters beyond U+FFFF that JavaScript counts as two without the flags u
// and v, may be found otherwise.
package jsregexp

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLength is how many bytes an expression may have.
const maxLength = 64 << 10

// Translate returns a Go regular expression that finds what the one of JavaScript finds with the flags, a text of
// letters among dgimsuvy. Of the flag y only that the expression must be found at the beginning is kept: it says
// nothing about further places.
func Translate(pattern, flags string) (string, error) {
	if len(pattern) > maxLength {
		return "", fmt.Errorf("a regular expression of %d bytes, more than %d", len(pattern), maxLength)
	}
	if !utf8.ValidString(pattern) {
		return "", errors.New("a regular expression that is not UTF-8")
	}
	for i, f := range flags {
		if !strings.ContainsRune("dgimsuvy", f) {
			return "", fmt.Errorf("the flag %q is not one of JavaScript's", f)
		}
		if strings.ContainsRune(flags[:i], f) {
			return "", fmt.Errorf("the flag %q is there twice", f)
		}
	}
	t := translator{
		in: pattern, dot: strings.Contains(flags, "s"), unicode: strings.ContainsAny(flags, "uv"),
		sets: strings.Contains(flags, "v"),
	}
	if strings.Contains(flags, "u") && t.sets {
		return "", errors.New("the flags u and v exclude each other")
	}
	for _, f := range "im" {
		if strings.ContainsRune(flags, f) {
			t.modes = "(?" + string(f) + ")" + t.modes
		}
	}
	if err := t.all(); err != nil {
		return "", err
	}
	out := t.out.String()
	if strings.Contains(flags, "y") {
		out = `\A(?:` + out + `)`
	}
	out = t.modes + out
	if len(t.aheads.looks) > 0 {
		var err error
		if out, err = t.aheads.rewrite(out); err != nil {
			return "", err
		}
	}
	if _, err := syntax.Parse(out, syntax.Perl); err != nil {
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			return "", fmt.Errorf("%s: %q", e.Code, e.Expr)
		}
		return "", err
	}
	return out, nil
}

// What \s and \S stand for, within brackets, and a line's other characters.
const (
	spaces    = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	notSpaces = `\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
		`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	lineEnds = `\n\r\x{2028}\x{2029}`
)

// translator reads in from i on, and writes out.
type translator struct {
	in                 string
	i                  int
	out                strings.Builder
	dot, unicode, sets bool   // the flags s, u or v, and v
	open               []look // groups
	within             bool   // brackets
	modes              string // the flags i and m as Go writes them
	aheads             aheads
}

// look is an open group. Of one that looks ahead, begins is what it begins with, at its place in in, and from where
// what it looks for is written.
type look struct {
	begins   string
	at, from int
	flags    bool // it begins with flags, (?i:
}

// peek reports whether the rest begins with a text.
func (t *translator) peek(text string) bool { return strings.HasPrefix(t.in[t.i:], text) }

// skip takes the text if the rest begins with it.
func (t *translator) skip(text string) bool {
	if !t.peek(text) {
		return false
	}
	t.i += len(text)
	return true
}

// next takes a character.
func (t *translator) next() rune {
	r, size := utf8.DecodeRuneInString(t.in[t.i:])
	t.i += size
	return r
}

// errorf returns an error about the character at a place.
func (t *translator) errorf(at int, format string, args ...any) error {
	return fmt.Errorf("character %d: %s", 1+utf8.RuneCountInString(t.in[:at]), fmt.Sprintf(format, args...))
}

func (t *translator) all() error {
	repeatable := false // whether a quantifier may follow
	for t.i < len(t.in) {
		at := t.i
		switch {
		case t.end():
			repeatable = false
			continue
		case t.peek("("):
			if err := t.group(); err != nil {
				return err
			}
			repeatable = false
			continue
		}
		repeats, err := t.quantifier()
		switch {
		case err != nil:
			return err
		case repeats && !repeatable:
			return t.errorf(at, "there is nothing to repeat")
		case repeats:
			repeatable = false
			continue
		}
		repeatable = true
		switch r := t.next(); r {
		case ')':
			if len(t.open) == 0 {
				return t.errorf(at, "a parenthesis that was not opened")
			}
			group := t.open[len(t.open)-1]
			t.open = t.open[:len(t.open)-1]
			if group.begins == "" {
				t.out.WriteByte(')')
				continue
			}
			repeatable = false
			if err := t.looked(group); err != nil {
				return err
			}
		case '|', '^', '$':
			repeatable = false
			t.out.WriteRune(r)
		case '.':
			if t.dot {
				t.out.WriteString(`(?s:.)`)
			} else {
				t.out.WriteString(`[^` + lineEnds + `]`)
			}
		case '[':
			t.within = true
			if err := t.class(at); err != nil {
				return err
			}
			t.within = false
		case '\\':
			if t.peek("b") || t.peek("B") {
				t.out.WriteByte('\\')
				t.out.WriteRune(t.next())
				repeatable = false
				continue
			}
			if err := t.escape(at); err != nil {
				return err
			}
		case '{', '}', ']':
			if t.unicode {
				return t.errorf(at, "with the flags u and v, %q must be escaped", r)
			}
			t.literal(r)
		default:
			t.literal(r)
		}
	}
	if len(t.open) > 0 {
		return errors.New("a parenthesis is not closed")
	}
	return nil
}

// end takes the two looks around that are common for the beginning and the end of a text.
func (t *translator) end() bool {
	for _, any := range []string{`[\s\S]`, `[\S\s]`, `[\d\D]`, `[\w\W]`, `[^]`} {
		if t.skip(`(?<!` + any + `)`) {
			t.out.WriteString(`\A`)
			return true
		}
		if t.skip(`(?!` + any + `)`) {
			t.out.WriteString(`\z`)
			return true
		}
	}
	return false
}

// lacking are the groups that Go's regular expressions lack.
var lacking = []struct{ begins, name string }{
	{"(?<=", "a look behind, (?<=...)"},
	{"(?<!", "a negative look behind, (?<!...)"},
	{"(?=", "a look ahead, (?=...), of more than one character"},
	{"(?!", "a negative look ahead, (?!...), of more than one character"},
}

// looked takes the end of a group that looks ahead: an empty group stands for it, until all is written.
func (t *translator) looked(group look) error {
	out := t.out.String()
	a, ok := lookAhead(t.modes+out[group.from:], group.begins == "(?!")
	if !ok {
		for _, l := range lacking {
			if l.begins == group.begins {
				return t.errorf(group.at, "Go's regular expressions do not have %s", l.name)
			}
		}
	}
	t.out.Reset()
	fmt.Fprintf(&t.out, "%s(?P<%s%d>)", out[:group.from], aheadGroup, len(t.aheads.looks))
	t.aheads.looks = append(t.aheads.looks, a)
	return nil
}

// group takes what opens a group.
func (t *translator) group() error {
	at := t.i
	for _, l := range lacking[:2] {
		if t.peek(l.begins) {
			return t.errorf(at, "Go's regular expressions do not have %s", l.name)
		}
	}
	for _, l := range lacking[2:] {
		if t.skip(l.begins) {
			if slices.ContainsFunc(t.open, func(g look) bool { return g.flags }) {
				return t.errorf(at, "a look ahead within a group that begins with flags")
			}
			t.open = append(t.open, look{begins: l.begins, at: at, from: t.out.Len()})
			return nil
		}
	}
	t.open = append(t.open, look{})
	if !t.skip("(?") {
		t.i++
		t.out.WriteByte('(')
		return nil
	}
	if t.skip("<") {
		// Nothing refers to a name: it is not kept.
		name, _, ok := strings.Cut(t.in[t.i:], ">")
		if !ok || name == "" || strings.ContainsAny(name, `\()[]`) {
			return t.errorf(at, "a group whose name cannot be read")
		}
		t.i += len(name) + 1
		t.out.WriteByte('(')
		return nil
	}
	flags, _, ok := strings.Cut(t.in[t.i:], ":")
	if !ok || strings.Trim(flags, "i-") != "" {
		// m and s would change what is written for the dot.
		return t.errorf(at, "a group that begins with %q", "(?"+flags[:min(len(flags), 8)])
	}
	t.i += len(flags) + 1
	t.open[len(t.open)-1].flags = flags != ""
	t.out.WriteString("(?" + flags + ":")
	return nil
}

// quantifier takes a quantifier, if there is one.
func (t *translator) quantifier() (bool, error) {
	rest, at := t.in[t.i:], t.i
	n := 0
	switch rest[0] {
	case '*', '+', '?':
		n = 1
	case '{':
		n = 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], "0123456789"))
		if n == 1 {
			return false, nil
		}
		if strings.HasPrefix(rest[n:], ",") {
			n++
			n += len(rest[n:]) - len(strings.TrimLeft(rest[n:], "0123456789"))
		}
		if !strings.HasPrefix(rest[n:], "}") {
			return false, nil
		}
		n++
	default:
		return false, nil
	}
	if len(rest) > n && rest[n] == '?' {
		n++
	}
	if n > 24 {
		return false, t.errorf(at, "a number that is too large")
	}
	t.out.WriteString(rest[:n])
	t.i += n
	return true, nil
}

// literal writes a character that stands for itself.
func (t *translator) literal(r rune) {
	special := `\.+*?()|[]{}^$`
	if t.within {
		special = `\[]^-&~`
	}
	switch {
	case r < ' ' || r >= 0x7f && r < 0xa0:
		fmt.Fprintf(&t.out, `\x{%x}`, r)
	case strings.ContainsRune(special, r):
		t.out.WriteByte('\\')
		t.out.WriteRune(r)
	default:
		t.out.WriteRune(r)
	}
}

// escape takes what follows a backslash at a place.
func (t *translator) escape(at int) error {
	if t.i == len(t.in) {
		return t.errorf(at, "a backslash at the end")
	}
	r := t.next()
	switch r {
	case 'd', 'D', 'w', 'W':
		t.out.WriteByte('\\')
		t.out.WriteRune(r)
		return nil
	case 's', 'S':
		set := spaces
		if r == 'S' {
			set = notSpaces
		}
		if !t.within {
			set = "[" + set + "]"
		}
		t.out.WriteString(set)
		return nil
	case 'p', 'P':
		if t.unicode {
			return t.property(at, r)
		}
	case 'k':
		return t.errorf(at, "Go's regular expressions do not have references to groups, \\k")
	}
	if r >= '1' && r <= '9' {
		return t.errorf(at, "Go's regular expressions do not have references to groups, \\%c", r)
	}
	code, err := t.character(at, r)
	if err == nil {
		t.literal(code)
	}
	return err
}

// property takes the rest of \p{...}.
func (t *translator) property(at int, r rune) error {
	name, _, ok := strings.Cut(t.in[t.i:], "}")
	plain, open := strings.CutPrefix(name, "{")
	if !ok || !open {
		return t.errorf(at, "\\%c without {...}", r)
	}
	t.i += len(name) + 1
	for _, key := range []string{"Script=", "sc=", "General_Category=", "gc="} {
		plain = strings.TrimPrefix(plain, key)
	}
	written := `\` + string(r) + "{" + plain + "}"
	if _, err := syntax.Parse(written, syntax.Perl); err != nil {
		return t.errorf(at, "Go's regular expressions do not have the property %q", plain)
	}
	t.out.WriteString(written)
	return nil
}

// character returns what an escaped character stands for.
func (t *translator) character(at int, r rune) (rune, error) {
	switch r {
	case 't':
		return '\t', nil
	case 'n':
		return '\n', nil
	case 'v':
		return '\v', nil
	case 'f':
		return '\f', nil
	case 'r':
		return '\r', nil
	case '0':
		if t.i < len(t.in) && t.in[t.i] >= '0' && t.in[t.i] <= '9' {
			return 0, t.errorf(at, "an octal escape")
		}
		return 0, nil
	case 'c':
		if t.i < len(t.in) && (t.in[t.i]|0x20) >= 'a' && (t.in[t.i]|0x20) <= 'z' {
			return t.next() % 32, nil
		}
		return 0, t.errorf(at, "\\c without a letter")
	case 'x':
		if code, ok := t.hex(2); ok {
			return code, nil
		}
	case 'u':
		if t.unicode && t.peek("{") {
			digits, _, _ := strings.Cut(t.in[t.i+1:], "}")
			code, err := strconv.ParseUint(digits, 16, 32)
			if err != nil || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
				return 0, t.errorf(at, "\\u{%s} is no character", digits[:min(len(digits), 8)])
			}
			t.i += len(digits) + 2
			return rune(code), nil
		}
		if code, ok := t.hex(4); ok {
			if !utf8.ValidRune(code) {
				return 0, t.errorf(at, "half a character, \\u%x", code)
			}
			return code, nil
		}
	}
	if t.unicode && (r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
		return 0, t.errorf(at, "with the flags u and v there is no \\%c", r)
	}
	return r, nil
}

// hex takes so many hexadecimal digits.
func (t *translator) hex(n int) (rune, bool) {
	if len(t.in)-t.i < n {
		return 0, false
	}
	code, err := strconv.ParseUint(t.in[t.i:t.i+n], 16, 32)
	if err != nil {
		return 0, false
	}
	t.i += n
	return rune(code), true
}

// class takes what follows a bracket.
func (t *translator) class(at int) error {
	switch {
	case t.skip("^]"):
		t.out.WriteString(`(?s:.)`)
		return nil
	case t.skip("]"):
		t.out.WriteString(`[^\x00-\x{10ffff}]`)
		return nil
	}
	t.out.WriteByte('[')
	if t.skip("^") {
		t.out.WriteByte('^')
	}
	set := false // the item before is a set, such as \d, or ends a range
	for first := true; ; first = false {
		if t.i == len(t.in) {
			return t.errorf(at, "a bracket is not closed")
		}
		begin := t.i
		if t.sets {
			for _, op := range []string{"[", "--", "&&", `\q`} {
				if t.peek(op) {
					return t.errorf(begin, "Go's regular expressions do not have what %q is with the flag v", op)
				}
			}
		}
		switch r := t.next(); {
		case r == ']':
			t.out.WriteByte(']')
			return nil
		case r == '-' && !first && !set && !t.peek("]") && !t.isSet():
			t.out.WriteByte('-')
			set = true // what follows ends the range
			if err := t.item(); err != nil {
				return err
			}
		case r == '\\':
			t.i = begin
			set = t.isSet()
			if err := t.item(); err != nil {
				return err
			}
		default:
			set = false
			t.literal(r)
		}
	}
}

// isSet reports whether an escape that stands for several characters follows.
func (t *translator) isSet() bool {
	rest := t.in[t.i:]
	return len(rest) > 1 && rest[0] == '\\' &&
		(strings.IndexByte("dDwWsS", rest[1]) >= 0 || t.unicode && (rest[1] == 'p' || rest[1] == 'P'))
}

// item takes a character or an escape within brackets.
func (t *translator) item() error {
	at := t.i
	r := t.next()
	if r != '\\' {
		t.literal(r)
		return nil
	}
	if t.skip("b") {
		t.out.WriteString(`\x08`)
		return nil
	}
	return t.escape(at)
}
