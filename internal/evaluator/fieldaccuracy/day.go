package fieldaccuracy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// iso is the form in which playbooks write days.
const iso = "2006-01-02"

// layouts are the ways to write a day that can be read in one way only: with the year first, or with the month's name.
// 01/02/2025 is none of them. Where there is a time, the day is the one that is written, whatever the zone.
var layouts = []string{
	iso, "2006/1/2", "2006.1.2", "20060102",
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04",
	"2-Jan-2006", "2-January-2006", "2 Jan 2006", "2 January 2006", "2. January 2006",
	"Jan 2, 2006", "January 2, 2006", "Jan 2 2006", "January 2 2006",
	"Mon, 2 Jan 2006", "Monday, 2 January 2006", "Monday, January 2, 2006",
}

// maxDay bounds the texts in which a day is looked for.
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
		return "", fmt.Errorf("%q is not a date format: write YYYY, one of MMMM MMM MM M, and one of DD D, with - / . , or spaces between", format)
	}
	layout := tokens.Replace(strings.TrimSpace(format))
	for _, d := range []time.Time{
		time.Date(2025, 1, 5, 0, 0, 0, 0, time.UTC),
		time.Date(2025, 11, 23, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := parseDay(d.Format(layout), []string{layout}); err != nil || !got.Equal(d) {
			return "", fmt.Errorf("%q cannot be read back: put one character between its parts", format)
		}
	}
	return layout, nil
}
