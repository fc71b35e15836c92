package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// SkillCreator is the format of skill-creator's own files.
const SkillCreator = "skill-creator"

// ErrNotOfSkill is the error of a run that does not try a skill, which has no files of that format.
var ErrNotOfSkill = errors.New("the run does not try a skill")

// What skill-creator calls its directories and files. Its scripts find evals by their prefix.
const (
	iteration    = SkillCreator + "/iteration-1/"
	evalPrefix   = "eval-"
	withSkill    = "with_skill"
	withoutSkill = "without_skill"
	oldSkill     = "old_skill"
	metadataFile = "eval_metadata.json"
	endsWell     = "The session and its steps end well"
)

// configuration is an arm of a skill as skill-creator calls it.
type configuration struct{ name, variant string }

// skillArms returns the skill that a run tries, and its arms: the one with the skill, then its references. The error
// says why a run is no such run.
func (rep *Report) skillArms() (skill rundir.Skill, arms []configuration, err error) {
	with, references := Variant{}, []Variant(nil)
	for _, v := range rep.Variants {
		switch {
		case v.Reference:
			references = append(references, v)
		case with.ID == "":
			with = v
		default:
			err := fmt.Errorf("neither of the variants %s and %s is a reference", with.ID, v.ID)
			return skill, nil, fault.Advise(err, "select one of them and its references with --variant")
		}
	}
	switch {
	case with.ID == "" || references == nil:
		err = errors.New("it has no variant and a reference to compare that with")
	case len(with.Skills) == 0:
		err = fmt.Errorf("its variant %s has no skill, or the run is of an earlier version", with.ID)
	}
	if err != nil {
		return skill, nil, fault.Advise(err, "let one variant have `skills`, and others `reference: true`")
	}
	arms = []configuration{{withSkill, with.ID}}
	for _, v := range references {
		name, in := difference(with, v)
		if name == "" {
			return skill, nil, fmt.Errorf("its reference %s has the same skills as %s", v.ID, with.ID)
		}
		if i := slices.IndexFunc(arms, func(a configuration) bool { return a.name == name }); i > 0 {
			err := fmt.Errorf("its references %s and %s would both be %s", arms[i].variant, v.ID, name)
			return skill, nil, fault.Advise(err, "select one of them with --variant")
		}
		skill, arms = cmp.Or(skill, in), append(arms, configuration{name, v.ID})
	}
	return skill, arms, nil
}

// difference returns what skill-creator calls a reference of a variant, and the first skill in which they differ.
func difference(with, reference Variant) (name string, in rundir.Skill) {
	for _, s := range with.Skills {
		i := slices.IndexFunc(reference.Skills, func(o rundir.Skill) bool { return o.Name == s.Name })
		if i < 0 {
			return withoutSkill, s
		}
		if reference.Skills[i].Digest != s.Digest && name == "" {
			name, in = oldSkill, s
		}
	}
	return name, in
}

// expectation is a check in skill-creator's words. Its viewer knows one by its text.
type expectation struct {
	Text     string `json:"text"`
	Passed   bool   `json:"passed"`
	Evidence string `json:"evidence"`
}

// expectations returns the checks of a unit that passed or failed, with one more if it failed by none of them.
func expectations(u result.Unit) []expectation {
	list, failed, seen := []expectation{}, false, make(map[string]bool)
	add := func(text, id string, passed bool, evidence string) {
		if text = cmp.Or(text, id); seen[text] {
			text += " [" + id + "]"
		}
		seen[text], failed = true, failed || !passed
		// Its viewer puts the evidence into an attribute.
		list = append(list, expectation{text, passed, strings.ReplaceAll(evidence, `"`, "'")})
	}
	for _, e := range u.Evaluations {
		for _, c := range e.Each() {
			add(c.Text, e.Name+"/"+c.ID, c.Outcome == result.Pass, c.Evidence)
		}
	}
	if u.Outcome == result.Fail && !failed {
		var why []string
		for _, f := range findings(u) {
			why = append(why, f.Reason)
		}
		add(endsWell, "unit", false, strings.Join(why, "\n"))
	}
	return list
}

