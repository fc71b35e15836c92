package mutate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/blame"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Config says which mutants are judged.
type Config struct {
	// Selected reports whether mutants are made of a unit; nil: of all. Only says for people what it selects.
	Selected func(plan.Unit) bool
	Only     string
	// Sample is how many mutants of a unit are judged, chosen by Seed; 0: all.
	Sample int
	Seed   uint64
	// Thorough has each step and evaluator judge each mutant, also where another has failed it before.
	Thorough bool
	// Judge judges a unit as if c were its recording, one mutant after the other; nil: [engine.Runner.Recast] does.
	Judge func(ctx context.Context, u plan.Unit, c *cassette.Cassette) result.Unit
	// Ask is called with the questions that no recording answers, once if there are some, before models are asked them:
	// its error keeps that from happening. It may be asked more, as a judge goes on. Nil: no model is asked.
	Ask func([]judgment.Question) error
	// Others are answers of units of other plans.
	Others []Answer
}

// Choose returns the indexes of those of n mutants of a unit that are judged.
func (c Config) Choose(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	if c.Sample > 0 && n > c.Sample {
		rng := rand.New(rand.NewPCG(c.Seed, uint64(n)))
		rng.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:c.Sample]
	}
	return all
}

// Run makes mutants of the recorded units of a plan and has them judged. An error says that there is no score: a unit
// does not pass as it was recorded, or what is accepted is not found.
func Run(ctx context.Context, r *engine.Runner, p *plan.Plan, c Config) (Report, error) {
	report := Report{Playbook: p.Playbook.File, Sample: c.Sample, Seed: c.Seed, Only: c.Only}
	var sessions []*Session
	var courts []*court
	for _, u := range p.Units {
		if u.Variant.Reference { // which others are compared with: it need not pass
			continue
		}
		s, tape, err := read(ctx, r, u)
		var court *court
		if err == nil {
			court, err = newCourt(r, u, tape, c)
		}
		if err == nil {
			err = c.passes(u, court.whole(ctx, tape.Turns))
		}
		if err != nil && c.Selected != nil && !c.Selected(u) { // whose answer is no other's then
			continue
		}
		if err != nil {
			return report, err
		}
		sessions, courts = append(sessions, s), append(courts, court)
	}
	answers := slices.Clone(c.Others)
	for _, s := range sessions {
		answers = append(answers, Answer{s.Unit.Case.ID, s.Unit.Variant.ID, viewOf(s).answer()})
	}
	for _, s := range sessions {
		s.Others = answers
	}
	var judged []*court
	for i, s := range sessions {
		if c.Selected != nil && !c.Selected(s.Unit) {
			continue
		}
		unit, err := judge(ctx, courts[i], s, c)
		if err != nil {
			return report, err
		}
		report.Units, judged = append(report.Units, unit), append(judged, courts[i])
		report.Questions = append(report.Questions, courts[i].missed()...)
	}
	if c.Ask != nil && len(report.Questions) > 0 {
		if err := c.Ask(report.Questions); err != nil {
			return report, err
		}
		for i, court := range judged {
			if err := report.Units[i].ask(ctx, court); err != nil {
				return report, err
			}
		}
	}
	return report, report.Accept(p.Playbook.Mutate.Accept, "mutate.accept")
}

// passes is [Passes]. Where models are to be asked about mutants, they have to have passed the recorded session.
func (c Config) passes(u plan.Unit, res result.Unit) error {
	err := Passes(u.ID(), res)
	for _, e := range res.Evaluations {
		if err == nil && c.Ask != nil && e.Outcome == result.Skip && e.Type != result.ActivationType {
			err = fmt.Errorf("%s: what models say of its mutants tells nothing while it is not known what they say of "+
				"itself: %s: %s", u.ID(), e.Name, e.Reason)
		}
	}
	return err
}

