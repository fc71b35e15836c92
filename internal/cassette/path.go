package cassette

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// GoExt is the extension of what stands for a playbook's path where the recordings are of a test in Go. Nothing here knows
// which of those recordings are still wanted: [List] and [Playbooks] leave them out.
const GoExt = ".go"

// Path returns where a unit's cassette is: dir/playbook/case/variant.trial.jsonl. Playbook is the playbook's path below
// the module root, without extension, with slashes. A path that leads elsewhere is a mistake of the caller.
func Path(dir, playbook, caseID, variant string, trial int) string {
	below := filepath.Join(filepath.FromSlash(playbook), caseID, variant+"."+strconv.Itoa(trial)+".jsonl")
	if !filepath.IsLocal(filepath.FromSlash(playbook)) || !filepath.IsLocal(below) {
		panic(fmt.Sprintf("cassette.Path: %q is not the path of a playbook below the module root", playbook))
	}
	return filepath.Join(dir, below)
}

// List returns the recordings of a playbook, sorted, be they whole or not: cassettes, what judges said, and what a
// recording that was cut short has left. It is empty if there are none.
func List(dir, playbook string) ([]string, error) {
	if path.Ext(playbook) == GoExt {
		return nil, nil
	}
	base := filepath.Join(dir, filepath.FromSlash(playbook))
	cases, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list cassettes: %w", err)
	}
	var files []string
	for _, c := range cases {
		if !c.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(base, c.Name()))
		if err != nil {
			return nil, fmt.Errorf("list cassettes: %w", err)
		}
		for _, e := range entries {
			if !e.IsDir() && isRecording(e.Name()) {
				files = append(files, filepath.Join(base, c.Name(), e.Name()))
			}
		}
	}
	return files, nil
}

// Playbooks returns the paths, as [Path] takes them, of all playbooks that have recordings in dir, sorted.
func Playbooks(dir string) ([]string, error) {
	found := make(map[string]bool)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		playbook := path.Dir(path.Dir(name))
		if err == nil && !e.IsDir() && playbook != "." && path.Ext(playbook) != GoExt && isRecording(e.Name()) {
			found[playbook] = true
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list cassettes: %w", err)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// isRecording tells by its name whether a file is a recording, or was to become one.
func isRecording(name string) bool {
	name, hidden := strings.CutPrefix(name, ".")
	if hidden {
		return strings.Contains(name, ".jsonl.")
	}
	return strings.HasSuffix(strings.TrimSuffix(name, gzipExt), ".jsonl")
}
