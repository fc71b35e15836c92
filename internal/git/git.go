// Package git runs the user's git on repositories that may be hostile, and reads commits without a work tree.
package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

const (
	// Timeout is how long one git may take.
	Timeout   = 5 * time.Minute
	maxOutput = 1 << 20 // bytes of what git prints
)

// settings are passed to git each time. They keep it from running programs that the repository's configuration names,
// except filters, which run only where files of a work tree are written. So the repository's owner does not matter
// (safe.directory).
var settings = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false", "safe.directory=*",
}

// inherited are the variables of our environment that are passed to git. Those that git sets for its hooks, which name
// a repository, are not among them.
var inherited = []string{"PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR"}

// Environ returns the environment of git: without settings of the user or the system, and without prompts.
func Environ() []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"HOME=" + os.DevNull, "XDG_CONFIG_HOME=" + os.DevNull, "LC_ALL=C",
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(inherited, strings.ToUpper(name)) {
			env = append(env, kv)
		}
	}
	return env
}

// Error is a failure that git has reported.
type Error struct {
	Command string // such as "worktree add"
	Exit    supervise.Exit
	Text    string // what git said
}

func (e *Error) Error() string {
	return fmt.Sprintf("git %s: %s: %s", e.Command, e.Exit, strings.TrimSpace(e.Text))
}

// Output runs git in dir and returns what it prints, at most 1 MiB. If git fails, the error is an [*Error].
func Output(ctx context.Context, dir string, args ...string) (string, error) {
	return OutputUpTo(ctx, maxOutput, dir, args...)
}

// OutputUpTo is [Output] with another limit, in bytes.
func OutputUpTo(ctx context.Context, most int, dir string, args ...string) (string, error) {
	stdout := &excerpt.Tail{Limit: most}
	if err := run(ctx, dir, nil, stdout, nil, args...); err != nil {
		return "", err
	}
	text, truncated := stdout.Text(true)
	if truncated {
		return "", fmt.Errorf("git %s printed more than %d bytes", args[0], most)
	}
	return text, nil
}

// run runs git in dir with further variables.
func run(ctx context.Context, dir string, in io.Reader, out io.Writer, env []string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	all := []string{"git"}
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	stderr := &excerpt.Tail{Limit: maxOutput}
	p, err := supervise.Start(ctx, supervise.Command{
		Path: "git", Args: append(all, args...), Dir: dir, Env: append(Environ(), env...),
		Stdin: in, Stdout: out, Stderr: stderr,
	})
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: install git", err)
	}
	if err != nil {
		return err
	}
	exit, err := p.Wait()
	if err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	if exit != (supervise.Exit{}) {
		said, _ := stderr.Text(true)
		return &Error{strings.Join(args[:min(2, len(args))], " "), exit, said}
	}
	return nil
}

// Find returns git's own directory of the repository of dir, which all its work trees share, and whether the repository
// is a shallow clone.
func Find(ctx context.Context, dir string) (repository string, shallow bool, err error) {
	out, err := Output(ctx, dir, "rev-parse", "--git-common-dir", "--is-shallow-repository")
	if failed, ok := errors.AsType[*Error](err); ok {
		return "", false, fmt.Errorf("%s is not in a git repository: %s", dir, strings.TrimSpace(failed.Text))
	}
	if err != nil {
		return "", false, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 2 {
		return "", false, fmt.Errorf("git rev-parse in %s printed %q", dir, out)
	}
	repository = lines[0]
	if !filepath.IsAbs(repository) {
		repository = filepath.Join(dir, repository)
	}
	return repository, lines[1] == "true", nil
}

// Commit returns the full name of the commit that ref names in the repository of dir, a directory.
func Commit(ctx context.Context, dir, ref string) (string, error) {
	_, shallow, err := Find(ctx, dir)
	if err != nil {
		return "", err
	}
	id, err := Output(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if _, ok := errors.AsType[*Error](err); ok {
		return "", unknown(dir, ref, shallow)
	}
	return strings.TrimSpace(id), err
}

func unknown(dir, ref string, shallow bool) error {
	err := fmt.Errorf("%q names no commit of the repository of %s", ref, dir)
	if shallow {
		err = fmt.Errorf("%w, which is a shallow clone and may lack the commit: fetch its history "+
			"with `git fetch --unshallow`, or with fetch-depth: 0 of actions/checkout", err)
	}
	return err
}
