package skill

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// recordings returns the files that are recorded of the suite's cases and queries, with those of the queries first or
// last, but for those that cannot be listed, and the tree that they are in.
func (s *Suite) recordings(queries bool) (tree disk.Tree, files []string) {
	dir := s.File(s.Cassettes())
	tree = disk.Within(s.Root, dir)
	names := []string{s.Slug(), s.TriggersName()}
	if queries {
		slices.Reverse(names)
	}
	for _, of := range names {
		some, _ := cassette.List(tree, dir, of)
		files = append(files, some...)
	}
	return tree, files
}

// TriggersRecorded reports whether there are recordings of queries.
func (s *Suite) TriggersRecorded() bool {
	dir := s.File(s.Cassettes())
	files, err := cassette.List(disk.Within(s.Root, dir), dir, s.TriggersName())
	return err == nil && len(files) > 0
}

// commandRecorded reports whether a case whose prompt begins with a /command was recorded with a plugin. A recording
// that cannot be read counts.
func (s *Suite) commandRecorded() bool {
	tree, files := s.recordings(false)
	return slices.ContainsFunc(files, func(file string) bool {
		id := filepath.Base(filepath.Dir(file))
		if strings.Contains(filepath.Base(file), ".judges.") || !strings.HasPrefix(filepath.Base(file), With+".") ||
			!slices.ContainsFunc(s.Cases, func(c Case) bool { return c.Command && c.ID == id }) {
			return false
		}
		c, err := cassette.Open(tree, file)
		return err != nil || c.Header.Fingerprints.Plugins != nil
	})
}

// RecordedAgent returns the agent of the recordings of the cases or of the queries, else of the others, without its
// preset; false: there are none.
func (s *Suite) RecordedAgent(queries bool) (playbook.Agent, bool) {
	tree, files := s.recordings(queries)
	for _, file := range files {
		if !strings.HasPrefix(filepath.Base(file), With+".") {
			continue
		}
		if c, err := cassette.Open(tree, file); err == nil {
			f := c.Header.Fingerprints
			return playbook.Agent{Kind: f.Kind, Command: f.Command, Args: f.Args, Model: f.Model, Mode: f.Mode}, true
		}
	}
	return playbook.Agent{}, false
}

// RecordedJudge returns the agent that judged the recordings; without a kind: none has.
func (s *Suite) RecordedJudge() playbook.Agent {
	tree, files := s.recordings(false)
	for _, file := range files {
		if asked, ok := judgment.Asked(tree, file); ok {
			by := asked.Agent
			return playbook.Agent{
				Kind: by.Kind, Preset: by.Preset, Command: by.Command, Args: by.Args, Model: asked.Model,
			}
		}
	}
	return playbook.Agent{}
}
