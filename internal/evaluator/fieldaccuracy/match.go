package fieldaccuracy

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/jsonpath"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// matcher is what a field should be.
type matcher interface {
	// String says it, e.g. `equals "INV-7"`.
	String() string
	// problem returns what is wrong with a decoded value, empty if nothing is.
	problem(got any) string
}

type equals struct{ want any }

func (m equals) String() string { return "equals " + jsonpath.Show(m.want) }

func (m equals) problem(got any) string {
	if jsonvalue.Equal(m.want, got) {
		return ""
	}
	return itIs(got)
}

func itIs(got any) string { return "it is " + jsonpath.Show(got) }

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

// exact returns the value of a number to compute with, false if it is larger or longer than numbers that anybody means.
func exact(n json.Number) (*big.Rat, bool) {
	number, ok := jsonvalue.ParseNumber(n)
	if !ok {
		return nil, false
	}
	return number.Rat()
}

// text is a text in which the case of letters and the space around it do not matter.
type text string

func (m text) String() string { return "is like " + jsonpath.Show(string(m)) }

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
	path     jsonpath.Path
	want     matcher
	weight   float64
	required bool
}

// String says what is expected, and what it weighs if that is not 1.
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
