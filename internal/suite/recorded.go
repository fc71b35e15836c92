package suite

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// recordings is the directory of the recordings of evals, below theirs.
const recordings = ".sdd-eval/cassettes"

// Places returns where the playbooks of evals in dir are written, absolute, and where their recordings are, below root,
// which dir is below.
func (f Format) Places(root, dir string) (out, cassettes string, err error) {
	evals, err := f.Evals(dir)
	if err != nil {
		return "", "", err
	}
	at, err := filepath.Rel(root, dir)
	return filepath.Join(root, filepath.FromSlash(Generated), at),
		filepath.Join(at, filepath.FromSlash(evals), filepath.FromSlash(recordings)), err
}

// RecordedAgent returns the agent of recordings, without its preset and without the arguments that evals give it;
// false: there are none.
func RecordedAgent(tree disk.Tree, dir string) (playbook.Agent, bool) {
	suites, _ := os.ReadDir(dir)
	for _, s := range suites {
		files, _ := cassette.List(tree, dir, s.Name())
		for _, file := range files {
			if c, err := cassette.Open(tree, file); err == nil {
				f := c.Header.Fingerprints
				chosen := playbook.Agent{Kind: f.Kind, Command: f.Command, Args: f.Args}
				if i := slices.Index(chosen.Args, "-p"); f.Kind == "claude-cli" && i >= 0 {
					chosen.Args = chosen.Args[:i]
				}
				return chosen, true
			}
		}
	}
	return playbook.Agent{}, false
}
