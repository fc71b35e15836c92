// Package engine runs the units and jobs of a plan and says how they ended. Both `go test` and the command use it, so
// that what passes in one passes in the other. What a playbook means belongs in package plan, and how one conversation
// with an agent goes belongs in package session.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/internal/suite"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Runner runs the units and jobs of one plan. Its methods may be called concurrently for different units.
type Runner struct {
	plan *plan.Plan
	pb   *plan.Playbook
	cfg  Config
	// source is the directory that workspaces are copied from, absolute; empty: workspaces begin empty.
	source   string
	secrets  *secret.Set
	now      func() time.Time
	progress progress
	sandbox  *confine.Sandbox
	kept     *rundir.Run            // the directory of the run; nil: it is not kept
	former   former                 // the results that are judged anew; nil: agents or cassettes are
	tell     func(session.Activity) // receives what agents do; nil: nobody watches
	// allowedReads are the playbook's sandbox.allow_read as absolute paths, and what its caches show.
	allowedReads func() ([]string, error)
	// caches are the playbook's.
	caches []toolcache.Cache
	// scripts runs what the playbook's author wrote to judge units.
	scripts func() (*script.Runner, error)
	// agreements returns what says of an evaluator that people agree with it as they must.
	agreements func() (func(plan.Evaluator) error, error)
	models     func() (llm.Asker, error)
	spent      *llm.Spent
	// exclusion is what recordings and comparisons leave out.
	exclusion *workspace.Exclusion
	given     sync.Map // names of variables that presets give to agents only
	withheld  []string // notes about variables that agents do not get
	template  template
	builds    builds
	programs  programs
	starters  starters
	bill      bill
	budget    *budget   // nil: there is none
	patience  *patience // nil: no rate limit is waited for
	part      *part     // of the plan's units that is run; nil: all are
}

// New returns a runner for a plan. It reads nothing: what a run depends on is looked at when it is first needed.
func New(plan *plan.Plan, cfg Config) (*Runner, error) {
	if cfg.Command == nil {
		panic("engine.New: Config.Command is required")
	}
	pb := plan.Playbook
	cfg.GoVersion = cmp.Or(cfg.GoVersion, runtime.Version())
	r := &Runner{plan: plan, pb: pb, cfg: cfg, source: cfg.Source, secrets: cfg.Secrets, now: time.Now}
	r.builds.made = make(map[string]bool)
	if err := r.divide(); err != nil {
		return nil, err
	}
	r.patience = newPatience(cfg.Wait)
	if r.secrets == nil {
		r.secrets = new(secret.Set)
	}
	r.secrets.AddEnvironment(cfg.Environ)
	var err error
	if r.sandbox, err = openSandbox(pb, cfg.Sandbox); err == nil && cfg.Measured != nil {
		err = r.sandbox.Trust(*cfg.Measured)
	}
	if err != nil {
		return nil, err
	}
	r.source = SourceOf(pb, r.source, r.besidePlaybook)
	r.allowedReads = sync.OnceValues(r.findAllowedReads)
	if r.caches, err = r.wantedCaches(); err != nil {
		return nil, err
	}
	if r.exclusion, err = workspace.NewExclusion(pb.Workspace.Include, pb.Cassette.Exclude); err != nil {
		return nil, fmt.Errorf("%s: %w", pb.File, err)
	}
	r.scripts = sync.OnceValues(r.newScripts)
	r.agreements = sync.OnceValues(r.readAgreements)
	if r.spent = cfg.Spent; r.spent == nil {
		r.spent = new(llm.Spent)
	}
	if r.models = cfg.Models; r.models == nil {
		r.models = Models(cfg.Getenv, r.spent)
	}
	for _, u := range plan.Units {
		for _, e := range u.Evaluators {
			if _, ok := e.Config.(evaluator.Evaluator); !ok {
				return nil, fmt.Errorf("%s: evaluator %s has no implementation", e.Position, e.Name)
			}
		}
	}
	return r, nil
}

