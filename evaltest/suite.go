package evaltest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Suite tests a task on rows of data: each row is a subtest, in which the task turns the row's input into an output,
// and each scorer is a subtest of that, with its own threshold. Scores are never averaged.
//
//	evaltest.Suite[string, int, int]{
//		ID:      "words",
//		Data:    []evaltest.Row[string, int]{{ID: "two", Input: "hello world", Expected: 2}},
//		Task:    func(_ context.Context, text string) (int, error) { return count(text), nil },
//		Scorers: []evaltest.Scorer[string, int, int]{exact},
//	}.Run(t)
//
// If the task is an agent, use [AgentSuite].
//
// A score below the threshold fails. If there is no score, that is an error, which is as red: the task or a scorer
// returned an error, panicked or timed out, or a score is not a number in 0..1. A suite without rows or scorers is an
// error too.
type Suite[In, Out, Want any] struct {
	// ID names the subtest and the recordings. It matches ^[a-zA-Z][a-zA-Z0-9_-]*$.
	ID string
	// Data are the rows. A suite has one of Data, File and Generate.
	Data []Row[In, Want]
	// Generate makes the rows when the suite runs, after SkipIf. It has to make the same ones each time: their ids name
	// recordings. No rows are an error.
	Generate func(ctx context.Context) ([]Row[In, Want], error)
	// File is a file with the rows, relative to the test's directory. Its extension gives the format: .jsonl, .yaml,
	// .yml or .csv. The keys of a row are id, name, input, metadata, expected, and expected_file: a JSON file with what
	// is expected, relative to this one. Unknown keys, also of the values, are errors. In CSV a field of a struct is a
	// column such as input.question.
	File string
	// Task turns a row's input into an output. It has to return when its context ends.
	Task func(ctx context.Context, input In) (Out, error)
	// Mutants returns worse outputs than a row's, by what is wrong with each, for [Suite.Mutate]. An [AgentSuite] needs
	// none: its mutants are derived from the recorded sessions.
	Mutants func(ctx context.Context, row Row[In, Want], output Out) (map[string]Out, error)
	// Scorers judge each output.
	Scorers []Scorer[In, Out, Want]
	// Judges are models that judge each output, each a scorer as well. They see what an agent said, called and changed,
	// or the output of another task, as it is if it is text and otherwise as JSON, beside the row's input and what is
	// expected.
	//
	// Models are asked only with EVAL_LLM_JUDGE=1. Their answers are recorded beside the row's cassette as in
	// playbooks, and replayed if there is a recording; with neither, the judge is skipped, which is an error where CI
	// is set.
	Judges []playbook.LLMJudge
	// Threshold is the lowest score that passes, for scorers without one of their own; 0 means 0.8. A threshold of 0 is
	// impossible, since every score would reach it.
	Threshold float64
	// Timeout is how long the task may take for a row, and each scorer; 0: until go test's own deadline is near.
	Timeout time.Duration
	// SkipIf, if not nil, is called once. If it returns a reason, the suite is skipped, with that reason. Where CI is
	// set (and neither 0 nor false) that is an error instead.
	SkipIf func() (reason string)
	// Overrides give calls of tools other answers, see [Override]. A row is a case.
	Overrides []playbook.Override
	// Dirs says where recordings and accounts are.
	Dirs Dirs
}

// Row is an input for the task of a [Suite], and what is expected of it.
type Row[In, Want any] struct {
	// ID names the row's subtest and recordings. It matches ^[a-zA-Z][a-zA-Z0-9_-]*$ and is unique in the suite.
	ID string
	// Name is shown beside the ID; may be empty.
	Name  string
	Input In
	// Metadata is what tasks and scorers get of the row by [Metadata] beside its input.
	Metadata map[string]any
	Expected Want
	// ExpectedFile is a JSON file with what is expected, relative to the test's directory. A row has either Expected or
	// this.
	ExpectedFile string
}

