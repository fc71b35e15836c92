package rundir

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// version is the version of the manifest and of the files of a run. Since 2, results name their run, and the manifest
// says which variants a case asks.
const version = 2

// State is the state of a run.
type State string

const (
	// StateRunning means that a process is running it, if it is locked.
	StateRunning State = "running"
	// StateInterrupted means that it was stopped or killed, and can be resumed.
	StateInterrupted State = "interrupted"
	// StateFinished means that nothing is left to run.
	StateFinished State = "finished"
)

// Manifest says what is run. Together with the results it has everything that a report needs.
type Manifest struct {
	// Version is the version of the format, 2. Create sets it.
	Version int `json:"version"`
	// RunID is the name of the directory, see [NewID].
	RunID     string    `json:"run_id"`
	CreatedAt time.Time `json:"created_at"`
	// Tool is the program and its version, such as "sdd-eval 0.1.0".
	Tool     string   `json:"tool"`
	Playbook Playbook `json:"playbook"`
	// Name is the playbook's name.
	Name string `json:"name"`
	// Cassettes is the directory of the cassettes, relative to the project's root unless absolute.
	Cassettes string `json:"cassettes,omitempty"`
	// Mode is live, record, missing or replay.
	Mode string `json:"mode"`
	// Sandbox is the sandbox with its open properties, or "none".
	Sandbox  string    `json:"sandbox"`
	Variants []Variant `json:"variants"`
	// Axes are those of the matrices that have made variants, in order; nil: none has.
	Axes []Axis `json:"axes,omitempty"`
	// Ablate is what --ablate said of things that arms leave out, beside the playbook.
	Ablate []string `json:"ablate,omitempty"`
	Cases  []Case   `json:"cases"`
	// Trials is the number of trials of each case and variant, at least 1, and Need is how many of them must pass.
	Trials int `json:"trials"`
	Need   int `json:"need"`
	// NeedScore, if it is not 0, is the mean score that they must reach in the place of that.
	NeedScore float64 `json:"need_score,omitempty"`
	// Selection says which of the playbook's units, cases and variants the run has; nil: all.
	Selection *Selection `json:"selection,omitempty"`
	// Part says that the run has only some of the units that are listed so far, which other runs complete; nil: it has
	// all.
	Part *Part `json:"part,omitempty"`
	// Again is the id of the run whose units this one runs again, and whose results stay; empty: there is none.
	Again string `json:"again,omitempty"`
	// Rejudged is the id of the run that this one judges anew: what the agents did is that run's; empty: there is none.
	Rejudged string `json:"rejudged,omitempty"`
	// Units has the ids of the units to run, playbook/case/variant/trial: all trials of each case under each variant
	// that it asks. Jobs has those of the jobs outside the matrix. Both are in the order in which they are shown.
	Units []string `json:"units"`
	Jobs  []string `json:"jobs"`
	// Evaluators says whether the playbook has evaluators.
	Evaluators bool `json:"evaluators"`
	// Judges has the names of the evaluators of each case that has units, in order.
	Judges map[string][]string `json:"judges"`
	// JudgeDigests are of what the playbook says of an evaluator, by name; of one that is another in other cases there
	// is none.
	JudgeDigests map[string]string `json:"judge_digests,omitempty"`
	AIJudge      AIJudge           `json:"ai_judge"`
	// Inputs has digests of the files by which units are judged, by path.
	Inputs map[string]string `json:"inputs"`
	// Accepted says which of these had changed when the run was resumed: units before and after are judged by others.
	Accepted []string `json:"accepted_changes,omitempty"`
	// Human says whether people are asked for scores.
	Human bool  `json:"human"`
	State State `json:"state"`
	// FinishedAt is nil unless the state is finished.
	FinishedAt *time.Time `json:"finished_at"`
	// Totals is nil while the run goes on, and in a run of an earlier version.
	Totals *Totals `json:"totals,omitempty"`
	// Budget is what the run may cost; nil: nothing bounds that.
	Budget *Budget `json:"budget,omitempty"`
	// Stopped says why units were not run, if that is because of the budget or of a rate limit. A run that is resumed
	// forgets it.
	Stopped string `json:"stopped,omitempty"`
	// Problems are errors of the run as a whole, such as that a secret was found outside the workspaces.
	Problems []string `json:"problems,omitempty"`
}

