package supervise

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// hardLimit is the kernel's limit for a tree allowed maxThreads: a little more, so that we see the tree exceed it.
func hardLimit(maxThreads int) int { return maxThreads + maxThreads/8 + 16 }

// startBounded starts the child with the kernel's limit on the threads of its user.
func (s *supervisor) startBounded(spec *spec) (pid int) {
	if spec.limits.Threads == 0 {
		return s.start(spec)
	}
	limit := userLimit(spec.limits.Threads)
	raise := inheritLimit(limit)
	pid = s.start(spec)
	raise()
	// The child could raise the soft limit that it inherited.
	_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}, nil) // fails if it is lower already
	return pid
}

// userLimit is the number of threads to which the kernel limits the child's user, unless that is root. It counts all
// threads of the user. How many there are already is not known, so the limit allows for all threads of the system.
func userLimit(maxThreads int) uint64 {
	limit := hardLimit(maxThreads)
	if os.Getpid() != 1 { // in a namespace of our own nobody else is counted
		limit += threadsOfAll()
	}
	return uint64(limit)
}

// inheritLimit lowers our own limit, so that the child has it from the beginning: processes that a fork bomb starts
// before it is limited would never be. The caller must call raise, since a supervisor needs threads itself.
func inheritLimit(limit uint64) (raise func()) {
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &own) != nil || own.Cur <= limit {
		return func() {}
	}
	_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: own.Max}) // lowering cannot fail
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
