// Package evaltest turns evaluations of coding agents into go test.
//
// A playbook says what an agent is asked to do and what is expected of it; [Describe] makes subtests of it:
//
//	func TestEvals(t *testing.T) {
//		evaltest.Describe(t, "*/*.yaml")
//	}
//
// [Suite] is the same in Go, for agents and for any other function, and [RunAgent] runs an agent once.
//
// By default the agents' recorded sessions are replayed from cassettes, and every expectation is checked again: no
// agent runs, no network and no key is needed. The environment variable EVALTEST_MODE changes that:
//
//	replay   play the cassettes; a missing or stale one is an error (the default)
//	record   run the agents and write the cassettes anew
//	missing  record what has no cassette, replay the rest
//	live     run the agents, write no cassette
//
// EVALTEST_STALE=warn lets stale cassettes pass with a warning.
//
// A unit passes, fails or ends in error. Fail says that the agent failed. Error says that nothing is known about the
// agent, because the harness, a cassette or the network failed; it is as red as a failure.
package evaltest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/shard"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Describe runs the playbooks that match glob, a pattern relative to the test's directory in which ** stands for any
// number of directories, as subtests <playbook>/<case>/<variant>/<evaluator> of t. Trials run inside the variant's
// subtest, which fails once, by the playbook's pass rule. Jobs outside the matrix are subtests <playbook>/jobs/<job>.
//
// No match, an alternative in braces without one, a directory that cannot be read, a playbook that cannot be loaded,
// and one that expects nothing fail the test.
func Describe(t *testing.T, glob string, opts ...Option) {
	t.Helper()
	h, err := newHarness(opts...)
	if err != nil {
		door.Of(t).Fatalf("evaltest.Describe: %v", err)
	}
	h.each(t, "evaltest.Describe", glob, h.describe)
}

// each runs a subtest for each playbook that matches glob. What names the function that the test calls.
func (h *harness) each(t *testing.T, what, glob string, run func(*testing.T, *plan.Playbook)) {
	t.Helper()
	files, err := playbooks(glob, h.dir)
	if err != nil {
		door.Of(t).Fatalf("%s: %v", what, err)
	}
	others, err := overlooked(glob, files)
	if err != nil {
		door.Of(t).Fatalf("%s: %v", what, err)
	}
	for _, file := range others {
		door.Of(t).Logf("%s: note: %s looks like a playbook, and no pattern has matched it yet", what, file)
	}
	seen := make(map[string]string)
	for _, file := range files {
		pb, err := h.load(file)
		if err != nil {
			door.Of(t).Errorf("%s: %v", what, err)
			continue
		}
		if other, dup := seen[pb.Name]; dup {
			door.Of(t).Errorf("%s: %s and %s have the same name, %q: "+
				"their subtests could not be told apart", what, other, file, pb.Name)
			continue
		}
		stem := strings.TrimSuffix(file, filepath.Ext(file))
		if other, dup := seen[stem]; dup {
			door.Of(t).Errorf("%s: %s and %s differ only in their extension: they would share cassettes",
				what, other, file)
			continue
		}
		seen[pb.Name], seen[stem] = file, file
		t.Run(door.Name(pb.Name), func(t *testing.T) {
			t.Helper()
			run(t, pb)
		})
	}
}

// Option changes how [Describe], [Skill], [Plugin] and [Mutate] work: [Check], [Override], [Dirs] or [From].
type Option interface{ apply(*settings) }

type settings struct {
	checks    []check
	overrides []override
	dirs      Dirs
	from      From
}

// Dirs says where recordings and accounts are. The zero value is right for most modules.
type Dirs struct {
	// Cassettes is the directory of the cassettes, relative to the module's root; empty: "cassettes".
	Cassettes string
	// Config is the directory in which account presets are looked up when an agent is started; empty:
	// $LLMAN_CONFIG_DIR, else llman in the user's configuration directory.
	Config string
}

func (d Dirs) apply(s *settings) {
	s.dirs.Cassettes = cmp.Or(d.Cassettes, s.dirs.Cassettes)
	s.dirs.Config = cmp.Or(d.Config, s.dirs.Config)
}

func (c check) apply(s *settings)    { s.checks = append(s.checks, c) }
func (o override) apply(s *settings) { s.overrides = append(s.overrides, o) }

