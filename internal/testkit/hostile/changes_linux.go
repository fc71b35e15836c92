package hostile

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// change is a way to change a file. There is one of its name, with text in it, unless it is to be made.
type change struct {
	name     string
	property confine.Property
	makes    bool // there is no such file before
	dir      bool // it is an empty directory
	do       func(path string, t Target) error
}

var changeKinds = []change{
	{name: "write", do: func(path string, _ Target) error { return put(path, os.O_WRONLY) }},
	{name: "append", do: func(path string, _ Target) error { return put(path, os.O_WRONLY|os.O_APPEND) }},
	{name: "create", makes: true, do: func(path string, _ Target) error { return put(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL) }},
	{name: "truncate", do: func(path string, _ Target) error { return os.Truncate(path, 0) }},
	{name: "truncate-open", do: func(path string, _ Target) error { return put(path, os.O_WRONLY|os.O_TRUNC) }},
	{name: "unlink", do: func(path string, _ Target) error { return os.Remove(path) }},
	{name: "mkdir", makes: true, do: func(path string, _ Target) error { return os.Mkdir(path, 0o755) }},
	{name: "rmdir", dir: true, do: func(path string, _ Target) error { return os.Remove(path) }},
	{name: "symlink", makes: true, do: func(path string, _ Target) error { return os.Symlink("anywhere", path) }},
	{name: "fifo", makes: true, do: func(path string, _ Target) error { return unix.Mkfifo(path, 0o644) }},
	{name: "rename-over", do: func(path string, t Target) error {
		own, err := t.own()
		if err != nil {
			return err
		}
		return os.Rename(own, path)
	}},
	{name: "rename-in", makes: true, do: func(path string, t Target) error {
		own, err := t.own()
		if err != nil {
			return err
		}
		return os.Rename(own, path)
	}},
	{name: "rename-out", do: func(path string, t Target) error { return os.Rename(path, t.inside()) }},
	{name: "exchange", do: func(path string, t Target) error {
		own, err := t.own()
		if err != nil {
			return err
		}
		return unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
	}},
	{name: "hardlink", makes: true, do: func(path string, t Target) error {
		own, err := t.own()
		if err != nil {
			return err
		}
		return os.Link(own, path)
	}},
	{name: "write-by-hardlink", do: func(path string, t Target) error {
		link := t.inside()
		if err := os.Link(path, link); err != nil {
			return err
		}
		return put(link, os.O_WRONLY)
	}},
	{name: "write-by-symlink", do: func(path string, t Target) error {
		link := t.inside()
		if err := os.Symlink(path, link); err != nil {
			return err
		}
		return put(link, os.O_WRONLY)
	}},
	{name: "create-by-symlink", makes: true, do: func(path string, t Target) error {
		link := t.inside()
		if err := os.Symlink(filepath.Dir(path), link); err != nil {
			return err
		}
		return put(filepath.Join(link, filepath.Base(path)), os.O_WRONLY|os.O_CREATE)
	}},
	{name: "write-by-proc", do: func(path string, _ Target) error { return put("/proc/self/root"+path, os.O_WRONLY) }},
	{
		name: "chmod", property: confine.FileModes,
		do: func(path string, _ Target) error { return os.Chmod(path, 0o4777) },
	},
	{
		name: "utimes", property: confine.FileModes,
		do: func(path string, _ Target) error { return os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)) },
	},
	{
		name: "chmod-by-symlink", property: confine.FileModes,
		do: func(path string, t Target) error {
			link := t.inside()
			if err := os.Symlink(path, link); err != nil {
				return err
			}
			return os.Chmod(link, 0o4777)
		},
	},
	{
		name: "chmod-by-descriptor", property: confine.FileModes,
		do: func(path string, _ Target) error {
			fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Chmod(descriptor(fd), 0o4777)
		},
	},
}

// put writes to the file at path, opened with the flags.
func put(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("hostile")
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// inside returns a path in the workspace at which there is nothing.
func (t Target) inside() string { return filepath.Join(t.Workspace, "hostile-"+unique()) }

// own makes a file in the workspace.
func (t Target) own() (path string, err error) {
	path = t.inside()
	return path, put(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
}

// Furnish makes the files in a directory that escapes are going to change.
func Furnish(dir string) error {
	for _, c := range changeKinds {
		path := filepath.Join(dir, c.name)
		var err error
		switch {
		case c.dir:
			err = os.Mkdir(path, 0o755)
		case !c.makes:
			err = os.WriteFile(path, []byte("what was here before"), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changes are the escapes that change files: each kind in each directory outside, and what only root could do elsewhere.
func changes() []Escape {
	var all []Escape
	for _, dir := range directories {
		for _, c := range changeKinds {
			property := c.property
			if property == "" {
				property = confine.FilesWritten
			}
			mark := in(dir.of, c.name)
			all = append(all, Escape{
				Name: c.name + "-in-" + dir.name, Property: property, Proof: Changed, Mark: mark,
				try: func(t Target) (string, error) { return "", c.do(mark(t), t) },
			})
		}
	}
	return append(all, systemChanges()...)
}

const onlyRoot = "only root may, and not in every container"

// systemChanges are openings of files that belong to the system. Nothing is written: that they open is enough.
func systemChanges() []Escape {
	var all []Escape
	for _, path := range []string{
		"/etc/passwd", "/usr/bin/env", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
	} {
		all = append(all, Escape{
			Name: "open-for-writing-" + filepath.Base(path), Property: confine.FilesWritten, Uncertain: onlyRoot,
			try: func(Target) (string, error) {
				f, err := os.OpenFile(path, os.O_WRONLY, 0)
				if err != nil {
					return "", err
				}
				return "", f.Close()
			},
		})
	}
	return append(all,
		Escape{
			Name: "create-in-etc", Property: confine.FilesWritten, Proof: Changed, Uncertain: onlyRoot,
			Mark: func(t Target) string { return "/etc/sdd-eval-hostile-" + t.Key },
			try: func(t Target) (string, error) {
				return "", put("/etc/sdd-eval-hostile-"+t.Key, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
			},
		},
		Escape{
			Name: "chmod-in-etc", Property: confine.FileModes, Uncertain: onlyRoot,
			try: func(Target) (string, error) { // to its present value: do no harm
				info, err := os.Stat("/etc/passwd")
				if err != nil {
					return "", err
				}
				return "", os.Chmod("/etc/passwd", info.Mode().Perm())
			},
		},
	)
}
