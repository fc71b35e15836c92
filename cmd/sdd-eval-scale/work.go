package main

import (
	"context"
	"crypto/rand"
	"os"
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
	dir, err := disk.MkdirTemp(os.TempDir())
	if err != nil {
		return nil, nil, err
	}
	host, _ := os.Hostname() // a name for people
	w := &worker.Worker{
		Queue: q, ID: unusable.ReplaceAllString(host, "-") + "-" + strings.ToLower(rand.Text()[:8]),
		Parallel: c.parallel, Dir: dir, ConfigDir: c.configDir, Command: c.command, Tool: unit.Tool(), Log: c.log,
	}
	return w, func() {
		if err := disk.RemoveAll(dir); err != nil {
			c.log("%v", err)
		}
	}, nil
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