// Budget is what a run may cost, in US dollars.
type Budget struct {
	MaxUSD float64 `json:"max_usd"`
	// AssumedUSD is what a unit counts whose agent does not say what it cost; nil: such a unit ends the run.
	AssumedUSD *float64 `json:"assumed_usd,omitempty"`
	// SpentUSD is what was spent when the run ended the last time, also on attempts that were repeated.
	SpentUSD float64 `json:"spent_usd"`
	// EnoughUSD is a budget for the units that were not run for want of it, too; 0: no sum is known to be enough.
	EnoughUSD float64 `json:"enough_usd,omitempty"`
}

// checkBudget returns an error for a budget that no run has.
func (m *Manifest) checkBudget() error {
	b := m.Budget
	if b == nil {
		return nil
	}
	if !(b.MaxUSD > 0) || b.SpentUSD < 0 || b.EnoughUSD < 0 || b.AssumedUSD != nil && *b.AssumedUSD < 0 {
		return errors.New("budget: want sums of money, max_usd above 0")
	}
	return nil
}

// Playbook says which playbook was run.
type Playbook struct {
	// Path is relative to the project root with slashes, or absolute if the playbook is elsewhere.
	Path string `json:"path"`
	// Digest is "sha256:" and hexadecimal digits. Create sets it.
	Digest string `json:"digest"`
}

// Axis is an axis of a matrix, with the values that variants have on it, in order.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Variant is a variant as it was run.
type Variant struct {
	ID    string `json:"id"`
	Style string `json:"style"` // empty if it makes no difference
	Kind  string `json:"kind"`
	// Reference says that it is there to be compared with: what it fails decides nothing.
	Reference bool `json:"reference,omitempty"`
	// Axes are its values on axes, by their names; nil: no matrix with axes has made it.
	Axes map[string]string `json:"axes,omitempty"`
	// Ablated is what it leaves out of the variant Of; both are empty if it is no such arm.
	Ablated string `json:"ablated,omitempty"`
	Of      string `json:"of,omitempty"`
	// Preset is the name of an account preset, without its content.
	Preset  string   `json:"preset,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	Model   string   `json:"model,omitempty"`
	Mode    string   `json:"mode,omitempty"`
	// Env has the names of the variables that the agent got.
	Env []string `json:"env,omitempty"`
	// Given is a digest of what its units get that their cases do not say: steps, and words that it adds to prompts.
	// It is empty for a variant without units.
	Given string `json:"given,omitempty"`
	// Skills are those that it puts where its agent looks for skills, by whatever key, and its plugins.
	Skills []Skill `json:"skills,omitempty"`
}

// Skill is what agents got of a skill.
type Skill struct {
	// Name is the one at the head of its file, or its directory's.
	Name string `json:"name"`
	// Path is that of its directory, relative to the project's root unless it is elsewhere; empty: it is written in the
	// playbook.
	Path string `json:"path"`
	// Digest is the same for skills that have the same files, as agents get them.
	Digest string `json:"digest"`
}

// Case is a case as it was run.
type Case struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Variants has the ids of the variants that are asked, in the order of their units.
	Variants        []string `json:"variants"`
	Prompts         []string `json:"prompts"`
	ExpectedOutcome string   `json:"expected_outcome,omitempty"`
	ReferenceAnswer string   `json:"reference_answer,omitempty"`
	// Digests are of what the case is under all variants, by what that is: prompts, files, evaluators, workspace, and
	// the files that judge. Where one differs, two runs have asked or judged something else.
	Digests map[string]string `json:"digests,omitempty"`
}

// AIJudge says whether a model is asked to score the variants, and which.
type AIJudge struct {
	Enabled bool   `json:"enabled"`
	Model   string `json:"model,omitempty"`
}

// safeID matches the ids that name directories.
var safeID = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9_-]*$`)

// Ran reports whether a playbook with this text was run.
func (m Manifest) Ran(playbook []byte) bool { return digest(playbook) == m.Playbook.Digest }

// complete sets the fields that Create sets.
func (m *Manifest) complete(playbook []byte) {
	m.Version, m.State, m.FinishedAt, m.Totals = version, StateRunning, nil, nil
	m.Playbook.Digest = digest(playbook)
	if m.CreatedAt.IsZero() {
		m.CreatedAt = time.Now()
	}
	m.CreatedAt = m.CreatedAt.UTC()
	if m.RunID == "" {
		m.RunID = NewID(m.CreatedAt, m.Name, "")
	}
	m.Trials = max(m.Trials, 1)
}

