package evaltest

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/confine"
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

// keep makes a run directory for a plan below EVALTEST_RUN_DIR, if that is set, and has its runner put the units there.
func (h *harness) keep(plan *playbook.Plan, runner *engine.Runner, held confine.Held, secrets *secret.Set) (kept, error) {
	if h.runDir == "" {
		return kept{}, nil
	}
	data := plan.Playbook.Text
	if data == nil {
		data = []byte("# There is no playbook: a test in Go asked for this.\n")
	}
	name, err := testrun.ID(os.Getenv)
	if err != nil {
		return kept{}, err
	}
	m := rundir.ManifestOf(plan)
	m.CreatedAt = time.Now().UTC()
	m.RunID = rundir.NewID(m.CreatedAt, m.Name, name)
	m.Tool, m.Mode, m.Sandbox, m.Playbook.Path = "evaltest", string(h.mode), held.String(), plan.Playbook.File
	run, err := rundir.Create(h.runDir, m, data, secrets)
	if err != nil {
		return kept{}, err
	}
	runner.Keep(engine.Archive{RunID: run.ID(), RunDir: run.Dir(), Place: func(u playbook.Unit) (engine.Place, error) {
		place, err := run.MakePlace(u.Case.ID, u.Variant.ID, u.Trial)
		return engine.Place(place), err
	}})
	return kept{run: run}, nil
}

// notLinked has it said once in a process that traces are not sent.
var notLinked sync.Once

// trace has the units sent to where the environment says. Presets will add to the secrets.
func (k *kept) trace(t *testing.T, secrets *secret.Set) (err error) {
	t.Helper()
	cfg := tracing.Config{Getenv: os.Getenv, Secrets: secrets}
	if k.run != nil {
		cfg.RunID = k.run.ID()
	}
	k.tracer, err = tracing.Open(cfg)
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
