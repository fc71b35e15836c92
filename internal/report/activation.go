package report

import (
	"fmt"
	"math"

	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// ActivationTotal says of a skill or a tool in how many units of a variant it was used, of those that say whether it
// should be.
type ActivationTotal struct {
	Name string `json:"name"`
	stats.Confusion
	Unknown int `json:"unknown"` // nobody knows whether it was
	// Precision is nil if it was never used, and Recall if it never should be.
	Precision *float64 `json:"precision"`
	Recall    *float64 `json:"recall"`
}

// activationTotals returns the totals of a variant, in the order in which its units first name the skills and tools.
func activationTotals(variant string, units []Unit) (totals []ActivationTotal) {
	index := make(map[string]int)
	for _, u := range units {
		if u.Variant != variant || u.Result == nil {
			continue
		}
		for _, a := range u.Result.Activations() {
			i, ok := index[a.Name]
			if !ok {
				i = len(totals)
				index[a.Name] = i
				totals = append(totals, ActivationTotal{Name: a.Name})
			}
			if a.Fired == nil {
				totals[i].Unknown++
			} else {
				totals[i].Add(a.Wanted, *a.Fired)
			}
		}
	}
	for i := range totals {
		t := &totals[i]
		t.Precision, t.Recall = known(t.Confusion.Precision()), known(t.Confusion.Recall())
	}
	return totals
}

// known returns nil for a figure that is not known.
func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// Activation returns which skills and tools were used as a table: its head, then a row for each of a variant; nil if
// nothing says what should be used. What is not known is a dash.
func (rep *Report) Activation() (rows [][]string) {
	for _, v := range rep.Variants {
		for _, t := range v.Activation {
			rows = append(rows, []string{
				t.Name, v.ID, share(t.Precision), share(t.Recall), fmt.Sprint(t.Fired), fmt.Sprint(t.Missed),
				fmt.Sprint(t.Unwanted), fmt.Sprint(t.Silent), fmt.Sprint(t.Unknown),
			})
		}
	}
	if rows == nil {
		return nil
	}
	return append([][]string{{
		"skill or tool", "variant", "precision", "recall", "fired", "missed", "unwanted", "silent", "unknown",
	}}, rows...)
}

// share returns a share in percent, 100 % only if it is all.
func share(v *float64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprintf("%d%%", int(100**v))
}