// checkSummary counts expectations.
type checkSummary struct {
	Passed int     `json:"passed"`
	Failed int     `json:"failed"`
	Total  int     `json:"total"`
	Rate   float64 `json:"pass_rate"`
}

func summaryOf(list []expectation) checkSummary {
	s := checkSummary{Total: len(list)}
	for _, e := range list {
		if e.Passed {
			s.Passed++
		}
	}
	s.Failed = s.Total - s.Passed
	s.Rate = round(float64(s.Passed)/float64(s.Total), 4)
	return s
}

// grading is grading.json of a run, which is what skill-creator calls a unit.
type grading struct {
	Expectations []expectation    `json:"expectations"`
	Summary      checkSummary     `json:"summary"`
	Metrics      executionMetrics `json:"execution_metrics"`
	// Timing is without the total: its script would then not look for the tokens, which are in timing.json.
	Timing timing    `json:"timing"`
	Notes  userNotes `json:"user_notes_summary"`
}

type executionMetrics struct {
	ToolCalls map[string]int `json:"tool_calls"`
	Total     int            `json:"total_tool_calls"`
	// Steps counts calls that were made together as one.
	Steps  int `json:"total_steps"`
	Errors int `json:"errors_encountered"`
	// OutputChars is missing if the tokens are unknown: its script would take it for these.
	OutputChars     int `json:"output_chars,omitempty"`
	TranscriptChars int `json:"transcript_chars"`
}

// timing is timing.json. What is unknown is missing.
type timing struct {
	Tokens *int64   `json:"total_tokens,omitempty"`
	MS     *int64   `json:"duration_ms,omitempty"`
	Total  *float64 `json:"total_duration_seconds,omitempty"`
	Agent  *float64 `json:"executor_duration_seconds,omitempty"`
	Grader *float64 `json:"grader_duration_seconds,omitempty"`
}

type userNotes struct {
	Uncertainties []string `json:"uncertainties"`
	NeedsReview   []string `json:"needs_review"`
	Workarounds   []string `json:"workarounds"`
}

// evalMetadata is eval_metadata.json, by which its scripts know an eval.
type evalMetadata struct {
	ID         any      `json:"eval_id"`
	Name       string   `json:"eval_name"`
	Prompt     string   `json:"prompt"`
	Assertions []string `json:"assertions"`
}

// benchmark is benchmark.json.
type benchmark struct {
	Metadata struct {
		Skill    string    `json:"skill_name"`
		Path     string    `json:"skill_path"`
		Model    string    `json:"executor_model"`
		Analyzer string    `json:"analyzer_model"`
		Time     time.Time `json:"timestamp"`
		Evals    []any     `json:"evals_run"`
		Runs     int       `json:"runs_per_configuration"`
	} `json:"metadata"`
	Runs    []benchmarkRun `json:"runs"`
	Summary members        `json:"run_summary"`
	Notes   []string       `json:"notes"`
}

type benchmarkRun struct {
	ID            any    `json:"eval_id"`
	Name          string `json:"eval_name"`
	Configuration string `json:"configuration"`
	Number        int    `json:"run_number"`
	Result        struct {
		checkSummary
		Seconds   *float64 `json:"time_seconds,omitempty"`
		Tokens    *int64   `json:"tokens,omitempty"`
		ToolCalls int      `json:"tool_calls"`
		Errors    int      `json:"errors"`
	} `json:"result"`
	Expectations []expectation `json:"expectations"`
	Notes        []string      `json:"notes"`
}

