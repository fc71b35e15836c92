package rundir

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// version is that of the manifest and of the files that it stands for.
const version = 1

// State is how far a run is.
type State string

const (
	// StateRunning: a process is at it, if the run is locked.
	StateRunning State = "running"
	// StateInterrupted: it was stopped or killed, and can be resumed.
	StateInterrupted State = "interrupted"
	// StateFinished: nothing is left to be run.
	StateFinished State = "finished"
)

// Manifest says what is run. All that a report needs is in it and in the results.
type Manifest struct {
	// Version is that of the format, 1; Create sets it.
	Version int `json:"version"`
	// RunID names the directory, see [NewID].
	RunID     string    `json:"run_id"`
	CreatedAt time.Time `json:"created_at"`
	// Tool is the program and its version, "sdd-eval 0.1.0".
	Tool     string   `json:"tool"`
	Playbook Playbook `json:"playbook"`
	// Name is the playbook's name.
	Name string `json:"name"`
	// Cassettes is the directory of the cassettes, relative to the project's root unless absolute.
	Cassettes string `json:"cassettes,omitempty"`
	// Mode is live, record, missing or replay.
	Mode string `json:"mode"`
	// Sandbox is the confinement that held, "none" if there was none.
	Sandbox  string    `json:"sandbox"`
	Variants []Variant `json:"variants"`
	Cases    []Case    `json:"cases"`
	// Trials are those of each case and variant, at least 1, and Need is how many of them must pass.
	Trials int `json:"trials"`
	Need   int `json:"need"`
	// Units are the ids of the units to run, playbook/case/variant/trial, and Jobs those of the jobs outside the
	// matrix, both in the order in which they are listed.
	Units []string `json:"units"`
	Jobs  []string `json:"jobs"`
	// Evaluators tells that something judges the units.
	Evaluators bool `json:"evaluators"`
	// Judges are the names of the evaluators that judge each case, in order. A case that has no key is of a program that did
	// not write them.
	Judges  map[string][]string `json:"judges,omitempty"`
	AIJudge AIJudge             `json:"ai_judge"`
	// Human tells that people are asked for scores.
	Human bool  `json:"human"`
	State State `json:"state"`
	// FinishedAt is nil until the state is finished.
	FinishedAt *time.Time `json:"finished_at"`
	// Problems are errors of the run as a whole, e.g. that a secret was found outside the workspaces.
	Problems []string `json:"problems,omitempty"`
}

// Playbook tells which playbook was run.
type Playbook struct {
	// Path is relative to the project root with slashes, or absolute if the playbook is elsewhere.
	Path string `json:"path"`
	// Digest is "sha256:" and hexadecimal digits; Create sets it.
	Digest string `json:"digest"`
}

// Variant is a variant as it was run.
type Variant struct {
	ID    string `json:"id"`
	Style string `json:"style"`
	Kind  string `json:"kind"`
	// Preset is the name of an account preset, never what it holds.
	Preset  string   `json:"preset,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	Model   string   `json:"model,omitempty"`
	Mode    string   `json:"mode,omitempty"`
	// Env are the names of the variables that the agent was given.
	Env []string `json:"env,omitempty"`
}

// Case is a case as it was run.
type Case struct {
	ID              string   `json:"id"`
	Title           string   `json:"title,omitempty"`
	Prompts         []string `json:"prompts"`
	ExpectedOutcome string   `json:"expected_outcome,omitempty"`
	ReferenceAnswer string   `json:"reference_answer,omitempty"`
}

// AIJudge says whether a model is asked to score the variants, and which.
type AIJudge struct {
	Enabled bool   `json:"enabled"`
	Model   string `json:"model,omitempty"`
}

// safeID matches the ids that name directories.
var safeID = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9_-]*$`)

