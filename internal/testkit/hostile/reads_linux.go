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
	{name: "read-by-proc-self", do: func(path string, _ Target) (string, error) { return read("/proc/self/root" + path) }},
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
	{name: "read-by-io-uring", uncertain: "not every machine lets users have rings", do: func(path string, _ Target) (string, error) {
		fd, err := ringOpen(path)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		return read(descriptor(fd))
	}},
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

// reads are the escapes that read files: in each way in the project and the home, and what holds secrets elsewhere.
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

// readable returns why nothing can be read from a file. Its content does not matter.
func readable(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 8<<10)) // less than a line of the kernel's log is an error
	return err
}

func descriptor(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// readInherited reads from every descriptor that it was given, and from what is beside it if that is a directory.
func readInherited(Target) (string, error) {
	var all strings.Builder
	err := errors.New("no descriptor")
	for fd := 3; fd < 1<<10; fd++ {
		text, readErr := read(descriptor(fd))
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
