package engine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// template is what a run's workspaces are copied from, read once for all units.
type template struct {
	mu sync.Mutex
	t  *workspace.Template
	// clean: the last search, for the first n secrets, found none in the template.
	searched, clean bool
	secrets         int
	listed          map[string]bool // in the run's directory, by digest
}

// loadTemplate reads the files that workspaces are made of, unless they were read before.
func (r *Runner) loadTemplate(ctx context.Context) (*workspace.Template, error) {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	if r.template.t == nil {
		ours := []string{
			r.cassettes(), filepath.Join(r.cfg.Root, ".evaltest"),
			r.besidePlaybook("."), r.besidePlaybook(filepath.Base(r.pb.File)),
		}
		if r.cfg.Keep != nil {
			ours = append(ours, rundir.Below(r.cfg.Keep.Below))
		}
		source, err := TemplateSource(ctx, r.pb, r.source, ours)
		if err != nil {
			return nil, err
		}
		t, err := workspace.Load(ctx, source)
		if err != nil {
			return nil, err
		}
		r.template.t = t
	}
	return r.template.t, nil
}

// cleanTemplate reports whether there is no secret in the files that workspaces are made of. They are searched once for
// all units, and again when there are more secrets.
func (r *Runner) cleanTemplate(ctx context.Context) bool {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	if r.template.t == nil {
		return true
	}
	if secrets := r.secrets.Len(); !r.template.searched || r.template.secrets != secrets {
		clean := true
		complete := r.template.t.Each(ctx, func(path string, content []byte) {
			clean = clean && !r.shows([]byte(path)) && !r.shows(content)
		})
		r.template.searched, r.template.secrets, r.template.clean = true, secrets, clean && complete
	}
	return r.template.clean
}

// Notes are those of the plan, and about patterns of the playbook's workspace that match nothing.
func (r *Runner) Notes(ctx context.Context) []string {
	notes, w := r.plan.Notes(), r.pb.Workspace
	prepares := func(u plan.Unit) bool {
		return does(u.Steps, func(a action.Action) bool { return a.Template })
	}
	if len(w.Include)+len(w.Exclude) == 0 || !slices.ContainsFunc(r.plan.Units, prepares) {
		return notes
	}
	t, err := r.loadTemplate(ctx)
	if err != nil {
		return notes // each unit ends with the error
	}
	for _, pattern := range w.Include {
		if !t.Includes(pattern) {
			notes = append(notes,
				fmt.Sprintf("%s: note: workspace.include: %q matches nothing that is copied", w.Position, pattern))
		}
	}
	for _, pattern := range w.Exclude {
		if !t.Excludes(pattern) {
			notes = append(notes,
				fmt.Sprintf("%s: note: workspace.exclude: %q leaves out nothing", w.Position, pattern))
		}
	}
	return notes
}

// TemplateSource returns what of dir the workspaces of a playbook are copied from; dir is absolute, or empty. Ours are
// absolute paths of sdd-eval's own files, which the agent must not see: cassettes, runs and our own notes, which runs
// change, and the playbook with what is beside it, which says what is expected.
func TemplateSource(ctx context.Context, pb *plan.Playbook, dir string, ours []string) (workspace.Source, error) {
	src := workspace.Source{Dir: dir, Include: pb.Workspace.Include, Exclude: slices.Clone(pb.Workspace.Exclude)}
	if dir == "" {
		return src, nil
	}
	if info, err := os.Stat(dir); err != nil {
		return src, fmt.Errorf("workspace.from: %w", err)
	} else if !info.IsDir() {
		return src, fmt.Errorf("workspace.from: %s is not a directory", dir)
	}
	if pb.Workspace.From == "" { // nobody chose what is in it
		playbooks, err := playbooksBelow(ctx, dir)
		if err != nil {
			return src, err
		}
		ours = slices.Concat(ours, playbooks)
	}
	for _, path := range ours {
		rel, err := filepath.Rel(dir, path)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		glob := globMeta.ReplaceAllString(filepath.ToSlash(rel), `\$0`)
		src.Exclude = append(src.Exclude, glob, glob+"/**")
	}
	return src, nil
}

// globMeta matches what means something else in a glob.
var globMeta = lazyregexp.New(`[*?\[\]{}\\]`)

const (
	// maxLooked is how many files and directories are looked at for playbooks.
	maxLooked = 100_000
	// maxPlaybook is how large a playbook may be, in bytes.
	maxPlaybook = 1 << 20
)

var (
	yamlName = lazyregexp.New(`\.ya?ml$`)
	workflow = lazyregexp.New(`(?m)^["']?workflow["']?:`)
	variants = lazyregexp.New(`(?m)^["']?variants["']?:`)
)

// playbooksBelow returns the directories below root that hold playbooks, and the playbooks in root itself. What cannot
// be read is passed over: the copy of the directory tells of it. The error is that of the context.
func playbooksBelow(ctx context.Context, root string) ([]string, error) {
	var found []string
	looked := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case looked > maxLooked:
			return fs.SkipAll
		case err != nil:
			return nil
		case d.IsDir() && path != root && (workspace.SkippedDir(d.Name()) || d.Name() == "vendor"):
			return fs.SkipDir
		case !d.Type().IsRegular() || !yamlName.MatchString(d.Name()) || !isPlaybook(path):
			return nil
		case filepath.Dir(path) == root:
			found = append(found, path)
			return nil
		}
		found = append(found, filepath.Dir(path))
		return fs.SkipDir
	})
	return found, err
}

// isPlaybook reports whether a file looks like one.
func isPlaybook(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxPlaybook {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && workflow.Match(data) && variants.Match(data)
}
