package skill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/git"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Generated is the directory, below a project's root and with slashes, of the playbooks that are written for skills.
const Generated = ".llman/sdd-eval/skills"

// copies is the directory of what agents get of skills, below a project's root and with slashes.
const copies = Generated + "/copies"

// isCopy reports whether a directory is one of those, which git ignores.
func isCopy(dir string) bool { return strings.Contains(filepath.ToSlash(dir), "/"+copies+"/") }

// The words for arms.
const (
	With    = "with"
	Without = "without"
	old     = "old" // and the commit behind =
)

// ArmWords returns the arms that a list names, with commas between: with, without and old=REV, each once, with among
// them.
func ArmWords(list string) ([]string, error) {
	words := strings.Split(list, ",")
	seen := make(map[string]bool)
	for _, w := range words {
		id, rev, given := strings.Cut(w, "=")
		switch {
		case id == old && (!given || rev == ""):
			return nil, fmt.Errorf("%q does not say of which commit: write old=REV", w)
		case id != old && given, id != old && id != With && id != Without:
			return nil, fmt.Errorf("%q is no arm: use with, without and old=REV", w)
		case seen[id]:
			return nil, fmt.Errorf("the arm %s is there twice", id)
		}
		seen[id] = true
	}
	if !seen[With] {
		return nil, fmt.Errorf("the arm %s is missing, which is what is judged", With)
	}
	return words, nil
}

// EvalsDir is the directory of the evals, below the root.
func (s *Suite) EvalsDir() string {
	for _, file := range slices.Concat([]string{s.Evals}, s.Triggers) {
		if file != "" {
			return path.Dir(file)
		}
	}
	return "."
}

// ownDir is what is ours beside the evals.
const ownDir = ".sdd-eval"

// Cassettes is the directory of the suite's recordings, below the root.
func (s *Suite) Cassettes() string { return path.Join(s.EvalsDir(), ownDir, "cassettes") }

// Baseline is the file of the suite's baseline, below the root: of its cases, or of its queries.
func (s *Suite) Baseline(queries bool) string {
	if queries {
		return path.Join(s.EvalsDir(), ownDir, "baseline-triggers.json")
	}
	return path.Join(s.EvalsDir(), ownDir, "baseline.json")
}

// Generate writes the playbook of the suite for arms as [ArmWords] returns them, with a copy of what agents get of the
// skill for each, and returns its absolute path. It sets o.Dir and o.Arms.
func (s *Suite) Generate(ctx context.Context, o Options, arms []string) (string, error) {
	if err := s.makeDir(&o); err != nil {
		return "", err
	}
	for _, word := range arms {
		arm, err := s.arm(ctx, word, s.Plugin != nil)
		if err != nil {
			return "", fmt.Errorf("arm %s: %w", word, err)
		}
		o.Arms = append(o.Arms, arm)
	}
	text, err := s.Playbook(o)
	if err != nil {
		return "", err
	}
	return s.write(o.Dir, s.Slug(), text)
}

// makeDir makes the directory of playbooks, and has o name it.
func (s *Suite) makeDir(o *Options) error {
	o.Dir, o.Arms = s.File(Generated), nil
	return project.MakeIgnored(disk.Tree(s.Root), o.Dir)
}

