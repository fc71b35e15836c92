package hostile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// maxRead bounds what an escape reads, in bytes.
const maxRead = 64 << 10

// read returns the beginning of a file.
func read(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRead))
	return string(data), err
}

// readKinds are ways to read the secret's file in a directory.
var readKinds = []struct {
	name, uncertain string
	do              func(path string, t Target) (string, error)
}{
	{name: "read", do: func(path string, _ Target) (string, error) { return read(path) }},
	{
		name: "read-by-proc-self",
		do:   func(path string, _ Target) (string, error) { return read("/proc/self/root" + path) },
	},
	{name: "read-by-proc-parent", do: func(path string, _ Target) (string, error) {
		return read(fmt.Sprintf("/proc/%d/root%s", os.Getppid(), path))
	}},
	{name: "read-by-proc-1", uncertain: onlyRoot, do: func(path string, _ Target) (string, error) {
		return read("/proc/1/root" + path)
	}},
	{name: "read-by-proc-outside", do: func(path string, t Target) (string, error) {
		return read(fmt.Sprintf("/proc/%d/root%s", t.Victim, path))
	}},
	{name: "read-by-symlink", do: func(path string, t Target) (string, error) {
		link := t.inside()
		if err := os.Symlink(path, link); err != nil {
			return "", err
		}
		return read(link)
	}},
	{name: "read-by-hardlink", do: func(path string, t Target) (string, error) {
		link := t.inside()
		if err := os.Link(path, link); err != nil {
			return "", err
		}
		return read(link)
	}},
	{name: "read-by-dots", do: func(path string, t Target) (string, error) {
		return read(filepath.Clean(t.Workspace) + strings.Repeat("/..", 64) + path)
	}},
	{name: "read-by-o-path", do: func(path string, _ Target) (string, error) {
		fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		return read(filepath.Join(descriptor(fd), filepath.Base(path)))
	}},
	{name: "list", do: func(path string, _ Target) (string, error) {
		entries, err := os.ReadDir(filepath.Dir(path))
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, "\n"), err
	}},
	{
		name: "read-by-io-uring", uncertain: "not every machine lets users have rings",
		do: func(path string, _ Target) (string, error) {
			fd, err := ringOpen(path)
			if err != nil {
				return "", err
			}
			defer unix.Close(fd)
			return read(descriptor(fd))
		},
	},
	{name: "read-by-handle", uncertain: onlyRoot, do: readByHandle},
	{name: "read-in-user-namespace", uncertain: "not every machine lets users have namespaces", do: readInNamespace},
	{name: "read-by-mount", uncertain: onlyRoot, do: func(path string, t Target) (string, error) {
		dir := t.inside()
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", err
		}
		if err := unix.Mount(filepath.Dir(path), dir, "", unix.MS_BIND, ""); err != nil {
			return "", err
		}
		defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
		return read(filepath.Join(dir, filepath.Base(path)))
	}},
	{name: "read-as-root", uncertain: onlyRoot, do: func(path string, _ Target) (string, error) {
		if err := syscall.Setresuid(0, 0, 0); err != nil {
			return "", err
		}
		return read(path)
	}},
}

// reads are the escapes that read files: each kind in each directory outside, and other places that have secrets.
func reads() []Escape {
	var all []Escape
	for _, dir := range directories {
		for _, r := range readKinds {
			path := in(dir.of, SecretFile)
			all = append(all, Escape{
				Name: r.name + "-in-" + dir.name, Property: confine.FilesRead, Proof: Secret, Uncertain: r.uncertain,
				try: func(t Target) (string, error) { return r.do(path(t), t) },
			})
		}
	}
	return append(all,
		Escape{
			Name: "read-by-cwd-outside", Property: confine.FilesRead, Proof: Secret,
			try: func(t Target) (string, error) { return read(fmt.Sprintf("/proc/%d/cwd/%s", t.Victim, SecretFile)) },
		},
		Escape{
			Name: "read-by-descriptor-outside", Property: confine.FilesRead, Proof: Secret,
			try: func(t Target) (string, error) { return read(fmt.Sprintf("/proc/%d/fd/3", t.Victim)) },
		},
		Escape{
			Name: "read-by-inherited-descriptor", Property: confine.FilesRead, Proof: Secret,
			Uncertain: "a supervisor hands none on", try: readInherited,
		},
		Escape{
			Name: "read-terminal", Property: confine.Terminals, Proof: Secret,
			try: func(t Target) (string, error) { return readTerminal(t.Terminal) },
		},
		Escape{
			Name: "read-shadow", Property: confine.FilesRead, Uncertain: onlyRoot,
			try: func(Target) (string, error) { return "", readable("/etc/shadow") },
		},
	)
}

