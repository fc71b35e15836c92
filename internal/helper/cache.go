package helper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/project"
)

const (
	// lockTimeout is how long a process waits for another one that builds the helper; then it builds its own.
	lockTimeout = buildTimeout
	// A helper that was not used for keepTime is removed when another one is built. Its file's time says when it was
	// used, give or take noteTime.
	keepTime = 30 * 24 * time.Hour
	noteTime = 24 * time.Hour
)

// cached returns the helper from the first directory that has it, or that it can be built in.
func (p place) cached() (Program, error) {
	dirs := []string{filepath.Join(p.temp, fmt.Sprintf("sdd-eval-helper-%d", os.Geteuid()))}
	if p.cache != "" {
		dirs = append([]string{filepath.Join(p.cache, "sdd-eval", "helper")}, dirs...)
	}
	name := cachedName()
	var errs []error
	for _, dir := range dirs {
		err := makePrivate(dir)
		if err == nil {
			h := Program{Path: filepath.Join(dir, name), remedy: "remove " + dir + ", and the next test builds it anew"}
			if err = p.findIn(dir, h); err == nil {
				return h, nil
			}
		}
		if e, ok := errors.AsType[*Error](err); ok { // building failed, as it would for the next directory
			return Program{}, e
		}
		errs = append(errs, err)
	}
	err := fmt.Errorf("there is no directory for the helper of sdd-eval: %w", errors.Join(errs...))
	return Program{}, &Error{fault.Advise(err, buildAdvice)}
}

// cachedName is the name of the helper's file in a cache, which holds helpers of other versions, too.
func cachedName() string {
	sum := sha256.Sum256([]byte(sourcesKey() + " " + runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version()))
	return fileName(hex.EncodeToString(sum[:8]))
}

// makePrivate makes a directory that only this user can write to, or makes sure that it is one: who can write to it
// decides what we run.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !ours(info) || runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a directory that only this user can write to", dir)
	}
	return nil
}

// findIn finds the helper in a directory, or builds it there. Of several processes at once, one builds it.
func (p place) findIn(dir string, h Program) error {
	if used(h) {
		return nil
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if used(h) { // another process has built it meanwhile
		return nil
	}
	scratch, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	built := filepath.Join(scratch, fileName("helper"))
	if err := p.build(built); err != nil {
		return err
	}
	err = Program{Path: built}.check()
	if _, cannotStart := errors.AsType[*fs.PathError](err); cannotStart {
		return err // nothing can be executed in this directory
	}
	if err != nil {
		err = fmt.Errorf("the module of the working directory requires another sdd-eval than this test was built with: %w", err)
		return &Error{fault.Advise(err, buildAdvice)}
	}
	removeOld(dir)
	return os.Rename(built, h.Path)
}

// used reports whether the helper is there and works, and notes that it is used.
func used(h Program) bool {
	info, err := os.Stat(h.Path)
	if err != nil || h.check() != nil {
		return false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > noteTime {
		_ = os.Chtimes(h.Path, now, now) // fails where nothing is removed either
	}
	return true
}

// lock locks a file. Where that does not work, or a process holds the lock for too long, it returns without: what is
// built is renamed into place, so two may build at once.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for began := time.Now(); time.Since(began) < lockTimeout; time.Sleep(20 * time.Millisecond) {
		if err := disk.Lock(f); !errors.Is(err, disk.ErrLocked) {
			break
		}
	}
	return func() { f.Close() }, nil
}

// removeOld removes what nobody has used for long.
func removeOld(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.Name() != "lock" && time.Since(info.ModTime()) > keepTime {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// trusted returns an error for a program that another user, who is not root, may have planted.
func trusted(info fs.FileInfo) error {
	if !ours(info) && !root(info) {
		return errors.New("belongs to another user")
	}
	return nil
}

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
	goCommand, err := p.lookPath("go")
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
func buildEnviron(environ []string) []string {
	flags := []string{"-buildvcs=false"}
	for flag := range strings.FieldsSeq(lookup(environ, "GOFLAGS")) {
		if name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "="); name == "mod" || name == "modfile" {
			flags = append(flags, flag)
		}
	}
	return append(slices.Clone(environ),
		"CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOFLAGS="+strings.Join(flags, " "))
}

// lookPath returns the path of a program in the PATH of the process's environment.
func (p place) lookPath(name string) (string, error) {
	path := lookup(p.environ, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%q: %w (PATH=%s)", name, exec.ErrNotFound, path)
}

// lookup returns the value of a variable, the last if there are several.
func lookup(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// run runs a program, with all that it starts, and returns the end of what it printed.
func run(timeout time.Duration, argv []string, dir string, environ []string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, fmt.Errorf("it took longer than %v", timeout))
	defer cancel()
	var out, errs tail
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, environ, &out, &errs, drainTime
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