// spread says of a figure of several runs what it is.
type spread struct {
	Mean   float64 `json:"mean"`
	Stddev float64 `json:"stddev"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) *spread {
	if len(values) == 0 {
		return nil
	}
	s, n, squares := spread{Min: slices.Min(values), Max: slices.Max(values)}, float64(len(values)), 0.0
	for _, v := range values {
		s.Mean += v / n
	}
	for _, v := range values {
		squares += (v - s.Mean) * (v - s.Mean)
	}
	if n > 1 {
		s.Stddev = math.Sqrt(squares / (n - 1))
	}
	for _, v := range []*float64{&s.Mean, &s.Stddev, &s.Min, &s.Max} {
		*v = round(*v, 4)
	}
	return &s
}

// configurationSummary sums the runs of a configuration up. Figures that no run has are missing.
type configurationSummary struct {
	Rate    *spread `json:"pass_rate,omitempty"`
	Seconds *spread `json:"time_seconds,omitempty"`
	Tokens  *spread `json:"tokens,omitempty"`
	// Errors are units of which nothing is known, which are in no figure.
	Errors int `json:"errors"`

	rates, seconds, tokens []float64
}

func (s *configurationSummary) add(r benchmarkRun) {
	s.rates = append(s.rates, r.Result.Rate)
	if r.Result.Seconds != nil {
		s.seconds = append(s.seconds, *r.Result.Seconds)
	}
	if r.Result.Tokens != nil {
		s.tokens = append(s.tokens, float64(*r.Result.Tokens))
	}
	s.Rate, s.Seconds, s.Tokens = spreadOf(s.rates), spreadOf(s.seconds), spreadOf(s.tokens)
}

// deltaOf is by how much the figures with the skill are higher than those of a reference, as its texts.
func deltaOf(with, reference *configurationSummary) map[string]string {
	delta := make(map[string]string)
	for _, d := range []struct {
		name            string
		with, reference *spread
		format          string
	}{
		{"pass_rate", with.Rate, reference.Rate, "%+.2f"},
		{"time_seconds", with.Seconds, reference.Seconds, "%+.1f"},
		{"tokens", with.Tokens, reference.Tokens, "%+.0f"},
	} {
		if d.with != nil && d.reference != nil {
			delta[d.name] = fmt.Sprintf(d.format, d.with.Mean-d.reference.Mean)
		}
	}
	return delta
}

// members is an object whose order counts: its viewer compares the first two members of a summary.
type members []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (m members) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, one := range m {
		value, err := json.Marshal(one.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(strconv.AppendQuote(b, one.name), ':'), value...)
	}
	return append(b, '}'), nil
}

// skillFiles writes the files that skill-creator's scripts and viewer read, of a run that tries a skill.
type skillFiles struct {
	rep   *Report
	write func(name string, data []byte) error
	ids   map[string]any // of evals, by case
	dirs  map[string]string
}

// skillCreator writes the files that skill-creator's scripts and viewer read: a directory for each eval, configuration
// and run, and benchmark.json. It returns an error that says why a run has none of them.
func (rep *Report) skillCreator(write func(name string, data []byte) error) error {
	skill, arms, err := rep.skillArms()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotOfSkill, err)
	}
	if err := rep.run.RemoveEach(rep.dir+iteration, evalPrefix); err != nil { // of other units
		return err
	}
	return rep.skillFiles(func(name string, data []byte) error { return write(iteration+name, tame(data)) }).
		benchmark(skill, arms)
}

// skillFiles names the evals: by the numbers that end the ids of cases if all have one, since its scripts sort them.
func (rep *Report) skillFiles(write func(name string, data []byte) error) *skillFiles {
	f := &skillFiles{rep, write, make(map[string]any), make(map[string]string)}
	all, numbers := true, true
	for _, c := range rep.Cases {
		id, ok := strings.CutPrefix(c.ID, evalPrefix)
		n, err := strconv.Atoi(id)
		all, numbers = all && ok, numbers && ok && err == nil && strconv.Itoa(n) == id
		f.ids[c.ID] = n
	}
	for _, c := range rep.Cases {
		if f.dirs[c.ID] = evalPrefix + c.ID + "/"; all {
			f.dirs[c.ID] = c.ID + "/"
		}
		if !numbers {
			f.ids[c.ID] = c.ID
		}
	}
	return f
}

// endsScript matches what would end the script of its viewer, into which that puts all texts as they are.
var endsScript = lazyregexp.New(`(?i)<(/?script|!--)`)

func tame(data []byte) []byte { return []byte(endsScript.ReplaceAllString(string(data), "<\u200b$1")) }

func (f *skillFiles) json(name string, v any) error {
	data, err := jsonvalue.Indent(v)
	if err != nil {
		return err
	}
	return f.write(name, data)
}

// benchmark writes what units came to, and benchmark.json.
func (f *skillFiles) benchmark(skill rundir.Skill, arms []configuration) error {
	b := &benchmark{Runs: []benchmarkRun{}, Notes: append([]string{
		"time_seconds are from the first prompt of a session to its end, when it was recorded.",
	}, f.rep.Notes...)}
	b.Metadata.Skill, b.Metadata.Path, b.Metadata.Analyzer = skill.Name, skill.Path, "none"
	b.Metadata.Model, b.Metadata.Time = f.rep.model(arms), f.rep.Run.CreatedAt.Truncate(time.Second)
	b.Metadata.Runs, b.Metadata.Evals = f.rep.Run.Trials, []any{}
	sums := make(map[string]*configurationSummary)
	for _, arm := range arms {
		sums[arm.name] = new(configurationSummary)
	}
	units := make(map[[2]string][]*Unit)
	for i := range f.rep.Units {
		u := &f.rep.Units[i]
		units[[2]string{u.Case, u.Variant}] = append(units[[2]string{u.Case, u.Variant}], u)
	}
	for _, c := range f.rep.Cases {
		b.Metadata.Evals = append(b.Metadata.Evals, f.ids[c.ID])
		about := evalMetadata{f.ids[c.ID], cmp.Or(c.Title, c.ID), strings.Join(c.Prompts, "\n\n"), []string{}}
		for _, arm := range arms {
			dir := f.dirs[c.ID] + arm.name + "/"
			for _, u := range units[[2]string{c.ID, arm.variant}] {
				run, err := f.unit(dir, u)
				if err != nil {
					return err
				}
				if run == nil {
					b.Notes = append(b.Notes, fmt.Sprintf("%s %s run %d is in no figure: %s", c.ID, arm.name, u.Trial,
						nothingKnown(u)))
					if u.Outcome == result.Error {
						sums[arm.name].Errors++
					}
					continue
				}
				for _, e := range run.Expectations {
					if !slices.Contains(about.Assertions, e.Text) {
						about.Assertions = append(about.Assertions, e.Text)
					}
				}
				run.ID, run.Name, run.Configuration, run.Number = about.ID, about.Name, arm.name, u.Trial
				b.Runs = append(b.Runs, *run)
				sums[arm.name].add(*run)
			}
			if err := f.json(dir+metadataFile, about); err != nil { // where its viewer looks
				return err
			}
		}
		if err := f.json(f.dirs[c.ID]+metadataFile, about); err != nil { // where its script looks
			return err
		}
	}
	for _, arm := range arms {
		b.Summary = append(b.Summary, member{arm.name, sums[arm.name]})
	}
	b.Summary = append(b.Summary, member{"delta", deltaOf(sums[withSkill], sums[arms[1].name])})
	return f.json("benchmark.json", b)
}

// model says which models the agents of arms had.
func (rep *Report) model(arms []configuration) string {
	var models []string
	for _, a := range arms {
		v := rep.Variants[slices.IndexFunc(rep.Variants, func(v Variant) bool { return v.ID == a.variant })]
		if m := cmp.Or(v.Model, "the default of "+v.Kind); !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	text := strings.Join(models, ", ")
	if slices.ContainsFunc(rep.Units, func(u Unit) bool { return u.Result != nil && u.Result.Endpoint == "scripted" }) {
		text += " (scripted)"
	}
	return text
}

// nothingKnown says why a unit has no rate.
func nothingKnown(u *Unit) string {
	if u.Result == nil {
		return "it has not run"
	}
	if list := reasons(*u); len(list) > 0 {
		return string(u.Outcome) + ": " + list[0]
	}
	return string(u.Outcome) + ", and nothing was judged"
}

// unit writes the files of a unit that ran. It returns nil for one of which nothing is known.
func (f *skillFiles) unit(dir string, u *Unit) (*benchmarkRun, error) {
	if u.Result == nil {
		return nil, nil
	}
	dir += fmt.Sprintf("run-%d/", u.Trial)
	did, err := f.outputs(dir+"outputs/", u)
	if err != nil {
		return nil, err
	}
	g := grading{
		Expectations: expectations(*u.Result), Metrics: did.metrics,
		Notes: userNotes{[]string{}, append([]string{}, u.Result.Warnings...), []string{}},
	}
	t := timing{Agent: did.seconds, Total: did.seconds}
	if m := u.metrics(); m != nil {
		g.Metrics.ToolCalls = m.ToolCalls
		for _, n := range m.ToolCalls {
			g.Metrics.Total += n
		}
		if m.Tokens != nil {
			t.Tokens = m.Tokens.Total
		}
	}
	if t.Tokens == nil || *t.Tokens == 0 {
		g.Metrics.OutputChars = 0
	}
	if did.seconds != nil {
		t.MS = new(int64(*did.seconds * 1000))
	}
	if !u.Result.Replayed && len(u.Result.Evaluations) > 0 {
		judging := time.Duration(0)
		for _, e := range u.Result.Evaluations {
			judging += time.Duration(e.Duration)
		}
		t.Grader = new(round(judging.Seconds(), 3))
	}
	g.Timing = timing{Agent: t.Agent, Grader: t.Grader}
	if err := f.json(dir+"timing.json", t); err != nil {
		return nil, err
	}
	if known := u.Outcome == result.Pass || u.Outcome == result.Fail; !known || len(g.Expectations) == 0 {
		return nil, f.write(dir+"outputs/error.txt", []byte(nothingKnown(u)+"\n"))
	}
	g.Summary = summaryOf(g.Expectations)
	run := &benchmarkRun{Expectations: g.Expectations, Notes: g.Notes.NeedsReview}
	run.Result.checkSummary, run.Result.Seconds, run.Result.Tokens = g.Summary, t.Total, t.Tokens
	run.Result.ToolCalls, run.Result.Errors = g.Metrics.Total, g.Metrics.Errors
	return run, f.json(dir+"grading.json", g)
}

// session is what a trajectory tells beside the unit's metrics.
type session struct {
	metrics executionMetrics
	seconds *float64 // from the first prompt to the end; nil: unknown
}

// outputs writes what a unit's agent left, for people: its last message, and how it changed its workspace.
func (f *skillFiles) outputs(dir string, u *Unit) (session, error) {
	did := session{metrics: executionMetrics{ToolCalls: map[string]int{}}}
	dirs := f.rep.run.UnitDirs(u.Case, u.Variant, u.Trial)
	run, err := f.rep.run.ReadTrajectory(dirs, maxArtifact)
	if run, err = ifThere(run, err); err != nil {
		return did, err
	}
	if run != nil {
		did.of(run)
		did.metrics.OutputChars = utf8.RuneCountInString(run.Answer())
		if err := f.write(dir+"answer.md", []byte(run.Answer()+"\n")); err != nil {
			return did, err
		}
	}
	diff, err := f.rep.run.ReadFile(dirs.File(rundir.Diff), maxArtifact)
	if diff, err = ifThere(diff, err); err != nil || len(diff) == 0 {
		return did, err
	}
	did.metrics.OutputChars += utf8.RuneCount(diff)
	return did, f.write(dir+"changes.txt", bytes.ToValidUTF8(diff, []byte("\uFFFD")))
}

// ifThere returns what was read, nothing for a file that is missing or too large, which the report notes.
func ifThere[T any](v T, err error) (T, error) {
	_, large := errors.AsType[*disk.SizeError](err)
	if large || errors.Is(err, fs.ErrNotExist) {
		var none T
		return none, nil
	}
	return v, err
}

func (s *session) of(run *trajectory.Run) {
	for _, c := range run.ToolCalls() {
		if s.metrics.Steps = c.Group; c.Outcome() == trajectory.OutcomeError {
			s.metrics.Errors++
		}
	}
	var began, ended time.Duration
	for _, e := range run.Events {
		switch b := e.Body.(type) {
		case trajectory.Prompt:
			if began == 0 {
				began = e.At
			}
			s.metrics.TranscriptChars += utf8.RuneCountInString(b.Text)
		case trajectory.Message:
			s.metrics.TranscriptChars += utf8.RuneCountInString(b.Text)
		}
		ended = max(ended, e.At)
	}
	if ended > began {
		s.seconds = new(round((ended - began).Seconds(), 3))
	}
}
