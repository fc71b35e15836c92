// Package engine runs the units and jobs of a plan and says how they ended. Both `go test` and the command use it, so
// that what passes in one passes in the other.
package engine

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/spec"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Runner runs the units and jobs of one plan. Its methods may be called concurrently for different units.
type Runner struct {
	plan *spec.Plan
	pb   *spec.Playbook
	cfg  Config
	// source is the directory that workspaces are copied from, absolute; empty: workspaces begin empty.
	source   string
	secrets  *secret.Set
	now      func() time.Time
	progress progress
	sandbox  *confine.Sandbox
	kept     *rundir.Run            // the directory of the run; nil: it is not kept
	tell     func(session.Activity) // receives what agents do; nil: nobody watches
	// allowedReads are the playbook's sandbox.allow_read as absolute paths.
	allowedReads func() ([]string, error)
	// scripts runs what the playbook's author wrote to judge units.
	scripts  func() (*script.Runner, error)
	models   func() (llm.Asker, error)
	given    sync.Map // names of variables that presets give to agents only
	template template
}

// New returns a runner for a plan. It reads nothing: what a run depends on is looked at when it is first needed.
func New(plan *spec.Plan, cfg Config) (*Runner, error) {
	if cfg.Command == nil {
		panic("engine.New: Config.Command is required")
	}
	pb := plan.Playbook
	r := &Runner{plan: plan, pb: pb, cfg: cfg, source: cfg.Source, secrets: cfg.Secrets, now: time.Now}
	if r.secrets == nil {
		r.secrets = new(secret.Set)
	}
	r.secrets.AddEnvironment(cfg.Environ)
	var err error
	if r.sandbox, err = openSandbox(pb, cfg.Sandbox); err != nil {
		return nil, err
	}
	if pb.Workspace.From != "" {
		r.source = r.besidePlaybook(pb.Workspace.From)
	}
	r.allowedReads = sync.OnceValues(r.findAllowedReads)
	r.scripts = sync.OnceValues(r.newScripts)
	if r.models = cfg.Models; r.models == nil {
		r.models = Models(cfg.Getenv)
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
		Sandbox: r.sandbox, Environ: r.cfg.Environ, Pass: r.pb.Env.Pass, Root: r.cfg.Root, Secret: workspace.IsSecret,
		Read: allowed, TempDir: r.cfg.TempDir,
	}, nil
}

// Impure reports whether a run depends on more than files below the root that it opens: it starts children, looks for
// programs, talks to a model, sends traces or asks what day it is.
func (r *Runner) Impure() bool {
	if r.pb.Cassette.MaxAge != (spec.MaxAge{}) {
		return true
	}
	if r.cfg.Mode != Replay || len(r.pb.Requires) > 0 || r.pb.Workspace.Git || r.cfg.Keep != nil || tracing.Wanted(r.cfg.Getenv) ||
		r.outside(r.source) || r.outside(r.cassettes()) {
		return true
	}
	if r.StartsChildren() {
		return true
	}
	return (r.cfg.LLMJudge || r.cfg.RecordJudges) && slices.ContainsFunc(r.plan.Units, func(u spec.Unit) bool {
		return evaluatorNeeds(u)&evaluator.AsksModel != 0
	})
}

// evaluatorNeeds returns what a unit's evaluators depend on besides the run.
func evaluatorNeeds(u spec.Unit) (all evaluator.Needs) {
	for _, e := range u.Evaluators {
		all |= e.Config.(evaluator.Evaluator).Needs()
	}
	return all
}

// needsWorkspace reports whether a replayed unit needs its files on disk.
func (r *Runner) needsWorkspace(u spec.Unit) bool {
	return r.kept != nil || r.pb.Workspace.Git || does(u.Steps, needsFiles) ||
		evaluatorNeeds(u)&evaluator.NeedsWorkspace != 0
}
