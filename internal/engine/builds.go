package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// builds are what go compiled of the files that all workspaces are copied from, before an agent has worked on them.
// They are kept in the user's cache and read by the units' steps, which compile what their agent changed. What changed
// files compile to goes nowhere: a process could forge it.
type builds struct {
	mu    sync.Mutex
	tried bool
	dir   string          // empty: there are none
	made  map[string]bool // by command
}

const (
	// buildsTime is how long the files may take to compile. What was compiled until then is of use, too.
	buildsTime = 5 * time.Minute
	// buildsAge is for how long builds are kept that nobody uses.
	buildsAge = 7 * 24 * time.Hour
)

// builtBefore returns the directory of the builds that a command may read, empty if there are none, or if workspaces
// have no path in common, by which go finds what it compiled. What `go test` needs in cwd, a directory of a workspace,
// is compiled first. Of other commands, and if there are no args, nobody knows what they run: they read what there is.
func (r *Runner) builtBefore(ctx context.Context, args []string, cwd string) (string, error) {
	if r.source == "" {
		return "", nil
	}
	held, err := r.properties(ctx)
	if err != nil || held.Seen("") == "" {
		return "", err
	}
	b := &r.builds
	b.mu.Lock()
	defer b.mu.Unlock()
	cwd = path.Clean(cwd)
	command := cwd + "\x00" + strings.Join(args, "\x00")
	tests := len(args) > 1 && args[0] == "go" && args[1] == "test" && !slices.ContainsFunc(args, execFlag.MatchString)
	if b.tried && (!tests || b.made[command]) {
		return b.dir, nil
	}
	if tests {
		err = r.build(ctx, args, cwd, command)
	} else {
		err = r.findBuilds(ctx)
	}
	if err != nil {
		b.dir = "" // it can do without
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	b.tried, b.made[command] = true, true
	return b.dir, nil
}

// findBuilds finds the directory of the builds, and notes that it is used. An error means that there is none.
func (r *Runner) findBuilds(ctx context.Context) error {
	t, err := r.loadTemplate(ctx)
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	r.builds.dir = filepath.Join(cache, "sdd-eval", "builds", t.Digest())
	now := r.now()
	return os.Chtimes(r.builds.dir, now, now)
}

// build compiles for a command, unless that was done before.
func (r *Runner) build(ctx context.Context, args []string, cwd, command string) error {
	if err := r.findBuilds(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(r.builds.dir, 0o700); err != nil {
		return err
	}
	done := filepath.Join(r.builds.dir, "built-"+buildsKey(r.cfg.Environ, command))
	if _, err := os.Lstat(done); err == nil {
		return nil
	}
	removeOld(filepath.Dir(r.builds.dir), r.now().Add(-buildsAge))
	if err := r.compile(ctx, args, cwd); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o600)
}

// compile does what the command does, but runs no test: nothing of the files is run.
func (r *Runner) compile(ctx context.Context, args []string, cwd string) (err error) {
	t, err := r.loadTemplate(ctx)
	if err != nil {
		return err
	}
	var dirs unitDirs
	if dirs.base, err = disk.MkdirTemp(r.cfg.TempDir); err != nil {
		return err
	}
	defer func() { _ = dirs.remove() }()
	dirs.workspace = filepath.Join(dirs.base, "workspace")
	if _, _, err := t.Prepare(ctx, dirs.workspace, nil); err != nil {
		return err
	}
	if err := dirs.makeStepDirs(r.cfg.TempDir); err != nil {
		return err
	}
	work, err := openDir(dirs.workspace, cwd)
	if err != nil {
		return err
	}
	defer work.Close()
	ctx, cancel := context.WithTimeout(ctx, buildsTime)
	defer cancel()
	env := r.stepEnvironment(&dirs, toolcache.Find(r.cfg.Environ).BuildInto(r.builds.dir), r.pb.Env)
	p, err := r.start(ctx, supervise.Command{
		Path: args[0], Args: slices.Concat([]string{"go", "test", "-exec=true"}, args[2:]), DirFile: work,
		Env: env, Scratch: dirs.steps,
	}, confine.Policy{
		Write:     []string{dirs.workspace, dirs.stepHome(), dirs.stepTmp(), r.builds.dir},
		Workspace: dirs.workspace,
		Network:   r.pb.Sandbox.Network == plan.NetworkAll,
	})
	if err != nil {
		return err
	}
	_, err = p.Wait() // what does not compile is for the step to say
	return err
}

// execFlag matches the flags of `go test` that name programs to run.
var execFlag = lazyregexp.New(`^--?(exec|toolexec)\b`)

// buildsKey names a command with all that decides what go compiles for it.
func buildsKey(environ []string, command string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", command)
	if path, err := exec.LookPath("go"); err == nil {
		if info, err := os.Stat(path); err == nil { // another Go compiles all anew
			fmt.Fprintf(h, "%q %d %d", path, info.Size(), info.ModTime().UnixNano())
		}
	}
	for _, kv := range slices.Sorted(slices.Values(environ)) {
		if strings.HasPrefix(kv, "GO") && !strings.HasPrefix(kv, "GOCACHE") || strings.HasPrefix(kv, "CGO_") {
			fmt.Fprintf(h, "%q", kv)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// removeOld removes the directories in dir that were last used before a time.
func removeOld(dir string, before time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() && info.ModTime().Before(before) {
			_ = disk.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// manyPackages is how many packages a step compiles only if the standard library is among them, or much else that its
// user's build cache could have.
const manyPackages = 50

// compiledMuch returns a warning about a step whose go commands have put many packages into its HOME, which says how to
// spare that.
func compiledMuch(home string, command []string) string {
	n := 0
	_ = filepath.WalkDir(filepath.Join(home, ".cache", "go-build"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, "-d") && isArchive(path) {
			n++
		}
		return nil
	})
	if n < manyPackages {
		return ""
	}
	var build strings.Builder
	build.WriteString("go build")
	for _, arg := range command {
		if buildFlag.MatchString(arg) {
			build.WriteString(" " + arg)
		}
	}
	return fmt.Sprintf("go compiled %d packages, which takes long: your build cache does not have them as this "+
		"command wants them; for those of the standard library, run once, with the same Go and the same GO variables: "+
		"%s std",
		n, build.String())
}

// buildFlag matches flags with which go compiles the standard library differently.
var buildFlag = lazyregexp.New(`^--?(race|msan|asan|trimpath|tags=.*|gcflags=all=.*|buildmode=.*)$`)

// isArchive reports whether a file holds a compiled package.
func isArchive(path string) bool {
	f, err := disk.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len("!<arch>\n"))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == "!<arch>\n"
}
