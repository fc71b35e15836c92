package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/runpattern"
)

// selection is which units a person means, by the flags of run, show and report. The zero value means all.
type selection struct{ units, cases, variants string }

func (s *selection) define(f *flags) {
	f.text(&s.units, "units", kindText, "Only the units that `PATTERN` means, playbook/case/variant with an "+
		"expression for each level, as -run of go test; a unit's whole name, or its end, means only that.")
	f.text(&s.cases, "case", kindText, "Only the units of these `CASES`, separated by commas.")
	f.text(&s.variants, "variant", kindText, "Only the units of these `VARIANTS`, separated by commas.")
}

// String returns the flags, as a person writes them; empty: all units are meant.
func (s selection) String() string { return flagLine(s.flags()...) }

// flags returns the flags with their values, which may be empty.
func (s selection) flags() []string {
	return []string{"--units", s.units, "--case", s.cases, "--variant", s.variants}
}

// choose returns those of the ids of units that are meant, in their order. That there are none is an error, which says
// what there is.
func (s selection) choose(ids []string) ([]string, error) {
	if s == (selection{}) {
		return ids, nil
	}
	called, err := s.called(ids)
	if err != nil {
		return nil, err
	}
	cases, variants := namesIn(ids, caseOf), namesIn(ids, variantOf)
	if err := cmp.Or(known("case", s.cases, cases), known("variant", s.variants, variants)); err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return !called(id) || !has(s.cases, caseOf(id)) || !has(s.variants, variantOf(id))
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%s: no unit is called that: of %s there are those of the cases %s under the "+
			"variants %s", s, excerpt.Count(len(ids), "unit"), some(cases), some(variants))
	}
	return chosen, nil
}

// chosen returns what tells whether the units of a case under a variant are meant, of those with these ids; nil: all
// are. A unit is chosen with all its trials, since they are judged together.
func (s selection) chosen(ids []string) (func(caseID, variant string) bool, error) {
	if s == (selection{}) {
		return nil, nil
	}
	meant, err := s.choose(ids)
	if err != nil {
		return nil, err
	}
	results := make(map[[2]string]bool)
	for _, id := range meant {
		results[[2]string{caseOf(id), variantOf(id)}] = true
	}
	return func(caseID, variant string) bool { return results[[2]string{caseID, variant}] }, nil
}

// called returns what tells whether a unit is called as --units says.
func (s selection) called(ids []string) (func(id string) bool, error) {
	if s.units == "" {
		return func(string) bool { return true }, nil
	}
	exact := func(id string) bool {
		withoutTrial := id[:strings.LastIndexByte(id, '/')]
		return strings.HasSuffix("/"+id, "/"+s.units) || strings.HasSuffix("/"+withoutTrial, "/"+s.units)
	}
	if strings.Contains(s.units, "/") && slices.ContainsFunc(ids, exact) {
		return exact, nil
	}
	patterns, err := runpattern.Parse(s.units)
	if err != nil {
		return nil, fmt.Errorf("--units: %w", err)
	}
	return func(id string) bool {
		return slices.ContainsFunc(patterns, func(p runpattern.Pattern) bool {
			ok, whole := p.Matches(strings.Split(id, "/"))
			return ok && whole
		})
	}, nil
}

// has reports whether a name is in a list, separated by commas, or there is no list.
func has(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

// known returns an error for a name in a list, separated by commas, that is not one of the names that there are.
func known(what, list string, names []string) error {
	for name := range strings.SplitSeq(list, ",") {
		if list != "" && !slices.Contains(names, name) {
			return fmt.Errorf("--%s: there is no %[1]s %[2]s%[3]s: there is %[4]s", what, excerpt.Quote(name, 60),
				doc.DidYouMean(name, names), some(names))
		}
	}
	return nil
}

func caseOf(id string) string    { return level(id, 3) }
func variantOf(id string) string { return level(id, 2) }

// level returns a level of a unit's id, counted from its end, which is playbook/case/variant/trial.
func level(id string, fromEnd int) string {
	levels := strings.Split(id, "/")
	return levels[len(levels)-fromEnd]
}

// namesIn returns the different names that units have, in their order.
func namesIn(ids []string, name func(id string) string) []string {
	var names []string
	seen := make(map[string]bool)
	for _, id := range ids {
		if n := name(id); !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	return names
}

// some returns the first of the names, and how many others there are.
func some(names []string) string {
	const shown = 5
	if more := len(names) - shown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), more)
	}
	return strings.Join(names, ", ")
}
