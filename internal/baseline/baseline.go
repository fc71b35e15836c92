// Package baseline reads the arms of comparisons from where they are kept, and writes baselines: what an arm came to,
// in a small file that people review and commit. Nothing but [WriteFile] changes one.
package baseline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Dir is the directory of baselines below the project's root.
const Dir = "baselines"

// maxFile is how large a baseline or a report may be, in bytes.
const maxFile = 256 << 20

// maxTrials is how many trials of a case playbooks may have.
const maxTrials = 1000

// version is that of the format of baselines.
const version = 1

// Baseline is what the variants of a run came to.
type Baseline struct {
	Version int `json:"baseline"`
	// Run is the id of the run, and CreatedAt when that began, in UTC.
	Run       string    `json:"run"`
	CreatedAt time.Time `json:"created_at"`
	Mode      string    `json:"mode"`
	// Selected says which part of its units a run had, such as "3 of 40 units selected (--case a)"; empty: all.
	Selected string `json:"-"`
	// State is that of the run; empty: not known.
	State rundir.State `json:"-"`
	// Variants are the arms, by the ids of the variants, in their order.
	Variants []Variant `json:"variants"`

	run *rundir.Run // nil: no sessions are kept
}

// Variant is one arm.
type Variant struct {
	ID string `json:"id"`
	// Skills are those that it installed.
	Skills []Skill        `json:"skills,omitempty"`
	Cases  []compare.Case `json:"cases"`
}

// Skill is a skill that a variant installed.
type Skill struct {
	Name string `json:"name"`
	// Digest is the same for skills that have the same files.
	Digest string `json:"digest"`
}

// Arm returns the arm of a variant, named after the word by which people called the source.
func (b *Baseline) Arm(word, variant string) (compare.Arm, bool) {
	for _, v := range b.Variants {
		if v.ID == variant {
			arm := compare.Arm{Name: word + ":" + variant, Cases: v.Cases}
			if b.run != nil {
				arm.Dir = b.run.Dir()
				arm.Calls = func(id string, trial int) ([]string, error) { return callsOf(b.run, id, variant, trial) }
			}
			return arm, true
		}
	}
	return compare.Arm{}, false
}

// IDs returns the ids of the variants.
func (b *Baseline) IDs() []string {
	ids := make([]string, len(b.Variants))
	for i, v := range b.Variants {
		ids[i] = v.ID
	}
	return ids
}

// OfRun returns what a run's variants came to. Units that did not run count as missing.
func OfRun(run *rundir.Run) (*Baseline, error) {
	units, err := run.Units()
	if err != nil {
		return nil, err
	}
	b := Of(run.Manifest().Shown(), units)
	b.run = run
	return b, nil
}

// Of returns what the variants of a run with this manifest came to, whose units ended so.
func Of(m rundir.Manifest, units []result.Unit) *Baseline {
	p := parts{Units: units}
	p.Run.ID, p.Run.Name, p.Run.CreatedAt, p.Run.Mode, p.Run.Trials = m.RunID, m.Name, m.CreatedAt, m.Mode, m.Trials
	asked := make(map[string]bool)
	for _, id := range m.Units {
		asked[id] = true
	}
	p.asked = func(id string) bool { return asked[id] }
	for _, v := range m.Variants {
		part := partVariant{ID: v.ID}
		for _, s := range v.Skills {
			part.Skills = append(part.Skills, Skill{s.Name, s.Digest})
		}
		p.Variants = append(p.Variants, part)
	}
	for _, c := range m.Cases {
		p.Cases = append(p.Cases, partCase{c.ID, c.Digests})
	}
	b := p.baseline()
	b.Selected, b.State = m.Selected(), m.State
	return b
}

// parts are what a baseline is made from.
type parts struct {
	Run struct {
		ID        string    `json:"run_id"`
		Name      string    `json:"name"`
		CreatedAt time.Time `json:"created_at"`
		Mode      string    `json:"mode"`
		Trials    int       `json:"trials"`
	} `json:"run"`
	Variants []partVariant `json:"variants"`
	Cases    []partCase    `json:"cases"`

	Units []result.Unit          `json:"-"` // that ended
	asked func(unit string) bool // whether the run has a unit
}

