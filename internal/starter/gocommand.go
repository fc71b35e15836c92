package starter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// goTimeout is for a download of all modules over a slow line.
const goTimeout = 10 * time.Minute

// get has modfile require a package; one of ours of the version that go.mod has, else of the one that s wants.
func (s Starter) get(ctx context.Context, modfile string, args ...string) error {
	if pkg := &args[len(args)-1]; !strings.Contains(*pkg, "@") {
		version, err := s.goCommand(ctx, "list", "-m", "-f", "{{if not .Replace}}{{.Version}}{{end}}", own)
		if err != nil { // go.mod does not name it
			version = s.Version
		}
		if version = strings.TrimSpace(version); version != "" {
			*pkg += "@" + version
		}
	}
	if _, err := s.goCommand(ctx, append([]string{"get"}, args...)...); err != nil {
		return fault.Advise(err, "mend what go says, then: sdd-eval init; a copy of sdd-eval on this machine serves "+
			"by: go mod edit -replace "+own+"=DIR")
	}
	s.Wrote(modfile)
	return nil
}

// goCommand runs the go command in the module, and returns what it printed.
func (s Starter) goCommand(ctx context.Context, args ...string) (string, error) {
	path, err := environ.LookPath("go", environ.Get(s.Environ, "PATH"))
	if err != nil {
		return "", fault.Advise(fmt.Errorf("find the go command: %w", err), "install Go, https://go.dev/dl, "+
			"then: sdd-eval init")
	}
	line := "go " + strings.Join(args, " ")
	ctx, cancel := context.WithTimeoutCause(ctx, goTimeout, fmt.Errorf("%s: it took longer than %v", line, goTimeout))
	defer cancel()
	out, errOut := &excerpt.Tail{Limit: 1 << 20}, &excerpt.Tail{Limit: 4 << 10}
	p, err := supervise.Start(ctx, supervise.Command{
		Path: path, Args: append([]string{"go"}, args...), Env: s.Environ, Dir: s.Root, Stdout: out, Stderr: errOut,
	})
	if err != nil {
		return "", err
	}
	exit, err := p.Wait()
	text, _ := out.Text(true)
	said, _ := errOut.Text(true)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", fmt.Errorf("%s: %w", line, err)
	case exit != (supervise.Exit{}):
		return "", fmt.Errorf("%s: %w", line, errors.New(strings.TrimSpace(said)))
	}
	return text, nil
}
