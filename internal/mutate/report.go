package mutate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/sdd-eval/sdd-eval/internal/blame"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// Status is what became of a mutant.
type Status string

// What becomes of mutants.
const (
	// Killed: an evaluator or a step failed it.
	Killed Status = "killed"
	// Survived: it passes.
	Survived Status = "survived"
	// Unknown: it could not be judged.
	Unknown Status = "unknown"
	// Equivalent: an eval need not notice it.
	Equivalent Status = "equivalent"
	// Accepted: it passes, and the playbook says why that is right.
	Accepted Status = "accepted"
)

// Finding is what became of a mutant.
type Finding struct {
	Mutant
	Status Status
	// By names who failed it. Quick: what starts processes or asks models did not judge it, since these had failed it.
	By    []string
	Quick bool
	// Reason says why nothing is known, or why it need not be noticed.
	Reason string
	// Same are other mutants that are the same session.
	Same []string
	// Parts, Diff, Position and Advice are of survivors: at which call the session parts from the recorded one, how it
	// differs, where to strengthen the playbook, and how.
	Parts    blame.Parting
	Diff     string
	Position doc.Position
	Advice   string
}

// Judge is an evaluator that decides.
type Judge struct {
	Name     string
	Position doc.Position
	looks    Sense
}

// UnitReport is what became of the mutants of a unit.
type UnitReport struct {
	ID, Case, Variant string
	Findings          []Finding
	Evaluators        []Judge
	Notes             []string
	Recorded          []cassette.Turn
	left              []string // what did not judge mutants that are quick
}

// Report is what became of the mutants of a playbook's units.
type Report struct {
	Playbook string
	Units    []UnitReport
	// Sample, Seed and Only say which mutants were judged, see [Config].
	Sample int
	Seed   uint64
	Only   string
	// Questions are those that no recording answers, which models were asked only if [Config.Ask] says so.
	Questions []judgment.Question
}

