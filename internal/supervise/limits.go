package supervise

import (
	"fmt"
	"time"
)

// Limits bound what a child and its descendants use of the machine, all of them together. A zero field bounds nothing.
type Limits struct {
	// Threads is how many threads they may have.
	Threads int
	// Memory is how many bytes of memory they may have, with what they put into file systems in memory.
	Memory int64
	// CPUs is how many processors' time they get; they are slowed down to it, not ended. It needs a control group.
	CPUs float64
	// Disk is how many bytes the files below Dirs may take.
	Disk int64
	Dirs []string
}

// Resource is what a limit is about, as [LimitError] names it.
type Resource string

// The resources whose limits end a child.
const (
	Memory    Resource = "memory"
	Disk      Resource = "disk"
	Processes Resource = "processes"
)

// LimitError says that a child and its descendants were killed because they met a limit.
type LimitError struct {
	Resource Resource
	// Used is what they used, in bytes or threads; 0: the kernel let them have no more than Limit. It is what was left
	// if the disk was [LimitError.Scarce].
	Used, Limit int64
}

// Scarce reports whether they were killed because the disk was nearly full, whoever filled it.
func (e *LimitError) Scarce() bool { return e.Resource == Disk && e.Used < e.Limit }

func (e *LimitError) Error() string {
	switch {
	case e.Scarce():
		return fmt.Sprintf("limit disk: the file system has only %s left", size(e.Used))
	case e.Resource == Processes && e.Used == 0:
		return fmt.Sprintf("limit processes: more than the %d threads that are allowed", e.Limit)
	case e.Resource == Processes:
		return fmt.Sprintf("limit processes: %d threads, %d are allowed", e.Used, e.Limit)
	case e.Used == 0:
		return fmt.Sprintf("limit %s: more than the %s that are allowed", e.Resource, size(e.Limit))
	}
	return fmt.Sprintf("limit %s: %s used, %s are allowed", e.Resource, size(e.Used), size(e.Limit))
}

// size returns a number of bytes as people read it.
func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Usage is what a child and its descendants used of the machine. A zero field is unknown.
type Usage struct {
	// Memory is the most that they had at once, in bytes: of all of them, counted ten times a second and without what
	// they share, or of the largest one.
	Memory int64
	// CPU is the processors' time that they took.
	CPU time.Duration
	// Disk is the most that the files below [Limits.Dirs] took, in bytes, when they were last counted: after a second,
	// and then every few.
	Disk int64
	// Throttled says that the kernel slowed them down to their CPUs.
	Throttled bool
}
