package rundir

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Append writes how a unit ended to results.jsonl, masked, and returns when the line is durable. A unit that has a line
// already, or that is not one of the run, is refused. After an error of the file system every Append returns it.
func (r *Run) Append(u result.Unit) error {
	r.mustHold("Append")
	if err := appendRecord(r.results, r.mask, u.ID, u, r.checkUnit()); err != nil {
		return fmt.Errorf("write the result of unit %s to %s: %w", u.ID, filepath.Join(r.dir, resultsFile), err)
	}
	return nil
}

// AppendJob writes how a job outside the matrix ended to jobs.jsonl, as [Run.Append] does.
func (r *Run) AppendJob(j result.Job) error {
	r.mustHold("AppendJob")
	if err := appendRecord(r.jobs, r.mask, j.ID, j, checkJob); err != nil {
		return fmt.Errorf("write the result of job %s to %s: %w", j.ID, filepath.Join(r.dir, jobsFile), err)
	}
	return nil
}

// Units returns the units that ended, in the order of the manifest. A torn last line is dropped, see [Run.Notes]; any
// other line that is not as it was written is an error with file and line.
func (r *Run) Units() ([]result.Unit, error) {
	return readRecords(r, resultsFile, r.Manifest().Units, r.checkUnit(), unitID)
}

// Jobs returns the jobs outside the matrix that ended, as [Run.Units] does.
func (r *Run) Jobs() ([]result.Job, error) {
	return readRecords(r, jobsFile, r.Manifest().Jobs, checkJob, jobID)
}

func unitID(u result.Unit) string { return u.ID }
func jobID(j result.Job) string   { return j.ID }

// checkUnit returns what returns an error unless the unit is what its id says and has ended as those do that were judged by
// all that judges its case.
func (r *Run) checkUnit() func(result.Unit) error {
	judges := r.Manifest().Judges
	return func(u result.Unit) error {
		c, v, trial, _ := splitUnit(u.ID)
		if c != u.Case || v != u.Variant || trial != u.Trial {
			return fmt.Errorf("unit %q is said to be of case %q, variant %q, trial %d", u.ID, u.Case, u.Variant, u.Trial)
		}
		if err := checkOutcome(u.Outcome); err != nil {
			return err
		}
		if err := u.Check(); err != nil {
			return err
		}
		if names, known := judges[c]; known {
			return u.CheckJudges(names)
		}
		return nil
	}
}

func checkJob(j result.Job) error { return cmp.Or(checkOutcome(j.Outcome), j.Check()) }

func checkOutcome(o result.Outcome) error {
	switch o {
	case result.Pass, result.Fail, result.Error, result.Skip, result.Completed:
		return nil
	}
	return fmt.Errorf("%q is not an outcome", o)
}

// appendRecord writes a unit or a job as a line of its journal.
func appendRecord[T any](j *journal, mask *secret.Set, id string, v T, check func(T) error) error {
	if err := check(v); err != nil {
		return err
	}
	line, err := jsonvalue.Marshal(v)
	if err != nil {
		return err
	}
	masked := bytes.TrimSpace(mask.JSON(line))
	if !bytes.Equal(masked, line) {
		// What is masked may be more than text: a line that could not be read again is worse than no line.
		var again T
		if err := jsonvalue.DecodeStrict(masked, &again, 0); err != nil {
			return fmt.Errorf("with its secrets masked: %w", err)
		}
		if err := check(again); err != nil {
			return fmt.Errorf("with its secrets masked: %w", err)
		}
	}
	if masked = append(masked, '\n'); len(masked) > maxLine {
		return fmt.Errorf("its line has %d bytes, more than the %d that one may have", len(masked), maxLine)
	}
	return j.append(id, masked)
}

// readRecords reads a file of lines and returns them in the order of ids, which are all that there may be.
func readRecords[T any](r *Run, name string, ids []string, check func(T) error, id func(T) string) ([]T, error) {
	path := filepath.Join(r.dir, name)
	file, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	records, torn, err := decodeRecords(file, ids, check, id)
	if bad, ok := errors.AsType[*LineError](err); ok {
		bad.File, bad.RunID, bad.Root = path, r.ID(), r.root()
		return nil, bad
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if torn > 0 {
		r.note(fmt.Sprintf("%s:%d: the last line is incomplete and was dropped: its writer was stopped, or is still writing", name, torn))
	}
	return records, nil
}

func decodeRecords[T any](in io.Reader, ids []string, check func(T) error, id func(T) string) ([]T, int, error) {
	index := make(map[string]int, len(ids))
	for i, id := range ids {
		index[id] = i
	}
	lines := make([]int, len(ids)) // where each was read, 0: not yet
	found := make([]T, len(ids))
	_, torn, err := readLines(in, func(number int, line []byte) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return errors.New("the line is empty: remove it")
		}
		var v T
		if err := jsonvalue.DecodeStrict(bytes.TrimSuffix(line, []byte("\n")), &v, 0); err != nil {
			return err
		}
		i, ok := index[id(v)]
		if !ok {
			return fmt.Errorf("%q is not a unit of the run", id(v))
		}
		if lines[i] > 0 {
			return fmt.Errorf("%q has a result already, in line %d", id(v), lines[i])
		}
		lines[i], found[i] = number, v
		return check(v)
	})
	if err != nil {
		return nil, 0, err
	}
	records := found[:0]
	for i, v := range found {
		if lines[i] > 0 {
			records = append(records, v)
		}
	}
	return records, torn, nil
}
