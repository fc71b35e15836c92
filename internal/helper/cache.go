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
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/project"
)

const (
	// lockTimeout is how long a process waits for another one that builds the helper. Then it builds the helper, too.
	lockTimeout = buildTimeout
	// A helper that was not used for keepTime is removed when another one is built. The modification time of its file
	// says when it was used, with a precision of noteTime.
	keepTime = 30 * 24 * time.Hour
	noteTime = 24 * time.Hour
)

// cached returns the helper from the first directory in which it exists or can be built.
func (p process) cached() (Program, error) {
	dirs := []string{filepath.Join(p.temp, fmt.Sprintf("sdd-eval-helper-%d", os.Geteuid()))}
	if p.cache != "" {
		dirs = append([]string{filepath.Join(p.cache, "sdd-eval", "helper")}, dirs...)
	}
	name := cachedName()
	var errs []error
	for _, dir := range dirs {
		err := makePrivate(dir)
		if err == nil {
			h := Program{Path: filepath.Join(dir, name), remedy: "remove " + dir + "; the next test builds it again"}
			if err = p.findIn(dir, h); err == nil {
				return h, nil
			}
		}
		if e, ok := errors.AsType[*Error](err); ok { // building failed, and would fail in the next directory, too
			return Program{}, e
		}
		errs = append(errs, err)
	}
	err := fmt.Errorf("no directory can hold the helper of sdd-eval: %w", errors.Join(errs...))
	return Program{}, &Error{fault.Advise(err, buildAdvice)}
}

// cachedName returns the name of the helper's file in a cache, which has helpers of other versions, too.
func cachedName() string {
	sum := sha256.Sum256([]byte(sourcesKey() + " " + runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version()))
	return fileName(hex.EncodeToString(sum[:8]))
}

// makePrivate makes a directory, and returns an error if anybody else can write to it: they would decide what we run.
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

// findIn finds the helper in a directory, or builds it there. If several processes look for it at once, one builds it.
func (p process) findIn(dir string, h Program) error {
	if use(h) {
		return nil
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if use(h) { // another process has built it meanwhile
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
		return err // programs in this directory cannot be executed
	}
	if err != nil {
		err = fmt.Errorf("the module in the working directory requires a different sdd-eval from this test's: %w", err)
		return &Error{fault.Advise(err, buildAdvice)}
	}
	removeOld(dir)
	return os.Rename(built, h.Path)
}

// use reports whether the helper exists and works, and updates the time of its file.
func use(h Program) bool {
	info, err := os.Stat(h.Path)
	if err != nil || h.check() != nil {
		return false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > noteTime {
		_ = os.Chtimes(h.Path, now, now) // fails only where helpers cannot be removed either
	}
	return true
}

// lock locks a file. If that does not work, or another process holds the lock for too long, it returns without the
// lock: two processes may build at once, since the helper is renamed into place.
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

// removeOld removes helpers that nobody has used for a long time.
func removeOld(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.Name() != "lock" && time.Since(info.ModTime()) > keepTime {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// trusted returns an error for a program that belongs to another user, unless that is root.
func trusted(info fs.FileInfo) error {
	if !ours(info) && !root(info) {
		return errors.New("belongs to another user")
	}
	return nil
}

const (
	buildTimeout = 3 * time.Minute
	checkTimeout = 30 * time.Second
	// drainTime is how long the output of a program may stay open after the program has ended.
	drainTime = 2 * time.Second
	// maxOutput is how many bytes are kept from the end of a program's output.
	maxOutput = 4 << 10
)

var buildAdvice = "build the helper in the module, `" + buildCommand("/path/to/sdd-eval-helper") +
	"`, and set " + variable + " to its path"

// build has the go command build the helper in the user's module, whose go.mod or vendor directory names the sources.
// The error is an [Error] unless another directory may have more room.
func (p process) build(path string) error {
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
	out, stderr, err := run(buildTimeout, argv, root, buildEnviron(p.environ))
	if err == nil {
		return nil
	}
	said := strings.TrimSpace(out + stderr)
	if err = fmt.Errorf("go build in %s: %w: %s", root, err, said); noRoom(said) {
		return err
	}
	return fail(err)
}

// noRoom reports whether the output of the go command says that a disk or a quota is full.
func noRoom(output string) bool {
	return strings.Contains(output, "no space left on device") || strings.Contains(output, "disk quota exceeded")
}

// buildEnviron returns the environment for building the helper for this system. Of the user's flags it keeps those that
// choose modules: others, such as -race, are for the user's own code. GOFLAGS is never empty, or the go command would
// take the flags of `go env -w`. The instruction set is the smallest, since several machines may share a cache.
func buildEnviron(env []string) []string {
	flags := []string{"-buildvcs=false"}
	for flag := range strings.FieldsSeq(environ.Get(env, "GOFLAGS")) {
		if name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "="); name == "mod" || name == "modfile" {
			flags = append(flags, flag)
		}
	}
	return append(slices.Clone(env),
		"CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS="+strings.Join(flags, " "))
}

// run runs a program and returns the ends of its outputs. After the timeout it kills the program and its descendants.
func run(timeout time.Duration, argv []string, dir string, env []string) (stdout, stderr string, err error) {
	cause := fmt.Errorf("it took longer than %v", timeout)
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, cause)
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
