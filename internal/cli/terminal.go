package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// screen is where progress is shown.
type screen struct {
	w io.Writer
	// size returns the columns and lines of a terminal. It is nil if w is no terminal: then only plain lines are shown.
	size func() (columns, lines int)
	// color says whether colours are wanted.
	color bool
	now   func() time.Time
}

// screenOf returns the screen for w. Dumb terminals do not count as terminals, and neither does the console of Windows,
// which may not understand escape sequences.
func screenOf(w io.Writer, getenv func(string) string, now func() time.Time) screen {
	s := screen{w: w, now: now}
	below := data(w)
	f, ok := below.(*os.File)
	dumb := getenv("TERM") == "" || getenv("TERM") == "dumb" || runtime.GOOS == "windows"
	if !ok || dumb || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.w, s.color = below, getenv("NO_COLOR") == "" // what is drawn is [printable]
	s.size = func() (int, int) {
		columns, lines, err := term.GetSize(int(f.Fd()))
		if err != nil || columns < 1 || lines < 1 {
			return 80, 24
		}
		return columns, lines
	}
	return s
}

// colored returns an outcome, in its colour if colours are wanted.
func (s screen) colored(o result.Outcome) string {
	colors := map[result.Outcome]int{
		result.Pass: 32, result.Fail: 31, result.Error: 35, result.Skip: 33, result.Completed: 36,
	}
	if color, ok := colors[o]; ok && s.color {
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, o)
	}
	return string(o)
}

// paint colours text (ECMA-48), if colours are wanted.
type paint bool

// newPaint returns the paint for standard output: it colours only on a terminal where colours are wanted.
func newPaint(a *App) paint {
	w := data(a.Stdout)
	if checked, ok := w.(*checkedWriter); ok {
		w = checked.w
	}
	return paint(screenOf(w, a.Getenv, a.Now).color)
}

func (p paint) bold(s string) string  { return p.sgr("1", s) }
func (p paint) dim(s string) string   { return p.sgr("2", s) }
func (p paint) red(s string) string   { return p.sgr("31", s) }
func (p paint) green(s string) string { return p.sgr("32", s) }
func (p paint) cyan(s string) string  { return p.sgr("36", s) }

func (p paint) sgr(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// printable returns s as one line that is safe to show on a terminal, whoever wrote it: control characters and line
// ends become their Unicode pictures, tabs become spaces, and invalid characters become U+FFFD. Format characters, such
// as those that change the direction of writing, are removed.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < 0x20:
			return '\u2400' + r
		case r == 0x7f:
			return '\u2421'
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsControl(r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// wide holds the characters that take two columns on a terminal: East Asian scripts and emoji, by Unicode's East Asian
// Width (UAX #11), as whole blocks.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x231a, 0x231b, 1},
		{0x23e9, 0x23ec, 1},
		{0x2614, 0x2615, 1},
		{0x26a1, 0x26a1, 1},
		{0x2705, 0x2705, 1},
		{0x2728, 0x2728, 1},
		{0x274c, 0x274c, 1},
		{0x2753, 0x2755, 1},
		{0x2795, 0x2797, 1},
		{0x2b50, 0x2b50, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0x33ff, 1},
		{0x3400, 0x4dbf, 1},
		{0x4e00, 0x9fff, 1},
		{0xa000, 0xa4cf, 1},
		{0xa960, 0xa97f, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1},
		{0xff00, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18aff, 1},
		{0x1b000, 0x1b2ff, 1},
		{0x1f004, 0x1f004, 1},
		{0x1f0cf, 0x1f0cf, 1},
		{0x1f18e, 0x1f18e, 1},
		{0x1f191, 0x1f19a, 1},
		{0x1f200, 0x1f320, 1},
		{0x1f32d, 0x1f64f, 1},
		{0x1f680, 0x1f6ff, 1},
		{0x1f7e0, 0x1f7eb, 1},
		{0x1f900, 0x1faff, 1},
		{0x20000, 0x3fffd, 1},
	},
}

// columnsOf returns how many columns of a terminal a character takes.
func columnsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// cut returns as much of a printable text as fits into width columns, with an ellipsis if something is missing.
func cut(s string, width int) string {
	used, end := 0, 0 // end is where the text is cut if an ellipsis has to follow
	for i, r := range s {
		used += columnsOf(r)
		if used > width {
			if width < 1 {
				return ""
			}
			return s[:end] + "…"
		}
		if used < width {
			end = i + len(string(r))
		}
	}
	return s
}

// cutLeft is like cut, but removes the beginning of the text, for texts whose end matters most.
func cutLeft(s string, columns int) string {
	used := width(s)
	switch {
	case used <= columns:
		return s
	case columns < 1:
		return ""
	}
	for i, r := range s {
		// The ellipsis takes one column, and must not get the combining mark of a letter.
		if used < columns && !unicode.In(r, unicode.Mn, unicode.Me) {
			return "…" + s[i:]
		}
		used -= columnsOf(r)
	}
	return "…"
}

// width returns how many columns a printable text takes.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}