// newScripts returns what runs the scripts of evaluators.
func (r *Runner) newScripts() (*script.Runner, error) {
	allowed, err := r.allowedReads()
	if err != nil {
		return nil, err
	}
	return &script.Runner{
		Sandbox: r.sandbox, Environ: r.cfg.Environ, Pass: r.pb.Env.Pass, Set: r.pb.Env.Set, Root: r.cfg.Root,
		Secret: workspace.IsSecret, Read: allowed, Caches: r.caches, Built: r.builtBefore, TempDir: r.cfg.TempDir,
		Limits: limitsOf(r.pb),
	}, nil
}

// Impure reports whether a run depends on more than files below the root that it opens: it starts children, looks for
// programs, talks to a model, sends traces, asks what day it is or what a repository above the root ignores.
func (r *Runner) Impure(ctx context.Context) bool {
	if r.pb.Cassette.MaxAge != (plan.MaxAge{}) {
		return true
	}
	if r.cfg.Mode != Replay || len(r.pb.Requires) > 0 || r.pb.Workspace.Repository ||
		r.pb.Workspace.Commit != "" || r.cfg.Keep != nil ||
		tracing.Wanted(r.cfg.Getenv) ||
		r.outside(r.source) || r.outside(r.cassettes()) {
		return true
	}
	if r.StartsChildren() || slices.ContainsFunc(r.pb.Variants, func(v plan.Variant) bool {
		return len(v.Overlay.Skills)+len(v.Overlay.Plugins) > 0 // which git lists
	}) {
		return true
	}
	if (r.cfg.LLMJudge || r.cfg.RecordJudges) && slices.ContainsFunc(r.plan.Units, func(u plan.Unit) bool {
		return evaluatorNeeds(u).Asks()
	}) {
		return true
	}
	if !r.copiesFiles() {
		return false
	}
	t, err := r.loadTemplate(ctx)
	if err != nil {
		return true // each unit ends with the error
	}
	rules, asked := t.OfGit()
	return asked || slices.ContainsFunc(rules, r.outside)
}

// evaluatorNeeds returns what a unit's evaluators depend on besides the run.
func evaluatorNeeds(u plan.Unit) (all evaluator.Needs) {
	for _, e := range u.Evaluators {
		all |= e.Config.(evaluator.Evaluator).Needs()
	}
	return all
}

// openSandbox returns what confines a playbook's agents and everything that may run their code. A chosen kind, if not
// empty, is the user's word over the playbook's.
func openSandbox(pb *plan.Playbook, chosen string) (*confine.Sandbox, error) {
	name := chosen
	if name == "" {
		name = pb.Sandbox.Kind
	}
	if name == "" { // a playbook that was not read from a file
		name = string(confine.Auto)
	}
	kind, err := confine.ParseKind(name)
	if err != nil {
		return nil, err
	}
	var command []string
	if kind == confine.Wrapper {
		if command = pb.Sandbox.Command; len(command) == 0 {
			return nil, fmt.Errorf("%s: a sandbox of kind %s needs `sandbox.command`", pb.File, kind)
		}
	}
	var leave []confine.Property
	if pb.Sandbox.UnixSockets {
		leave = append(leave, confine.Sockets)
	}
	if pb.Sandbox.AllowUserns {
		leave = append(leave, confine.Namespaces)
	}
	s, err := confine.New(kind, command, leave...)
	if err != nil {
		return nil, err
	}
	key := strings.Join(append([]string{string(kind), fmt.Sprint(leave), os.Getenv("PATH")}, command...), "\x00")
	shared, _ := sandboxes.LoadOrStore(key, s)
	return shared.(*confine.Sandbox), nil
}

// sandboxes are those of all playbooks, by what they are made from: what one holds is measured once.
var sandboxes sync.Map

// Sandbox returns what confines what the run starts, the zero value if nothing is confined. The error says that nothing
// can confine it here, or that the playbook is wrong about it, and what can be done.
func (r *Runner) Sandbox(ctx context.Context) (confine.Properties, error) {
	if !r.StartsChildren() {
		return confine.Properties{}, nil
	}
	if _, err := r.allowedReads(); err != nil {
		return confine.Properties{}, err
	}
	return r.properties(ctx)
}

