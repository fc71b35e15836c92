package engine

import (
	"context"
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
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

const (
	maxInputFile = 64 << 20 // bytes of a file beside a playbook; of a larger one the size counts
	maxNamed     = 500      // files beside scripts of a directory that are named; more of them have one digest

	// armInput begins the names of what a variant lays over workspaces, and caseInput of what a case copies there.
	armInput  = "variants."
	caseInput = "cases."
)

// inputs returns the digests of what the playbook names and the run reads, by path: judges with the files beside them
// that they may import, prompts, goldens, and what workspaces are made from. Units that are judged by some of these
// cannot be compared with units that are judged by others. Under "variants.ID" is what a variant lays over workspaces,
// and under "cases.ID" what a case copies there.
func (r *Runner) inputs(ctx context.Context) (map[string]string, error) {
	all, looked := make(map[string]string), make(map[string]bool)
	arms, err := r.arms(ctx)
	if err != nil {
		return nil, err
	}
	var laid []string // which may change without the units being judged by anything else
	for id, a := range arms {
		all[armInput+id], laid = a.digest(), append(laid, a.sources...)
	}
	for _, c := range r.pb.Cases {
		if len(c.Workspace.Add) == 0 {
			continue
		}
		a, err := r.givenOf(ctx, c)
		if err != nil {
			return nil, err
		}
		all[caseInput+c.ID], laid = a.digest(), append(laid, a.sources...)
	}
	for _, file := range script.WithImports(r.pb.Files) {
		if err := r.addInput(all, file); err != nil {
			return nil, err
		}
		dir, ext := filepath.Dir(file), filepath.Ext(file)
		if looked[dir+"\x00"+ext] {
			continue
		}
		looked[dir+"\x00"+ext] = true
		if err := r.addBeside(all, dir, ext, laid); err != nil {
			return nil, err
		}
	}
	if w := r.pb.Workspace; w.From == "" && w.Commit == "" { // the project itself, where a run may write recordings
		return all, nil
	}
	// One digest for all: a file's name may hold a secret that is not known yet.
	t, err := r.loadTemplate(ctx)
	if errors.Is(err, fs.ErrNotExist) { // told where it is used
		return all, nil
	}
	if err == nil {
		all[r.fromRoot(r.source)] = t.Digest()
	}
	return all, err
}

// addDigests adds what is the same for all cases: the workspace, and the files by which they are judged.
func (r *Runner) addDigests(m *rundir.Manifest) {
	files, workspace := maps.Clone(m.Inputs), ""
	if r.pb.Workspace.From != "" {
		workspace = files[r.fromRoot(r.source)]
		delete(files, r.fromRoot(r.source))
	}
	whole := digestOfAll(files)
	for _, c := range m.Cases {
		c.Digests["judging files"] = whole
		if added := files[caseInput+c.ID]; added != "" {
			c.Digests["added files"] = added
		}
		if workspace != "" {
			c.Digests["workspace"] = workspace
		}
	}
}

// ofAgents reports whether an input is what agents get in their workspaces.
func ofAgents(name string) bool {
	return strings.HasPrefix(name, armInput) || strings.HasPrefix(name, caseInput)
}

// digestOfAll returns one digest of inputs, without what agents get.
func digestOfAll(files map[string]string) string {
	whole := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !ofAgents(name) {
			fmt.Fprintf(whole, "%s\x00%s\n", name, files[name])
		}
	}
	return fmt.Sprintf("%x", whole.Sum(nil))[:24]
}

// judgingFiles returns the same digest of the files by which cases are judged as manifests have.
func (r *Runner) judgingFiles() (string, error) {
	files, err := r.inputs(context.Background())
	if r.pb.Workspace.From != "" {
		delete(files, r.fromRoot(r.source))
	}
	return digestOfAll(files), err
}

// addInput adds the digest of a file, once.
func (r *Runner) addInput(all map[string]string, path string) error {
	name := r.fromRoot(path)
	if _, known := all[name]; known {
		return nil
	}
	sum, err := digestOf(path)
	if err != nil {
		return fmt.Errorf("read what the playbook names: %w", err)
	}
	all[name] = sum
	return nil
}

// fromRoot is a path as people read it, without secrets: it stands in the run's manifest.
func (r *Runner) fromRoot(path string) string {
	return r.secrets.String(filepath.ToSlash(disk.Shown(r.cfg.Root, path)))
}

// addBeside adds what a script may import in ways that its text does not tell: the files of the same extension in its
// directory and below. Many of them are one digest.
func (r *Runner) addBeside(all map[string]string, dir, ext string, laid []string) error {
	if !slices.Contains([]string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".go"}, ext) {
		return nil
	}
	files := slices.DeleteFunc(beside(dir, ext), func(f string) bool { return slices.Contains(laid, f) })
	if len(files) <= maxNamed {
		for _, file := range files {
			if err := r.addInput(all, file); err != nil {
				return err
			}
		}
		return nil
	}
	whole := sha256.New()
	for _, file := range files {
		sum, err := digestOf(file)
		if err != nil {
			return fmt.Errorf("read what is beside a script: %w", err)
		}
		fmt.Fprintf(whole, "%s\x00%s\n", file[len(dir):], sum)
	}
	all[r.fromRoot(filepath.Join(dir, "**", "*"+ext))] = fmt.Sprintf("%x", whole.Sum(nil))[:24]
	return nil
}

// beside returns the files with an extension in a directory and below. What cannot be read cannot be imported either.
func beside(dir, ext string) (files []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case d.IsDir() && path != dir && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.Type().IsRegular() && filepath.Ext(path) == ext:
			files = append(files, path)
		}
		return nil
	})
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
func (r *run) checkInputs(ctx context.Context) error {
	now, err := r.inputs(ctx)
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
