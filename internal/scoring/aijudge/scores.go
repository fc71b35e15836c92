package aijudge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

const (
	scoresFile = "ai-scores.json"
	maxScores  = 256 << 20
)

// Score is the model's score for one unit.
type Score struct {
	Unit    string  `json:"unit"`
	Variant string  `json:"variant"`
	Model   string  `json:"model"` // that was asked, or that answered in its place
	Score   float64 `json:"score"` // 0..10
	Reason  string  `json:"reason"`
}

// file is ai-scores.json.
type file struct {
	Version int     `json:"version"`
	Scores  []Score `json:"scores"`
}

// Load returns the scores of a run in the manifest's order, none if nothing was judged. A file of scores that was
// damaged is an error.
func Load(r *rundir.Run) ([]Score, error) {
	var f file
	err := r.ReadJSON(scoresFile, maxScores, &f)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := f.check(r.Manifest().Units); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(r.Dir(), scoresFile), err)
	}
	return f.Scores, nil
}

func (f *file) check(units []string) error {
	if f.Version != 1 {
		return fmt.Errorf("unsupported version %d", f.Version)
	}
	order := positions(units)
	last := -1
	for _, s := range f.Scores {
		position, ok := order[s.Unit]
		if !ok {
			return fmt.Errorf("the run has no unit %q", s.Unit)
		}
		if position <= last {
			return fmt.Errorf("duplicate or unsorted unit %q", s.Unit)
		}
		last = position
		if err := check(s.Score, s.Reason); err != nil {
			return fmt.Errorf("unit %s: %w", s.Unit, err)
		}
	}
	return nil
}

// positions returns the index of each unit.
func positions(units []string) map[string]int {
	all := make(map[string]int, len(units))
	for i, id := range units {
		all[id] = i
	}
	return all
}

// scores are the scores of a run while it is judged.
type scores struct {
	run *rundir.Run

	mu     sync.Mutex
	byUnit map[string]Score
	puts   int

	saving sync.Mutex
	saved  int // how many of the puts are written
}

// open reads the scores that a run has.
func open(r *rundir.Run) (*scores, error) {
	list, err := Load(r)
	if err != nil {
		return nil, err
	}
	s := &scores{run: r, byUnit: make(map[string]Score)}
	for _, score := range list {
		s.byUnit[score.Unit] = score
	}
	return s, nil
}

func (s *scores) has(unit string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.byUnit[unit]
	return ok
}

// put adds a score and returns when it is written. Scores that are added during a write share the next one.
func (s *scores) put(score Score) error {
	s.mu.Lock()
	s.byUnit[score.Unit] = score
	s.puts++
	mine := s.puts
	s.mu.Unlock()

	s.saving.Lock()
	defer s.saving.Unlock()
	if s.saved >= mine {
		return nil
	}
	s.mu.Lock()
	list, puts := slices.Collect(maps.Values(s.byUnit)), s.puts
	s.mu.Unlock()
	order := positions(s.run.Manifest().Units)
	slices.SortFunc(list, func(a, b Score) int { return order[a.Unit] - order[b.Unit] })
	data, err := json.MarshalIndent(file{Version: 1, Scores: list}, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", scoresFile, err)
	}
	if err := s.run.WriteFile(scoresFile, append(data, '\n')); err != nil {
		return err
	}
	s.saved = puts
	return nil
}