// override is an override written in Go, and where it stands.
type override struct {
	playbook.Override
	file string
	line int
}

// Override gives calls of a tool another answer, in all units, as `cassette.overrides` does in a playbook: to see how
// graders react to it or, at levels at which the agent runs, how the agent does.
//
//	evaltest.Override(playbook.Override{
//		Tool: "Bash", Args: map[string]any{"command": "go test ./..."}, Nth: 2, Error: "disk full",
//	})
//
// An override that no call of a unit matches is an error. With a Case or a Variant it applies only to units of that.
func Override(o playbook.Override) Option {
	_, file, line, _ := runtime.Caller(1)
	return override{o, file, line}
}

// override adds overrides that are written in Go to those of the playbook.
func (h *harness) override(pb *plan.Playbook, all []override) error {
	for _, o := range all {
		at := h.position(o.file, o.line)
		if err := pb.Override(plan.Override{Override: o.Override, Position: at}); err != nil {
			return fmt.Errorf("%s: override of %s: %w", at, o.Tool, err)
		}
	}
	return nil
}

// ownOverrides are those that hold in the row.
func (r *rowRun) ownOverrides() []override {
	return slices.DeleteFunc(slices.Clone(r.overrides), func(o override) bool { return o.Case != "" && o.Case != r.id })
}

// overridesAt are overrides of a suite or of a run, which stand at one place.
func overridesAt(all []playbook.Override, file string, line int) []override {
	var placed []override
	for _, o := range all {
		placed = append(placed, override{o, file, line})
	}
	return placed
}

// maxGrace is how long before go test's own deadline a suite ends its agents: a test that runs into that deadline
// panics, cleans nothing up, and loses what is known. With short deadlines it is a quarter of the time there is.
const maxGrace = 20 * time.Second

// harness is what [Describe], [Suite] and [RunAgent] run by: what the environment and the options say.
type harness struct {
	settings
	dir    string // the test's working directory
	module string // the module's root
	root   string // of the project that is run: the module's, or that of a skill's repository
	// environment is what the EVALTEST_ variables say of a run.
	environment engine.Config
	// shard is which of several shards of each playbook and suite is run, if there are several; divided is what a
	// person should know about that.
	shard   shard.Shard
	divided string
	// runDir is the project below which runs are kept, absolute; empty: they are not.
	runDir string
	// suite is the evals of a skill that are run; nil: others are.
	suite *skill.Suite
	// cite has a plan's evaluators stand where those stand that the playbook was written from; nil: in the playbook.
	cite func(*plan.Plan)
	// front is the command that runs evals that others have written; empty: go test does.
	front string
	// held is the baseline of such evals; nil: all checks must hold.
	held *held
}

// cassettes is the directory of the cassettes, absolute.
func (h *harness) cassettes() string {
	if filepath.IsAbs(h.dirs.Cassettes) {
		return h.dirs.Cassettes
	}
	return filepath.Join(h.root, h.dirs.Cassettes)
}

// mode is where sessions come from.
func (h *harness) mode() engine.Mode { return h.environment.Mode }

// misspellings are read once in a test's process, for go test's cache.
var misspellings sync.Once

// newHarness reads the environment, which must happen inside the test so that go test's cache sees it. So that the
// cache does not answer where a variable is misspelt, its likely misspellings are read too.
func newHarness(opts ...Option) (*harness, error) {
	misspellings.Do(func() { engine.Misspellings(func(name string) { _ = os.Getenv(name) }) })
	h := new(harness)
	for i, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("option %d is nil", i+1)
		}
		o.apply(&h.settings)
	}
	h.dirs.Cassettes = cmp.Or(h.dirs.Cassettes, "cassettes")
	mode, err := engine.ParseMode(os.Getenv("EVALTEST_MODE"), engine.Replay, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("EVALTEST_MODE: %w", err)
	}
	if h.environment, err = engine.FromEnvironment(mode, os.Getenv, os.Environ()); err != nil {
		return nil, err
	}
	sharded := h.environment
	if h.divided, err = sharded.FindShard("", true); err != nil {
		return nil, err
	}
	h.shard = sharded.Shard
	if h.dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	if dir := os.Getenv("EVALTEST_RUN_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("EVALTEST_RUN_DIR: %s: the path must be absolute, "+
				"because tests run in the directories of their packages", dir)
		}
		h.runDir = dir
	}
	if h.module, err = project.ModuleRoot(h.dir); err != nil {
		return nil, err
	}
	h.root = h.module
	if info, err := os.Stat(h.cassettes()); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("Dirs.Cassettes: %s is a file: name the directory of the cassettes", h.dirs.Cassettes)
	}
	for _, c := range h.checks {
		if err := c.malformed(); err != nil {
			return nil, fmt.Errorf("%s: %w", h.position(c.file, c.line), err)
		}
	}
	return h, nil
}