type partVariant struct {
	ID     string  `json:"id"`
	Skills []Skill `json:"skills"`
}

type partCase struct {
	ID      string            `json:"id"`
	Digests map[string]string `json:"digests"`
}

func (p parts) baseline() *Baseline {
	b := &Baseline{Version: version, Run: p.Run.ID, CreatedAt: p.Run.CreatedAt, Mode: p.Run.Mode}
	ended := make(map[string]result.Unit, len(p.Units))
	for _, u := range p.Units {
		ended[u.ID] = u
	}
	for _, v := range p.Variants {
		arm := Variant{ID: v.ID, Skills: v.Skills, Cases: []compare.Case{}}
		for _, c := range p.Cases {
			one := compare.Case{ID: p.Run.Name + "/" + c.ID, Digests: c.Digests}
			for trial := range p.Run.Trials {
				if id := fmt.Sprintf("%s/%s/%s/%d", p.Run.Name, c.ID, v.ID, trial+1); p.asked(id) {
					one.Trials = append(one.Trials, trialOf(p.Run.ID, ended[id]))
				}
			}
			if one.Trials != nil {
				arm.Cases = append(arm.Cases, one)
			}
		}
		b.Variants = append(b.Variants, arm)
	}
	return b
}

// ofReport returns what the variants of a report in JSON came to.
func ofReport(data []byte) (*Baseline, error) {
	var rep struct {
		parts
		Units []struct {
			ID     string       `json:"unit"`
			Result *result.Unit `json:"result"`
		} `json:"units"`
	}
	if err := json.Unmarshal(data, &rep); err != nil {
		return nil, err
	}
	if n := rep.Run.Trials; n < 0 || n > maxTrials {
		return nil, fmt.Errorf("%d trials: want at most %d", n, maxTrials)
	}
	asked := make(map[string]bool)
	for _, u := range rep.Units {
		asked[u.ID] = true
		if u.Result != nil {
			rep.parts.Units = append(rep.parts.Units, *u.Result)
		}
	}
	rep.asked = func(id string) bool { return asked[id] }
	b := rep.baseline()
	return b, b.check()
}

// trialOf returns what a unit of a run came to; the zero unit did not run.
func trialOf(run string, u result.Unit) compare.Trial {
	t := compare.Trial{Outcome: cmp.Or(u.Outcome, result.NotRun), Score: u.Score(), Activations: u.Activations()}
	if u.ID != "" {
		t.Session = cmp.Or(u.Recording, run+" "+u.ID)
	}
	if !u.Replayed && u.Duration > 0 {
		s := time.Duration(u.Duration).Seconds()
		t.Seconds = &s
	}
	if m := u.Metrics; m != nil {
		if m.Cost != nil && m.Cost.Currency == "USD" {
			t.CostUSD = &m.Cost.Amount
		}
		if m.Tokens != nil && m.Tokens.Total != nil {
			n := float64(*m.Tokens.Total)
			t.Tokens = &n
		}
	}
	t.Checks = checksOf(u)
	for _, e := range u.Evaluations {
		if e.Outcome == result.Pass || e.Outcome == result.Fail {
			if t.Evaluators == nil {
				t.Evaluators = make(map[string]result.Outcome)
			}
			t.Evaluators[e.Name] = e.Outcome
		}
	}
	return t
}

// checksOf returns the checks of a unit's evaluators; none, if each of these judged one thing.
func checksOf(u result.Unit) (checks []compare.Check) {
	if !slices.ContainsFunc(u.Evaluations, func(e result.Evaluation) bool { return len(e.Checks) > 0 }) {
		return nil
	}
	for _, e := range u.Evaluations {
		for _, c := range e.Each() {
			checks = append(checks, compare.Check{
				Evaluator: e.Name, ID: c.ID, Text: excerpt.Line(cmp.Or(c.Text, c.ID), maxText), Outcome: c.Outcome,
			})
		}
	}
	return checks
}

