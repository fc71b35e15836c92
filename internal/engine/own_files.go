package engine

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// ownFiles returns globs for what of ours may lie in the source and is not the agent's to see: cassettes, runs and our own
// notes, which runs change, and playbooks, which say what is expected.
func (r *Runner) ownFiles(ctx context.Context) ([]string, error) {
	if r.source == "" {
		return nil, nil
	}
	own := []string{r.cassettes(), filepath.Join(r.cfg.Root, ".evaltest"), r.besidePlaybook("."), r.besidePlaybook(filepath.Base(r.pb.File))}
	if r.kept != nil {
		own = append(own, filepath.Dir(r.kept.Dir()))
	}
	if r.pb.Workspace.From == "" { // nobody chose what is in it
		playbooks, err := playbooksBelow(ctx, r.source)
		if err != nil {
			return nil, err
		}
		own = append(own, playbooks...)
	}
	var globs []string
	for _, path := range own {
		rel, err := filepath.Rel(r.source, path)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		glob := globMeta.ReplaceAllString(filepath.ToSlash(rel), `\$0`)
		globs = append(globs, glob, glob+"/**")
	}
	return globs, nil
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
	// elsewhere are directories that are not copied either, or belong to others.
	elsewhere = []string{".git", ".llman", "node_modules", ".venv", "target", "dist", "build", "vendor"}
)

// playbooksBelow returns the directories below root that hold playbooks, and the playbooks in root itself. What cannot be
// read is passed over: the copy of the directory tells of it. The error is that of the context.
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
		case d.IsDir() && path != root && slices.Contains(elsewhere, d.Name()):
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
