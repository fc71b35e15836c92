package supervise

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A tree is looked at soon at first, since a fork bomb is fast, and then less and less often.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = 100 * time.Millisecond
)

// gauge sees what the processes below a supervisor use.
type gauge struct {
	limits Limits
	disk   diskGauge
	seen   int64 // the most memory that they had at once, in bytes

	// What those used together that have ended, and the largest of them; await and sweep add to it.
	cpu     time.Duration
	largest int64
}

func newGauge(l Limits) *gauge { return &gauge{limits: l, disk: newDiskGauge(l)} }

// watch kills the child once a limit is exceeded, and reports that. It returns when the child has ended.
func (s *supervisor) watch(c *child, g *gauge) {
	if g.limits.Threads == 0 && g.limits.Memory == 0 && g.limits.Disk == 0 {
		return
	}
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		select {
		case <-c.gone:
			return
		case <-time.After(pause):
		}
		if met := g.look(); met.Kind != 0 {
			s.tell(met)
			c.signal(unix.SIGKILL)
			return
		}
	}
}

// look returns a report if a limit is exceeded, else the zero value.
func (g *gauge) look() report {
	t := treeOf(os.Getpid(), g.limits.Threads)
	if l := g.limits.Threads; l > 0 && t.threads > l {
		return report{Kind: metThreads, Value: uint64(t.threads)}
	}
	var files int64
	if os.Getpid() == 1 {
		files = inMemory()
	}
	g.seen = max(g.seen, t.apart+files)
	if l := g.limits.Memory; l > 0 && t.resident+files > l {
		if used := t.proportional(files); used > l {
			return report{Kind: metMemory, Value: uint64(used)}
		}
	}
	return g.lookAtDisk(t.pids)
}

func (g *gauge) lookAtDisk(pids []int) report {
	if g.limits.Disk == 0 {
		return report{}
	}
	left, full := g.disk.look(pids)
	switch {
	case full:
		return report{Kind: metDisk, Value: uint64(left)}
	case g.disk.used > g.limits.Disk:
		return report{Kind: metDisk, Value: uint64(g.disk.used)}
	}
	return report{}
}

// account adds what processes used that have ended.
func (g *gauge) account(ru *unix.Rusage) {
	g.cpu += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	g.largest = max(g.largest, ru.Maxrss<<10)
}

// processTree is the descendants of a process.
type processTree struct {
	pids    []int
	threads int
	// resident is the memory in bytes that each of them has, and apart what is left of it without pages of files and
	// what is shared on purpose. What several have is counted for each of them.
	resident, apart int64
}

// treeOf looks at a process's descendants. It stops soon after it has seen most threads, if that is not 0.
func treeOf(pid, most int) (t processTree) {
	var look func(pid int)
	look = func(pid int) {
		for _, child := range childrenOf(pid) {
			if most > 0 && t.threads > most {
				return
			}
			tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", child))
			t.pids = append(t.pids, child)
			t.threads += max(len(tasks), 1)
			resident, apart := memoryOf(child)
			t.resident, t.apart = t.resident+resident, t.apart+apart
			look(child)
		}
	}
	look(pid)
	return t
}

func memoryOf(pid int) (resident, apart int64) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)) // size resident shared ..., in pages
	fields := bytes.Fields(data)
	if len(fields) < 3 {
		return 0, 0 // the process has gone
	}
	resident, _ = strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	page := int64(os.Getpagesize())
	return resident * page, max(0, resident-shared) * page
}

// proportional returns the memory in bytes of all processes without pages of files, in which what several have counts
// once, and that of files in memory, of which they may have mapped some. It takes long to find out.
func (t processTree) proportional(files int64) int64 {
	var anonymous, shared int64
	for _, pid := range t.pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil || len(data) == 0 { // the process does not let others look at it
			_, apart := memoryOf(pid)
			anonymous += apart
			continue
		}
		for line := range bytes.Lines(data) { // "Pss_Anon:   123 kB"
			fields := bytes.Fields(line)
			if len(fields) != 3 {
				continue
			}
			n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			switch string(fields[0]) {
			case "Pss_Anon:":
				anonymous += n << 10
			case "Pss_Shmem:":
				shared += n << 10
			}
		}
	}
	return anonymous + max(shared, files)
}

// memoryDirs are the file systems in memory that an enclosure has.
var memoryDirs = []string{"/tmp", "/dev/shm"}

// inMemory returns how many bytes the file systems in memory hold.
func inMemory() (sum int64) {
	for _, dir := range memoryDirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && st.Type == unix.TMPFS_MAGIC {
			sum += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return sum
}

// diskGauge sees what files below directories take. It counts them when the file systems, which others fill too, have
// so much less room than before that the limit may be exceeded; and from time to time.
type diskGauge struct {
	limit int64
	dirs  []string
	used  int64 // at the last count
	most  int64
	room  int64 // then
	floor int64 // what must be left
	next  time.Time
}

const (
	// floorMost is how much room is left on a disk in any case, unless there was less than ten times of that at first.
	floorMost = 1 << 30
	// Files are counted after firstCount, and then so often that it takes a twentieth of the time.
	firstCount = time.Second
	countEvery = 5 * time.Second
	countShare = 20
)

func newDiskGauge(l Limits) diskGauge {
	d := diskGauge{limit: l.Disk, dirs: l.Dirs, next: time.Now().Add(firstCount)}
	if l.Disk > 0 {
		var least int64
		d.room, least = d.space()
		d.floor = min(floorMost, least/10)
	}
	return d
}

// space returns the room on all file systems together, and on that with the least, in bytes.
func (d *diskGauge) space() (sum, least int64) {
	seen := make(map[unix.Fsid]bool)
	for _, dir := range d.dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil || seen[st.Fsid] {
			continue
		}
		room := int64(st.Bavail) * st.Bsize
		if len(seen) == 0 || room < least {
			least = room
		}
		seen[st.Fsid] = true
		sum += room
	}
	return sum, least
}

// look counts the files if that is due. It reports what is left on a disk that is nearly full.
func (d *diskGauge) look(pids []int) (left int64, full bool) {
	room, least := d.space()
	if least < d.floor {
		return least, true
	}
	if d.used+d.room-room <= d.limit && time.Now().Before(d.next) {
		return 0, false
	}
	began := time.Now()
	d.used = d.count(pids)
	d.room, d.most = room, max(d.most, d.used)
	d.next = time.Now().Add(max(countEvery, countShare*time.Since(began)))
	return 0, false
}

// count returns how many bytes the files take, with those that processes have removed and still hold open.
func (d *diskGauge) count(pids []int) (sum int64) {
	type inode struct{ dev, ino uint64 }
	seen := make(map[inode]bool)
	devices := make(map[uint64]bool)
	add := func(st *unix.Stat_t) {
		key := inode{st.Dev, st.Ino}
		if st.Nlink == 1 || !seen[key] {
			sum += st.Blocks * 512
		}
		if st.Nlink != 1 {
			seen[key] = true
		}
	}
	var st unix.Stat_t
	for _, dir := range d.dirs {
		// What cannot be read, or goes meanwhile, is not counted.
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && unix.Lstat(path, &st) == nil {
				devices[st.Dev] = true
				add(&st)
			}
			return nil
		})
	}
	for _, pid := range pids {
		open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, path := range open {
			if unix.Stat(path, &st) == nil && st.Nlink == 0 && devices[st.Dev] && st.Mode&unix.S_IFMT == unix.S_IFREG {
				add(&st)
			}
		}
	}
	return sum
}
