package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/sandbox"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// shownOutput is how much of a command's output is kept, in bytes from its end.
const shownOutput = 8 << 10

// command runs one command in root.
func (r *Runner) command(ctx context.Context, s playbook.Step, root string) (*result.Command, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout(), fmt.Errorf("it took longer than %v", r.timeout()))
	defer cancel()
	dir, err := openDir(root, s.Cwd)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	start := r.now()
	out := &sandbox.Tail{Limit: shownOutput}
	p, err := supervise.Start(ctx, supervise.Command{
		Path: s.Args[0], Args: s.Args, DirFile: dir,
		Env:    sandbox.StepEnvironment(r.cfg.Environ, root, r.pb.Env.Pass, r.given.list()...),
		Stdout: out, Stderr: out,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Run, err)
	}
	exit, err := p.Wait()
	took := result.Duration(r.now().Sub(start))
	c := &result.Command{Source: result.FromStep, Command: strings.Join(s.Args, " "), Cwd: s.Cwd, Signal: exit.Signal, Duration: &took}
	c.Output, c.Cut = lastLines(out)
	if exit.Code >= 0 {
		c.ExitCode = &exit.Code
	}
	switch {
	case ctx.Err() != nil:
		return c, fmt.Errorf("%s: %w", s.Run, context.Cause(ctx))
	case err != nil:
		return c, fmt.Errorf("%s: %w", s.Run, err)
	case exit != supervise.Exit{}:
		return c, &stepFailure{reason: fmt.Sprintf("%s: %s", s.Run, exit)}
	}
	return c, nil
}

// openDir opens a directory below root. No link and nothing but directories may be on the way.
func openDir(root, dir string) (*os.File, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	path := "."
	for _, name := range strings.FieldsFunc(dir, func(c rune) bool { return c == '/' }) {
		path = filepath.Join(path, name)
		info, err := r.Lstat(path)
		if err != nil {
			return nil, fmt.Errorf("cwd: %w", err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("cwd: %s is not a directory", filepath.ToSlash(path))
		}
	}
	return r.Open(path)
}

// lastLines returns what out kept, from the beginning of a line, without the final line end.
func lastLines(out *sandbox.Tail) (text string, cut bool) {
	text, cut = out.Text(true)
	text = strings.TrimRight(text, "\n")
	if !cut {
		return text, false
	}
	if _, after, ok := strings.Cut(text, "\n"); ok {
		text = after
	}
	return "...\n" + text, true
}
