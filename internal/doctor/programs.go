package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// What is read and shown of what a program prints.
const (
	maxPrinted = 4 << 10 // bytes
	maxShown   = 120     // characters
)

// errNotFound is the error of a program that is not in PATH.
var errNotFound = errors.New("not in PATH")

// find returns the path of a program in the user's PATH. As for agents, directories that are not absolute do not count.
func (m *machine) find(name string) (string, error) {
	path, err := environ.LookPath(name, environ.Get(m.Environ, "PATH"))
	if errors.Is(err, exec.ErrNotFound) {
		return "", errNotFound
	}
	return path, err
}

// version asks a tool of the user's for its version.
func (m *machine) version(ctx context.Context, name string) (string, error) {
	path, err := m.find(name)
	if err != nil {
		return "", err
	}
	return m.ask(ctx, supervise.Command{Path: path, Args: []string{name, "--version"}, Env: m.Environ, Dir: m.Root})
}

// ask runs a program that prints its version to its end, and returns the first line.
func (m *machine) ask(ctx context.Context, c supervise.Command) (string, error) {
	select {
	case m.asking <- struct{}{}:
		defer func() { <-m.asking }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	late := fmt.Errorf("it did not print it within %v", m.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, m.Timeout, late)
	defer cancel()
	out, errOut := &excerpt.Tail{Limit: maxPrinted}, &excerpt.Tail{Limit: maxPrinted}
	c.Stdout, c.Stderr, c.Grace = out, errOut, time.Second
	p, err := supervise.Start(ctx, c)
	if err != nil {
		return "", err
	}
	exit, err := p.Wait()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	case exit != (supervise.Exit{}):
		return "", fmt.Errorf("%s: %s", exit, firstLine(errOut, out))
	}
	line := firstLine(out)
	if line == "" {
		return "", errors.New("it prints nothing")
	}
	return line, nil
}

// firstLine returns the first line that is not blank, made harmless.
func firstLine(of ...*excerpt.Tail) string {
	for _, o := range of {
		text, _ := o.Text(true)
		for line := range strings.Lines(text) {
			if line = excerpt.Line(line, maxShown); line != "" {
				return line
			}
		}
	}
	return ""
}

// scratch makes a directory for a program that is not to touch the user's home, and returns the environment for it.
func (m *machine) scratch() (dir string, env []string, err error) {
	if dir, err = disk.MkdirTemp(""); err != nil {
		return "", nil, err
	}
	env = environ.ForChild(environ.Spec{Environ: m.Environ, Home: dir, Tmp: dir, Workspace: filepath.Join(dir, "w")})
	if runtime.GOOS == "windows" {
		env = append(env, "SystemRoot="+os.Getenv("SystemRoot"))
	}
	return dir, env, nil
}