// AgentSuite is a suite whose task is an agent, see [AgentTask]: its input is a prompt, and it expects tool calls.
type AgentSuite = Suite[string, *AgentResult, Calls]

// AgentRow is a row of an [AgentSuite].
type AgentRow = Row[string, Calls]

// AgentScorer is a scorer of an [AgentSuite].
type AgentScorer = Scorer[string, *AgentResult, Calls]

// defaultThreshold is the lowest score that passes by default.
const defaultThreshold = 0.8

// idPattern is that of playbooks' ids: these, too, become names of subtests and files.
var idPattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*$`)

// Run runs the suite as subtests <id>/<row>/<scorer> of t.
func (s Suite[In, Out, Want]) Run(t *testing.T) {
	t.Helper()
	_, file, line, _ := runtime.Caller(1)
	s.start(t, file, line, (*suiteRun).run)
}

// start checks the suite, which the test calls at a place, and has its subtest run it.
func (s Suite[In, Out, Want]) start(t *testing.T, file string, line int, do func(*suiteRun, *testing.T)) {
	t.Helper()
	h, err := newHarness(s.Dirs)
	if err != nil {
		door.Of(t).Fatalf("evaltest.Suite: %v", err)
	}
	h.overrides = overridesAt(s.Overrides, file, line)
	run := suiteRun{
		harness: h, id: s.ID, at: h.position(file, line), threshold: s.Threshold, timeout: s.Timeout,
	}
	for _, scorer := range s.Scorers {
		run.scorers = append(run.scorers, scorer.untyped())
	}
	for _, j := range s.Judges {
		run.scorers = append(run.scorers, judgeScorer(j))
	}
	generates := s.Generate != nil && idPattern.MatchString(s.ID)
	if !generates {
		if err := s.fill(t, &run); err != nil {
			door.Of(t).Fatalf("evaltest.Suite: %v", err)
		}
	}
	t.Run(door.Name(s.ID), func(t *testing.T) {
		t.Helper()
		if s.SkipIf != nil {
			var reason string
			if err := (<-guard(func() { reason = s.SkipIf() })).err("SkipIf"); err != nil {
				door.Of(t).Attr("outcome", string(result.Error))
				door.Of(t).Fatalf("%s: ERROR\n%v\n%s", s.ID, err, h.again(t, true)) // no session was begun
			}
			if reason != "" {
				skip(t, reason)
			}
		}
		if generates {
			if err := s.fill(t, &run); err != nil {
				door.Of(t).Attr("outcome", string(result.Error))
				door.Of(t).Fatalf("%s: ERROR\n%v\n%s", s.ID, err, h.again(t, true)) // no session was begun
			}
		}
		do(&run, t)
	})
}

// fill checks the suite and reads its rows.
func (s Suite[In, Out, Want]) fill(t *testing.T, run *suiteRun) error {
	data := s.Data
	switch {
	case !idPattern.MatchString(s.ID):
		return fmt.Errorf("the suite's ID %q must match %s", s.ID, idPattern)
	case s.Task == nil:
		return fmt.Errorf("suite %s has no Task", s.ID)
	case s.File != "" && s.Data != nil, s.Generate != nil && (s.File != "" || s.Data != nil):
		return fmt.Errorf("suite %s: set one of Data, File and Generate", s.ID)
	case s.Generate != nil:
		ctx, _, cancel := testContext(t)
		defer cancel()
		var err error
		if e := (<-guard(func() { data, err = s.Generate(ctx) })).err("generator"); e != nil || err != nil {
			return fmt.Errorf("suite %s: Generate: %w", s.ID, errors.Join(e, err))
		}
	case s.File != "":
		var err error
		if data, err = readRows[In, Want](s.File); err != nil {
			return fmt.Errorf("suite %s: %w", s.ID, err)
		}
	}
	for _, r := range data {
		if r.ExpectedFile != "" {
			if !reflect.ValueOf(&r.Expected).Elem().IsZero() {
				return fmt.Errorf("suite %s: row %q: set either Expected or ExpectedFile, not both", s.ID, r.ID)
			}
			if err := readExpected(r.ExpectedFile, r.ExpectedFile, &r.Expected); err != nil {
				return fmt.Errorf("suite %s: row %q: ExpectedFile: %w", s.ID, r.ID, err)
			}
		}
		run.rows = append(run.rows, rowOf(r, s.Task, s.Mutants))
	}
	if err := run.check(); err != nil {
		return fmt.Errorf("suite %s: %w", s.ID, err)
	}
	return nil
}

// suiteRow is a row with its task, whatever their types.
type suiteRow struct {
	id, name        string
	metadata        map[string]any
	input, expected any
	task            func(context.Context) (any, error)
	mutants         func(context.Context, any) (map[string]any, error) // nil: the suite has none
}

func rowOf[In, Out, Want any](
	r Row[In, Want], task func(context.Context, In) (Out, error),
	mutants func(context.Context, Row[In, Want], Out) (map[string]Out, error),
) suiteRow {
	row := suiteRow{
		id: r.ID, name: r.Name, metadata: r.Metadata, input: r.Input, expected: r.Expected,
		task: func(ctx context.Context) (any, error) { return task(ctx, r.Input) },
	}
	if mutants != nil {
		row.mutants = func(ctx context.Context, output any) (map[string]any, error) {
			all, err := mutants(ctx, r, as[Out](output))
			untyped := make(map[string]any, len(all))
			for what, out := range all {
				untyped[what] = out
			}
			return untyped, err
		}
	}
	return row
}

// check returns what keeps the suite from being run, all of it.
func (s *suiteRun) check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.threshold == 0 {
		s.threshold = defaultThreshold
	}
	if err := checkThreshold(s.threshold); err != nil {
		errs = append(errs, err)
	}
	if s.timeout < 0 {
		add("the timeout is negative: %v", s.timeout)
	}
	if len(s.rows) == 0 {
		add("it has no rows, so it could not fail")
	}
	seen, folded := make(map[string]bool), make(map[string]string)
	for i, r := range s.rows {
		first, again := folded[strings.ToLower(r.id)]
		switch {
		case !idPattern.MatchString(r.id):
			add("row %d: its ID %q must match %s", i+1, r.id, idPattern)
		case seen[r.id]:
			add("row %d: duplicate row ID %q", i+1, r.id)
		case again:
			add("row %d: its ID %q differs from %q in case alone: where files do not, they would share a recording",
				i+1, r.id, first)
		}
		seen[r.id], folded[strings.ToLower(r.id)] = true, r.id
	}
	for _, o := range s.overrides {
		if o.Case != "" && !seen[o.Case] {
			add("Overrides: unknown row %q%s", o.Case, doc.DidYouMean(o.Case, slices.Sorted(maps.Keys(seen))))
		}
	}
	if !slices.ContainsFunc(s.scorers, func(s scorer) bool { return !s.optional }) {
		add("it has no scorers, or only optional ones, so it could not fail")
	}
	names := make(map[string]bool)
	for _, scorer := range s.scorers {
		if err := scorer.check(); err != nil {
			errs = append(errs, err)
		} else if names[scorer.name] {
			add("duplicate scorer name %q: rename one of them (Scorer.Named, LLMJudge.Name)", scorer.name)
		}
		names[scorer.name] = true
	}
	return errors.Join(errs...)
}

// stem is what the recordings of a suite, or of a run of an agent, are called below the cassettes' directory. Its
// extension, which no playbook's has, keeps them from those who look after the recordings of playbooks.
func (h *harness) stem(id string) string {
	pkg, err := filepath.Rel(h.root, h.dir)
	if err != nil { // the root was found above the directory
		panic(fmt.Sprintf("evaltest: %v", err))
	}
	return path.Join(filepath.ToSlash(pkg), id+cassette.GoExt)
}