// check returns an error unless all ids are valid, so that they can be parts of paths, and unique.
func (m *Manifest) check() error {
	if !runID.MatchString(m.RunID) {
		return fmt.Errorf("the run id %q does not match %s", m.RunID, runID)
	}
	if err := errors.Join(
		checkIDs("variant", m.variantIDs(), safeID), checkIDs("case", m.caseIDs(), safeID),
		checkIDs("job", m.Jobs, safeID), checkIDs("unit", m.Units, nil),
	); err != nil {
		return err
	}
	return cmp.Or(m.checkState(), m.checkRange(), m.checkBudget(), m.checkUnits(), m.checkJudges(), m.checkAxes(),
		m.checkSelection(), m.checkPart(), m.checkTotals())
}

func (m *Manifest) checkState() error {
	switch m.State {
	case StateRunning, StateInterrupted, StateFinished:
	default:
		return fmt.Errorf("unknown state %q", m.State)
	}
	if (m.State == StateFinished) != (m.FinishedAt != nil) {
		return fmt.Errorf("state %q: finished_at must be there if the run is finished, and only then", m.State)
	}
	return nil
}

// checkRange returns an error for a value that no run has.
func (m *Manifest) checkRange() error {
	switch {
	case !slices.Contains([]string{"live", "record", "missing", "replay"}, m.Mode):
		return fmt.Errorf("unknown mode %q", m.Mode)
	case m.CreatedAt.IsZero():
		return errors.New("created_at is no time")
	case m.Trials < 1:
		return fmt.Errorf("trials is %d: want at least 1", m.Trials)
	case m.Need < 1 || m.Need > m.Trials:
		return fmt.Errorf("need is %d: want 1 to the number of trials, %d", m.Need, m.Trials)
	case m.NeedScore < 0 || m.NeedScore > 1:
		return fmt.Errorf("need_score is %v: want 0 to 1", m.NeedScore)
	case !sha256Digest.MatchString(m.Playbook.Digest):
		return fmt.Errorf("the playbook's digest is %q: want sha256: and 64 hexadecimal digits", m.Playbook.Digest)
	}
	return nil
}

