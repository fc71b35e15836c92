package evaltest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// kept is where the units of one playbook go: a run directory, as the command has them, and a collector of traces. The zero
// value keeps nothing.
type kept struct {
	run    *rundir.Run
	tracer *tracing.Tracer
}

// keep makes a run directory for a plan below EVALTEST_RUN_DIR, if that is set, and has the engine put its units there.
func (h *harness) keep(plan *playbook.Plan, cfg *engine.Config, held string) (kept, error) {
	if h.runDir == "" {
		return kept{}, nil
	}
	data := plan.Playbook.Text
	if data == nil {
		data = []byte("# There is no playbook: a test in Go asked for this.\n")
	}
	name, err := testrun.ID(cfg.Getenv)
	if err != nil {
		return kept{}, err
	}
	if cfg.Secrets == nil {
		cfg.Secrets = new(secret.Set)
	}
	cfg.Secrets.AddEnvironment(cfg.Environ)
	m := rundir.ManifestOf(plan)
	m.CreatedAt = time.Now().UTC()
	m.RunID = rundir.NewID(m.CreatedAt, m.Name, name)
	m.Tool, m.Mode, m.Sandbox, m.Playbook.Path = "evaltest", string(h.mode), held, plan.Playbook.File
	run, err := rundir.Create(h.runDir, m, data, cfg.Secrets)
	if err != nil {
		return kept{}, err
	}
	cfg.RunID, cfg.RunDir = run.ID(), run.Dir()
	cfg.Place = func(u playbook.Unit) (engine.Place, error) {
		place, err := run.MakePlace(u.Case.ID, u.Variant.ID, u.Trial)
		return engine.Place(place), err
	}
	return kept{run: run}, nil
}

// notLinked has it said once in a process that traces are not sent.
var notLinked sync.Once

// trace has the units sent to where the environment says.
func (k *kept) trace(t *testing.T, cfg *engine.Config) (err error) {
	t.Helper()
	if cfg.Secrets == nil {
		cfg.Secrets = new(secret.Set) // presets add theirs
	}
	k.tracer, err = tracing.Open(tracing.Config{Getenv: cfg.Getenv, RunID: cfg.RunID, Secrets: cfg.Secrets})
	if errors.Is(err, tracing.ErrNotLinked) {
		notLinked.Do(func() { t.Logf("warning: tracing: %v", err) })
		return nil
	}
	return err
}

// unit records how a unit ended.
func (k kept) unit(t *testing.T, u result.Unit) {
	t.Helper()
	k.tracer.Unit(u)
	if k.run == nil {
		return
	}
	if err := k.run.Append(u); err != nil {
		t.Errorf("%s: %v", u.ID, err)
	}
}

// job records how a job outside the matrix ended.
func (k kept) job(t *testing.T, j result.Job) {
	t.Helper()
	if k.run == nil {
		return
	}
	if err := k.run.AppendJob(j); err != nil {
		t.Errorf("job %s: %v", j.ID, err)
	}
}

// close says that the run has ended, and where it is.
func (k kept) close(t *testing.T) {
	t.Helper()
	if err := k.tracer.Close(); err != nil {
		t.Logf("warning: tracing: %v", err)
	}
	if k.run == nil {
		return
	}
	if err := errors.Join(k.run.Finish(rundir.StateFinished), k.run.Close()); err != nil {
		t.Error(err)
	}
	t.Logf("run directory: %s", k.run.Dir())
}