// maxText is how many characters of what a check says are kept.
const maxText = 200

// safeName matches the names of baselines, which are names of files.
var safeName = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,99}$`)

// ErrName is the error for a name that no file should have.
var ErrName = errors.New("a baseline's name has letters, digits, `_`, `-` and `.`, and begins with a letter or a digit")

// Path returns the path of a baseline, relative to the project's root.
func Path(name string) (string, error) {
	if !safeName.MatchString(name) {
		return "", ErrName
	}
	return filepath.Join(Dir, name+".json"), nil
}

// Write keeps a baseline, masked, below the project's root and returns its path, relative to that.
func Write(root, name string, b *Baseline, mask *secret.Set) (string, error) {
	path, err := Path(name)
	if err != nil {
		return "", err
	}
	return path, WriteFile(root, path, b, mask)
}

// WriteFile keeps a baseline, masked, in a file at a path below root.
func WriteFile(root, path string, b *Baseline, mask *secret.Set) error {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	tree, file := disk.Tree(root), filepath.Join(root, path)
	if err := tree.MkdirAll(filepath.Dir(file)); err != nil {
		return err
	}
	return tree.Replace(file, mask.JSON(append(data, '\n')), 0o644)
}

// Read reads a baseline, or a report in JSON. A file that is neither is an error that names it; one that is not there
// is [fs.ErrNotExist].
func Read(path string) (*Baseline, error) {
	data, err := disk.ReadRegular(path, maxFile)
	if err != nil {
		return nil, err
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("%s: neither a baseline nor a report in JSON: %w", path, err)
	}
	b := new(Baseline)
	switch {
	case head["baseline"] != nil:
		if err := jsonvalue.DecodeStrict(data, b, 0); err != nil {
			return nil, jsonvalue.In(path, err)
		}
		err = b.check()
	case head["run"] != nil && head["units"] != nil:
		b, err = ofReport(data)
	default:
		err = errors.New("neither a baseline nor a report in JSON")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

func (b *Baseline) check() error {
	if b.Version != version {
		return fmt.Errorf("version %d; this program reads version %d", b.Version, version)
	}
	for _, v := range b.Variants {
		seen := make(map[string]bool)
		if !plain(v.ID) {
			return fmt.Errorf("variant %q: a name is a line of text", v.ID)
		}
		for _, s := range v.Skills {
			if !plain(s.Name) || !plain(s.Digest) {
				return fmt.Errorf("variant %s: skill %q: a name is a line of text, and so is a digest", v.ID, s.Name)
			}
		}
		for _, c := range v.Cases {
			if seen[c.ID] || !plain(c.ID) {
				return fmt.Errorf("variant %s: case %q: a name is a line of text, and unique", v.ID, c.ID)
			}
			seen[c.ID] = true
			for _, t := range c.Trials {
				if err := checkTrial(t); err != nil {
					return fmt.Errorf("variant %s: case %s: %w", v.ID, c.ID, err)
				}
			}
		}
	}
	return nil
}

func checkTrial(t compare.Trial) error {
	for name := range t.Evaluators {
		if !plain(name) {
			return fmt.Errorf("evaluator %q: a name is a line of text", name)
		}
	}
	for _, c := range t.Checks {
		switch {
		case !plain(c.Evaluator) || !plain(c.ID) || !plain(c.Text):
			return fmt.Errorf("check %q of evaluator %q: names and texts are lines of text", c.ID, c.Evaluator)
		case c.Outcome != result.Pass && c.Outcome != result.Fail:
			return fmt.Errorf("check %s: unknown outcome %q", c.ID, c.Outcome)
		}
	}
	for _, a := range t.Activations {
		if !plain(a.Name) {
			return fmt.Errorf("skill or tool %q: a name is a line of text", a.Name)
		}
	}
	switch t.Outcome {
	case result.Pass, result.Fail, result.Error, result.Skip, result.Completed, result.NotRun:
		return nil
	}
	return fmt.Errorf("unknown outcome %q", t.Outcome)
}

// plain reports whether a name is a line of text.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