var sha256Digest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// checkUnits returns an error unless the units are cases × variants × trials.
func (m *Manifest) checkUnits() error {
	variants, name := setOf(m.variantIDs()), ""
	if m.Part != nil {
		name = m.Name
	} else if len(m.Units) > 0 {
		parts := strings.Split(m.Units[0], "/")
		name = strings.Join(parts[:max(0, len(parts)-3)], "/")
	}
	left := m.Units
	for _, c := range m.Cases {
		if err := checkIDs("variant of the case "+c.ID, c.Variants, safeID); err != nil {
			return err
		}
		for _, v := range c.Variants {
			if !variants[v] {
				return fmt.Errorf("the case %s asks the variant %q, which is not one of this run", c.ID, v)
			}
			for trial := range m.Trials {
				want := fmt.Sprintf("%s/%s/%s/%d", name, c.ID, v, trial+1)
				if m.Part != nil && (len(left) == 0 || left[0] != want) {
					continue // another run has it
				}
				if len(left) == 0 {
					return fmt.Errorf("the unit %q is missing: the units are cases × variants × trials", want)
				}
				if left[0] != want {
					return fmt.Errorf("unit %q: want %q: the units are cases × variants × trials", left[0], want)
				}
				left = left[1:]
			}
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("unit %q: want no more: the units are cases × variants × trials", left[0])
	}
	return nil
}

// checkJudges returns an error unless the manifest names the evaluators of each case that has units.
func (m *Manifest) checkJudges() error {
	cases := setOf(m.caseIDs())
	for _, id := range slices.Sorted(maps.Keys(m.Judges)) {
		if !cases[id] {
			return fmt.Errorf("judges: the run has no case %q", id)
		}
	}
	for _, c := range m.Cases {
		names, ok := m.Judges[c.ID]
		if !ok && len(c.Variants) > 0 {
			return fmt.Errorf("judges: the evaluators of the case %s are missing", c.ID)
		}
		if len(names) > 0 && !m.Evaluators {
			return fmt.Errorf("judges: the case %s has evaluators, and evaluators is false", c.ID)
		}
	}
	return nil
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

func checkIDs(what string, ids []string, pattern *lazyregexp.Regexp) error {
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if pattern != nil && !pattern.MatchString(id) {
			return fmt.Errorf("the %s id %q does not match %s", what, id, pattern)
		}
		if seen[id] {
			return fmt.Errorf("duplicate %s %q", what, id)
		}
		seen[id] = true
	}
	return nil
}

// splitUnit returns the parts of a unit's id, nothing for a text that is none.
func splitUnit(id string) (caseID, variant string, trial int) {
	parts := strings.Split(id, "/")
	n := len(parts)
	if n < 4 {
		return "", "", 0
	}
	trial, _ = strconv.Atoi(parts[n-1])
	return parts[n-3], parts[n-2], trial
}

func (m *Manifest) variantIDs() []string {
	ids := make([]string, len(m.Variants))
	for i, v := range m.Variants {
		ids[i] = v.ID
	}
	return ids
}

func (m *Manifest) caseIDs() []string {
	ids := make([]string, len(m.Cases))
	for i, c := range m.Cases {
		ids[i] = c.ID
	}
	return ids
}

// checkSecrets returns an error for a manifest with a secret, and for one with ids that would be masked, since they are
// names of directories.
func (m *Manifest) checkSecrets(mask *secret.Set) error {
	data, err := m.encode(nil)
	if err != nil {
		return err
	}
	if name, found := mask.Contains(data); found {
		return fmt.Errorf("the manifest contains the value of %s", name)
	}
	for _, id := range slices.Concat([]string{m.RunID}, m.variantIDs(), m.caseIDs(), m.Jobs, m.Units) {
		if masked := mask.Bytes([]byte(id)); string(masked) != id {
			return fmt.Errorf("the id %s looks like a key", masked)
		}
	}
	return nil
}

// encode returns the manifest's masked bytes.
func (m *Manifest) encode(mask *secret.Set) ([]byte, error) {
	data, err := jsonvalue.Indent(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: %w", manifestFile, &disk.SizeError{Size: int64(len(data)), Limit: maxFile})
	}
	return mask.JSON(data), nil
}

// readManifest reads and checks the manifest of the run in dir.
func readManifest(dir string) (Manifest, error) { return readManifestOf(dir, filepath.Base(dir)) }

// readManifestOf reads and checks the manifest of the run with the id in dir; an empty one stands for any.
func readManifestOf(dir, id string) (Manifest, error) {
	data, err := readFile(dir, manifestFile, maxFile)
	if err != nil {
		return Manifest{}, err
	}
	path := filepath.Join(dir, manifestFile)
	var m Manifest
	err = jsonvalue.DecodeStrict(data, &m, jsonvalue.AllKeys)
	if err != nil || m.Version != version {
		return Manifest{}, notThisVersion(path, data, err)
	}
	if id != "" && m.RunID != id {
		return Manifest{}, fmt.Errorf("%s: belongs to the run %q", path, m.RunID)
	}
	if err := m.check(); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// notThisVersion returns the error for a manifest that is of another version, or could not be decoded, as err says.
func notThisVersion(path string, data []byte, err error) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := jsonvalue.DecodeStrict(data, &head, jsonvalue.UnknownKeys); err != nil {
		return jsonvalue.In(path, err)
	}
	if head.Version != version {
		return fmt.Errorf("%s: version %d; this program reads version %d", path, head.Version, version)
	}
	return jsonvalue.In(path, err)
}

// checkAxes returns an error unless the manifest has the axes of its variants.
func (m *Manifest) checkAxes() error {
	for _, v := range m.Variants {
		for name, value := range v.Axes {
			has := func(a Axis) bool { return a.Name == name && slices.Contains(a.Values, value) }
			if !slices.ContainsFunc(m.Axes, has) {
				return fmt.Errorf("the variant %s has %q on the axis %q, and axes does not", v.ID, value, name)
			}
		}
	}
	return nil
}

var (
	runID    = lazyregexp.New(`^[0-9]{8}-[0-9]{6}-[A-Za-z0-9_-]{1,160}$`)
	unusable = lazyregexp.New(`[^A-Za-z0-9_]+`)
)

// NewID returns an id for a run of the playbook with the name: YYYYMMDD-HHMMSS-<name>-<last>, with the time in UTC, and
// without characters that cannot be in a file's name. The last part has letters, digits, _ and -; if it is empty, it is
// random.
func NewID(now time.Time, name, last string) string {
	name = unusable.ReplaceAllString(name, "-")
	name = strings.Trim(name[:min(len(name), 60)], "-")
	if name == "" {
		name = "run"
	}
	if last == "" {
		last = strings.ToLower(rand.Text()[:8]) // 40 bits; Create makes it unique
	}
	return now.UTC().Format("20060102-150405") + "-" + name + "-" + last
}
