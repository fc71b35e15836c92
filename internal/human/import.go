package human

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// maxFile is how large a file of one person's scores may be.
const maxFile = 4 << 20

// Import reads a file of one person's scores, as the page saves it or as a person fills in the template, and adds it to
// those of the run, in the place of earlier scores of the same rater. A file that is not right in every respect is an
// error that names all that is wrong with it, and changes nothing.
func Import(r *rundir.Run, file string) (Scores, error) {
	data, err := disk.ReadRegular(file, maxFile)
	if err != nil {
		return Scores{}, fmt.Errorf("import scores: %w", err)
	}
	scores, err := parseScores(file, data, r.Manifest())
	if err != nil {
		return Scores{}, fmt.Errorf("import scores: %w", err)
	}
	if err := scores.add(r); err != nil {
		return Scores{}, fmt.Errorf("import scores: %w", err)
	}
	return scores, nil
}

// add stores scores. Nobody else's are lost when several people import at the same time.
func (s *Scores) add(r *rundir.Run) (err error) {
	unlock, err := lockScores(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	all, err := Load(r)
	if err != nil {
		return err
	}
	i, found := slices.BinarySearchFunc(all, s.Rater, func(have Scores, rater string) int {
		return strings.Compare(have.Rater, rater)
	})
	s.Replaced = found
	if found {
		all[i] = *s
	} else {
		all = slices.Insert(all, i, *s)
	}
	return writeJSON(r, scoresFile, stored{Version: 1, Raters: all})
}

// patience is how long an import waits for another one, which takes milliseconds.
const patience = 5 * time.Second

// lockScores keeps other imports out until unlock. It is a lock of its own, since people score runs that still go on.
func lockScores(r *rundir.Run) (unlock func() error, err error) {
	path := filepath.Join(r.Dir(), "."+scoresFile+".lock")
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			return func() error { return errors.Join(file.Close(), os.Remove(path)) }, nil
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission) { // Windows: it is just being removed
			return nil, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("another import holds %s; if none is at work, one was killed: remove that file: %w", path, err)
		}
	}
}
