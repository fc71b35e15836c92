package supervise

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How often the threads of a tree are counted: soon at first, since a fork bomb needs no time, then seldom.
const (
	firstCount = 5 * time.Millisecond
	lastCount  = 100 * time.Millisecond
)

// hardLimit is the kernel's limit for a tree allowed maxThreads: a little more, so that we see the tree exceed it.
func hardLimit(maxThreads int) int { return maxThreads + maxThreads/8 + 16 }

// bound kills the child once there are more than limit threads below the supervisor, and says so.
func (s *supervisor) bound(c *child, limit int) {
	for pause := firstCount; ; pause = min(2*pause, lastCount) {
		select {
		case <-c.gone:
			return
		case <-time.After(pause):
		}
		if n := threadsBelow(os.Getpid(), limit); n > limit {
			c.mu.Lock()
			if !c.ended { // else what was counted is another's
				s.tell(report{grew, uint32(n)})
			}
			c.mu.Unlock()
			c.signal(unix.SIGKILL)
			return
		}
	}
}

// threadsBelow counts the threads of the descendants of a process, up to a few more than limit.
func threadsBelow(pid, limit int) int {
	n := 0
	var count func(pid int)
	count = func(pid int) {
		for _, child := range childrenOf(pid) {
			if n > limit {
				return
			}
			tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", child))
			n += max(len(tasks), 1)
			count(child)
		}
	}
	count(pid)
	return n
}

// startBounded starts the child, and has the kernel bound the threads of its user.
func (s *supervisor) startBounded(spec *spec) (pid int) {
	if spec.maxThreads == 0 {
		return s.start(spec)
	}
	limit := userLimit(spec.maxThreads)
	raise := inheritLimit(limit)
	pid = s.start(spec)
	raise()
	// What the child inherited it could raise again.
	_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}, nil) // fails if there is a lower one
	return pid
}

// userLimit is to how many threads the kernel bounds the child's user, who is not root: root has no such bound. All of the
// user's count, and how many there are already only the whole system tells.
func userLimit(maxThreads int) uint64 {
	limit := hardLimit(maxThreads)
	if os.Getpid() != 1 { // not in a namespace where nobody else is counted
		limit += threadsOfAll()
	}
	return uint64(limit)
}

// inheritLimit lowers our own limit, so that a child has it from its first moment on: what a fork bomb starts before it has
// a limit never gets one. Raise takes that back, since a supervisor without threads cannot do its work.
func inheritLimit(limit uint64) (raise func()) {
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &own) != nil || own.Cur <= limit {
		return func() {}
	}
	_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: own.Max}) // it is lower
	return func() { _ = unix.Setrlimit(unix.RLIMIT_NPROC, &own) }
}

// threadsOfAll returns the number of threads on the system.
func threadsOfAll() int {
	data, err := os.ReadFile("/proc/loadavg") // 0.00 0.01 0.05 1/234 5678
	if err != nil {
		return 0
	}
	var running, all int
	fields := strings.Fields(string(data))
	if len(fields) < 4 {
		return 0
	}
	_, _ = fmt.Sscanf(fields[3], "%d/%d", &running, &all)
	return all
}
