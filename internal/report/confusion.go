package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Confusion says of the units of a variant that should use the same skills and tools what they used instead.
type Confusion struct {
	// Wanted are the names of what should be used; nil: none of those that the cases name should.
	Wanted []string `json:"wanted"`
	Units  int      `json:"units"`
	// Used is in how many of them something was used, by name: a unit that used two things counts twice. None used
	// nothing of what the cases name, and of Unknown nobody knows.
	Used    map[string]int `json:"used"`
	None    int            `json:"none"`
	Unknown int            `json:"unknown"`
}

// confusions returns what the units of a variant used, in the order in which they first want something; nil if there is
// but one thing to use, of which [ActivationTotal] says all.
func confusions(variant string, units []Unit, totals []ActivationTotal) (all []Confusion) {
	if len(totals) < 2 {
		return nil
	}
	for _, u := range units {
		if u.Variant != variant || u.Result == nil {
			continue
		}
		if activations := u.Result.Activations(); activations != nil {
			all = confuse(all, activations)
		}
	}
	return all
}

// confuse counts a unit.
func confuse(all []Confusion, activations []result.Activation) []Confusion {
	var wanted, used []string
	unknown := false
	for _, a := range activations {
		switch {
		case a.Fired == nil:
			unknown = true
		case *a.Fired:
			used = append(used, a.Name)
		}
		if a.Wanted {
			wanted = append(wanted, a.Name)
		}
	}
	i := slices.IndexFunc(all, func(c Confusion) bool { return slices.Equal(c.Wanted, wanted) })
	if i < 0 {
		i = len(all)
		all = append(all, Confusion{Wanted: wanted, Used: make(map[string]int)})
	}
	c := &all[i]
	c.Units++
	for _, name := range used {
		c.Used[name]++
	}
	switch {
	case used != nil:
	case unknown:
		c.Unknown++
	default:
		c.None++
	}
	return all
}

// Confusion returns which skills and tools were used in the place of others as a table: its head, then a row for each
// that should be used, of each variant; nil where cases name but one. Nothing is said of what the cases do not name.
func (rep *Report) Confusion() (rows [][]string) {
	var names []string
	for _, v := range rep.Variants {
		for _, t := range v.Activation {
			if v.Confusion != nil && !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	if names == nil {
		return nil
	}
	rows = append(rows, slices.Concat([]string{"should fire", "variant", "units"}, names, []string{"none", "unknown"}))
	for _, v := range rep.Variants {
		for _, c := range v.Confusion {
			wanted := "none"
			if c.Wanted != nil {
				wanted = strings.Join(c.Wanted, ", ")
			}
			row := []string{wanted, v.ID, fmt.Sprint(c.Units)}
			for _, name := range names {
				row = append(row, fmt.Sprint(c.Used[name]))
			}
			rows = append(rows, append(row, fmt.Sprint(c.None), fmt.Sprint(c.Unknown)))
		}
	}
	return rows
}
