package jsonvalue

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// Number is the exact value of a JSON number, however large: a float64 would make one of 9007199254740992 and
// 9007199254740993. It is sign × 0.digits × 10^exp, so that equal numbers are equal (==).
type Number struct {
	sign   int    // -1, 0, 1
	digits string // no zeros at either end; empty for zero
	exp    int64
}

// ParseNumber returns the value of a number. It is false for what is not a JSON number, and for an exponent of more
// than 18 digits, which is not computed with.
func ParseNumber(text json.Number) (n Number, ok bool) {
	n, power, ok := split(string(text))
	if !ok || n.digits == "" || power == "" {
		return n, ok
	}
	const limit, digits = 1e18, 18
	magnitude, negative := strings.CutPrefix(power, "-")
	magnitude = strings.TrimLeft(strings.TrimPrefix(magnitude, "+"), "0")
	if len(magnitude) > digits {
		return Number{}, false
	}
	exp, _ := strconv.ParseInt("0"+magnitude, 10, 64)
	if negative {
		exp = -exp
	}
	n.exp += exp
	if p := n.power(); p >= limit || p <= -limit {
		return Number{}, false
	}
	return n, true
}

// split returns a number without its power of ten. It is false for what is not a JSON number.
func split(text string) (n Number, power string, ok bool) {
	n.sign = 1
	whole := text
	if len(text) > 0 && text[0] == '-' {
		n.sign, whole = -1, text[1:]
	}
	var fraction string
	if !isDigits(whole) { // most are
		if i := strings.IndexAny(whole, "eE"); i >= 0 {
			whole, power = whole[:i], whole[i+1:]
			if unsigned := strings.TrimLeft(power, "+-"); len(power)-len(unsigned) > 1 || !isDigits(unsigned) {
				return Number{}, "", false
			}
		}
		var isFraction bool
		whole, fraction, isFraction = strings.Cut(whole, ".")
		if !isDigits(whole) || isFraction && !isDigits(fraction) {
			return Number{}, "", false
		}
	}
	if len(whole) > 1 && whole[0] == '0' {
		return Number{}, "", false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	n.exp = int64(len(digits) - len(fraction))
	n.digits = strings.TrimRight(digits, "0")
	if n.digits == "" {
		return Number{}, power, true
	}
	return n, power, true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Compare returns -1, 0 or 1 as n is less than, equal to or greater than m.
func (n Number) Compare(m Number) int {
	switch {
	case n.sign != m.sign:
		return cmp.Compare(n.sign, m.sign)
	case n.exp != m.exp:
		return n.sign * cmp.Compare(n.exp, m.exp)
	default:
		return n.sign * strings.Compare(n.digits, m.digits)
	}
}

// IsInt reports whether n is a whole number, such as 1.0 or 1e3.
func (n Number) IsInt() bool { return n.power() >= 0 }

// Rat returns n to compute with. It is false for a number of more than 400 digits, or beyond 10^400 or 10^-400, which
// bounds the work.
func (n Number) Rat() (*big.Rat, bool) {
	const most = 400
	if len(n.digits) > most || n.exp < -most || n.exp > most {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// String returns the canonical form of n: a whole number that does not end with 0, and a power of ten. So 1.50 is
// 15e-1, 100 is 1e2, and 7 is 7.
func (n Number) String() string {
	if n.sign == 0 {
		return "0"
	}
	text := n.digits
	if n.sign < 0 {
		text = "-" + text
	}
	if power := n.power(); power != 0 {
		text += "e" + strconv.FormatInt(power, 10)
	}
	return text
}

// power returns the power of ten by which the digits, read as a whole number, are multiplied.
func (n Number) power() int64 { return n.exp - int64(len(n.digits)) }
