package rundir

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// TestMain makes this binary the processes of the tests: its first argument says what it does, with the others.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if do := processes[os.Args[1]]; do != nil {
			if err := do(os.Args[2:]...); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

var processes = map[string]func(args ...string) error{
	"be-create": beCreate, "be-append": beAppend, "be-hold": beHold,
}

// beCreate makes runs when its stdin ends, and prints their ids.
func beCreate(args ...string) error {
	root, count, seed := args[0], args[1], args[2]
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for range n {
		m := demo(1)
		m.RunID = NewID(m.CreatedAt, m.Name, seed)
		run, err := Create(root, m, []byte(playbookText), nil)
		if err != nil {
			return err
		}
		fmt.Println(run.ID())
		if err := run.Close(); err != nil {
			return err
		}
	}
	return nil
}

// beAppend resumes a run and appends all units that have no result from several goroutines. It prints the id of each
// when its line is durable.
func beAppend(args ...string) error {
	root, id := args[0], args[1]
	run, err := Resume(root, id, nil)
	if err != nil {
		return err
	}
	done, err := run.Units()
	if err != nil {
		return err
	}
	fmt.Println("resumed")
	left := make(chan string)
	errs := make(chan error)
	for range 4 {
		go func() {
			for id := range left {
				u := unit(id)
				u.Reason = strings.Repeat("x", 20<<10) // so that lines are written in parts now and then
				if err := run.Append(u); err != nil {
					errs <- err
					return
				}
				fmt.Println(id)
			}
			errs <- nil
		}()
	}
	for _, id := range run.Manifest().Units {
		if !slices.Contains(ids(done), id) {
			left <- id
		}
	}
	close(left)
	for range 4 {
		if err := <-errs; err != nil {
			return err
		}
	}
	return run.Finish(StateFinished)
}

// beHold makes a run, prints its id and keeps it locked until its stdin ends.
func beHold(args ...string) error {
	run, err := Create(args[0], demo(1), []byte(playbookText), nil)
	if err != nil {
		return err
	}
	fmt.Println(run.ID())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// process is this binary as one of the processes above.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, args ...string) process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := process{Cmd: exec.Command(self, args...)}
	p.Stderr = t.Output()
	p.in, err = p.StdinPipe()
	require.NoError(t, err)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewScanner(out)
	require.NoError(t, p.Start())
	return p
}

// line returns the next line that the process prints.
func (p process) line(t *testing.T) string {
	t.Helper()
	require.True(t, p.out.Scan(), "the process printed no more (%v)", p.out.Err())
	return p.out.Text()
}

// kill kills the process and returns what it has printed.
func (p process) kill(t *testing.T) []string {
	t.Helper()
	require.NoError(t, p.Process.Kill())
	var lines []string
	for p.out.Scan() {
		lines = append(lines, p.out.Text())
	}
	_ = p.Wait() // it may have been faster
	return lines
}

func TestSoakConcurrentCreate(t *testing.T) {
	tests := []struct {
		name, seed string
		each       int // for each of 8 processes
	}{{"random", "", soak.Size(5, 100)}, {"same seed", "ci", soak.Size(4, 32)}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const count = 8
			root := t.TempDir()
			var all []process
			for range count {
				all = append(all, start(t, "be-create", root, strconv.Itoa(tt.each), tt.seed))
			}
			for _, p := range all {
				require.NoError(t, p.in.Close())
			}
			seen := make(map[string]bool)
			for _, p := range all {
				for range tt.each {
					id := p.line(t)
					require.False(t, seen[id], "two runs share %s", id)
					seen[id] = true
				}
				require.NoError(t, p.Wait())
			}
			list, err := List(root)
			require.NoError(t, err)
			require.Len(t, list, count*tt.each)
			for _, s := range list {
				require.NoError(t, s.Err)
				require.True(t, seen[s.ID])
			}
			left, err := os.ReadDir(filepath.Join(root, runsDir))
			require.NoError(t, err)
			require.Len(t, left, count*tt.each+2, "nothing but the runs, the locks' directory and .gitignore")
		})
	}
}

