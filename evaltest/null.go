package evaltest

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/lint"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// warnNull warns of the cases that a run has recorded and that an agent passes which does nothing and says nothing, as
// `sdd-eval run --mode record` does. It changes no verdict.
func (h *harness) warnNull(
	t *testing.T, ctx context.Context, pb *plan.Playbook, cfg engine.Config, recorded map[string]bool,
) {
	t.Helper()
	if cfg.Mode != engine.Record && cfg.Mode != engine.Missing || cfg.Untrusted || h.suite != nil ||
		len(recorded) == 0 {
		return
	}
	warn := func(text string) {
		door.Of(t).Log("warning: " + text)
		door.Of(t).Attr("warning", "see the log")
	}
	found, err := h.nullPasses(t, ctx, pb, cfg, recorded, warn)
	if err != nil {
		warn("whether an agent that does nothing passes is not known: " + err.Error())
	}
	for _, f := range found {
		warn(f.Position.String() + ": " + f.What + "\n    " + f.Remedy)
	}
}

// nullPasses returns the findings of those of the recorded cases that an agent passes which does nothing.
func (h *harness) nullPasses(
	t *testing.T, ctx context.Context, pb *plan.Playbook, cfg engine.Config, recorded map[string]bool,
	tell func(string),
) ([]lint.Finding, error) {
	t.Helper()
	file := filepath.Join(h.root, filepath.FromSlash(pb.File))
	pb, err := h.load(file) // what the run was given is its own
	if err != nil {
		return nil, err
	}
	report, err := lint.Run(ctx, pb, lint.Config{
		Root: h.root, Ours: []string{h.cassettes(), filepath.Join(h.module, ".evaltest"), rundir.Below(h.root)},
	})
	if err != nil {
		return nil, err
	}
	other := func(f lint.Finding) bool { return f.Rule != "idle-passes" || !recorded[f.Where] }
	found := slices.DeleteFunc(report.Findings, other)
	open := slices.DeleteFunc(report.Open, other)
	if len(h.checks) > 0 { // of which package lint does not know
		found, open = nil, append(open, found...)
	}
	if len(open) == 0 {
		return found, nil
	}
	passed, err := lint.NullPasses(ctx, h.planOf(t, pb), cfg, open, tell)
	return append(found, passed...), err
}
