package starter

import (
	"context"
	"encoding/json"
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

// advice is for what the go command refuses.
const advice = "mend what go says, then: sdd-eval init"

// get has go.mod require a package of ours: of the version that go.mod has, else of the one that s wants.
func (s Starter) get(ctx context.Context, pkg string) error {
	version, err := s.goCommand(ctx, "list", "-m", "-f", "{{.Version}}", own)
	if err != nil { // go.mod does not name it
		version = s.Version
	}
	if version = strings.TrimSpace(version); version != "" {
		pkg += "@" + version
	}
	if _, err := s.goCommand(ctx, "get", pkg); err != nil {
		return fault.Advise(err, advice+"; a copy of sdd-eval on this machine serves by: go mod edit -replace "+
			own+"=DIR")
	}
	return nil
}

// load has go.mod require what packages import, by arguments of go list. It takes the copy that go.mod replaces this
// module by, where get would look for versions, which nobody may serve.
func (s Starter) load(ctx context.Context, args ...string) error {
	line := append([]string{"list", "-mod=mod", "-buildvcs=false", "-deps"}, args...)
	if _, err := s.goCommand(ctx, line...); err != nil {
		return fault.Advise(err, advice)
	}
	return nil
}

// replaced reports whether go.mod replaces this module.
func (s Starter) replaced(ctx context.Context) (bool, error) {
	text, err := s.goCommand(ctx, "mod", "edit", "-json")
	if err != nil {
		return false, err
	}
	var gomod struct {
		Replace []struct{ Old struct{ Path string } }
	}
	if err := json.Unmarshal([]byte(text), &gomod); err != nil {
		return false, fmt.Errorf("go mod edit -json: %w", err)
	}
	for _, r := range gomod.Replace {
		if r.Old.Path == own {
			return true, nil
		}
	}
	return false, nil
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