func (r *Runner) properties(ctx context.Context) (confine.Properties, error) {
	properties, err := r.sandbox.Properties(ctx)
	if unavailable, ok := errors.AsType[*confine.UnavailableError](err); ok {
		err = fault.Advise(err, unavailable.Advice())
	}
	if err == nil {
		err = r.checkRequired(properties)
	}
	return properties, err
}

// UnmetError says that the sandbox has not all properties that are required. Nothing was run.
type UnmetError struct {
	Who      string // what requires it
	Property confine.Property
	Held     confine.Properties
}

func (e *UnmetError) Error() string {
	return fmt.Sprintf("%s: %q does not hold in the sandbox that there is, %s", e.Who, e.Property, e.Held)
}

// checkRequired returns an error if the sandbox has not all properties that the playbook or the user requires.
func (r *Runner) checkRequired(held confine.Properties) error {
	for _, by := range []struct {
		who      string
		required []string
	}{
		{r.pb.Sandbox.Position.String() + ": sandbox.require", r.pb.Sandbox.Require},
		{requireVariable, r.cfg.SandboxRequire},
	} {
		for _, p := range by.required {
			if !slices.Contains(held.Holds, confine.Property(p)) {
				return fault.Advise(&UnmetError{Who: by.who, Property: confine.Property(p), Held: held},
					"use a kind that holds it, see docs/confinement.md: install bubblewrap and say --sandbox bwrap, "+
						"EVALTEST_SANDBOX=bwrap with go test; or do not require it")
			}
		}
	}
	return nil
}

// StartsChildren reports whether the run starts what has to be confined: agents, run steps, evaluators' commands.
func (r *Runner) StartsChildren() bool {
	return slices.ContainsFunc(r.plan.Units, r.startsChildren) ||
		slices.ContainsFunc(r.plan.Jobs, func(j plan.Job) bool { return does(j.Steps, startsChild) })
}

// start starts a child that is confined.
func (r *Runner) start(ctx context.Context, c supervise.Command, p confine.Policy) (*supervise.Process, error) {
	if _, err := r.properties(ctx); err != nil {
		return nil, err
	}
	allowed, err := r.allowedReads()
	if err != nil {
		return nil, err
	}
	p.Read = slices.Concat(p.Read, allowed, toolcache.Find(r.cfg.Environ).Paths())
	p.Private = append(p.Private, r.cfg.Root)
	c.Limits = limitsOf(r.pb)
	return r.sandbox.Start(ctx, c, p)
}

// limitsOf returns what a playbook lets each process use of the machine, zero where it does not say.
func limitsOf(pb *plan.Playbook) supervise.Limits {
	l := pb.Limits
	return supervise.Limits{Threads: l.Processes, Memory: int64(l.Memory), CPUs: l.CPUs, Disk: int64(l.Disk)}
}

// adviseLimit says how to raise a limit of the machine that a unit met.
func (r *Runner) adviseLimit(err error) error {
	met, ok := errors.AsType[*supervise.LimitError](err)
	if !ok {
		return err
	}
	return fault.Advise(err, fmt.Sprintf("if the work needs more, raise limits.%s in %s", met.Resource, r.pb.File))
}

// failsBy reports whether an error is the agent's failure: the playbook says that this is what a limit of the machine
// means, and the error says nothing else. That a disk is full for want of room is never the agent's.
func (r *Runner) failsBy(err error) bool {
	return r.pb.Limits.Exceeded == string(result.Fail) && onlyExceeded(err)
}

func onlyExceeded(err error) bool {
	switch e := err.(type) {
	case *supervise.LimitError:
		return !e.Scarce()
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !onlyExceeded(err) })
	case interface{ Unwrap() error }:
		return onlyExceeded(e.Unwrap())
	}
	return false
}

