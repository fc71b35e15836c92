package helper

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/project"
)

const (
	buildTimeout = 3 * time.Minute
	checkTimeout = 30 * time.Second
	// drainTime is how long the output of a program may stay open when the program has ended.
	drainTime = 2 * time.Second
	// maxOutput is how much of a program's output is kept: the end.
	maxOutput = 4 << 10
)

var buildAdvice = "build the helper where the module is, `" + buildCommand("/path/to/sdd-eval-helper") +
	"`, and set " + variable + " to its path"

// build has the go command build the helper in the user's module: its go.mod or vendor directory names the sources.
func (p place) build(path string) error {
	fail := func(err error) error {
		err = fmt.Errorf("there is no helper of sdd-eval beside %s, and building it failed: %w", p.exe, err)
		return &Error{fault.Advise(err, buildAdvice)}
	}
	root, err := project.ModuleRoot(p.dir)
	if err != nil {
		return fail(err)
	}
	goCommand, err := environ.LookPath("go", environ.Get(p.environ, "PATH"))
	if err != nil {
		return fail(err)
	}
	argv := []string{goCommand, "build", "-ldflags=-s -w", "-o", path, command}
	if out, stderr, err := run(buildTimeout, argv, root, buildEnviron(p.environ)); err != nil {
		return fail(fmt.Errorf("go build in %s: %w: %s", root, err, strings.TrimSpace(out+stderr)))
	}
	return nil
}

// buildEnviron is the environment for building a program for this system. It keeps those of the user's flags that
// choose modules: others, such as -race, are for the user's own code. GOFLAGS is never empty: the go command would then
// take the flags that `go env -w` has kept.
func buildEnviron(env []string) []string {
	flags := []string{"-buildvcs=false"}
	for flag := range strings.FieldsSeq(environ.Get(env, "GOFLAGS")) {
		if name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "="); name == "mod" || name == "modfile" {
			flags = append(flags, flag)
		}
	}
	return append(slices.Clone(env),
		"CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOFLAGS="+strings.Join(flags, " "))
}

// run runs a program, with all that it starts, and returns the end of what it printed.
func run(timeout time.Duration, argv []string, dir string, env []string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, fmt.Errorf("it took longer than %v", timeout))
	defer cancel()
	var out, errs tail
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, env, &out, &errs, drainTime
	ownGroup(cmd)
	err = cmd.Run()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(out), string(errs), err
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	if over := len(*t) - maxOutput; over > 0 {
		*t = append((*t)[:0], (*t)[over:]...)
	}
	return len(p), nil
}
