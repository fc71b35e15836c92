package engine

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// Version is the version of this module, told to agents and kept in cassettes.
const Version = "0.1.0"

// Config says how a plan is run.
type Config struct {
	// Mode is where sessions come from; the zero value is not a mode.
	Mode Mode
	// Stale is what a stale cassette means; empty: [StaleFails].
	Stale StaleMode
	// Parallel is how many units run at a time; 0: as many as the playbook says, else as processors in a replay that
	// starts no agent, else 1.
	Parallel int
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
	// Sandbox is the kind of sandbox that the user chose, see package confine; empty: the playbook's.
	Sandbox string
	// Secrets are the values that nothing that is written may show. Those of Environ are added, and those of presets when
	// they are resolved. Nil: a set of the runner's own.
	Secrets *secret.Set
	// LLMJudge lets evaluators ask models where there is no recording of an answer. RecordJudges has them asked anew, and
	// recorded, also about a session that is replayed.
	LLMJudge, RecordJudges bool
	// Models returns the client of these models, which keeps the budget of all who share it; nil: [Models] of the runner's
	// own.
	Models func() (llm.Asker, error)
	// Keep says where the run is kept; nil: nowhere.
	Keep *Keep
	// Command returns the command that runs a unit in a mode. Errors about cassettes name it. It is required.
	Command func(Mode, spec.Unit) string
	// Grace is how long a cancelled unit may take to end its agent; 0 means 20 s.
	Grace time.Duration
	// Getenv reads the environment.
	Getenv func(string) string
	// Environ is the environment that run steps start from.
	Environ []string
	// Selected and SelectedJob report whether a unit, and a job after the units, is to be run. Nil: all are.
	Selected    func(spec.Unit) bool
	SelectedJob func(spec.Job) bool
}

// TestTool is the [Keep.Tool] of runs of tests.
const TestTool = "evaltest"

// Keep says where a run is kept.
type Keep struct {
	// Below is the directory below which the run's directory is made.
	Below string
	// Resumed, if not nil, is the directory of a run that is to be finished, in place of a new one.
	Resumed *rundir.Run
	// Tool is what runs it, for the manifest.
	Tool string
	// Report makes the reports of a run; last tells that it has ended. Nil: steps that ask for reports are skipped.
	Report func(ctx context.Context, run *rundir.Run, last bool) error
}

// grace is how long ending an agent may take.
func (r *Runner) grace() time.Duration { return cmp.Or(r.cfg.Grace, 20*time.Second) }

// parallel is how many units run at a time.
func (r *Runner) parallel() int {
	byDefault := 1
	if r.cfg.Mode == Replay && !r.pb.Cassette.Level.RunsAgent() {
		byDefault = runtime.GOMAXPROCS(0)
	}
	return cmp.Or(r.cfg.Parallel, r.pb.Parallel, byDefault)
}
