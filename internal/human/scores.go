package human

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

const (
	scoresFile = "human-scores.json"
	maxScores  = 64 << 20
)

// Rating is what one person thinks of one variant.
type Rating struct {
	Score float64 `json:"score"` // 0..10
	Notes string  `json:"notes"`
}

// Scores are what one person thinks of all variants of a run.
type Scores struct {
	Rater    string            `json:"rater"`
	Variants map[string]Rating `json:"variants"` // by id
	// Replaced tells that Import put them in the place of earlier scores of the same rater.
	Replaced bool `json:"-"`
}

// stored is human-scores.json.
type stored struct {
	Version int      `json:"version"`
	Raters  []Scores `json:"raters"` // sorted by name
}

// Load returns the scores that were imported into a run, sorted by rater, none if there are none. A file that is not as
// it was written is an error.
func Load(r *rundir.Run) ([]Scores, error) {
	var s stored
	err := r.ReadJSON(scoresFile, maxScores, &s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.check(r.Manifest().Variants); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(r.Dir(), scoresFile), err)
	}
	return s.Raters, nil
}

func (s *stored) check(variants []rundir.Variant) error {
	if s.Version != 1 {
		return fmt.Errorf("version %d is not known", s.Version)
	}
	last := ""
	for _, one := range s.Raters {
		if one.Rater <= last {
			return fmt.Errorf("rater %q is there twice, out of order or without a name", one.Rater)
		}
		last = one.Rater
		if len(one.Variants) != len(variants) {
			return fmt.Errorf("rater %q scored %d variants, and the run has %d", one.Rater, len(one.Variants), len(variants))
		}
		for _, v := range variants {
			rating, ok := one.Variants[v.ID]
			if !ok {
				return fmt.Errorf("rater %q did not score variant %q", one.Rater, v.ID)
			}
			if !inRange(rating.Score) {
				return fmt.Errorf("rater %q: variant %q: score %v is outside 0..10", one.Rater, v.ID, rating.Score)
			}
		}
	}
	return nil
}

func inRange(score float64) bool { return score >= 0 && score <= 10 }