// complete sets what Create promises to.
func (m *Manifest) complete(playbook []byte) {
	m.Version, m.State, m.FinishedAt = version, StateRunning, nil
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

// check returns an error unless paths can be made of all ids, and each is there once.
func (m *Manifest) check() error {
	if !runID.MatchString(m.RunID) {
		return fmt.Errorf("the run id %q does not match %s", m.RunID, runID)
	}
	switch m.State {
	case StateRunning, StateInterrupted, StateFinished:
	default:
		return fmt.Errorf("%q is not a state", m.State)
	}
	if err := errors.Join(
		checkIDs("variant", m.variantIDs(), safeID), checkIDs("case", m.caseIDs(), safeID),
		checkIDs("job", m.Jobs, safeID), checkIDs("unit", m.Units, nil),
	); err != nil {
		return err
	}
	variants, cases := setOf(m.variantIDs()), setOf(m.caseIDs())
	for _, id := range m.Units {
		c, v, trial, ok := splitUnit(id)
		if !ok || !cases[c] || !variants[v] || trial > m.Trials {
			return fmt.Errorf("the unit %q is not playbook/case/variant/trial of a case, a variant and a trial of this run", id)
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
			return fmt.Errorf("the %s %q is there twice", what, id)
		}
		seen[id] = true
	}
	return nil
}

// splitUnit takes a unit's id apart.
func splitUnit(id string) (caseID, variant string, trial int, ok bool) {
	parts := strings.Split(id, "/")
	n := len(parts)
	if n < 4 {
		return "", "", 0, false
	}
	trial, err := strconv.Atoi(parts[n-1])
	return parts[n-3], parts[n-2], trial, err == nil && trial > 0 && strconv.Itoa(trial) == parts[n-1]
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

// checkSecrets refuses a manifest that holds a secret, and one whose ids would be masked: they name directories.
func (m *Manifest) checkSecrets(mask *secret.Set) error {
	data, err := m.encode(nil)
	if err != nil {
		return err
	}
	if name, found := mask.Contains(data); found {
		return fmt.Errorf("what is to be run holds the value of %s", name)
	}
	for _, id := range slices.Concat([]string{m.RunID}, m.variantIDs(), m.caseIDs(), m.Jobs, m.Units) {
		if masked := mask.Bytes([]byte(id)); string(masked) != id {
			return fmt.Errorf("the id %s looks like a key", masked)
		}
	}
	return nil
}

// encode returns the manifest's bytes, masked.
func (m *Manifest) encode(mask *secret.Set) ([]byte, error) {
	data, err := jsonvalue.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if data = append(data, '\n'); len(data) > maxFile {
		return nil, fmt.Errorf("%s: it has %d bytes, more than the %d that it may have", manifestFile, len(data), maxFile)
	}
	return mask.JSON(data), nil
}

// readManifest reads and checks the manifest of the run in dir.
func readManifest(dir string) (Manifest, error) {
	data, err := readFile(dir, manifestFile, maxFile)
	if err != nil {
		return Manifest{}, err
	}
	path := filepath.Join(dir, manifestFile)
	var head struct {
		Version int `json:"version"`
	}
	if err := jsonvalue.DecodeStrict(data, &head, jsonvalue.UnknownKeys); err != nil {
		return Manifest{}, jsonvalue.In(path, err)
	}
	if head.Version != version {
		return Manifest{}, fmt.Errorf("%s: it has version %d, and this program reads version %d", path, head.Version, version)
	}
	var m Manifest
	if err := jsonvalue.DecodeStrict(data, &m, jsonvalue.UnknownKeys); err != nil {
		return Manifest{}, jsonvalue.In(path, err)
	}
	if m.RunID != filepath.Base(dir) {
		return Manifest{}, fmt.Errorf("%s: it is of the run %q", path, m.RunID)
	}
	if err := m.check(); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// ManifestOf returns what a manifest says of a plan. The id, the time, the mode, the playbook's path and the names of
// variables are the caller's to add.
func ManifestOf(plan *spec.Plan) Manifest {
	pb := plan.Playbook
	m := Manifest{
		Name: pb.Name, Trials: max(pb.Trials.Count, 1), Need: pb.Trials.Need(), Human: pb.Report.Human.Enabled,
		Judges: make(map[string][]string), AIJudge: AIJudge{Enabled: pb.Report.AIJudge.Enabled, Model: pb.Report.AIJudge.Model},
	}
	for _, v := range pb.Variants {
		command, args := v.Agent.Command, v.Agent.Args
		if profile, ok := agent.Lookup(v.Agent.Kind); ok {
			command = cmp.Or(command, profile.Command)
			if args == nil {
				args = profile.Args
			}
		}
		m.Variants = append(m.Variants, Variant{
			ID: v.ID, Style: v.Style, Kind: v.Agent.Kind, Preset: v.Agent.Preset, Command: command, Args: args,
			Model: v.Agent.Model, Mode: v.Agent.Mode,
		})
	}
	for _, c := range plan.Cases() {
		title := c.ID
		if pb.Task != nil && pb.Task.Title != "" {
			title = pb.Task.Title
		}
		m.Cases = append(m.Cases, Case{
			ID: c.ID, Title: title, Prompts: c.Prompts, ExpectedOutcome: c.ExpectedOutcome, ReferenceAnswer: c.ReferenceAnswer,
		})
	}
	for _, u := range plan.Units {
		m.Units = append(m.Units, u.ID())
		m.Evaluators = m.Evaluators || len(u.Evaluators) > 0
		m.Judges[u.Case.ID] = namesOf(u.Evaluators) // which are the same under all variants
	}
	for _, j := range slices.Concat(plan.Before(), plan.After()) {
		m.Jobs = append(m.Jobs, j.ID)
	}
	return m
}

func namesOf(evaluators []spec.Evaluator) []string {
	names := make([]string, len(evaluators))
	for i, e := range evaluators {
		names[i] = e.Name
	}
	return names
}

var (
	runID    = lazyregexp.New(`^[0-9]{8}-[0-9]{6}-[A-Za-z0-9_-]{1,160}$`)
	unusable = lazyregexp.New(`[^A-Za-z0-9_]+`)
)

// NewID returns an id for a run of the playbook of that name, YYYYMMDD-HHMMSS-<name>-<last>, with the time in UTC and
// what cannot be in a file's name replaced. The last part, of letters, digits, _ and -, is random if it is empty.
func NewID(now time.Time, name, last string) string {
	name = unusable.ReplaceAllString(name, "-")
	name = strings.Trim(name[:min(len(name), 60)], "-")
	if name == "" {
		name = "run"
	}
	if last == "" {
		last = strings.ToLower(rand.Text()[:8]) // 40 bits; Create sees to the rest
	}
	return now.UTC().Format("20060102-150405") + "-" + name + "-" + last
}
