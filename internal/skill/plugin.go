package skill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Plugin is the one around a skill.
type Plugin struct {
	Dir  string // below the suite's root
	Name string // of its directory, as agents get it: that of a repository may differ from one machine to the next
	// Installed is what agents get of it.
	Installed Tree
}

// Commands returns how many cases are skipped since their prompts begin with a /command.
func (s *Suite) Commands() int {
	n := 0
	for _, c := range s.Cases {
		if c.Command && !c.Broken {
			n++
		}
	}
	return n
}

// TakePlugin has the cases run with the plugin around the skill in its place, those too whose prompts begin with a
// /command, if there are such cases. It does so if that is asked for, or if one of these was recorded, which nothing
// else does. Without a plugin that is an error.
func (s *Suite) TakePlugin(ctx context.Context, asked bool) error {
	recorded := s.commandRecorded()
	if s.Dir == "" || s.Commands() == 0 || !asked && !recorded {
		return nil
	}
	dir, manifest := s.around()
	if manifest == nil {
		what, next := "no plugin is around "+s.Dir+": no directory above it has a "+plan.PluginFile,
			"without --plugin the cases run whose prompt does not begin with a /command"
		if recorded {
			what = fmt.Sprintf("the recordings of %s were made with --plugin, and %s", s.Name, what)
			next = fmt.Sprintf("bring it back, or remove %s and record without --plugin",
				path.Join(s.Cassettes(), s.Slug()))
		}
		return fault.Advise(errors.New(what), next)
	}
	p := Plugin{Dir: dir, Name: doc.ParseJSON(plan.PluginFile, manifest).Root.Get("name").Text()}
	if !folderName.MatchString(p.Name) {
		p.Name = s.Folder()
	}
	var err error
	if p.Installed, err = s.installPlugin(ctx, workspace.Source{Dir: s.File(dir)}, dir); err != nil {
		return fmt.Errorf("plugin %s: %w", dir, err)
	}
	s.Plugin = &p
	for i := range s.Cases {
		s.Cases[i].Command = false
	}
	s.Findings = slices.DeleteFunc(s.Findings, func(f Finding) bool { return f.Rule == commandPrompt })
	return nil
}

// around returns the directory of the plugin around the skill, below the root, and its manifest; nil: there is none.
func (s *Suite) around() (dir string, manifest []byte) {
	for dir = s.Dir; dir != ""; dir = path.Dir(dir) {
		file := s.File(path.Join(dir, plan.PluginFile))
		if data, err := disk.Tree(s.Root).ReadRegular(file, doc.MaxSize); err == nil {
			return dir, data
		}
		if dir == "." {
			break
		}
	}
	return "", nil
}

// installPlugin is [Install] for the plugin in src, whose directory is dir below the root, without the suite's evals.
func (s *Suite) installPlugin(ctx context.Context, src workspace.Source, dir string) (Tree, error) {
	t, err := Install(ctx, src, plan.PluginFile)
	evals := s.EvalsDir()
	if path.Base(evals) != evalsDir {
		evals = path.Dir(evals)
	}
	if rel, ok := below(dir, evals); ok && rel != "." {
		maps.DeleteFunc(t.Files, func(p string, _ workspace.Seed) bool { return strings.HasPrefix(p, rel+"/") })
	}
	return t, err
}

// copyPlugin is [Suite.copy] for a plugin, into a directory of the plugin's name.
func (s *Suite) copyPlugin(t Tree) (string, error) {
	files := make(map[string]workspace.Seed)
	for p, f := range t.Files {
		files[path.Join(s.Plugin.Name, p)] = f
	}
	dir, err := s.copy(Tree{Files: files}, "plugin")
	return filepath.Join(dir, s.Plugin.Name), err
}
