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
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Append masks the result of a unit, writes it to results.jsonl and returns when the line is durable. It returns an
// error if the unit already has a line or is not in the run. After an error of the file system every Append returns
// that error.
func (r *Run) Append(u result.Unit) error {
	r.mustBeLocked("Append")
	if err := appendRecord(r.results, r.mask, u.ID, unitLine{u, r.ID()}, r.checkUnit()); err != nil {
		return fmt.Errorf("write the result of unit %s to %s: %w", u.ID, filepath.Join(r.dir, ResultsFile), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[u.Outcome]++
	return nil
}

// AppendJob writes the result of a job outside the matrix to jobs.jsonl, as [Run.Append] does.
func (r *Run) AppendJob(j result.Job) error {
	r.mustBeLocked("AppendJob")
	if err := appendRecord(r.jobs, r.mask, j.ID, jobLine{j, r.ID()}, r.checkJob); err != nil {
		return fmt.Errorf("write the result of job %s to %s: %w", j.ID, filepath.Join(r.dir, jobsFile), err)
	}
	return nil
}

// Units returns the units that have ended, in the order of the manifest. It drops a torn last line, see [Run.Notes].
// Any other invalid line is a [*LineError].
func (r *Run) Units() ([]result.Unit, error) {
	lines, err := readRecords(r, ResultsFile, r.Manifest().Units, r.checkUnit(),
		func(l unitLine) string { return l.ID })
	units := make([]result.Unit, len(lines))
	references := r.Manifest().references()
	for i, l := range lines {
		units[i] = l.Unit
		units[i].Reference = references[l.Variant]
	}
	return units, err
}

// Jobs returns the jobs outside the matrix that have ended, as [Run.Units] does.
func (r *Run) Jobs() ([]result.Job, error) {
	lines, err := readRecords(r, jobsFile, r.Manifest().Jobs, r.checkJob, func(l jobLine) string { return l.ID })
	jobs := make([]result.Job, len(lines))
	for i, l := range lines {
		jobs[i] = l.Job
	}
	return jobs, err
}

// unitLine is a line of results.jsonl. It names its run, so that a line of another run is not taken for one of this.
type unitLine struct {
	result.Unit
	RunID string `json:"run_id"`
}

// jobLine is a line of jobs.jsonl.
type jobLine struct {
	result.Job
	RunID string `json:"run_id"`
}

// checkUnit returns a function that checks a unit: it must be of this run, its fields must match its id, its outcome
// must follow from its verdicts, and the evaluators of its case must have judged it.
func (r *Run) checkUnit() func(unitLine) error {
	judges := r.Manifest().Judges
	return func(l unitLine) error {
		u := l.Unit
		c, v, trial := splitUnit(u.ID)
		if c != u.Case || v != u.Variant || trial != u.Trial {
			return fmt.Errorf("unit %q has case %q, variant %q, trial %d", u.ID, u.Case, u.Variant, u.Trial)
		}
		return cmp.Or(r.checkRun(l.RunID), checkOutcome(u.Outcome), checkTime(u.Duration), u.Check(),
			u.CheckJudges(judges[c]))
	}
}

func (r *Run) checkJob(l jobLine) error {
	j := l.Job
	return cmp.Or(r.checkRun(l.RunID), checkOutcome(j.Outcome), checkTime(j.Duration), j.Check())
}

// checkRun returns an error unless the line of a result names this run.
func (r *Run) checkRun(id string) error {
	if id != r.ID() {
		return fmt.Errorf("the result is one of the run %q", id)
	}
	return nil
}

func checkTime(took result.Duration) error {
	if took < 0 {
		return fmt.Errorf("it took %s", took)
	}
	return nil
}

func checkOutcome(o result.Outcome) error {
	switch o {
	case result.Pass, result.Fail, result.Error, result.Skip, result.Completed:
		return nil
	}
	return fmt.Errorf("unknown outcome %q", o)
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
		// Masking may have changed more than texts: a line that cannot be read again is worse than no line.
		var again T
		if err := jsonvalue.DecodeStrict(masked, &again, jsonvalue.AllKeys); err != nil {
			return fmt.Errorf("with its secrets masked: %w", err)
		}
		if err := check(again); err != nil {
			return fmt.Errorf("with its secrets masked: %w", err)
		}
	}
	if masked = append(masked, '\n'); len(masked) > maxLine {
		return fmt.Errorf("its line: %w", &disk.SizeError{Size: int64(len(masked)), Limit: maxLine})
	}
	return j.append(id, masked)
}

// readRecords reads a file of lines and returns its records in the order of ids. Other ids are an error.
func readRecords[T any](r *Run, name string, ids []string, check func(T) error, id func(T) string) ([]T, error) {
	path := filepath.Join(r.dir, name)
	file, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	records, torn, err := decodeRecords(file, ids, check, id)
	if bad, ok := errors.AsType[*LineError](err); ok {
		if bad.File, bad.RunID = path, r.ID(); string(r.tree) != r.dir {
			bad.Root = string(r.tree)
		}
		return nil, bad
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if torn > 0 {
		r.note(fmt.Sprintf("%s:%d: the last line is incomplete and was dropped: "+
			"its writer was stopped, or is still writing", name, torn))
	}
	return records, nil
}

func decodeRecords[T any](in io.Reader, ids []string, check func(T) error, id func(T) string) ([]T, int, error) {
	index := make(map[string]int, len(ids))
	for i, id := range ids {
		index[id] = i
	}
	lines := make([]int, len(ids)) // the line of each, or 0
	found := make([]T, len(ids))
	_, torn, err := readLines(in, func(number int, line []byte) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return errors.New("empty line: remove it")
		}
		var v T
		if err := jsonvalue.DecodeStrict(bytes.TrimSuffix(line, []byte("\n")), &v, jsonvalue.AllKeys); err != nil {
			return err
		}
		i, ok := index[id(v)]
		if !ok {
			return fmt.Errorf("%q is not in the run", id(v))
		}
		if lines[i] > 0 {
			return fmt.Errorf("duplicate result of %q, first on line %d", id(v), lines[i])
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

// journal is a file to which lines are appended durably. It is safe for concurrent use: lines that are appended while
// others are being synced share the next sync.
type journal struct {
	file *os.File

	mu   sync.Mutex
	done map[string]bool // all ids that may have a line; true for those that have one
	next *batch          // the lines for the next commit
	err  error           // the error of the first commit that failed; the file's content is uncertain then

	commits sync.Mutex // held during a commit
}

// batch has the lines that are written and synced together.
type batch struct {
	lines []byte
	once  sync.Once
	err   error
}

// openJournal opens the journal for the ids, and cuts off a torn last line.
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
	size, torn, err := readLines(file, nil)
	if err != nil || torn == 0 {
		return err
	}
	return errors.Join(file.Truncate(size), file.Sync())
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
		return errors.New("it is not in the run")
	}
	j.done[id] = true
	b := j.next
	b.lines = append(b.lines, line...)
	j.mu.Unlock()
	// The first caller commits the batch, and the others wait in Do.
	b.once.Do(func() { b.err = j.commit(b) })
	return b.err
}

// commit writes and syncs a batch. While it waits for the previous commit, lines are added to the batch.
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

// close waits for a commit that is under way. A nil journal need not be closed.
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

// maxLine is the largest size of a line, in bytes.
const maxLine = 64 << 20

// LineError is the error for one line of a run's results.
type LineError struct {
	Root, RunID string // the project's root, empty if the run was opened by its directory, and the run
	File        string // empty if the reader does not know it
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

// readLines calls each, unless it is nil, with the complete lines and their numbers; a line is valid until the next
// call. It returns the size of these lines, and the number of a torn last line, without a newline, or 0 if there is
// none. The writer of a torn line was killed, or is still writing it.
func readLines(r io.Reader, each func(number int, line []byte) error) (size int64, torn int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for number := 1; ; {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			err := fmt.Errorf("the line exceeds the limit of %d bytes", maxLine)
			return size, 0, &LineError{Line: number, Err: err}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0:
			return size, 0, nil
		case errors.Is(err, io.EOF):
			return size, number, nil
		case err != nil:
			return size, 0, err
		}
		if each != nil {
			if err := each(number, line); err != nil {
				return size, 0, &LineError{Line: number, Err: err}
			}
		}
		size += int64(len(line))
		line = line[:0]
		number++
	}
}

// Judge returns the verdict on a run with these units and jobs, by the rules of package result, for everything that the
// manifest lists.
func (m Manifest) Judge(units []result.Unit, jobs []result.Job) result.Run {
	judged := result.JudgeRun(m.cells(units), m.listedJobs(jobs), m.State == StateFinished, m.Problems)
	bad := func(j result.Job) bool { return j.Outcome.Bad() }
	if m.Empty() && m.State == StateFinished && len(m.Problems) == 0 && !slices.ContainsFunc(judged.Jobs, bad) {
		judged.Outcome, judged.Problems = result.Completed, nil // the others judge
	}
	return judged
}

// cells judges each case under each variant, in the order of their first units.
func (m Manifest) cells(units []result.Unit) []result.Trials {
	ended := make(map[string]result.Unit, len(units))
	for _, u := range units {
		ended[u.ID] = u
	}
	index := make(map[[2]string]int)
	var trials [][]result.Unit
	references := m.references()
	for _, id := range m.Units {
		u, ok := ended[id]
		if !ok {
			u = result.Unit{ID: id, Outcome: result.NotRun, Reason: m.Stopped}
			u.Case, u.Variant, u.Trial = splitUnit(id)
			u.Reference = references[u.Variant]
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
		cells[i] = result.JudgeTrials(t, result.Rule{Need: m.Need, Score: m.NeedScore})
	}
	return cells
}

// references has the variants that are there to be compared with.
func (m Manifest) references() map[string]bool {
	references := make(map[string]bool)
	for _, v := range m.Variants {
		if v.Reference {
			references[v.ID] = true
		}
	}
	return references
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
