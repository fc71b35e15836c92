package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// Bounds of what is looked at beside a playbook.
const (
	maxInputs    = 20_000   // files of one directory
	maxInputFile = 64 << 20 // bytes of a file; of a larger one the size counts
	maxImports   = 500      // files beside a script
)

// inputs returns the digests of what the playbook names and the run reads, by path: judges with the files beside them
// that they may import, prompts, goldens, and the directory that workspaces are made from. Units that are judged by
// some of these cannot be compared with units that are judged by others.
func (r *Runner) inputs() (map[string]string, error) {
	all := make(map[string]string)
	for _, file := range script.WithImports(r.pb.Files) {
		for _, path := range append(beside(file), file) {
			sum, err := digestOf(path)
			if err != nil {
				return nil, fmt.Errorf("read what the playbook names: %w", err)
			}
			all[r.fromRoot(path)] = sum
		}
	}
	if r.pb.Workspace.From == "" { // the project itself, in which a run may write recordings
		return all, nil
	}
	whole := sha256.New() // one digest for all: a file's name may hold a secret that is not known yet
	err := r.walk(r.source, maxInputs, func(path string) error {
		sum, err := digestOf(path)
		fmt.Fprintf(whole, "%s\x00%s\n", path[len(r.source):], sum)
		return err
	})
	all[r.fromRoot(r.source)] = fmt.Sprintf("%x", whole.Sum(nil))[:24]
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // that it is missing is told where it is used
		return nil, fmt.Errorf("read workspace.from: %w", err)
	}
	return all, nil
}

// fromRoot is a path as people read it, without secrets: it stands in the run's manifest.
func (r *Runner) fromRoot(path string) string {
	if rel, err := filepath.Rel(r.cfg.Root, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return r.secrets.String(filepath.ToSlash(path))
}

// walk calls each with the regular files below a directory, other than those of git and of our own.
func (r *Runner) walk(dir string, most int, each func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (d.Name() == ".git" || d.Name() == ".llman" || path == r.cassettes()):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		case most == 0:
			return filepath.SkipAll
		}
		most--
		return each(path)
	})
}

// beside are the files that a script may import in ways that its text does not tell: those of the same extension in its
// directory and below.
func beside(script string) (files []string) {
	ext := filepath.Ext(script)
	if !slices.Contains([]string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".go"}, ext) {
		return nil
	}
	dir := filepath.Dir(script)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir // it cannot be imported either
		case d.IsDir() && path != dir && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case len(files) == maxImports:
			return fs.SkipAll
		case d.Type().IsRegular() && filepath.Ext(path) == ext:
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return files
}

func digestOf(path string) (sum string, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|disk.Nonblock, 0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(f, maxInputFile))
	fmt.Fprintf(h, "\x00%d %t", info.Size(), info.Mode().Perm()&0o100 != 0)
	return fmt.Sprintf("%x", h.Sum(nil))[:24], err
}

// checkInputs refuses to resume a run if what judges it has changed, or notes that it was allowed.
func (r *run) checkInputs() error {
	now, err := r.inputs()
	if err != nil {
		return err
	}
	was := r.kept.Manifest().Inputs
	names := maps.Clone(was)
	if names == nil {
		names = make(map[string]string)
	}
	maps.Copy(names, now)
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, had := was[name]
		after, has := now[name]
		switch {
		case !had:
			changes = append(changes, name+" is new")
		case !has:
			changes = append(changes, name+" is gone")
		case before != after:
			changes = append(changes, name+" has changed")
		}
	}
	if len(changes) == 0 {
		return nil
	}
	if r.cfg.Keep.AcceptChanged {
		return r.kept.Accept(changes, now)
	}
	shown := changes[:min(len(changes), 10)]
	text := strings.Join(shown, "\n  ")
	if more := len(changes) - len(shown); more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	err = fmt.Errorf("since the run began, what its units are judged by is no longer the same:\n  %s", text)
	return fault.Advise(err,
		"undo it, or run the playbook anew, or resume with --accept-changed, which the run and its reports will say")
}
