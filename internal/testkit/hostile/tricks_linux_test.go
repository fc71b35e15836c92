package hostile_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// TestParents: the parent process cannot be stopped or killed from inside, and the run ends as it would have otherwise.
func TestParents(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, sb *confine.Sandbox, properties confine.Properties) {
		for _, e := range hostile.Escapes() {
			if !e.Alone {
				continue
			}
			t.Run(e.Name, func(t *testing.T) {
				s := newScene(t)
				c := s.command(hostile.Args(s.target, e))
				var out bytes.Buffer
				c.Stdout = &out
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				p, err := sb.Start(ctx, c, s.policy())
				held := slices.Contains(properties.Holds, e.Property)
				if err != nil && !held { // it killed or stopped its parent before that could tell that it had started
					require.Regexp(t, `ended before it started a child: (signal: killed|it did not answer in \w+)$`,
						err.Error())
					return
				}
				require.NoError(t, err)
				t.Cleanup(func() { _, _ = p.Kill() })
				if !held {
					ended := within(p, 500*time.Millisecond)
					_, err := p.Kill()
					assert.True(t, err != nil || !ended, "nothing confines it and it did not work")
					return
				}
				require.True(t, within(p, deadline), "the supervisor is stopped")
				exit, err := p.Wait()
				require.NoError(t, err)
				assert.Equal(t, supervise.Exit{}, exit)
				assert.Contains(t, out.String(), e.Name, "the report")
			})
		}
	})
}

// within reports whether a process ends by itself in time.
func within(p *supervise.Process, d time.Duration) bool {
	select {
	case <-p.Done():
		return true
	case <-time.After(d):
		return false
	}
}

// TestNothingSurvives: no process of the hostile process survives, whether it ends or is stopped.
func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, sb *confine.Sandbox, _ confine.Properties) {
		t.Run("outlive", func(t *testing.T) {
			s := newScene(t)
			c := s.command(hostile.Trick("outlive", s.target.Workspace))
			c.PipeStdout = true
			p := start(t, sb, c, s.policy())
			require.True(t, within(p, deadline), "a grandchild holds the output")
			exit, err := p.Wait()
			require.NoError(t, err)
			assert.Equal(t, supervise.Exit{}, exit)
			_, err = io.ReadAll(p.Stdout)
			require.NoError(t, err)
			assert.False(t, s.beats(t), "what it left behind lives")
		})
		t.Run("stay", func(t *testing.T) {
			s := newScene(t)
			c := s.command(hostile.Trick("stay", s.target.Workspace))
			c.PipeStdout = true
			p := start(t, sb, c, s.policy())
			_, err := io.ReadFull(p.Stdout, make([]byte, len("ready\n")))
			require.NoError(t, err)
			assert.True(t, s.beats(t), "it is not there yet")
			exit, err := p.Stop(t.Context())
			require.NoError(t, err)
			assert.Equal(t, supervise.Exit{Code: -1, Signal: "SIGKILL"}, exit)
			assert.False(t, s.beats(t), "what it left behind lives")
		})
	})
	t.Run("without a supervisor", func(t *testing.T) {
		s := newScene(t)
		cmd := exec.Command(s.exe)
		cmd.Args, cmd.Env = hostile.Trick("outlive", s.target.Workspace), s.env()
		require.NoError(t, cmd.Run())
		assert.True(t, s.beats(t), "the test cannot fail")
		data, err := os.ReadFile(hostile.Heartbeat(s.target.Workspace))
		require.NoError(t, err)
		first, _, _ := strings.Cut(string(data), "\n")
		pid, err := strconv.Atoi(first)
		require.NoError(t, err)
		require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	})
}

// beats reports whether the process that holds the heartbeat is alive.
func (s *scene) beats(t *testing.T) bool {
	t.Helper()
	f, err := os.Open(hostile.Heartbeat(s.target.Workspace))
	require.NoError(t, err)
	defer f.Close()
	return isLocked(t, f)
}

// isLocked reports whether another process that is alive holds a file locked.
func isLocked(t *testing.T, f *os.File) bool {
	t.Helper()
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_UN)) // it may be about to lock it
		return false
	}
	require.ErrorIs(t, err, unix.EWOULDBLOCK)
	return true
}

// TestSoakFlood: output of any size takes little of our memory.
func TestSoakFlood(t *testing.T) {
	t.Parallel()
	const most = 64 << 20
	size := soak.Size(256<<20, 8<<30)
	sb, err := confine.New(confine.Auto, nil)
	require.NoError(t, err)
	s := newScene(t)
	c := s.command(hostile.Trick("flood", strconv.Itoa(size)))
	tail := &excerpt.Tail{Limit: 1 << 20}
	counted := &counter{w: tail}
	c.Stdout = counted
	runtime.GC()
	before := heap()
	exit, err := start(t, sb, c, s.policy()).Wait()
	require.NoError(t, err)
	assert.Equal(t, supervise.Exit{}, exit)
	assert.EqualValues(t, size, counted.n)
	assert.Less(t, counted.peak, before+most, "bytes on the heap")
}

// counter counts the bytes written to it, and measures the heap from time to time.
type counter struct {
	w       io.Writer
	n, next int64
	peak    uint64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	if c.n > c.next {
		c.next, c.peak = c.n+16<<20, max(c.peak, heap())
	}
	return c.w.Write(p)
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestSoakForks: a fork bomb stays within its limit, and all its processes end with it.
func TestSoakForks(t *testing.T) {
	t.Parallel()
	const limit = 64
	forEachKind(t, func(t *testing.T, sb *confine.Sandbox, properties confine.Properties) {
		holds := slices.Contains(properties.Holds, confine.Forks)
		t.Run("bomb", func(t *testing.T) {
			s := newScene(t)
			c := s.command(hostile.Trick("bomb", strconv.Itoa(limit+100)))
			var out bytes.Buffer
			c.Stdout = &out
			if holds {
				c.Limits.Threads = limit
			}
			p := start(t, sb, c, s.policy())
			require.True(t, within(p, deadline))
			_, err := p.Wait() // an error if it was killed; else it could not start more
			if holds {
				assert.NotContains(t, out.String(), "all", "%v", err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "all\n", out.String(), "nothing bounds it and it did not work")
		})
		if !holds {
			return
		}
		t.Run("storm", func(t *testing.T) {
			s := newScene(t)
			word := rand.Text()
			c := s.command(hostile.Trick("storm", word))
			c.Limits.Threads = limit
			bound := 2 * limit
			// Without a control group the kernel limits all processes of the user, and who counts them must be
			// scheduled.
			if os.Getuid() != 0 {
				bound += threads(t)
			}
			p := start(t, sb, c, s.policy())
			most := 0
			for range soak.Size(10, 1000) {
				if within(p, 20*time.Millisecond) {
					break
				}
				most = max(most, named(t, word))
			}
			_, _ = p.Kill()
			assert.Less(t, most, bound, "processes")
			assert.Zero(t, named(t, word), "processes are left")
			t.Logf("%d processes were seen of at most %d", most, bound)
		})
	})
}

// threads counts the threads of the system.
func threads(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/loadavg")
	require.NoError(t, err)
	var load [3]float64
	var running, all int
	_, err = fmt.Sscanf(string(data), "%g %g %g %d/%d", &load[0], &load[1], &load[2], &running, &all)
	require.NoError(t, err)
	return all
}

// named counts the processes with a word in their arguments.
func named(t *testing.T, word string) int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	n := 0
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(word)) {
			n++
		}
	}
	return n
}