// readable returns the error of reading from a file, whatever its content.
func readable(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 8<<10)) // the kernel's log refuses to return part of a line
	return err
}

func descriptor(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// readAtOnce reads what is there. The descriptors of a process have pipes among them, at which it would wait for ever.
func readAtOnce(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	data := make([]byte, maxRead)
	n, err := unix.Read(fd, data)
	return text(data[:max(n, 0)]), err
}

// readInherited reads from every inherited descriptor, and, if that is a directory, from the file with the secret in
// it.
func readInherited(Target) (string, error) {
	var all strings.Builder
	err := errors.New("no descriptor")
	for fd := 3; fd < 1<<10; fd++ {
		text, readErr := readAtOnce(descriptor(fd))
		if readErr != nil {
			text, readErr = read(filepath.Join(descriptor(fd), SecretFile))
		}
		if readErr == nil {
			err = nil
			all.WriteString(text)
		}
	}
	return all.String(), err
}

// readTerminal reads a line that somebody types.
func readTerminal(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := f.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return "", err
	}
	line := make([]byte, 1<<10)
	n, err := f.Read(line)
	return string(line[:n]), err
}

// readByHandle opens the root of the file system that the workspace is on by its inode, which is 2 on most, without any
// path to it.
func readByHandle(path string, t Target) (string, error) {
	mount, err := unix.Open(t.Workspace, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(mount)
	const inodeAndGeneration = 1 // FILEID_INO32_GEN
	root := unix.NewFileHandle(inodeAndGeneration, []byte{2, 0, 0, 0, 0, 0, 0, 0})
	fd, err := unix.OpenByHandleAt(mount, root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return read(filepath.Join(descriptor(fd), path))
}

// change is a way to change a file. Unless the change makes the file, a file of the change's name exists before.
type change struct {
	name     string
	property confine.Property
	makes    bool // the file does not exist before
	dir      bool // the file is an empty directory
	do       func(path string, t Target) error
}

var changeKinds = []change{
	{name: "write", do: func(path string, _ Target) error { return put(path, os.O_WRONLY) }},
	{name: "append", do: func(path string, _ Target) error { return put(path, os.O_WRONLY|os.O_APPEND) }},
	{
		name: "create", makes: true,
		do: func(path string, _ Target) error { return put(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL) },
	},
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
		do: func(path string, _ Target) error { return os.Chmod(path, 0o777) },
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
			return os.Chmod(link, 0o777)
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
			return unix.Chmod(descriptor(fd), 0o777)
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

// inside returns an unused path in the workspace.
func (t Target) inside() string { return filepath.Join(t.Workspace, "hostile-"+unique()) }

// own makes a file in the workspace.
func (t Target) own() (path string, err error) {
	path = t.inside()
	return path, put(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
}

// Furnish makes the files in a directory that escapes will try to change.
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

// changes are the escapes that change files: each kind in each directory outside, and changes elsewhere that take root.
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

// systemChanges are escapes that open files of the system for writing. That they can be opened is enough.
func systemChanges() []Escape {
	var all []Escape
	for _, path := range []string{
		"/etc/passwd", "/usr/bin/env", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
		"/sys/kernel/uevent_helper",
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
			try: func(Target) (string, error) { // to its present value, which does no harm
				info, err := os.Stat("/etc/passwd")
				if err != nil {
					return "", err
				}
				return "", os.Chmod("/etc/passwd", info.Mode().Perm())
			},
		},
		Escape{
			Name: "chmod-devices", Property: confine.FileModes, Uncertain: onlyRoot,
			try: func(Target) (string, error) { // to their present values
				var errs []error
				for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
					path := filepath.Join("/dev", name)
					info, err := os.Stat(path)
					if err == nil {
						err = os.Chmod(path, info.Mode().Perm())
					}
					if err == nil {
						return "", nil
					}
					errs = append(errs, err)
				}
				return "", errors.Join(errs...)
			},
		},
	)
}