// load loads a playbook under its path from the module's root, which is how results cite it.
func (h *harness) load(file string) (*plan.Playbook, error) {
	name := h.fromRoot(file)
	if name == "" {
		return nil, fmt.Errorf("%s is outside the module %s, and cassettes are named by the path below it",
			file, h.root)
	}
	return h.read(plan.Source{Path: file, Name: filepath.ToSlash(name)})
}

// read reads a playbook, from its file or from data.
func (h *harness) read(s plan.Source) (*plan.Playbook, error) {
	s.Root, s.Untrusted, s.StartsAgents = h.root, h.environment.Untrusted, h.mode() != engine.Replay
	s.AsksJudges = h.environment.LLMJudge || h.environment.RecordJudges
	pb, err := plan.Read(s, kinds.All())
	return pb, withAdvice(err)
}

func (h *harness) fromRoot(file string) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(h.dir, file)
	}
	if rel, err := filepath.Rel(h.root, file); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return ""
}

// position is a place in a Go file as results cite it.
func (h *harness) position(file string, line int) doc.Position {
	return doc.Position{File: filepath.ToSlash(cmp.Or(h.fromRoot(file), file)), Line: line}
}

// config is how the engine runs what needs no more than the environment and the options say. Command returns the
// command that runs a unit in a mode.
func (h *harness) config(grace time.Duration, command func(engine.Mode, plan.Unit) string) engine.Config {
	cfg := h.environment
	cfg.Grace, cfg.Command = grace, command
	cfg.Root, cfg.Cassettes, cfg.ConfigDir = h.root, h.dirs.Cassettes, h.dirs.Config
	cfg.Models, cfg.Spent = models, spent
	if h.runDir != "" {
		cfg.Keep = &engine.Keep{Below: h.runDir, Tool: engine.TestTool}
	}
	return cfg
}

// planOf returns the plan of a playbook with what the options add to it.
func (h *harness) planOf(t *testing.T, pb *plan.Playbook) *plan.Plan {
	t.Helper()
	if err := h.override(pb, h.overrides); err != nil {
		door.Of(t).Fatalf("evaltest.Override: %v", err)
	}
	planned, err := pb.Plan()
	if err != nil {
		door.Of(t).Fatal(err)
	}
	if h.cite != nil {
		h.cite(planned)
	}
	for _, c := range h.checks {
		for _, u := range planned.Units {
			if slices.ContainsFunc(u.Evaluators, func(e plan.Evaluator) bool { return e.Name == c.name }) {
				door.Of(t).Fatalf("evaltest.Check: unit %s has an evaluator %q already: choose another name",
					u.ID(), c.name)
			}
		}
		planned.AddEvaluator(c.name, c, h.position(c.file, c.line))
	}
	if err := checkPlan(planned); err != nil {
		door.Of(t).Fatal(err)
	}
	return planned
}

