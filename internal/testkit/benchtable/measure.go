//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bench is what the rows share.
type bench struct {
	ctx           context.Context
	root, scratch string
	command, self string // sdd-eval, and this program
	built         map[string]string
}

// newBench makes the scratch directory and builds the command there. This process becomes the parent of orphans.
func newBench(ctx context.Context) (*bench, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat("cmd/sdd-eval"); err != nil {
		return nil, errors.New("start it in the root of the repository")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "bench-table-")
	if err != nil {
		return nil, err
	}
	b := &bench{ctx, root, scratch, filepath.Join(scratch, "sdd-eval"), self, make(map[string]string)}
	if _, err := b.run(root, nil, "go", "build", "-o", b.command, "./cmd/sdd-eval"); err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	return b, nil
}

// usage is what a command took. The CPU time is that of all processes, the memory that of the largest.
type usage struct {
	cpu, wall time.Duration
	peak      int64 // bytes
	out       string
}

// run runs a command in a directory, with variables added.
func (b *bench) run(dir string, env []string, name string, args ...string) (usage, error) {
	cmd := exec.CommandContext(b.ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "EVALTEST_SANDBOX=none", "CI=", "GOFLAGS="), env...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// Before it is another program a child has our memory, and its peak.
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return usage{}, err
	}
	begin := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(begin), out: out.String()}
	if s := cmd.ProcessState; s != nil {
		u.cpu, u.peak = s.UserTime()+s.SystemTime()+orphans(), s.SysUsage().(*syscall.Rusage).Maxrss<<10
	}
	if err != nil {
		tail := out.Bytes()[max(0, out.Len()-2000):]
		err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, tail)
	}
	return u, err
}

// orphans waits for the processes that a command has left, such as supervisors of its children, and returns their CPU
// time. We are their parent then, see [newBench].
func orphans() (cpu time.Duration) {
	for {
		var u unix.Rusage
		switch _, err := unix.Wait4(-1, nil, 0, &u); {
		case errors.Is(err, unix.ECHILD):
			return cpu
		case err == nil:
			cpu += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
}

// best is the run of several with the least CPU time. Before each, prepare is called unless it is nil.
func (b *bench) best(times int, prepare func() error, dir, name string, args ...string) (usage, error) {
	var least usage
	for i := range times {
		if prepare != nil {
			if err := prepare(); err != nil {
				return usage{}, err
			}
		}
		u, err := b.run(dir, nil, name, args...)
		if err != nil {
			return usage{}, err
		}
		if i == 0 || u.cpu < least.cpu {
			least = u
		}
	}
	return least, nil
}

// aside moves what a directory may have at a name out of the way. To remove it would slow down what is measured next:
// for some seconds a file system may look for inodes that were not in use a moment ago.
func (b *bench) aside(dir, name string) error {
	err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "was-"+rand.Text()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// dir makes a directory in the scratch directory.
func (b *bench) dir(name string) (string, error) {
	path := filepath.Join(b.scratch, name)
	return path, os.MkdirAll(path, 0o755)
}

// write writes files below a directory.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			return err
		}
	}
	return nil
}

// decode decodes all JSON values in files.
func decode(pattern string) error {
	files, err := filepath.Glob(pattern)
	if err == nil && len(files) == 0 {
		err = errors.New("no file matches " + pattern)
	}
	for _, file := range files {
		data, readErr := os.ReadFile(file)
		if err = errors.Join(err, readErr); err != nil {
			break
		}
		for d := json.NewDecoder(bytes.NewReader(data)); err == nil; {
			var v any
			err = d.Decode(&v)
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	return err
}

// content counts the regular files below a directory and their bytes.
func content(dir string) (files, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			files, bytes = files+1, bytes+info.Size()
		}
		return err
	})
	return files, bytes, err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// times says how often a time has another, which is of something simple.
func times(d, other time.Duration, what string) string {
	return fmt.Sprintf("%.1f × %s (%s)", d.Seconds()/max(other.Seconds(), 1e-3), what, seconds(other))
}