// TestKilled kills a process that appends, again and again, until all units have a result.
func TestKilled(t *testing.T) {
	root := t.TempDir()
	m := demo(12)
	run, err := Create(root, m, []byte(playbookText), nil)
	require.NoError(t, err)
	require.NoError(t, run.Close())
	durable := make(map[string]bool)
	rng := rand.New(rand.NewPCG(1, 2))
	torn := 0
	for kills := 0; len(durable) < len(m.Units); kills++ {
		require.Less(t, kills, 100, "it gets nowhere")
		p := start(t, "be-append", root, run.ID())
		require.Equal(t, "resumed", p.line(t))
		for range min(rng.IntN(8)+1, len(m.Units)-len(durable)) {
			durable[p.line(t)] = true
		}
		for _, id := range p.kill(t) {
			durable[id] = true
		}
		opened, err := Open(root, run.ID(), nil)
		require.NoError(t, err, "the directory is readable whenever its process is killed")
		units, err := opened.Units()
		require.NoError(t, err)
		torn += len(opened.Notes())
		found := make(map[string]bool)
		for _, u := range units {
			found[u.ID] = true
		}
		for id := range durable {
			require.True(t, found[id], "Append of %s had returned", id)
		}
		durable = found
	}
	t.Logf("%d torn lines", torn)

	run, err = Resume(root, run.ID(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, run.Close()) }()
	units, err := run.Units()
	require.NoError(t, err)
	require.Equal(t, m.Units, ids(units), "each exactly once")
}

func TestLockIsOfTheProcess(t *testing.T) {
	root := t.TempDir()
	p := start(t, "be-hold", root)
	id := p.line(t)
	state := func() State {
		list, err := List(root)
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.NoError(t, list[0].Err)
		opened, err := Open(root, id, nil)
		require.NoError(t, err)
		require.Equal(t, list[0].State, opened.Manifest().State)
		return list[0].State
	}
	require.Equal(t, StateRunning, state())
	_, err := Resume(root, id, nil)
	require.ErrorIs(t, err, disk.ErrLocked)
	removed, err := Clean(root, 0)
	require.NoError(t, err)
	require.Empty(t, removed, "a locked run stays")

	p.kill(t)
	require.Equal(t, StateInterrupted, state(), "the manifest says running, but no process is")
	run, err := Resume(root, id, nil)
	require.NoError(t, err)
	require.Equal(t, StateRunning, state())
	require.NoError(t, run.Append(result.Unit{
		ID: "evals/demo/one/b/1", Case: "one", Variant: "b", Trial: 1, Outcome: result.Fail,
		Reason:      "the agent stopped early: refusal",
		Evaluations: []result.Evaluation{{Name: "tests-pass", Outcome: result.Pass, Score: new(1.0)}},
	}))
	require.NoError(t, run.Close())
	removed, err = Clean(root, 0)
	require.NoError(t, err)
	require.Equal(t, []string{id}, removed)
}

// TestLockThatWasRemoved: a process that waits for a lock may lock a file that was removed, which is no lock.
func TestLockThatWasRemoved(t *testing.T) {
	const id = "20260302-101500-demo-x"
	if runtime.GOOS == "windows" {
		t.Skip("locks are not removed there")
	}
	runs := t.TempDir()
	first, err := tryLock(disk.Tree(runs), runs, id)
	require.NoError(t, err)
	path := first.file.Name()
	require.True(t, isAt(first.file, path))
	waiting, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, waiting.Close()) }()
	require.NoError(t, first.release())
	require.False(t, isAt(waiting, path))
	second, err := tryLock(disk.Tree(runs), runs, id)
	require.NoError(t, err)
	require.NoError(t, disk.Lock(waiting))
	require.False(t, isAt(waiting, path), "path is another file")
	require.NoError(t, second.release())

	closed, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	require.False(t, isAt(closed, path), "it is not known what it was")
	removed, err := removeRun(disk.Tree(runs), runs, id)
	require.NoError(t, err)
	require.False(t, removed, "another process was faster")
}
