package hostile

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// privileges are the escapes that root has in many places, a sandboxed root in none.
func privileges() []Escape {
	all := []Escape{
		{Name: "open-memory", try: func(Target) (string, error) { return "", readable("/dev/mem") }},
		{Name: "open-kernel-memory", try: func(Target) (string, error) { return "", readable("/proc/kcore") }},
		{Name: "open-kernel-log", try: func(Target) (string, error) { return "", readable("/dev/kmsg") }},
		{Name: "open-disk", try: func(t Target) (string, error) {
			path, err := disk(t)
			if err != nil {
				return "", err
			}
			return "", readable(path)
		}},
		{Name: "make-disk", try: makeDisk},
	}
	for i := range all {
		all[i].Property, all[i].Uncertain = confine.FilesRead, onlyRoot
	}
	return append(all, Escape{
		Name: "leave-control-group", Property: confine.Forks, Uncertain: onlyRoot, try: leaveGroup,
	})
}

// device returns the disk that the workspace is on.
func device(t Target) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(t.Workspace, &st)
	return st.Dev, err
}

// disk returns the path of its device.
func disk(t Target) (string, error) {
	dev, err := device(t)
	if err != nil {
		return "", err
	}
	link, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(dev), unix.Minor(dev)))
	return "/dev/" + filepath.Base(link), err
}

// makeDisk makes a device for it in the workspace.
func makeDisk(t Target) (string, error) {
	dev, err := device(t)
	if err != nil {
		return "", err
	}
	path := t.inside()
	if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(dev)); err != nil {
		return "", err
	}
	return "", readable(path)
}

// leaveGroup opens the lists of processes of the uppermost control groups, where there are no limits.
func leaveGroup(Target) (string, error) {
	err := os.ErrNotExist
	for _, pattern := range []string{"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/*/cgroup.procs"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			f, openErr := os.OpenFile(path, os.O_WRONLY, 0)
			if openErr == nil {
				return "", f.Close()
			}
			err = openErr
		}
	}
	return "", err
}
