// Package engine runs the units and jobs of a plan and says how they ended. Both `go test` and the command use it, so
// that what passes in one passes in the other.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Version is the version of this module, told to agents and kept in cassettes.
const Version = "0.1.0"

// Config says how a plan is run.
type Config struct {
	// Mode is where sessions come from; the zero value is not a mode.
	Mode Mode
	// Stale is what a stale cassette means; empty: [StaleFails].
	Stale StaleMode
	// Root is the module's or project's root: paths in results are relative to it.
	Root string
	// Cassettes is the directory of the cassettes, relative to Root unless absolute.
	Cassettes string
	// ConfigDir is where presets are looked up; empty: as agent.Resolve says.
	ConfigDir string
	// TempDir is where units get their directories; empty: the system's.
	TempDir string
	// Source is the directory that workspaces are copied from where the playbook names none, absolute; empty: such
	// workspaces begin empty.
	Source string
	// Sandbox confines agents and everything that may run their code, see [OpenSandbox]. With nil nothing of that starts.
	Sandbox *confine.Sandbox
	// Secrets are the values that nothing that is written may show. Those of Environ are added, and those of presets when
	// they are resolved. Nil: a set of the runner's own.
	Secrets *secret.Set
	// LLMJudge lets evaluators ask models where there is no recording of an answer. RecordJudges has them asked anew, and
	// recorded, also about a session that is replayed.
	LLMJudge, RecordJudges bool
	// Models returns the client of these models, which keeps the budget of all who share it; nil: [Models] of the runner's own.
	Models func() (llm.Asker, error)
	// Report makes the reports of the run; nil: steps that ask for them are skipped.
	Report func(context.Context) error
	// Watch, if not nil, is told what agents do, from several goroutines.
	Watch func(session.Activity)
	// Command returns the command that runs a unit in a mode. Errors about cassettes name it. It is required.
	Command func(Mode, playbook.Unit) string
	// Grace is how long a cancelled unit may take to end its agent; 0 means 20 s.
	Grace time.Duration
	// Getenv reads the environment.
	Getenv func(string) string
	// Environ is the environment that run steps start from.
	Environ []string
}

// Archive is where a run is kept.
type Archive struct {
	// RunID and RunDir are what ${{ run.run_id }} and ${{ run.run_dir }} stand for. Jobs outside the matrix run in RunDir,
	// an absolute path; if it is empty, in directories of their own.
	RunID, RunDir string
	// Place returns where a unit is kept; nil: nothing of it is.
	Place func(playbook.Unit) (Place, error)
}

// Runner runs the units and jobs of one plan. Its methods may be called concurrently for different units.
type Runner struct {
	plan    *playbook.Plan
	pb      *playbook.Playbook
	cfg     Config
	archive Archive
	// source is the directory that workspaces are copied from, absolute; empty: workspaces begin empty.
	source   string
	secrets  *secret.Set
	now      func() time.Time
	progress progress
	// allowedReads are the playbook's sandbox.allow_read as absolute paths.
	allowedReads func() ([]string, error)
	// scripts runs what the playbook's author wrote to judge units.
	scripts  func() (*script.Runner, error)
	models   func() (llm.Asker, error)
	given    names // of variables that presets give to agents only
	template struct {
		mu sync.Mutex
		t  *workspace.Template
		// clean: the last search, for the first n secrets, found none in the template.
		searched, clean bool
		secrets         int
	}
}

// New returns a runner for a plan. It reads nothing: what a run depends on is looked at when it is first needed.
func New(plan *playbook.Plan, cfg Config) (*Runner, error) {
	if cfg.Command == nil {
		panic("engine.New: Config.Command is required")
	}
	pb := plan.Playbook
	r := &Runner{plan: plan, pb: pb, cfg: cfg, source: cfg.Source, secrets: cfg.Secrets, now: time.Now}
	if r.secrets == nil {
		r.secrets = new(secret.Set)
	}
	r.secrets.AddEnvironment(cfg.Environ)
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

// Keep has the run kept. It is called before the first unit and the first job.
func (r *Runner) Keep(in Archive) { r.archive = in }

// newScripts returns what runs the scripts of evaluators.
func (r *Runner) newScripts() (*script.Runner, error) {
	allowed, err := r.allowedReads()
	if err != nil {
		return nil, err
	}
	return &script.Runner{
		Sandbox: r.cfg.Sandbox, Environ: r.cfg.Environ, Pass: r.pb.Env.Pass, Root: r.cfg.Root, Secret: workspace.IsSecret,
		Read: allowed, TempDir: r.cfg.TempDir,
	}, nil
}

// grace is how long ending an agent may take.
func (r *Runner) grace() time.Duration { return cmp.Or(r.cfg.Grace, 20*time.Second) }

// Impure reports whether a run depends on more than files below the root that it opens: it starts children, looks for
// programs, talks to a model or asks what day it is.
func (r *Runner) Impure() bool {
	if r.pb.Cassette.MaxAge != (playbook.MaxAge{}) {
		return true
	}
	if r.cfg.Mode != Replay || len(r.pb.Requires) > 0 || r.pb.Workspace.Git || r.archive.Place != nil || r.outside(r.source) || r.outside(r.cassettes()) {
		return true
	}
	if r.StartsChildren() {
		return true
	}
	return (r.cfg.LLMJudge || r.cfg.RecordJudges) && slices.ContainsFunc(r.plan.Units, func(u playbook.Unit) bool {
		return evaluatorNeeds(u)&evaluator.AsksModel != 0
	})
}

// evaluatorNeeds returns what a unit's evaluators depend on besides the run.
func evaluatorNeeds(u playbook.Unit) (all evaluator.Needs) {
	for _, e := range u.Evaluators {
		all |= e.Config.(evaluator.Evaluator).Needs()
	}
	return all
}

// needsWorkspace reports whether a replayed unit needs its files on disk.
func (r *Runner) needsWorkspace(u playbook.Unit) bool {
	return r.archive.Place != nil || r.pb.Workspace.Git || does(u.Steps, needsFiles) ||
		evaluatorNeeds(u)&evaluator.NeedsWorkspace != 0
}
