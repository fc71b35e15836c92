package rundir

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// TestCommitFails: after a commit that failed, the file's content is uncertain, so nothing more is written.
func TestCommitFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	names := []string{"a", "b", "c", "d"}
	j, err := openJournal(path, names)
	require.NoError(t, err)
	require.NoError(t, j.append("a", []byte("a\n")))
	working := j.file
	j.file, err = os.Open(path) // which cannot be written
	require.NoError(t, err)
	var group sync.WaitGroup
	for _, id := range names[1:3] {
		group.Go(func() {
			if err := j.append(id, []byte(id+"\n")); err == nil {
				t.Errorf("%s is not in the file, and append says nothing", id)
			}
		})
	}
	group.Wait()
	require.NoError(t, j.file.Close())
	j.file = working
	require.Error(t, j.append("d", []byte("d\n")), "the error stays")
	require.NoError(t, j.close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a\n", string(data))
}

// TestDiskFails appends to a device that is always full, and to one that cannot be synced.
func TestDiskFails(t *testing.T) {
	for device, want := range map[string]string{
		"/dev/full": "no space left on device", "/dev/null": "sync /dev/null: ",
	} {
		file, err := os.OpenFile(device, os.O_WRONLY, 0)
		if err != nil {
			t.Skip("there is no such device here:", err)
		}
		run := newRun(t, t.TempDir(), demo(1))
		require.NoError(t, run.results.close())
		run.results.file = file
		err = run.Append(unit("evals/demo/one/b/1"))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "results.jsonl")
		require.ErrorContains(t, run.Append(unit("evals/demo/one/a/1")), want)
	}
}

// TestOpenJournalFails: a journal that cannot be read to its end is not appended to.
func TestOpenJournalFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	require.NoError(t, os.Truncate(path, maxLine+1))
	_, err := openJournal(path, nil)
	require.ErrorContains(t, err, "cut the torn last line: line 1: the line exceeds the limit")
}

// TestCommitsAreShared delays a commit until more lines wait, which must become one batch.
func TestCommitsAreShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprint(i))
	}
	j, err := openJournal(path, names)
	require.NoError(t, err)
	defer func() { require.NoError(t, j.close()) }()
	waiting := j.next
	j.commits.Lock()
	unlock := sync.OnceFunc(j.commits.Unlock)
	defer unlock()
	var group sync.WaitGroup
	for _, id := range names {
		group.Go(func() {
			if err := j.append(id, []byte(id+"\n")); err != nil {
				t.Error(err)
			}
		})
	}
	for lines := 0; lines < len(names); runtime.Gosched() {
		j.mu.Lock()
		lines = bytes.Count(waiting.lines, []byte("\n"))
		open := j.next == waiting
		j.mu.Unlock()
		require.True(t, open, "the batch was closed before its commit began")
	}
	unlock()
	group.Wait()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(waiting.lines), string(data), "one write for all")
}

func TestReadLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	var lines []string
	collect := func(number int, line []byte) error {
		lines = append(lines, fmt.Sprint(number, len(line)))
		return nil
	}
	size, torn, err := readLines(strings.NewReader("a\n\n"+long+"\nrest"), collect)
	require.NoError(t, err)
	require.Equal(t, []string{"1 2", "2 1", fmt.Sprint("3 ", len(long)+1)}, lines)
	require.EqualValues(t, len(long)+4, size)
	require.Equal(t, 4, torn)

	_, _, err = readLines(iotest.TimeoutReader(strings.NewReader(long)), nil)
	require.ErrorIs(t, err, iotest.ErrTimeout, "an error of the file is not its end")

	size, torn, err = readLines(strings.NewReader("a\n"), nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, size)
	require.Zero(t, torn)

	size, _, err = readLines(io.MultiReader(strings.NewReader("a\n"), endless{}), nil)
	require.EqualError(t, err, "line 2: the line exceeds the limit of 67108864 bytes")
	require.EqualValues(t, 2, size)
}

// endless is a line that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// BenchmarkAppend shows what sharing a sync is worth: compare with -cpu 1,16.
func BenchmarkAppend(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.jsonl")
	require.NoError(b, os.WriteFile(path, nil, 0o644))
	names := make(chan string, b.N)
	for i := range b.N {
		names <- fmt.Sprint(i)
	}
	j, err := openJournal(path, nil)
	require.NoError(b, err)
	for i := range b.N {
		j.done[fmt.Sprint(i)] = false
	}
	line := append(bytes.Repeat([]byte("x"), 2<<10), '\n')
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := j.append(<-names, line); err != nil {
				b.Error(err)
			}
		}
	})
	require.NoError(b, j.close())
}
