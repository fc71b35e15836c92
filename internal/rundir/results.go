package rundir

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

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

// journal is a file of lines that are durable when append returns. It is safe for concurrent use: lines that come while
// others are being synced share the next sync.
type journal struct {
	file *os.File

	mu   sync.Mutex
	done map[string]bool // all ids that may have a line, true for those that have one
	next *batch          // the lines that wait for the next commit
	err  error           // of the first commit that failed; after it nothing is certain about the file

	commits sync.Mutex // held by the one commit that is under way
}

// batch is lines that are written and synced together.
type batch struct {
	lines []byte
	once  sync.Once
	err   error
}

// openJournal opens the journal of these ids without its torn last line, if it has one.
func openJournal(path string, ids []string) (*journal, error) {
	file, err := openRegular(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if err := cutTorn(file); err != nil {
		return nil, errors.Join(fmt.Errorf("cut the torn last line: %w", err), file.Close())
	}
	j := &journal{file: file, done: make(map[string]bool, len(ids)), next: new(batch)}
	for _, id := range ids {
		j.done[id] = false
	}
	return j, nil
}

func cutTorn(file *os.File) error {
	whole, torn, err := readLines(file, nil)
	if err != nil || torn == 0 {
		return err
	}
	return errors.Join(file.Truncate(whole), file.Sync())
}

// append writes the line of the id, which ends in a newline, and returns when it is durable.
func (j *journal) append(id string, line []byte) error {
	j.mu.Lock()
	done, known := j.done[id]
	if !known || done {
		j.mu.Unlock()
		if done {
			return errors.New("it already has a result")
		}
		return errors.New("it is not a unit of the run")
	}
	j.done[id] = true
	b := j.next
	b.lines = append(b.lines, line...)
	j.mu.Unlock()
	// The first to come commits for all, while the others wait in Do.
	b.once.Do(func() { b.err = j.commit(b) })
	return b.err
}

// commit writes and syncs a batch. Until the commit before it is done, more lines join the batch.
func (j *journal) commit(b *batch) error {
	j.commits.Lock()
	defer j.commits.Unlock()
	j.mu.Lock()
	j.next = new(batch)
	err := j.err
	j.mu.Unlock()
	if err != nil {
		return err
	}
	if _, err = j.file.Write(b.lines); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.err = err
	}
	return err
}

// close waits for the commit that is under way. A nil journal needs none.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	j.commits.Lock()
	defer j.commits.Unlock()
	if err := j.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// maxLine is the longest line that is written or read, in bytes.
const maxLine = 64 << 20

// LineError is what is wrong with one line of the results of a run.
type LineError struct {
	// Root is the project's root and RunID the run.
	Root, RunID string
	File        string // empty: not known to who read it
	Line        int    // from 1
	Err         error
}

func (e *LineError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// readLines calls each, unless it is nil, with the whole lines and their numbers; a line is valid until the next. It
// returns how many bytes they have, and the number of a last line without a newline, 0 if there is none: its writer was
// killed, or is at it still.
func readLines(r io.Reader, each func(number int, line []byte) error) (whole int64, torn int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for number := 1; ; {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return whole, 0, &LineError{Line: number, Err: fmt.Errorf("it has more than the %d bytes that a line may have", maxLine)}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0:
			return whole, 0, nil
		case errors.Is(err, io.EOF):
			return whole, number, nil
		case err != nil:
			return whole, 0, err
		}
		if each != nil {
			if err := each(number, line); err != nil {
				return whole, 0, &LineError{Line: number, Err: err}
			}
		}
		whole += int64(len(line))
		line = line[:0]
		number++
	}
}

// Judge returns the verdict on a run whose units and jobs ended like this: by the rules of package result, for all that
// the manifest lists.
func (m Manifest) Judge(units []result.Unit, jobs []result.Job) result.Run {
	return result.JudgeRun(m.cells(units), m.listedJobs(jobs), m.State == StateFinished, m.Problems)
}

// cells judges the cases under their variants, in the order of each one's first unit.
func (m Manifest) cells(units []result.Unit) []result.Trials {
	ended := make(map[string]result.Unit, len(units))
	for _, u := range units {
		ended[u.ID] = u
	}
	index := make(map[[2]string]int)
	var trials [][]result.Unit
	for _, id := range m.Units {
		u, ok := ended[id]
		if !ok {
			u = result.Unit{ID: id, Outcome: result.NotRun}
			u.Case, u.Variant, u.Trial, _ = splitUnit(id)
		}
		cell := [2]string{u.Case, u.Variant}
		i, ok := index[cell]
		if !ok {
			i = len(trials)
			index[cell] = i
			trials = append(trials, nil)
		}
		trials[i] = append(trials[i], u)
	}
	cells := make([]result.Trials, len(trials))
	for i, t := range trials {
		cells[i] = result.JudgeTrials(t, m.Need)
	}
	return cells
}

func (m Manifest) listedJobs(jobs []result.Job) []result.Job {
	ended := make(map[string]result.Job, len(jobs))
	for _, j := range jobs {
		ended[j.ID] = j
	}
	listed := make([]result.Job, len(m.Jobs))
	for i, id := range m.Jobs {
		j, ok := ended[id]
		if !ok {
			j = result.Job{ID: id, Outcome: result.NotRun}
		}
		listed[i] = j
	}
	return listed
}
