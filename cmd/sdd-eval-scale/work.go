package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/unit"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/worker"
	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// childCommand returns the command line that carries out a unit.
func childCommand(self string) []string { return []string{self, unit.Word} }

var unusable = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// newWorker returns a worker with a directory of its own, which the function removes.
func (c *command) newWorker(q *queue.Queue) (*worker.Worker, func(), error) {
	sweep(os.TempDir())
	dir, lock, err := newDir(os.TempDir())
	if err != nil {
		return nil, nil, err
	}
	host, _ := os.Hostname() // a name for people
	w := &worker.Worker{
		Queue: q, ID: unusable.ReplaceAllString(host, "-") + "-" + strings.ToLower(rand.Text()[:8]),
		Parallel: c.parallel, Dir: dir, Lock: lock, ConfigDir: c.configDir, Command: c.command, Tool: unit.Tool(),
		Log: c.log,
	}
	return w, func() {
		if err := errors.Join(removeDir(dir), lock.Close()); err != nil {
			c.log("%v", err)
		}
	}, nil
}

// lockName is a file in a worker's directory. It is locked while the worker lives, or a process that carries out a unit
// for it. The directory's own name tells agents nothing.
const lockName = "sdd-eval-scale.lock"

// newDir makes a directory for a worker.
func newDir(parent string) (dir string, lock *os.File, err error) {
	for {
		if dir, err = disk.MkdirTemp(parent); err != nil {
			return "", nil, err
		}
		lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			err = disk.Lock(lock)
		}
		if err == nil {
			_, err = os.Lstat(lock.Name())
		}
		if err == nil {
			return dir, lock, nil
		}
		lock.Close()
		if !errors.Is(err, disk.ErrLocked) && !errors.Is(err, fs.ErrNotExist) { // another worker sweeps it, or did so
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
}

// removeDir removes a worker's directory, the lock at last: whoever is killed meanwhile leaves one that can be swept.
func removeDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != lockName {
			err = errors.Join(err, disk.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	return disk.RemoveAll(dir)
}

// sweep removes the directories of workers that were killed. What cannot be removed, as others have it, is left.
func sweep(parent string) {
	locks, _ := filepath.Glob(filepath.Join(parent, "w*", lockName))
	for _, file := range locks {
		lock, err := os.OpenFile(file, os.O_RDWR|disk.Nonblock, 0)
		if err != nil {
			continue
		}
		if disk.Lock(lock) == nil {
			_ = removeDir(filepath.Dir(file))
		}
		lock.Close()
	}
}

// finish has sdd-eval finish a run whose units all have results, and returns its exit code.
func (c *command) finish(ctx context.Context, id string) int {
	args := []string{"run", "--resume", id, "--root", c.root}
	if c.configDir != "" {
		args = append(args, "--config-dir", c.configDir)
	}
	a := cli.App{
		Args: args, Stdout: c.stdout, Stderr: c.stderr, Getenv: os.Getenv, Environ: os.Environ(), Dir: c.root,
		Now: time.Now,
	}
	return a.Run(ctx)
}
