package trajectory

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// The marks of rows.
const (
	good  = "✓"
	bad   = "✗"
	extra = "+" // a call that was not expected
)

// row is one line of a table.
type row struct {
	step  int    // 1-based; 0: not about a step
	mark  string // empty: a remark under the table
	left  string // what there was
	right string // what there should be, empty if it is the same
	call  int    // the actual call that a bad or extra row is about, counted from 1; 0: none
}

const (
	maxLeft = 80 // columns up to which the right side is aligned
	maxRun  = 10 // rows with the same mark in succession before they fold
)

// colours are the control sequences before marks and what belongs to them.
var colours = map[string]string{good: "\x1b[32m", bad: "\x1b[31m", extra: "\x1b[33m"}

const noColour = "\x1b[0m"

// table lays out the rows, each line beginning with indent, without a final newline.
func (f Format) table(rows []row, indent string) string {
	steps, left := 0, 0
	for _, r := range rows {
		steps = max(steps, r.step)
		if r.right != "" {
			left = max(left, min(utf8.RuneCountInString(r.left), maxLeft))
		}
	}
	width := 0 // of the step's number
	if steps > 0 {
		width = len(strconv.Itoa(steps)) + 1
	}
	var lines []string
	for len(rows) > 0 {
		run := 1
		for run < len(rows) && rows[run].mark == rows[0].mark {
			run++
		}
		shown := run
		if run > maxRun {
			shown = maxRun - 1
		}
		for _, r := range rows[:shown] {
			lines = append(lines, indent+f.line(r, width, left))
		}
		if run > shown {
			lines = append(lines, fmt.Sprintf("%s%*s%s … %d more", indent, width, "",
				f.paint(rows[0].mark, rows[0].mark), run-shown))
		}
		rows = rows[run:]
	}
	return strings.Join(lines, "\n")
}

// paint returns the text in the colour of the mark.
func (f Format) paint(mark, text string) string {
	if !f.Color || text == "" {
		return text
	}
	return colours[mark] + text + noColour
}

func (f Format) line(r row, width, left int) string {
	if r.mark == "" {
		return r.left
	}
	number := ""
	if r.step > 0 {
		number = strconv.Itoa(r.step) + " "
	}
	line := fmt.Sprintf("%*s%s %s", width, number, f.paint(r.mark, r.mark), r.left)
	if r.right == "" {
		return line
	}
	gap := 3 + max(0, left-utf8.RuneCountInString(r.left))
	return line + strings.Repeat(" ", gap) + f.paint(r.mark, r.right)
}

// show returns the texts of the difference for both sides of a table.
func (d difference) show() (had, want []string) {
	switch {
	case d.name == "":
		return nil, []string{"no such arguments"}
	case d.want == nil:
		return []string{assign(d.name, show(d.got))}, []string{"no " + label(d.name)}
	case !d.has:
		return nil, []string{assign(d.name, d.want.String()) + " (missing)"}
	case d.want.name != "equals":
		return []string{assign(d.name, show(d.got))}, []string{assign(d.name, d.want.String())}
	}
	all := leaves(d.name, d.want.param, d.got)
	for i, l := range all {
		if i == maxArgs {
			return had, append(want, fmt.Sprintf("%d more in %s", len(all)-i, label(d.name)))
		}
		switch {
		case l.want == nothing:
			had = append(had, assign(l.path, show(l.got)))
			want = append(want, "no "+label(l.path))
		case l.got == nothing:
			want = append(want, assign(l.path, show(l.want))+" (missing)")
		default:
			a, b := showApart(l.want, l.got)
			want = append(want, assign(l.path, a))
			had = append(had, assign(l.path, b))
		}
	}
	return had, want
}

// nothing stands for a value that is missing on one side.
var nothing any = struct{}{}

// leaf is a place in nested values where they differ, e.g. opts.lines[1].
type leaf struct {
	path      string
	want, got any // decoded JSON, or nothing
}

// leaves returns the places where two values differ, by name and index.
func leaves(path string, want, got any) (all []leaf) {
	if jsonvalue.Equal(want, got) {
		return nil
	}
	wants, isObject := want.(map[string]any)
	gots, isObjectToo := got.(map[string]any)
	if isObject && isObjectToo {
		both := maps.Clone(wants)
		maps.Copy(both, gots)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			all = append(all, leaves(path+"."+name, member(wants, name), member(gots, name))...)
		}
		return all
	}
	wantList, isList := want.([]any)
	gotList, isListToo := got.([]any)
	if isList && isListToo {
		for i := range max(len(wantList), len(gotList)) {
			all = append(all, leaves(path+"["+strconv.Itoa(i)+"]", element(wantList, i), element(gotList, i))...)
		}
		return all
	}
	return []leaf{{path, want, got}}
}

func member(object map[string]any, name string) any {
	if value, ok := object[name]; ok {
		return value
	}
	return nothing
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nothing
}

// How much of a text is shown, in runes, before it folds.
const (
	maxValue  = 60
	maxName   = 60
	maxReason = 200
	maxLine   = 160
	maxArgs   = 4 // arguments of a call without expected ones, or places in one argument
)

// show returns a value on one line, folded. A string has quotes unless it cannot be misread without: "1" is not 1.
func show(v any) string {
	s, ok := v.(string)
	switch {
	case !ok:
		return excerpt.Head(jsonvalue.Compact(v), maxValue)
	case s == "" || json.Valid([]byte(s)) || !plainText(s, "_./:@%+-~$*?#&"):
		return excerpt.Quote(s, maxValue)
	}
	return excerpt.Head(s, maxValue)
}

// plainText reports whether s consists of letters, digits and the given marks.
func plainText(s, marks string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(marks, r)
	})
}

// label returns a name that an agent or a user gave, on one line.
func label(name string) string { return excerpt.Name(name, maxName) }

func assign(name, value string) string {
	if name == "" || !plainText(name, "_.-:$/@[]") {
		name = excerpt.Quote(name, maxName)
	}
	return name + "=" + value
}

// showApart returns two different values so that the difference is visible: of long strings it shows the place where
// they differ.
func showApart(a, b any) (string, string) {
	s, okS := a.(string)
	t, okT := b.(string)
	if !okS || !okT {
		return show(a), show(b)
	}
	return excerpt.Apart(s, t, maxValue, 10, func(text string) string { return show(text) })
}
