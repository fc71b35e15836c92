package report

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Counts are how many ended in which way.
type Counts struct {
	Pass      int `json:"pass"`
	Fail      int `json:"fail"`
	Error     int `json:"error"`
	Skip      int `json:"skip"`
	Completed int `json:"completed"`
	NotRun    int `json:"not_run"`
	// Reported are verdicts that decide nothing; a unit never ends so.
	Reported int `json:"reported,omitempty"`
}

func (c *Counts) of(o result.Outcome) *int {
	switch o {
	case result.Pass:
		return &c.Pass
	case result.Fail:
		return &c.Fail
	case result.Skip:
		return &c.Skip
	case result.Completed:
		return &c.Completed
	case result.NotRun:
		return &c.NotRun
	case result.Reported:
		return &c.Reported
	default: // an unknown outcome must not look green
		return &c.Error
	}
}

func (c *Counts) add(o result.Outcome) { *c.of(o)++ }

func (c Counts) sum() int {
	return c.Pass + c.Fail + c.Error + c.Skip + c.Completed + c.NotRun + c.Reported
}

// String lists what is not zero: "3 passed, 1 failed".
func (c Counts) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{c.Pass, "passed"},
		{c.Completed, "completed (not judged)"},
		{c.Fail, "failed"},
		{c.Error, "ended in error"},
		{c.Skip, "skipped"},
		{c.NotRun, "not run"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(int64(p.n)), p.what))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
