package fieldaccuracy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// matcher is what a field should be.
type matcher interface {
	// String says it, e.g. `equals "INV-7"`.
	String() string
	// problem returns what is wrong with a decoded value, empty if nothing is.
	problem(got any) string
}

type equals struct{ want any }

func (m equals) String() string { return "equals " + expect.ShowJSON(m.want) }

func (m equals) problem(got any) string {
	if jsonvalue.Equal(m.want, got) {
		return ""
	}
	return itIs(got)
}

func itIs(got any) string { return "it is " + expect.ShowJSON(got) }

// near is a number with a tolerance. It computes with the decimals that were written: 100.1 is within 0.1 of 100.2.
type near struct {
	want, within *big.Rat
	relative     bool
	// number and tolerance are as they were written.
	number, tolerance json.Number
}

func (m near) String() string {
	kind := "tolerance"
	if m.relative {
		kind = "relative tolerance"
	}
	return fmt.Sprintf("is %s, %s %s", m.number, kind, m.tolerance)
}

func (m near) problem(got any) string {
	number, ok := got.(json.Number)
	if !ok {
		return itIs(got) + ", " + jsonvalue.Type(got) + " and not a number"
	}
	value, inRange := exact(number)
	if !inRange {
		return itIs(got) + ", which is out of range"
	}
	most := m.within
	if m.relative {
		most = new(big.Rat).Mul(most, new(big.Rat).Abs(m.want))
	}
	if off := new(big.Rat).Sub(value, m.want); off.Abs(off).Cmp(most) > 0 {
		return itIs(got)
	}
	return ""
}

// exact returns the exact value of a number; false if it has too many digits to compute with.
func exact(n json.Number) (*big.Rat, bool) {
	number, ok := jsonvalue.ParseNumber(n)
	if !ok {
		return nil, false
	}
	return number.Rat()
}

// text is a text in which the case of letters and the space around it do not matter.
type text string

func (m text) String() string { return "is like " + expect.ShowJSON(string(m)) }

func (m text) problem(got any) string {
	s, ok := got.(string)
	if ok && strings.EqualFold(strings.TrimSpace(s), strings.TrimSpace(string(m))) {
		return ""
	}
	return itIs(got)
}

// day is a day, whatever the time of that day.
type day struct {
	want    time.Time
	layouts []string
}

func (m day) String() string { return "is the day " + m.want.Format(iso) }

func (m day) problem(got any) string {
	s, ok := got.(string)
	if !ok {
		return itIs(got) + ", " + jsonvalue.Type(got) + " and not a string"
	}
	d, err := parseDay(s, m.layouts)
	switch {
	case err != nil:
		return itIs(got) + ", " + err.Error()
	case !d.Equal(m.want):
		return itIs(got) + " (" + d.Format(iso) + ")"
	default:
		return ""
	}
}

// field is what one field of the document should be.
type field struct {
	path     expect.JSONPath
	want     matcher
	weight   float64
	required bool
}

// String says what is expected, and the weight unless it is 1.
func (f field) String() string {
	s := f.path.String() + " " + f.want.String()
	if f.required {
		s += " (required)"
	}
	if f.weight != 1 {
		s += " (weight " + strconv.FormatFloat(f.weight, 'g', -1, 64) + ")"
	}
	return s
}

// problem returns what is wrong with the field, empty if nothing is.
func (f field) problem(document any) string {
	got, missing := f.path.Find(document)
	if missing != "" {
		return missing
	}
	return f.want.problem(got)
}

// iso is the form in which playbooks write days.
const iso = "2006-01-02"

// layouts are the unambiguous ways to write a day: with the year first, or with the month's name. 01/02/2025 is not one
// of them. Where there is a time, the day is the one that is written, whatever the zone.
var layouts = []string{
	iso, "2006/1/2", "2006.1.2", "20060102",
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04",
	"2-Jan-2006", "2-January-2006", "2 Jan 2006", "2 January 2006", "2. January 2006",
	"Jan 2, 2006", "January 2, 2006", "Jan 2 2006", "January 2 2006",
	"Mon, 2 Jan 2006", "Monday, 2 January 2006", "Monday, January 2, 2006",
}

// maxDay is the length of the longest text that is parsed as a day.
const maxDay = 100

// parseDay returns the day that a text writes in one of the layouts, at midnight UTC.
func parseDay(text string, layouts []string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if len(text) <= maxDay {
		for _, layout := range layouts {
			if t, err := time.Parse(layout, text); err == nil {
				return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), nil
			}
		}
	}
	return time.Time{}, errors.New("which is not a date in a known format")
}

// tokens are the parts of formats, longest first, with what package time calls them.
var tokens = strings.NewReplacer(
	"YYYY", "2006", "MMMM", "January", "MMM", "Jan", "MM", "01", "M", "1", "DD", "02", "D", "2",
)

var (
	validFormat = lazyregexp.New(`^(YYYY|MMMM|MMM|MM|M|DD|D|[-/., ])+$`)
	yearToken   = lazyregexp.New(`Y+`)
	monthToken  = lazyregexp.New(`M+`)
	dayToken    = lazyregexp.New(`D+`)
)

// layoutOf returns the layout of a format such as DD.MM.YYYY.
func layoutOf(format string) (string, error) {
	once := func(token *lazyregexp.Regexp) bool { return len(token.FindAllString(format, 2)) == 1 }
	if !validFormat.MatchString(format) || !once(yearToken) || !once(monthToken) || !once(dayToken) {
		return "", fmt.Errorf("%q is not a date format: write YYYY, one of MMMM MMM MM M, and one of DD D, "+
			"with - / . , or spaces between", format)
	}
	layout := tokens.Replace(strings.TrimSpace(format))
	for _, d := range []time.Time{
		time.Date(2025, 1, 5, 0, 0, 0, 0, time.UTC),
		time.Date(2025, 11, 23, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := parseDay(d.Format(layout), []string{layout}); err != nil || !got.Equal(d) {
			return "", fmt.Errorf("%q is ambiguous: put a separator between its parts", format)
		}
	}
	return layout, nil
}