// Lock keeps other commands away from the suite's playbooks and recordings until the file is closed or the process
// ends. If one is at work the error is [disk.ErrLocked].
func (s *Suite) Lock() (*os.File, error) {
	if err := s.makeDir(new(Options)); err != nil {
		return nil, err
	}
	name := s.Slug() + "." + digest(s.EvalsDir()) + ".lock"
	f, err := disk.Tree(s.Root).OpenFile(filepath.Join(s.File(Generated), name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// write writes a playbook and returns its path. Skills of one name have each their own; what stands before the first
// dot is the name by which recordings are found.
func (s *Suite) write(dir, name string, text []byte) (string, error) {
	if len(text) > doc.MaxSize {
		return "", fmt.Errorf("its playbook would have %d bytes, more than the %d that a playbook may have", len(text),
			doc.MaxSize)
	}
	if at := s.EvalsDir(); at != evalsDir {
		name += "." + digest(at)
	}
	file := filepath.Join(dir, name+".yaml")
	return file, disk.Tree(s.Root).Replace(file, text, 0o644)
}

// arm makes an arm, of the skill or of the plugin in its place.
func (s *Suite) arm(ctx context.Context, word string, plugin bool) (Arm, error) {
	id, rev, _ := strings.Cut(word, "=")
	a := Arm{ID: id, Reference: id != With}
	tree := s.Installed
	if plugin {
		tree = s.Plugin.Installed
	}
	switch id {
	case Without:
		return a, nil
	case old:
		commit, err := git.Commit(ctx, s.Root, rev)
		if err != nil {
			return a, err
		}
		if plugin {
			tree, err = s.installPlugin(ctx, workspace.Source{Dir: s.File(s.Plugin.Dir), Commit: commit}, s.Plugin.Dir)
		} else {
			tree, err = Install(ctx, workspace.Source{Dir: s.File(s.Dir), Commit: commit}, plan.SkillFile)
		}
		if err != nil {
			return a, fmt.Errorf("commit %.12s: %w", commit, err)
		}
	}
	var err error
	if plugin {
		a.Plugin, err = s.copyPlugin(tree)
	} else {
		a.Copy, err = s.copy(tree, s.Folder())
	}
	return a, err
}

// copy writes what agents get of a skill into a directory that is named by it and its content, and returns that.
func (s *Suite) copy(t Tree, name string) (string, error) {
	root := disk.Tree(s.Root)
	above := s.File(copies)
	dir := filepath.Join(above, name+"-"+t.Digest())
	if err := root.MkdirAll(above); err != nil {
		return "", err
	}
	// What stands there may be a part, or have been changed since.
	if err := root.RemoveAll(dir); err != nil {
		return "", err
	}
	for _, p := range slices.Sorted(maps.Keys(t.Files)) {
		file := filepath.Join(dir, filepath.FromSlash(p))
		perm := os.FileMode(0o644)
		if t.Files[p].Exec {
			perm = 0o755
		}
		if err := root.MkdirAll(filepath.Dir(file)); err != nil {
			return "", err
		}
		if err := root.Replace(file, t.Files[p].Data, perm); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// Void returns the cases of which the agent without the skill gets the skill, too: no difference can be told.
func (s *Suite) Void() []string {
	var ids []string
	for _, f := range s.Findings {
		if f.Rule == "skill-as-file" && f.Level == Warning && !slices.Contains(ids, f.Where) {
			ids = append(ids, f.Where)
		}
	}
	return ids
}

// Concerns reports whether one of some files, by their paths below the root, is of the skill or the plugin as agents
// get it, of the evals with their recordings and baseline, or of a case.
func (s *Suite) Concerns(files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		if rel, ok := below(s.Dir, file); ok && s.Dir != "" && !isLeftOut(rel) {
			return true
		}
		if _, ok := below(s.EvalsDir(), file); ok {
			return true
		}
		if s.Plugin != nil {
			if rel, ok := below(s.Plugin.Dir, file); ok && !isLeftOut(rel) {
				return true
			}
		}
		return slices.ContainsFunc(s.Cases, func(c Case) bool {
			return slices.ContainsFunc(c.Inputs, func(in Input) bool {
				_, ok := below(in.From, file)
				return ok || in.From == file
			})
		})
	})
}

// below returns the path of a file in a directory, both with slashes and relative to the same.
func below(dir, file string) (rel string, ok bool) {
	if dir == "." {
		return file, true
	}
	return strings.CutPrefix(file, dir+"/")
}

// isLeftOut reports whether a file of a skill's directory is never installed.
func isLeftOut(file string) bool {
	top, _, _ := strings.Cut(file, "/")
	return slices.ContainsFunc(neverInstalled, func(pattern string) bool {
		match, _ := path.Match(pattern, top)
		return match
	})
}
