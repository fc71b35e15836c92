package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// What steps make in the workspace is not the agent's work. What was there when the agent began is what it is compared
// with, and where steps follow the agent, what it left is set aside before they run.

// begin notes what the agent begins with, if steps have changed what was prepared.
func (s *site) begin(ctx context.Context) error {
	if !s.touched || !s.observed() {
		return nil
	}
	b, given, err := s.baseline.Without(s.exclusion).Now(ctx, s.dirs.workspace)
	if err != nil {
		return err
	}
	s.baseline, s.given = b, &given
	return nil
}

// observed reports whether anybody looks at what is in the workspace.
func (s *site) observed() bool {
	return s.runDirs != nil || evaluatorNeeds(s.unit)&evaluator.NeedsWorkspace != 0
}

// end sets aside what the agent left, if a step that follows may change it: steps run in a copy at the same path.
func (s *site) end(ctx context.Context, following []plan.Step, turns []cassette.Turn) error {
	if !s.observed() || !does(following, func(a action.Action) bool { return a.Files || a.Template }) {
		return nil
	}
	before := s.unit.Steps[:len(s.unit.Steps)-len(following)]
	var d workspace.Diff
	var err error
	if s.live() {
		var left workspace.Manifest
		if left, err = s.compared().Manifest(ctx, s.dirs.workspace); err == nil {
			s.endedDigest = left.Digest()
			d, err = s.compared().Compare(ctx, s.dirs.workspace, left)
		}
	} else {
		d, err = s.diff(ctx, turns, s.ownWork(before))
	}
	if err != nil {
		return err
	}
	s.ended = &d
	if !slices.ContainsFunc(s.unit.Evaluators, func(e plan.Evaluator) bool {
		return !e.AfterSteps && e.Config.(evaluator.Evaluator).Needs()&evaluator.NeedsWorkspace != 0
	}) {
		return nil
	}
	if err := s.dirs.setAside(ctx, s.cfg.TempDir); err != nil {
		return fmt.Errorf("keep what the agent left from the steps that follow: %w", err)
	}
	return nil
}

// setAside moves the workspace to where steps do not reach it, and puts a copy in its place.
func (d *unitDirs) setAside(ctx context.Context, parent string) error {
	if err := d.pins.check(); err != nil {
		return err
	}
	if err := d.makeStepDirs(parent); err != nil {
		return err
	}
	left := filepath.Join(d.steps, "left")
	if err := disk.Move(ctx, d.workspace, left); err != nil {
		return err
	}
	d.left = left
	if err := disk.Copy(ctx, left, d.workspace); err != nil {
		return err
	}
	made, err := pin(d.workspace)
	if err != nil {
		return err
	}
	d.pins = d.pins.without(d.workspace)
	d.pins.paths, d.pins.infos = append(d.pins.paths, made.paths...), append(d.pins.infos, made.infos...)
	return nil
}

// asLeft is where the workspace is as the agent left it.
func (d *unitDirs) asLeft() string {
	if d.left != "" {
		return d.left
	}
	return d.workspace
}

// isAsLeft reports whether no step has changed what the agent left.
func (s *site) isAsLeft(ctx context.Context) (bool, error) {
	if s.ended == nil {
		return true, nil
	}
	now, err := s.compared().Manifest(ctx, s.dirs.workspace)
	return now.Digest() == s.endedDigest, err
}

// givenPaths returns a function that reports whether a path is as a step before the agent left it, see
// [evaluator.Input.Given]; nil if there was no such step.
func (s *site) givenPaths(ctx context.Context) func(path string) (bool, error) {
	if s.given == nil {
		return nil
	}
	prepared := s.exclusion.Without(s.own)
	left := sync.OnceValues(func() (workspace.Manifest, error) {
		return s.baseline.Manifest(ctx, s.dirs.asLeft())
	})
	return func(path string) (bool, error) {
		if prepared.Same(*s.given, path) {
			return false, nil
		}
		now, err := left()
		return err == nil && s.given.Same(now, path), err
	}
}
