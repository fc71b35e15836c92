package rundir

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

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
