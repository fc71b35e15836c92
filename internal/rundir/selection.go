package rundir

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Selection says that a run has only some of the units of its playbook.
type Selection struct {
	// By is what chose them, as flags of the command: "--units shop/refund". It is not empty.
	By string `json:"by"`
	// Of is the number of the playbook's units, more than the run has.
	Of int `json:"of"`
}

// Select leaves only those units in the manifest, with their cases and variants, that keep reports: all trials of a
// case under a variant or none, since they are judged together. By is what chose them.
func (m *Manifest) Select(by string, keep func(caseID, variant string) bool) {
	all := m.Units
	m.Units = slices.DeleteFunc(slices.Clone(all), func(id string) bool {
		c, v, _ := splitUnit(id)
		return !keep(c, v)
	})
	if len(m.Units) == len(all) {
		return
	}
	of := len(all)
	if s := m.Selection; s != nil { // of a selection
		by, of = s.By+" "+by, s.Of
	}
	m.Selection = &Selection{By: by, Of: of}
	m.keepCases(keep)
}

// keepCases leaves only those cases and variants in the manifest of which keep reports some.
func (m *Manifest) keepCases(keep func(caseID, variant string) bool) {
	m.Cases, m.Judges = slices.Clone(m.Cases), maps.Clone(m.Judges)
	asked := make(map[string]bool)
	for i, c := range m.Cases {
		m.Cases[i].Variants = slices.DeleteFunc(slices.Clone(c.Variants), func(v string) bool { return !keep(c.ID, v) })
		for _, v := range m.Cases[i].Variants {
			asked[v] = true
		}
		if len(m.Cases[i].Variants) == 0 {
			delete(m.Judges, c.ID)
		}
	}
	m.Cases = slices.DeleteFunc(m.Cases, func(c Case) bool { return len(c.Variants) == 0 })
	m.Variants = slices.DeleteFunc(slices.Clone(m.Variants), func(v Variant) bool { return !asked[v.ID] })
}

// Selected says how many of the playbook's units the run has: "3 of 40 units selected (--units shop/refund)". It is
// empty if the run has all.
func (m *Manifest) Selected() string {
	s := m.Shown().Selection
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d units selected (%s)", len(m.Units), s.Of, s.By)
}

// checkSelection returns an error for a selection that no run has.
func (m *Manifest) checkSelection() error {
	switch s := m.Selection; {
	case m.Again != "" && !runID.MatchString(m.Again):
		return fmt.Errorf("again: %q is not the id of a run", m.Again)
	case m.Rejudged != "" && !runID.MatchString(m.Rejudged):
		return fmt.Errorf("rejudged: %q is not the id of a run", m.Rejudged)
	case s == nil:
	case s.By == "":
		return errors.New("selection: nothing says by what the units were chosen")
	case len(m.Whole().Units) == 0 || len(m.Whole().Units) >= s.Of:
		return fmt.Errorf("selection: %d units of %d", len(m.Whole().Units), s.Of)
	}
	return nil
}