// findAllowedReads makes sure that what sandbox.allow_read and caches name is there.
func (r *Runner) findAllowedReads() ([]string, error) {
	var paths []string
	for _, name := range r.pb.Sandbox.AllowRead {
		path, err := plan.ReadPath(r.besidePlaybook("."), name)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: sandbox.allow_read: %w", r.pb.File, err)
		}
		paths = append(paths, path)
	}
	for i, c := range r.caches {
		if err := toolcache.Check(r.cfg.Environ, c); err != nil {
			return nil, fmt.Errorf("%s: caches: %w", r.pb.Caches[i].Position, err)
		}
	}
	return append(paths, toolcache.Find(r.cfg.Environ, r.caches...).Paths()...), nil
}

// wantedCaches returns the playbook's caches.
func (r *Runner) wantedCaches() ([]toolcache.Cache, error) {
	var all []toolcache.Cache
	for _, c := range r.pb.Caches {
		wanted := toolcache.Cache{Preset: c.Preset, Env: c.Env, Copy: c.Copy}
		if c.Preset == "" {
			dir, err := plan.ReadPath(r.besidePlaybook("."), c.Dir)
			if err != nil {
				return nil, fmt.Errorf("%s: caches: %w", c.Position, err)
			}
			wanted.Dir = dir
		}
		all = append(all, wanted)
	}
	return all, nil
}

// besidePlaybook returns the absolute path of what the playbook names relative to itself.
func (r *Runner) besidePlaybook(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	path = filepath.Join(filepath.Dir(r.pb.File), filepath.FromSlash(path))
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.cfg.Root, path)
}

// cassettes returns the directory of the cassettes.
func (r *Runner) cassettes() string {
	if filepath.IsAbs(r.cfg.Cassettes) {
		return r.cfg.Cassettes
	}
	return filepath.Join(r.cfg.Root, r.cfg.Cassettes)
}

// tree returns the tree that the cassettes are in.
func (r *Runner) tree() disk.Tree { return disk.Within(r.cfg.Root, r.cassettes()) }

// outside reports whether a directory is not below the root, where go test does not look for changes.
func (r *Runner) outside(dir string) bool {
	rel, err := filepath.Rel(r.cfg.Root, dir)
	return dir != "" && (err != nil || !filepath.IsLocal(rel))
}

// CassettePath returns where the cassette of a unit is, or would be.
func (r *Runner) CassettePath(u plan.Unit) string {
	return cassette.Path(r.cassettes(), r.stem(), u.Case.ID, u.Variant.ID, u.Trial)
}

// stem is the playbook's path without extension, by which cassettes are found; what is of a test in Go keeps that. A
// playbook outside the root has its name alone, and so has one that was written to run evals of others.
func (r *Runner) stem() string {
	if file, ok := strings.CutPrefix(r.pb.File, skill.Generated+"/"); ok {
		name, _, _ := strings.Cut(file, ".") // behind which may stand where its evals are
		return name
	}
	stem := r.pb.File
	if strings.HasPrefix(stem, suite.Generated+"/") {
		stem = path.Base(stem)
	}
	if ext := filepath.Ext(stem); ext != cassette.GoExt {
		stem = strings.TrimSuffix(stem, ext)
	}
	if filepath.IsAbs(stem) {
		return filepath.Base(stem)
	}
	return stem
}

// relCassette is the file of a unit's cassette for people.
func (r *Runner) relCassette(u plan.Unit) string { return r.rel(cassette.File(r.CassettePath(u))) }

// shorten names the cassette of a unit in an error as people know it.
func (r *Runner) shorten(err error, u plan.Unit) error {
	if missing, ok := errors.AsType[*cassette.MissingError](err); ok {
		missing.Path = r.relCassette(u)
	}
	if corrupt, ok := errors.AsType[*cassette.CorruptError](err); ok {
		corrupt.Path = r.relCassette(u)
	}
	return err
}

// rel is a path for people: relative to the root, if it is below it.
func (r *Runner) rel(path string) string {
	return disk.Shown(r.cfg.Root, path)
}
