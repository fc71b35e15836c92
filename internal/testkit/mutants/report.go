package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
)

// equivalentsFile lists mutants that do the same as the code, from the root of the tree. A line is a package's
// directory, a mutant's id, and why no test can kill it.
const equivalentsFile = "internal/testkit/mutants/equivalent.txt"

// readEquivalents reads a list of mutants: reasons by package and id. A file that does not exist has none.
func readEquivalents(path string) (map[string]map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list := make(map[string]map[string]string)
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line := strings.TrimSpace(string(line))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s:%d: want a package, an id and a reason, got %q", path, number, line)
		}
		if list[fields[0]] == nil {
			list[fields[0]] = make(map[string]string)
		}
		list[fields[0]][fields[1]] = fields[2]
	}
	return list, nil
}

// stale returns the ids of a list that no mutant has.
func stale(all []*mutant, equivalents map[string]string) []string {
	var found []string
	for id := range equivalents {
		if !slices.ContainsFunc(all, func(m *mutant) bool { return m.ID == id }) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}

// report is what is printed on a package.
type report struct {
	dir         string
	candidates  int
	mutants     []*mutant
	verdicts    map[string]verdict
	equivalents map[string]string
	stale       []string
	failing     []string
}

// print shows survivors, and how many mutants were killed.
func (r *report) print(w io.Writer) {
	slices.SortFunc(r.mutants, func(a, b *mutant) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.offset-b.offset, strings.Compare(a.ID, b.ID))
	})
	var dead, hanging, uncovered, equivalent, unknown int
	for _, m := range r.mutants {
		outcome := r.verdicts[m.ID].Outcome
		known := r.equivalents[m.ID] != ""
		switch outcome {
		case killed, hangs:
			dead++
			if outcome == hangs {
				hanging++
			}
			if known {
				fmt.Fprintf(w, "%s: %s %s was killed: remove it\n", equivalentsFile, r.dir, m.ID)
			}
			continue
		case uncover:
			uncovered++
		case unclear:
			unknown++
		}
		if known {
			equivalent++
			continue
		}
		fmt.Fprintf(w, "%s %s %s %s/%s:%d %s, %s\n\t- %s\n\t+ %s\n",
			r.dir, m.ID, outcome, r.dir, m.File, m.line, m.Func, m.Operator, indent(m.From), indent(m.To))
	}
	for _, f := range r.failing {
		fmt.Fprintf(w, "%s fails without a mutant, and is left out\n", f)
	}
	for _, id := range r.stale {
		fmt.Fprintf(w, "%s: %s has no mutant %s any more: remove it\n", equivalentsFile, r.dir, id)
	}
	if unknown > 0 {
		fmt.Fprintf(w, "%s: no figure: the tests of %d of %d mutants take too long without them, too; "+
			"run it again when the machine is less busy\n", r.dir, unknown, len(r.mutants))
		return
	}
	n := len(r.mutants) - equivalent
	low, high := wilson(dead, n)
	rate := float64(dead) / float64(max(1, n))
	fmt.Fprintf(w, "%s: %d of %d killed, %.1f %% (95 %% interval %.1f to %.1f); ",
		r.dir, dead, n, 100*rate, 100*low, 100*high)
	fmt.Fprintf(w, "%d hang, %d not covered, %d equivalent left out; %d candidates\n",
		hanging, uncovered, equivalent, r.candidates)
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n\t  ") }

// wilson returns the 95 % interval of a rate of which k of n were seen.
func wilson(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959964
	p, count := float64(k)/float64(n), float64(n)
	middle := (p + z*z/(2*count)) / (1 + z*z/count)
	half := z / (1 + z*z/count) * math.Sqrt(p*(1-p)/count+z*z/(4*count*count))
	return max(0, middle-half), min(1, middle+half)
}