// describe runs one playbook: the jobs that the matrix waits for, the units, then the other jobs.
func (h *harness) describe(t *testing.T, pb *plan.Playbook) {
	t.Helper()
	planned := h.planOf(t, pb)
	ctx, grace, cancel := testContext(t)
	defer cancel()
	cfg := h.config(grace, func(m engine.Mode, u plan.Unit) string { return h.command(t, m, u.Case.ID, u.Variant.ID) })
	selected, name := newSelection(), t.Name()
	cfg.Selected = func(u plan.Unit) bool { return selected.has(name + "/" + u.Case.ID + "/" + u.Variant.ID) }
	cfg.SelectedJob = func(j plan.Job) bool { return selected.has(name + "/jobs/" + j.ID) }
	if h.held == nil { // a baseline is of all cases
		cfg.Shard = h.shard
	}
	if h.divided != "" {
		door.Of(t).Log(h.divided)
	}
	run, err := h.start(t, ctx, planned, cfg)
	if err != nil {
		door.Of(t).Fatal(err)
	}
	defer run.close(t)
	run.logNotes(t)
	var ended skips
	reported := h.jobs(t, run, run.runner.Before(), &ended)
	for _, job := range run.runner.Before() { // what -run leaves out is still what the units build on
		if reported[job.ID] {
			continue
		}
		if r := run.job(job.ID); r.Outcome != result.Pass {
			door.Of(t).Error(jobFailure(t.Name()+"/jobs/"+job.ID, r))
		}
	}
	for _, c := range planned.Cases() {
		if v := planned.Variants(c); len(v) > 0 && !run.runner.InShard(planned.Trials(c.ID, v[0].ID)[0]) {
			continue
		}
		ended.run(t, c.ID, func(t *testing.T) {
			t.Helper()
			var ended skips
			for _, v := range planned.Variants(c) {
				counts := &ended.others
				if v.Reference {
					counts = &ended.references
				}
				ended.runAs(t, v.ID, counts, func(t *testing.T) {
					t.Helper()
					h.variant(t, run, planned.Trials(c.ID, v.ID))
				})
			}
			ended.judge(t)
		})
	}
	h.jobs(t, run, run.runner.After(), &ended)
	h.warnNull(t, ctx, pb, cfg, run.passed())
	if h.held != nil {
		h.held.judge(t)
	}
	ended.judge(t)
}

// checkPlan returns an error if the plan has nothing that could fail: no unit, no agent, or no expectation. A workspace
// without a source is one, too: the command would copy the whole project.
func checkPlan(planned *plan.Plan) error {
	file := planned.Playbook.File
	if len(planned.Units) == 0 {
		return fmt.Errorf("%s: no job has a strategy.matrix, so no agent would run", file)
	}
	for _, u := range planned.Units {
		if !slices.ContainsFunc(u.Steps, plan.Step.Prompts) {
			return fmt.Errorf("%s: no step of variant %s starts its agent (uses: %s or %s)",
				file, u.Variant.ID, action.Prompt, action.Loop)
		}
		if !planned.Playbook.Workspace.Named() && slices.ContainsFunc(u.Steps, copiesTemplate) {
			return fmt.Errorf(
				"%s: `workspace.from` is required: in a test nothing else says which files the agent starts with", file)
		}
		if len(u.Evaluators) == 0 {
			return fmt.Errorf("%s: case %s has no evaluators, so its test could not fail\n"+
				"next: add `evaluators:` to the playbook, or evaltest.Check to the test", file, u.Case.ID)
		}
	}
	return nil
}

func copiesTemplate(s plan.Step) bool { return action.Of(s.Uses).Template }

// testContext ends before the test's deadline, early enough to end agents within the grace period.
func testContext(t *testing.T) (context.Context, time.Duration, context.CancelFunc) {
	// The first Ctrl-C ends agents as they should be ended, the second one everything.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	deadline, ok := t.Deadline()
	if !ok {
		return ctx, maxGrace, stop
	}
	grace := min(maxGrace, time.Until(deadline)/4)
	ctx, release := context.WithDeadlineCause(ctx, deadline.Add(-grace),
		errors.New("go test's deadline is near: give it more time with -timeout"))
	return ctx, grace, func() { release(); stop() }
}

// jobs reports jobs outside the matrix, and returns the ids of those whose subtests have run.
func (h *harness) jobs(t *testing.T, run *running, jobs []plan.Job, ended *skips) map[string]bool {
	t.Helper()
	reported := make(map[string]bool)
	for _, job := range jobs {
		ended.run(t, "jobs/"+job.ID, func(t *testing.T) {
			t.Helper()
			reported[job.ID] = true
			r := run.job(job.ID)
			door.Of(t).Attr("outcome", string(r.Outcome))
			switch r.Outcome {
			case result.Skip:
				door.Of(t).Skip(r.Reason)
			case result.Fail, result.Error:
				door.Of(t).Error(jobFailure(t.Name(), r))
			}
		})
	}
	return reported
}