// Price says what questions take of each who is asked: how many they are, and in tokens. What a token costs is
// not known here.
func Price(all []judgment.Question) string {
	type sum struct{ questions, read, write int }
	sums := make(map[string]sum)
	for _, q := range all {
		s := sums[q.Judge]
		sums[q.Judge] = sum{s.questions + 1, s.read + (q.Bytes+bytesPerToken-1)/bytesPerToken, s.write + q.Reply}
	}
	var lines []string
	for _, judge := range slices.Sorted(maps.Keys(sums)) {
		s := sums[judge]
		line := fmt.Sprintf("%s: questions: %d, tokens to read: about %d", judge, s.questions, s.read)
		if s.write > 0 {
			line += fmt.Sprintf(", to write: about %d", s.write)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// bytesPerToken is how long a token is on average, in English and in code.
const bytesPerToken = 4

// Count counts mutants.
type Count struct {
	Killed     int `json:"killed"`
	Survived   int `json:"survived"`
	Accepted   int `json:"accepted"`
	Unknown    int `json:"unknown"`
	Equivalent int `json:"equivalent"`
}

func (c *Count) add(s Status) {
	switch s {
	case Killed:
		c.Killed++
	case Survived:
		c.Survived++
	case Accepted:
		c.Accepted++
	case Unknown:
		c.Unknown++
	case Equivalent:
		c.Equivalent++
	}
}

// Score is the share of mutants that were noticed, of those of which it is known whether they were; false: of none it
// is known. Strict counts what is accepted as not noticed; else it does not count.
func (c Count) Score(strict bool) (float64, bool) {
	of := c.Killed + c.Survived
	if strict {
		of += c.Accepted
	}
	if of == 0 {
		return 0, false
	}
	return float64(c.Killed) / float64(of), true
}

// Bounds returns between which shares the score would be if all mutants had been judged: an unknown one may be noticed
// or not.
func (c Count) Bounds(strict bool) (least, most float64) {
	of := c.Killed + c.Survived + c.Unknown
	if strict {
		of += c.Accepted
	}
	if of == 0 {
		return 0, 1
	}
	return float64(c.Killed) / float64(of), float64(c.Killed+c.Unknown) / float64(of)
}

// Gate returns an error if it is not known that so large a share of mutants is noticed, or if there is no share at all:
// low reports that the share is smaller, else too many mutants are unknown to tell.
func (c Count) Gate(share float64, strict bool) (low bool, err error) {
	least, most := c.Bounds(strict)
	switch _, known := c.Score(strict); {
	case !known:
		return false, errors.New("no mutant could be judged")
	case least >= share:
		return false, nil
	case most >= share:
		return false, fmt.Errorf("the eval notices between %.1f %% and %.1f %% of the mutants, and at least %.1f %% "+
			"is wanted: %d could not be judged", 100*least, 100*most, 100*share, c.Unknown)
	case c.Unknown > 0:
		return true, fmt.Errorf("the eval notices at most %.1f %% of the mutants, and at least %.1f %% is wanted",
			100*most, 100*share)
	}
	return true, fmt.Errorf("the eval notices %.1f %% of the mutants, and at least %.1f %% is wanted", 100*most,
		100*share)
}

// Count counts all mutants.
func (r Report) Count() (c Count) {
	for _, u := range r.Units {
		for _, f := range u.Findings {
			c.add(f.Status)
		}
	}
	return c
}

// Row is a line of a table.
type Row struct {
	Name string `json:"name"`
	Count
}

// Cases returns the units of each case, in the order of the playbook.
func (r Report) Cases() [][]UnitReport {
	var all [][]UnitReport
	for _, u := range r.Units {
		i := slices.IndexFunc(all, func(c []UnitReport) bool { return c[0].Case == u.Case })
		if i < 0 {
			all = append(all, []UnitReport{u})
		} else {
			all[i] = append(all[i], u)
		}
	}
	return all
}

// ByOperator counts the mutants of units a row an operator, in the order of the table.
func ByOperator(units []UnitReport) []Row {
	var rows []Row
	for _, op := range Operators() {
		row := Row{Name: op.ID}
		for _, u := range units {
			for _, f := range u.Findings {
				if f.Operator == op.ID {
					row.add(f.Status)
				}
			}
		}
		if row.Count != (Count{}) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Killer says how many mutants an evaluator or a step failed, how many of those nobody else did, and how many it did
// not judge since others had failed them.
type Killer struct {
	Name    string `json:"name"`
	Killed  int    `json:"killed"`
	Alone   int    `json:"alone"`
	Unasked int    `json:"unasked"`
}

// ByEvaluator says who killed what, those that never did included, most first.
func ByEvaluator(units []UnitReport) []Killer {
	var all []Killer
	at := func(name string) *Killer {
		i := slices.IndexFunc(all, func(k Killer) bool { return k.Name == name })
		if i < 0 {
			all, i = append(all, Killer{Name: name}), len(all)
		}
		return &all[i]
	}
	for _, u := range units {
		for _, e := range u.Evaluators {
			at(e.Name)
		}
		for _, f := range u.Findings {
			for _, name := range f.By {
				k := at(name)
				k.Killed++
				if len(f.By) == 1 && !f.Quick {
					k.Alone++
				}
			}
			if f.Quick {
				for _, name := range u.left {
					at(name).Unasked++
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Killer) int { return cmp.Compare(b.Killed, a.Killed) })
	return all
}

// place is what `mutate.accept` names as where.
func (u UnitReport) place(f Finding) string { return u.Case + "/" + u.Variant + ": " + f.Where }

// explain says of a survivor how it differs and what to do.
func (u UnitReport) explain(f *Finding, of plan.Unit) {
	if f.Status != Survived {
		return
	}
	op := Operators()[slices.IndexFunc(Operators(), func(o Operator) bool { return o.ID == f.Operator })]
	f.Parts, f.Advice = parting(u.Recorded, f.Turns), op.advice(f.Mutant)
	f.Diff = unified(lines(u.Recorded), lines(f.Turns))
	if of.Variant.InGo {
		f.Advice = "a scorer that looks at " + map[Sense]string{
			Files: "the files that the agent leaves", Calls: "the calls that the agent makes",
			Answers: "what the agent says",
		}[op.Looks]
	}
	for _, e := range u.Evaluators {
		if f.Position.Line == 0 || e.looks == op.Looks {
			f.Position = e.Position
		}
		if e.looks == op.Looks {
			break
		}
	}
	if f.Position.Line == 0 {
		f.Position = of.Variant.Position
	}
}

// Accept marks the survivors that are accepted, under a key of a playbook or a test. An error is a problem with what
// that says: no operator makes it, of the table or of more, or it does not survive.
func (r Report) Accept(all []plan.AcceptMutant, key string, more ...string) error {
	ids := more
	for _, op := range Operators() {
		ids = append(ids, op.ID)
	}
	var problems doc.Problems
	for i, a := range all {
		used := r.Sample > 0 || r.Only != "" // it may be among those that were left out
		for _, u := range r.Units {
			for j, f := range u.Findings {
				if f.Operator == a.Operator && (f.Status == Survived || f.Status == Accepted) &&
					wildcard.Match(a.Where, u.place(f)) {
					u.Findings[j].Status, u.Findings[j].Reason, used = Accepted, a.Why, true
				}
			}
		}
		problem := doc.Problem{Position: a.Position, Path: fmt.Sprintf("%s[%d]", key, i)}
		switch {
		case !slices.Contains(ids, a.Operator):
			problem.Reason = fmt.Sprintf("unknown operator %q%s", a.Operator,
				cmp.Or(doc.DidYouMean(a.Operator, ids), ": use one of "+strings.Join(ids, ", ")))
		case !used:
			problem.Reason = fmt.Sprintf("no mutant of %s survives at %q: remove the entry, or write what the "+
				"survivor has in brackets", a.Operator, a.Where)
		default:
			continue
		}
		problems = append(problems, problem)
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// maxDiff is how much is shown of how a survivor differs, in bytes.
const maxDiff = 2000

// unified returns a diff of two texts, cut. Texts that are too long to compare are said to be.
func unified(was, is string) string {
	if len(was)+len(is) > maxText {
		return "(too long to be shown)"
	}
	text := udiff.Unified("recorded", "mutant", was, is)
	if len(text) > maxDiff {
		text = strings.ToValidUTF8(text[:maxDiff], "") + "\n..."
	}
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString(excerpt.Line(line, 200) + "\n")
	}
	return b.String()
}
