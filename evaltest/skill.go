package evaltest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/baseline"
	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// Skill runs the evals that a skill brings, as `sdd-eval skill` does, from its recordings, with the agent that these
// have. Dir is the skill's directory, relative to the test's. Each case is a subtest <skill>/<case>, with one for the
// skill and one without it, as [Describe] makes them; what holds without the skill decides nothing. A check that does
// not hold with it fails the test, and so does a trigger, <skill>-triggers/<id>, after which the skill fires or is
// silent against what is expected. Triggers that are not recorded are logged and not asked.
//
// Where `sdd-eval skill --bless` has written a baseline, the cases that it knows are held to that instead, under the
// gate "worse": what fails as it says is logged, and what comes out otherwise fails the test of the playbook.
//
// Recordings are below evals/.sdd-eval, and only the command makes them, since it asks first: in the modes record and
// live the test fails, in others it replays. No evals, no recordings, and a case that cannot be run or judged are
// errors, and so is a check that nobody has judged.
func Skill(t *testing.T, dir string, opts ...Option) {
	t.Helper()
	h, err := newHarness(opts...)
	if err != nil {
		door.Of(t).Fatalf("evaltest.Skill: %v", err)
	}
	command := h.skillCommand(dir)
	s, err := h.skill(t, dir, command)
	if err != nil {
		door.Of(t).Fatalf("evaltest.Skill: %v", withAdvice(err))
	}
	for _, f := range s.Findings {
		text := fmt.Sprintf("evaltest.Skill: %s: %s", f.Rule, f.What)
		if f.At.Line > 0 {
			text = fmt.Sprintf("%s: %s", h.position(f.At.File, f.At.Line), text)
		}
		switch {
		case f.Level == skill.Error:
			door.Of(t).Errorf("%s\nnext: %s --check", text, command)
		case f.Level == skill.Warning:
			door.Of(t).Log(text)
		}
	}
	all, err := h.generated(t, s, command)
	if err != nil {
		door.Of(t).Fatalf("evaltest.Skill: %s: %v", dir, withAdvice(err))
	}
	for _, g := range all {
		own := *h
		if own.held, err = heldTo(s, g.queries, command); err != nil {
			door.Of(t).Fatalf("evaltest.Skill: %v", withAdvice(err))
		}
		t.Run(door.Name(g.Name), func(t *testing.T) {
			t.Helper()
			own.describe(t, g.Playbook)
		})
	}
}

// skillCommand is the command for a skill's directory, to be run in the module's root, as those to reproduce are.
func (h *harness) skillCommand(dir string) string {
	if rel, err := filepath.Rel(h.module, filepath.Join(h.dir, dir)); err == nil {
		dir = filepath.ToSlash(rel)
	}
	return "sdd-eval skill " + words.Join(dir)
}

// skill reads the evals in a directory, whose repository the harness then runs.
func (h *harness) skill(t *testing.T, dir, command string) (*skill.Suite, error) {
	places, _, err := skill.Find(filepath.Join(h.dir, dir), false)
	switch {
	case err != nil:
		return nil, err
	case len(places) == 0:
		return nil, fmt.Errorf("%s has no evals: there is no evals/evals.json, and no file of triggers in evals", dir)
	case len(places) > 1:
		return nil, fmt.Errorf("%s has the evals of %d skills: name the directory of one", dir, len(places))
	}
	s, err := skill.Load(t.Context(), places[0])
	if err != nil {
		return nil, err
	}
	if err := s.TakePlugin(t.Context(), false); err != nil {
		return nil, err
	}
	switch h.mode() {
	case engine.Record, engine.Live:
		return nil, fault.Advise(errors.New("the skill may be a stranger's, and a test cannot ask before it starts"),
			fmt.Sprintf("%s --mode %s", command, h.mode()))
	}
	h.suite, h.root, h.dirs.Cassettes = s, s.Root, s.Cassettes()
	h.environment.Mode, h.environment.Untrusted = engine.Replay, true
	return s, nil
}

// generated is a playbook that was written for a skill: of its cases, or of its queries.
type generated struct {
	*plan.Playbook
	queries bool
}

