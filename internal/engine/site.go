package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/style"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// site is where a unit works: its directories, and what is known of the files in its workspace.
type site struct {
	*Runner
	unit    plan.Unit
	log     *session.Log
	runDirs *rundir.UnitDirs // where the unit is kept; nil: nowhere
	dirs    unitDirs

	// overlay is the workspace of a replay that nothing needs in a directory, before what the agent began with; nil: it
	// is in its directory.
	overlay, before *workspace.Overlay

	prepared bool
	seeds    map[string]workspace.Seed // what was prepared beside the template
	manifest workspace.Manifest        // of what was prepared
	own      workspace.Manifest        // of what workspace.prepare and sdd.prepare wrote
	baseline workspace.Baseline
	// given is what the agent began with, nil if that is what was prepared.
	given *workspace.Manifest
	// ended is how the workspace differed from what the agent began with when the agent ended; nil: no step followed.
	ended *workspace.Diff
	// endedDigest is of what a live agent left then.
	endedDigest string
	// touched tells that something else than whole turns of the agent may have changed the workspace since the last of
	// them.
	touched bool
	// searched is what the search for secrets came to, as long as the workspace is what it was then; nil: that is not
	// known.
	searched *searched
	// dropped tells that the workspace is not kept, because nobody knows what is in it.
	dropped bool
}

// open makes the unit's directories, those of an agent among them if it is for one.
func (s *site) open(ctx context.Context, forAgent bool) (err error) {
	if s.runDirs != nil {
		if err := s.kept.MakeDirs(*s.runDirs); err != nil {
			return err
		}
	}
	s.dirs, err = makeUnitDirs(s.cfg.TempDir, forAgent, s.runDirs)
	if err == nil && forAgent {
		err = toolcache.Find(s.cfg.Environ, s.caches...).Lay(ctx, s.dirs.home)
	}
	return err
}

// live reports whether an agent works here, and not a cassette.
func (s *site) live() bool { return s.dirs.home != "" }

// prepare makes the workspace that the agent starts with.
func (s *site) prepare(ctx context.Context) error {
	t, err := s.loadTemplate(ctx)
	if err != nil {
		return err
	}
	if c := t.Commit(); c != "" {
		s.log.Notef("workspace: of commit %s", c)
	}
	if s.seeds, err = s.Runner.seeds(ctx, s.unit, t); err != nil {
		return err
	}
	if s.overlay != nil {
		overlay, notes, err := t.Overlay(s.seeds)
		if err == nil && overlay != nil {
			s.lay(overlay)
			s.own, s.prepared = s.manifest, true
			s.noteLeftOut(notes)
			return nil
		}
		if err := s.materialise(ctx); err != nil { // which says what is wrong
			return err
		}
	}
	var notes []workspace.Note
	s.manifest, notes, err = t.Prepare(ctx, s.dirs.workspace, s.seeds)
	if err != nil {
		return err
	}
	s.noteLeftOut(notes)
	s.own, s.prepared = s.manifest, true
	s.baseline = t.Baseline(s.manifest, s.seeds)
	if err := s.stamp(); err != nil {
		return err
	}
	if s.pb.Workspace.Repository {
		return s.makeRepository(ctx)
	}
	return nil
}

func (s *site) noteLeftOut(notes []workspace.Note) {
	for _, n := range notes {
		s.log.Notef("workspace: %s is left out: %s", n.Path, n.Reason)
	}
}

// stamp gives the files of an agent's workspace the time at which it begins.
func (s *site) stamp() error {
	if !s.live() {
		return nil
	}
	return workspace.Stamp(s.dirs.workspace, s.manifest, s.now().Truncate(time.Second))
}

