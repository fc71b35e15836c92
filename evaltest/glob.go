package evaltest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// playbooks returns the files that match a pattern. Each alternative in braces must match one, and a directory that
// cannot be read is an error: what is not found is not judged.
func playbooks(pattern, dir string) ([]string, error) {
	files, err := globbed(pattern)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no playbook matches %q in %s\nnext: correct the pattern, or write a playbook there",
			pattern, dir)
	}
	for _, part := range alternatives(filepath.ToSlash(pattern)) {
		found, err := globbed(part)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no playbook matches %q in %s, which is a part of the pattern %q\n"+
				"next: correct the pattern, or write a playbook there", part, dir, pattern)
		}
	}
	return files, nil
}

func globbed(pattern string) ([]string, error) {
	files, err := doublestar.FilepathGlob(pattern, doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors())
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return files, nil
}

// alternatives returns the pattern once for each alternative in braces, with that in their place; none if the pattern
// has no braces.
func alternatives(pattern string) (all []string) {
	groups, _ := wildcard.Braces(pattern)
	for _, cuts := range groups {
		last := len(cuts) - 1
		for i, cut := range cuts[:last] {
			own := pattern[cut+1 : cuts[i+1]]
			within := alternatives(own)
			if within == nil {
				within = []string{own}
			}
			for _, w := range within {
				all = append(all, pattern[:cuts[0]]+w+pattern[cuts[last]+1:])
			}
		}
	}
	return all
}

// looksLikePlaybook matches a key that playbooks and eval files have alone.
var looksLikePlaybook = lazyregexp.New(`(?m)^(workflow|evalcases):`)

// described has the playbooks of this test process, by absolute path.
var described sync.Map

// overlooked returns the files beside those that a pattern matches, and in the directory where it begins, that look
// like playbooks and were matched by no pattern yet.
func overlooked(pattern string, files []string) ([]string, error) {
	base, _ := doublestar.SplitPattern(filepath.ToSlash(pattern))
	dirs := []string{filepath.FromSlash(base)}
	for _, f := range files {
		described.Store(absolutePath(f), true)
		dirs = append(dirs, filepath.Dir(f))
	}
	slices.Sort(dirs)
	var found []string
	for _, dir := range slices.Compact(dirs) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			file := filepath.Join(dir, e.Name())
			if _, ok := described.Load(absolutePath(file)); ok || !e.Type().IsRegular() ||
				!slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(e.Name())) {
				continue
			}
			if data, err := disk.ReadRegular(file, doc.MaxSize); err == nil && looksLikePlaybook.Match(data) {
				found = append(found, file)
			}
		}
	}
	return found, nil
}

// absolutePath returns a path from the working directory in one form.
func absolutePath(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}