// Passes returns an error if a unit does not pass as it was recorded, so that nothing is known of its mutants.
func Passes(id string, res result.Unit) error {
	if res.Outcome == result.Pass {
		return nil
	}
	return fmt.Errorf("%s does not pass as it was recorded, so that it has no score: %s", id,
		strings.TrimSuffix(string(res.Outcome)+": "+reasonOf(res), ": "))
}

// maxBefore is how much of what the agent began with is kept of a unit, in bytes, and how many files that nobody names.
const maxBefore, maxOthers = 8 << 20, 40

// read returns a unit's recorded session.
func read(ctx context.Context, r *engine.Runner, u plan.Unit) (*Session, *cassette.Cassette, error) {
	s := &Session{Unit: u, Before: make(map[string]string)}
	var files map[string]string
	var rest []string
	tape, err := r.Recording(ctx, u, func(of workspace.Files, m workspace.Manifest) error {
		files = make(map[string]string)
		held := 0
		for _, e := range m.Entries {
			if e.Kind != workspace.File || e.Ignored || e.Size > maxText || held > maxBefore {
				continue
			}
			data, err := of.ReadFile(e.Path)
			if err != nil {
				return err
			}
			if plainText(data) {
				files[e.Path] = string(data)
				held += len(data)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if tape.Large() {
		return nil, nil, fmt.Errorf("%s: the recording %s is too large to be changed in memory", u.ID(), tape.Path)
	}
	s.Turns = tape.Turns
	if calls := len(viewOf(s).calls); calls > maxCalls {
		s.Notes = append(s.Notes, fmt.Sprintf("%s: only the first %d of %d calls are changed by themselves", u.ID(),
			maxCalls, calls))
	}
	changed := make(map[string]bool)
	for _, t := range s.Turns {
		for _, c := range t.Delta.Changes {
			changed[c.Path] = true
			if c.Writes() && !plainText(c.Data) {
				s.Notes = append(s.Notes, fmt.Sprintf(
					"%s: %s is no text of up to %d KiB: its places are not taken one by one",
					u.ID(), c.Path, maxText>>10))
			}
		}
	}
	for p, text := range files {
		if changed[p] || aTestFile.MatchString(p) {
			s.Before[p] = text
		} else {
			rest = append(rest, p)
		}
	}
	slices.Sort(rest)
	for _, p := range rest[:min(len(rest), maxOthers)] {
		s.Before[p] = files[p]
	}
	return s, tape, nil
}

// judge judges the mutants of a unit.
func judge(ctx context.Context, court *court, s *Session, c Config) (UnitReport, error) {
	all := Derive(s)
	unit := UnitReport{
		ID: s.Unit.ID(), Case: s.Unit.Case.ID, Variant: s.Unit.Variant.ID, Notes: s.Notes, Recorded: s.Turns,
	}
	seen := map[[sha256.Size]byte]int{}
	recorded, err := sight(s.Turns)
	if err != nil {
		return unit, err
	}
	for _, m := range all {
		key, err := sight(m.Turns)
		if err != nil {
			return unit, err
		}
		if key == recorded {
			unit.Findings = append(unit.Findings,
				Finding{Mutant: m, Status: Equivalent, Reason: "it is the recorded session"})
			continue
		}
		if i, ok := seen[key]; ok {
			f := &unit.Findings[i]
			f.Same = append(f.Same, m.Operator+" "+m.Where)
			continue
		}
		seen[key] = len(unit.Findings)
		unit.Findings = append(unit.Findings, Finding{Mutant: m})
	}
	unit.Evaluators = judgesOf(s.Unit)
	var open []int
	for i, f := range unit.Findings {
		if f.Status == "" {
			open = append(open, i)
		}
	}
	chosen := c.Choose(len(open))
	findings := make([]*Finding, len(chosen))
	for i, n := range chosen {
		findings[i] = &unit.Findings[open[n]]
	}
	unit.left = court.left
	if err := court.judge(ctx, findings); err != nil {
		return unit, err
	}
	unit.Findings = slices.DeleteFunc(unit.Findings, func(f Finding) bool { return f.Status == "" })
	for i := range unit.Findings {
		f := &unit.Findings[i]
		if c.Ask != nil && f.Status == Unknown && len(court.missed()) > 0 {
			continue
		}
		unit.explain(f, s.Unit)
		f.Turns = nil // there may be many
	}
	return unit, nil
}

// ask has models asked about the mutants that are unknown for want of answers.
func (u UnitReport) ask(ctx context.Context, court *court) error {
	var open []*Finding
	for i := range u.Findings {
		if u.Findings[i].Turns != nil {
			open = append(open, &u.Findings[i])
		}
	}
	if len(open) == 0 {
		return nil
	}
	err := court.ask(ctx, open)
	for _, f := range open {
		u.explain(f, court.unit)
		f.Turns = nil
	}
	return err
}

// judgesOf returns the evaluators of a unit that decide.
func judgesOf(u plan.Unit) (all []Judge) {
	for _, e := range u.Evaluators {
		if !e.Advisory {
			all = append(all, Judge{Name: e.Name, Position: e.Position, looks: looks(e)})
		}
	}
	return all
}

// OutputOperator is the operator of outputs that a suite in Go gives.
const OutputOperator = "output"

// Output returns what became of a worse output of a task that ran no agent, which is judged as a unit.
func Output(m Mutant, u plan.Unit, res result.Unit) Finding {
	f := Finding{Mutant: m, Position: u.Variant.Position}
	f.settle(decided(u, res))
	if f.Status == Survived {
		f.Advice = "a scorer that such an output fails"
	}
	return f
}

// looks tells what an evaluator looks at.
func looks(e plan.Evaluator) Sense {
	switch {
	case e.Config.(evaluator.Evaluator).Needs()&evaluator.NeedsWorkspace != 0:
		return Files
	case e.Type == "tool_trajectory" || e.Type == "metrics" || e.Type == "activation":
		return Calls
	}
	return Answers
}

// sight is a digest of what can be seen of a session, whatever its evaluators look at.
func sight(turns []cassette.Turn) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, t := range turns {
		var bodies []trajectory.Body
		for _, e := range t.Events {
			bodies = append(bodies, named{e.Body.EventName(), e.Body})
		}
		err = errors.Join(err, enc.Encode(bodies), enc.Encode(t.Delta))
	}
	return [sha256.Size]byte(h.Sum(nil)), err
}

// named is an event's body with its name.
type named struct {
	Event string
	trajectory.Body
}

// parting returns at which call a mutant parts from the recorded session.
func parting(was, is []cassette.Turn) blame.Parting {
	a, err := blame.Calls(&trajectory.Run{Events: eventsOf(was)})
	b, also := blame.Calls(&trajectory.Run{Events: eventsOf(is)})
	if err != nil || also != nil { // what was recorded is JSON
		return blame.Parting{}
	}
	return blame.Part(a, b)
}

func eventsOf(turns []cassette.Turn) (all []trajectory.Event) {
	for _, t := range turns {
		all = append(all, t.Events...)
	}
	return all
}

// lines writes a session a line an event, and its changes with their contents.
func lines(turns []cassette.Turn) string {
	var b strings.Builder
	for i, t := range turns {
		fmt.Fprintf(&b, "turn %d\n", i+1)
		for _, e := range t.Events {
			text, err := json.Marshal(e.Body)
			if err != nil {
				text = []byte(err.Error())
			}
			fmt.Fprintf(&b, "%s %s\n", e.Body.EventName(), text)
		}
		for _, c := range t.Delta.Changes {
			fmt.Fprintf(&b, "%s %s %s\n", c.Op, c.Kind, c.Path)
			if c.Writes() && plainText(c.Data) {
				b.WriteString(strings.TrimSuffix(string(c.Data), "\n") + "\n")
			}
		}
	}
	return b.String()
}