// writeStyle writes the variant's workflow style into the workspace. The agent begins with it, so it is part of the
// baseline.
func (s *site) writeStyle(ctx context.Context) error {
	written, err := s.loadStyle(s.unit.Variant.Style)
	if err != nil {
		return err
	}
	if s.overlay != nil {
		if done := s.layStyle(written); done {
			return nil
		}
		if err := s.materialise(ctx); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(s.dirs.workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	paths, err := written.Write(root)
	if err != nil {
		return fmt.Errorf("style %s: %w", written.Name(), err)
	}
	files := make(map[string][]byte, len(paths))
	for _, p := range paths {
		if files[p], err = root.ReadFile(filepath.FromSlash(p)); err != nil {
			return fmt.Errorf("style %s: %w", written.Name(), err)
		}
	}
	if s.manifest, err = workspace.Snapshot(ctx, s.dirs.workspace); err != nil {
		return err
	}
	s.own = s.own.Plus(s.manifest, paths)
	s.baseline = s.baseline.With(s.manifest, files)
	return s.stamp()
}

// loadStyle returns one of our own styles, or one of the playbook's.
func (r *Runner) loadStyle(name string) (*style.Style, error) {
	if name == "" {
		return nil, errors.New("the variant has no style")
	}
	for _, s := range r.pb.Styles {
		if s.Name == name {
			loaded, err := style.Load(name, r.besidePlaybook(s.Dir))
			if err != nil {
				return nil, fmt.Errorf("%s: style %s: %w", s.Position, name, err)
			}
			return loaded, nil
		}
	}
	return style.Load(name, "")
}

// baselineTime dates the first commit of a workspace, so that it has the same name each time.
const baselineTime = "2000-01-01T00:00:00Z"

// makeRepository makes a git repository of the workspace, with what was prepared as its first commit.
func (s *site) makeRepository(ctx context.Context) error {
	env := environ.ForChild(environ.Spec{Environ: s.cfg.Environ, Workspace: s.dirs.workspace})
	env = append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_DATE="+baselineTime, "GIT_COMMITTER_DATE="+baselineTime)
	for _, args := range [][]string{
		{"git", "init", "--quiet", "--initial-branch=main"},
		{"git", "add", "--all", "--force"},
		{
			"git", "-c", "user.name=sdd-eval", "-c", "user.email=sdd-eval@localhost",
			"commit", "--quiet", "--allow-empty", "--no-verify", "--message=baseline",
		},
	} {
		if err := s.git(ctx, args, env); err != nil {
			return fmt.Errorf("workspace.repository: %w", err)
		}
	}
	return nil
}

func (s *site) git(ctx context.Context, args, env []string) error {
	out := &excerpt.Tail{Limit: shownOutput}
	p, err := supervise.Start(ctx, supervise.Command{
		Path: args[0], Args: args, Dir: s.dirs.workspace, Env: env, Stdout: out, Stderr: out,
	})
	if err != nil {
		return fault.Advise(err, "install git")
	}
	exit, err := p.Wait()
	if err == nil && exit != (supervise.Exit{}) {
		text, _ := lastLines(out)
		err = fmt.Errorf("%s: %s", exit, text)
	}
	return err
}

// ownWork reports whether all that is in the workspace after these steps was put there by us: nothing has run in it,
// and no turn has failed.
func (s *site) ownWork(steps []plan.Step) bool {
	return !s.live() && s.prepared && !s.touched && !s.pb.Workspace.Repository && !does(steps, startsChild)
}

// ownUnit is ownWork after all steps and evaluators.
func (s *site) ownUnit() bool {
	return s.ownWork(s.unit.Steps) && evaluatorNeeds(s.unit)&evaluator.StartsChild == 0
}

// compared is what the workspace is compared with.
func (s *site) compared() workspace.Baseline {
	b := s.baseline.Without(s.exclusion)
	if s.searched != nil {
		b = b.Knowing(&s.searched.seen)
	}
	return b
}

// diff compares the workspace as the agent left it after these turns with what the agent began with. One that is our
// own work holds what we have put there, and of that only what differs is read.
func (s *site) diff(ctx context.Context, turns []cassette.Turn, own bool) (workspace.Diff, error) {
	if s.ended != nil {
		return *s.ended, nil
	}
	if s.overlay != nil {
		d, known, err := s.overlay.Diff(ctx, s.before, s.exclusion)
		if err != nil || known {
			return d, err
		}
		if err := s.materialise(ctx); err != nil {
			return workspace.Diff{}, err
		}
	}
	after, known, baseline := s.manifest, own, s.compared()
	for i := 0; i < len(turns) && known; i++ {
		after, known = turns[i].Delta.ApplyTo(after)
	}
	if known {
		return baseline.Compare(ctx, s.dirs.workspace, after)
	}
	return baseline.Diff(ctx, s.dirs.workspace)
}

// private is the mode of directories in which agents and their code work: what they leave, another user could run with
// our rights.
const private = 0o700

// unitDirs are the directories of one unit.
type unitDirs struct {
	base      string // of what is removed when the unit ends; empty: there is nothing
	workspace string
	kept      string // where the workspace goes when the unit ends; empty: it is there, or is not kept
	home, tmp string // of the agent; empty in a replay
	steps     string // of run steps, with stepHome and stepTmp; empty: there was none yet
	laid      bool   // the HOME of run steps has what they write of the playbook's caches
	left      string // what the agent left, below steps; empty: it is the workspace
	pins      pins
}

// makeUnitDirs makes directories below parent. A unit that is kept has a place for its workspace, which is cleared of
// what an attempt before has left. A replay works there; it needs no other directories. An agent's workspace is moved
// there at the end: the path of the place would tell the agent what it is part of.
func makeUnitDirs(parent string, forAgent bool, runDirs *rundir.UnitDirs) (d unitDirs, err error) {
	if forAgent || runDirs == nil {
		if d.base, err = disk.MkdirTemp(parent); err != nil {
			return unitDirs{}, fmt.Errorf("make the unit's directories: %w", err)
		}
	}
	if err := d.fill(forAgent, runDirs); err != nil {
		return unitDirs{}, errors.Join(fmt.Errorf("make the unit's directories: %w", err), d.remove())
	}
	return d, nil
}

// fill makes the directories below the base.
func (d *unitDirs) fill(forAgent bool, runDirs *rundir.UnitDirs) (err error) {
	var dirs, own []string
	if runDirs != nil {
		if err := clearDir(runDirs.Workspace); err != nil {
			return err
		}
		own = append(own, runDirs.Logs, runDirs.Artifacts)
	}
	if runDirs != nil && !forAgent {
		d.workspace = runDirs.Workspace
	} else {
		d.workspace = filepath.Join(d.base, "workspace")
		dirs = append(dirs, d.workspace)
	}
	if runDirs != nil && forAgent {
		d.kept = runDirs.Workspace
		own = append(own, d.kept)
	}
	if forAgent {
		d.home, d.tmp = filepath.Join(d.base, "home"), filepath.Join(d.base, "tmp")
		dirs = append(dirs, d.home, d.tmp)
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, private); err != nil {
			return err
		}
	}
	d.pins, err = pin(append(own, d.workspace)...)
	return err
}

// makeStepDirs makes the directories of run steps, unless they are there. They are not below the base, which is the
// agent's to write.
func (d *unitDirs) makeStepDirs(parent string) error {
	if d.steps != "" {
		return nil
	}
	made, err := disk.MkdirTemp(parent)
	if err != nil {
		return fmt.Errorf("make the steps' directories: %w", err)
	}
	d.steps = made
	for _, dir := range []string{d.stepHome(), d.stepTmp()} {
		if err := os.Mkdir(dir, private); err != nil {
			return fmt.Errorf("make the steps' directories: %w", err)
		}
	}
	return nil
}

func (d *unitDirs) stepHome() string { return filepath.Join(d.steps, "home") }
func (d *unitDirs) stepTmp() string  { return filepath.Join(d.steps, "tmp") }

// drop does not keep the workspace.
func (s *site) drop() error {
	s.dropped = true
	if s.dirs.kept == "" {
		return clearDir(s.dirs.workspace)
	}
	s.dirs.kept = ""
	return nil
}

// handOver moves the workspace to where it is kept, without what a person would run there who only looks.
func (s *site) handOver(ctx context.Context) error {
	d := &s.dirs
	if s.runDirs == nil || d.workspace == "" || s.dropped {
		return nil
	}
	ctx, cancel := closing(ctx, 0)
	defer cancel()
	if err := workspace.Disarm(ctx, d.workspace); err != nil {
		err = fmt.Errorf("the workspace is not kept: remove what its repositories would run: %w", err)
		return errors.Join(err, s.drop())
	}
	if d.kept != "" {
		if err := disk.Move(ctx, d.workspace, d.kept); err != nil {
			return fmt.Errorf("keep the workspace: %w", err)
		}
		d.pins = d.pins.without(d.workspace, d.kept) // nobody works there any more
	}
	s.starters.leave(s.runDirs.Workspace, s.searched)
	return nil
}

// clearDir empties a directory.
func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, disk.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// remove deletes the directories that were made for the unit alone.
func (d unitDirs) remove() error {
	var errs []error
	for _, dir := range []string{d.base, d.steps} {
		if dir != "" {
			errs = append(errs, disk.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// pins remember directories that an agent could put something else in the place of: a link there would lead what we
// write, and what we read, to the user's own files.
type pins struct {
	paths []string
	infos []os.FileInfo
}

// replacedError says that there is something else at a path than was.
type replacedError struct{ path string }

func (e replacedError) Error() string {
	return "the agent replaced " + e.path
}

// pin remembers what is at these paths, which are directories.
func pin(paths ...string) (pins, error) {
	all := pins{paths: paths}
	for _, p := range paths {
		info, err := os.Lstat(p)
		if err != nil {
			return pins{}, err
		}
		all.infos = append(all.infos, info)
	}
	return all, nil
}

// without returns the pins of other paths.
func (p pins) without(paths ...string) pins {
	var left pins
	for i, path := range p.paths {
		if !slices.Contains(paths, path) {
			left.paths, left.infos = append(left.paths, path), append(left.infos, p.infos[i])
		}
	}
	return left
}

// check returns an error unless the same directories still stand there.
func (p pins) check() error {
	for i, path := range p.paths {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !info.IsDir() || !os.SameFile(info, p.infos[i]) {
			return replacedError{path}
		}
	}
	return nil
}