// generated writes the playbook of a skill's cases and, if they are recorded, that of its queries, and reads them.
func (h *harness) generated(t *testing.T, s *skill.Suite, command string) (all []generated, err error) {
	t.Helper()
	if _, ok := s.RecordedAgent(false); !ok {
		return nil, fault.Advise(fmt.Errorf("there are no recordings in %s", s.Cassettes()),
			"record them where an agent has a login: "+command)
	}
	add := func(queries bool, generate func(skill.Options) (string, error)) {
		if err != nil {
			return
		}
		who, _ := s.RecordedAgent(queries)
		if p, _ := agent.Lookup(who.Kind); p.NeedsPreset {
			who.Preset = agent.Login
		}
		var file string
		file, err = generate(skill.Options{By: "evaltest.Skill", Agent: who, Judge: s.RecordedJudge()})
		if err != nil {
			return
		}
		g := generated{queries: queries}
		g.Playbook, err = h.load(file)
		all = append(all, g)
	}
	if s.Runnable() > 0 {
		add(false, func(o skill.Options) (string, error) {
			return s.Generate(t.Context(), o, []string{skill.With, skill.Without})
		})
	}
	switch queries := len(s.Asked()); {
	case s.TriggersRecorded():
		add(true, func(o skill.Options) (string, error) { return s.GenerateTriggers(t.Context(), o) })
	case queries > 0:
		door.Of(t).Logf("evaltest.Skill: %s are not recorded, and not asked: %s --triggers",
			excerpt.Count(queries, "trigger"), command)
	}
	if all == nil && err == nil {
		err = errors.New("there is no case that can be run, and no recorded trigger")
	}
	return all, err
}

// held is what the evals of a skill are held to in the place of "all checks hold".
type held struct {
	*baseline.Baseline
	name  string // of its file, below the root
	bless string // the command that renews it
	// now is how the run began, and known are the cases of which the baseline says how they come out.
	now   rundir.Manifest
	known map[string]bool
	units []result.Unit // that were reported
}

// heldTo reads the baseline of a skill's cases or queries; nil: there is none.
func heldTo(s *skill.Suite, queries bool, command string) (*held, error) {
	b := held{name: s.Baseline(queries), bless: command}
	if queries {
		b.bless += " --triggers"
	}
	b.bless += " --bless"
	var err error
	if b.Baseline, err = baseline.Read(s.File(b.name)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fault.Advise(err, b.bless)
	}
	return &b, nil
}

// begin finds out which cases the baseline knows.
func (b *held) begin(ctx context.Context, runner *engine.Runner) (err error) {
	if b.now, err = runner.Describe(ctx); err != nil {
		return err
	}
	b.known = make(map[string]bool)
	for _, c := range b.now.Cases {
		b.known[c.ID] = true
	}
	for _, c := range b.Drift(baseline.Of(b.now, nil), skill.With).Unknown {
		delete(b.known, strings.TrimPrefix(c.Case, b.now.Name+"/"))
	}
	return nil
}

// knows reports whether the baseline decides over what units failed.
func (b *held) knows(u result.Unit) bool {
	return b != nil && u.Variant == skill.With && b.known[u.Case]
}

// judge fails the test of a playbook if its units did not come out as the baseline wants it.
func (b *held) judge(t *testing.T) {
	t.Helper()
	for _, u := range b.units {
		if u.Outcome != result.Pass && u.Outcome != result.Fail {
			return // which is red already
		}
	}
	ruling := b.Rule(b.name, baseline.Of(b.now, b.units), skill.With, nil, compare.GateWorse)
	text := strings.Join(ruling.Lines, "\n")
	if ruling.Why == nil {
		door.Of(t).Log(text)
		return
	}
	door.Of(t).Errorf("%s\n%v\nnext: if it is right so: %s", text, ruling.Why, b.bless)
}

// asWritten says where in the evals of a skill it stands what an evaluator found not to hold, a line each.
func (v verdict) asWritten(evaluator string) string {
	if v.suite == nil {
		return ""
	}
	var lines strings.Builder
	add := func(at doc.Position, text string) {
		fmt.Fprintf(&lines, "\n%s: %s", v.position(at.File, at.Line), excerpt.Line(text, 160))
	}
	for _, q := range v.suite.Queries {
		if q.ID == v.Units[0].Case {
			add(q.Position, q.Prompt)
		}
	}
	for _, c := range v.suite.Cases {
		if c.ID != v.Units[0].Case {
			continue
		}
		for _, k := range c.Checks {
			if slices.ContainsFunc(v.Units, func(u result.Unit) bool { return lost(u, evaluator, k) }) {
				add(k.Position, k.Text)
			}
		}
	}
	return lines.String()
}

// lost reports whether an evaluator found that a check does not hold in a unit.
func lost(u result.Unit, evaluator string, k skill.Check) bool {
	own := slices.DeleteFunc(slices.Clone(u.Evaluations), func(e result.Evaluation) bool { return e.Name != evaluator })
	found, ok := skill.Judged(k, own)
	return ok && found.Outcome == result.Fail
}
