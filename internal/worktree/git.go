package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

const (
	maxOutput  = 1 << 20 // bytes of what git prints
	gitTimeout = 5 * time.Minute
	patience   = 30 * time.Second // with others who work on the repository
	firstPause = 20 * time.Millisecond
)

// settings are what git is told each time. What the repository's own configuration names is not to run, beside filters of
// content: without these there would be other files. Whose the repository is does not matter then.
var settings = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false", "safe.directory=*",
}

// inherited are the variables of ours that git sees: none that says which repository it is to work on, as those that git
// sets for its hooks.
var inherited = []string{"PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR"}

// environment is that of git: no settings of the user or the system, and no prompts.
func environment() []string {
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

// gitError is what git says of its failure.
type gitError struct {
	command string // such as "worktree add"
	exit    supervise.Exit
	text    string
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: %s: %s", e.command, e.exit, strings.TrimSpace(e.text))
}

// git runs git in dir and returns what it prints. Failures of git itself are a [*gitError].
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	all := []string{"git"}
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	stdout, stderr := &excerpt.Tail{Limit: maxOutput}, &excerpt.Tail{Limit: maxOutput}
	p, err := supervise.Start(ctx, supervise.Command{
		Path: "git", Args: append(all, args...), Dir: dir, Env: environment(), Stdout: stdout, Stderr: stderr,
	})
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%w: install git", err)
	}
	if err != nil {
		return "", err
	}
	exit, err := p.Wait()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	said, _ := stderr.Text(true)
	if exit != (supervise.Exit{}) {
		return "", &gitError{strings.Join(args[:min(2, len(args))], " "), exit, said}
	}
	text, truncated := stdout.Text(true)
	if truncated {
		return "", fmt.Errorf("git %s printed more than %d bytes", args[0], maxOutput)
	}
	return text, nil
}

// busy matches what git says when somebody else is at work on the repository: its own locks, and directories of
// worktrees that are being made or removed.
var busy = regexp.MustCompile(`(?i)\.lock'|could not lock|file exists|another git process|failed to read .*worktrees/|cannot (open|read) .*worktrees/`)

// retried runs git until it does not meet others at work, but not for longer than the patience. Again, unless it is nil, is
// called before another attempt.
func retried(ctx context.Context, dir string, again func(), args ...string) (string, error) {
	end := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, time.Second) {
		text, err := git(ctx, dir, args...)
		failed, ok := errors.AsType[*gitError](err)
		if !ok || !busy.MatchString(failed.text) || time.Now().After(end) {
			return text, err
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(err, context.Cause(ctx))
		case <-time.After(pause):
		}
		if again != nil {
			again()
		}
	}
}
