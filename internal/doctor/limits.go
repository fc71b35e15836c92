package doctor

import (
	"context"
	"fmt"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// limits says how much of the machine this process may use, by its control groups.
func limits(_ context.Context, _ *machine) []Finding {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	l := groupLimits(string(groups), func(file string) string {
		data, _ := os.ReadFile(file)
		return string(data)
	})
	f := Finding{Name: "limits", State: Well, Facts: map[string]any{"cpus": runtime.NumCPU()}}
	texts := []string{fmt.Sprintf("%d processors", runtime.NumCPU())}
	if l.cpus > 0 {
		texts = append(texts, fmt.Sprintf("of which %.4g may be used", l.cpus))
		f.Facts["max_cpus"] = l.cpus
	}
	if l.memory > 0 {
		texts = append(texts, size(l.memory)+" of memory")
		f.Facts["max_memory"] = l.memory
	}
	if l.processes > 0 {
		texts = append(texts, fmt.Sprintf("%d processes", l.processes))
		f.Facts["max_processes"] = l.processes
	}
	if len(texts) == 1 {
		texts = append(texts, "no limit by control groups")
	}
	f.Text = strings.Join(texts, ", ")
	d := confine.DefaultLimits()
	if l.memory > 0 && l.memory < d.Memory || l.processes > 0 && l.processes < int64(d.Threads) {
		f.State = Noted
		f.Text += fmt.Sprintf("; an agent may use %s and %d processes", size(d.Memory), d.Threads)
		f.Next = "give the container more, or say `limits: {memory: ..., processes: ...}` in playbooks"
	}
	return []Finding{f}
}

// grouped are the limits that control groups set, 0 where they set none.
type grouped struct {
	memory, processes int64
	cpus              float64
}

// groupLimits returns the limits of a process in these groups, as /proc/self/cgroup has them. In each hierarchy the
// narrowest limit counts on the way up.
func groupLimits(groups string, read func(file string) string) (l grouped) {
	const root = "/sys/fs/cgroup"
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		base := path.Join(root, parts[1]) // in version 1 a hierarchy has the names of its controllers
		for dir := path.Join("/", parts[2]); ; dir = path.Dir(dir) {
			at := path.Join(base, dir)
			if parts[1] == "" {
				narrow(&l.memory, number(read(at+"/memory.max")))
				quota, period, _ := strings.Cut(strings.TrimSpace(read(at+"/cpu.max")), " ")
				l.share(number(quota), number(period))
			} else {
				narrow(&l.memory, number(read(at+"/memory.limit_in_bytes")))
				l.share(number(read(at+"/cpu.cfs_quota_us")), number(read(at+"/cpu.cfs_period_us")))
			}
			narrow(&l.processes, number(read(at+"/pids.max")))
			if dir == "/" {
				break
			}
		}
	}
	return l
}

// unlimited is what version 1 has for "no limit", or more.
const unlimited = 1 << 60

// number returns a positive limit, 0 if there is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n <= 0 || n >= unlimited {
		return 0
	}
	return n
}

func narrow(limit *int64, n int64) {
	if n > 0 && (*limit == 0 || n < *limit) {
		*limit = n
	}
}

func (l *grouped) share(quota, period int64) {
	if quota == 0 || period == 0 {
		return
	}
	if cpus := float64(quota) / float64(period); l.cpus == 0 || cpus < l.cpus {
		l.cpus = cpus
	}
}
