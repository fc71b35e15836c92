// Package starter writes a first playbook into a user's Go module: the test that runs it, a small shop for the scripted
// agent to work on, what git has to know, and files of CI. Carrying the playbook out belongs to the command.
package starter

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/docs/ci"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// Playbook is the first playbook's path below the module's root. The test is in its directory.
const Playbook = "evals/first.yaml"

// The systems that [Starter.CI] may name.
const (
	GitHub = "github"
	GitLab = "gitlab"
)

//go:embed testdata/module
var module embed.FS

// Judge is what judges in TypeScript import, a file that needs no other.
//
//go:embed judge.ts
var Judge []byte

// file is a file to write, by its path below the module's root.
type file struct{ name, text string }

// Starter writes what a module needs for its first playbook. What is there already stays as it is, so one that was
// interrupted can start again.
type Starter struct {
	Root    string // of the module, absolute
	Environ []string
	// Version is the version of this module for a go.mod without it, such as "v1.2.3"; empty: the newest.
	Version string
	CI      string            // [GitHub] or [GitLab]; empty: no files of CI
	Wrote   func(path string) // is told each path below the root that was written or changed
}

// InTheWayError means that a file to write exists with another content.
type InTheWayError struct{ Path string }

func (e *InTheWayError) Error() string {
	return e.Path + " exists, and is not what init writes: it stays as it is, and nothing was written"
}

// Write writes everything. Before it writes anything, it looks whether a file is in its way.
func (s Starter) Write(ctx context.Context) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	var missing []file
	for _, f := range files {
		old, err := disk.Tree(s.Root).ReadRegular(s.path(f.name), 1<<20)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, f)
		case err != nil:
			return err
		case !bytes.Equal(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), []byte(f.text)):
			return fault.Advise(&InTheWayError{s.path(f.name)}, "move it away, then: sdd-eval init; "+
				"or sdd-eval init --name NAME, for a playbook in a directory of its own")
		}
	}
	begun := s.Begun()
	replaced, err := s.replaced(ctx)
	if err != nil {
		return err
	}
	if err := s.require(ctx, replaced); err != nil {
		return err
	}
	for _, f := range missing {
		if err := disk.Tree(s.Root).Create(s.path(f.name), []byte(f.text), 0o644); err != nil {
			return err
		}
		s.Wrote(f.name)
	}
	if replaced && !begun {
		if err := s.load(ctx, "-test", "./evals"); err != nil {
			return err
		}
	}
	return s.tellGit()
}

func (s Starter) path(name string) string { return filepath.Join(s.Root, filepath.FromSlash(name)) }

// Begun reports whether the module has the test. Then [Starter.Write] writes only files of CI if it is to write any.
func (s Starter) Begun() bool {
	_, err := os.Lstat(s.path("evals/evals_test.go"))
	return err == nil
}

// files returns what is to be written, in that order.
func (s Starter) files() ([]file, error) {
	// A module in the module, so that its tests are none of the user's. The go command embeds no file of that name.
	files := []file{{"evals/testdata/shop/go.mod", "module example.com/shop\n\ngo 1.22\n"}}
	const top = "testdata/module"
	err := fs.WalkDir(module, top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := module.ReadFile(name)
		files = append(files, file{strings.TrimPrefix(name, top+"/"), string(text)})
		return err
	})
	if s.CI != "" && s.Begun() {
		files = nil
	}
	// Its jobs call a Makefile, and the user may have one.
	const makefile = "evals/ci.mk"
	its := func(text string) string { return strings.ReplaceAll(text, "make ", "make -f "+makefile+" ") }
	switch s.CI {
	case GitHub:
		files = append(files, file{makefile, ci.Makefile}, file{".github/workflows/evals.yml", its(ci.GitHub)})
	case GitLab:
		files = append(files, file{makefile, ci.Makefile}, file{".gitlab-ci.yml", its(ci.GitLab)})
	}
	return files, err
}

// tellGit has git ignore what runs and tests leave, and change no line end of what recordings depend on.
func (s Starter) tellGit() error {
	if err := rundir.EnsureIgnored(s.Root); err != nil {
		return err
	}
	lines := []file{
		{".gitignore", "/.evaltest/"},
		{".gitattributes", "/cassettes/** -text"},
		{".gitattributes", "/evals/testdata/** -text"},
	}
	if s.CI != "" {
		lines = append(lines, file{".gitignore", "/junit.xml"})
	}
	for _, l := range lines {
		if err := rundir.EnsureLine(s.Root, l.name, l.text); err != nil {
			return fmt.Errorf("add %q to %s: %w", l.text, s.path(l.name), err)
		}
	}
	return nil
}

const (
	own       = "github.com/sdd-eval/sdd-eval"
	imported  = own + "/evaltest" // by the test
	command   = own + "/cmd/sdd-eval"
	gotestsum = "gotest.tools/gotestsum" // makes junit.xml in CI
	// gotestsumVersion is that of our own go.mod.
	gotestsumVersion = "v1.13.0"
)

// require has go.mod name this module and, for CI, tools.mod its tools, unless they do. What only the tools need stays
// out of go.mod.
func (s Starter) require(ctx context.Context, replaced bool) error {
	if _, err := s.goCommand(ctx, "list", "-deps", imported); err != nil {
		var err error
		if replaced {
			err = s.load(ctx, imported)
		} else {
			err = s.get(ctx, imported)
		}
		if err != nil {
			return err
		}
		s.Wrote("go.mod")
	}
	if s.CI == "" {
		return nil
	}
	return s.requireTools(ctx, "tools.mod")
}

// requireTools names versions, since go would look for the newest even behind a replace.
func (s Starter) requireTools(ctx context.Context, modfile string) error {
	if err := s.copyMod(); err != nil {
		return err
	}
	deps := []string{"list", "-modfile=" + modfile, "-deps", "tool"}
	listed, err := s.goCommand(ctx, deps...)
	if err != nil { // none, or not all of what they need
		listed = ""
	}
	there := strings.Fields(listed)
	edit := []string{"mod", "edit"}
	if !slices.Contains(there, command) {
		version, err := s.goCommand(ctx, "list", "-m", "-f", "{{.Version}}", own)
		if err != nil {
			return err
		}
		edit = append(edit, "-tool="+command, "-require="+own+"@"+strings.TrimSpace(version))
	}
	if !slices.Contains(there, gotestsum) {
		edit = append(edit, "-tool="+gotestsum, "-require="+gotestsum+"@"+gotestsumVersion)
	}
	if len(edit) == 2 {
		return nil
	}
	if _, err := s.goCommand(ctx, append(edit, modfile)...); err != nil {
		return err
	}
	if _, err := s.goCommand(ctx, slices.Insert(deps, 1, "-mod=mod")...); err != nil {
		return fault.Advise(err, advice+" --ci "+s.CI)
	}
	s.Wrote(modfile)
	return nil
}

// copyMod begins tools.mod as what go.mod is, so that the command is of the version that the tests import.
func (s Starter) copyMod() error {
	for _, ext := range []string{".mod", ".sum"} {
		text, err := disk.Tree(s.Root).ReadRegular(s.path("go"+ext), 16<<20)
		if err == nil {
			err = disk.Tree(s.Root).Create(s.path("tools"+ext), text, 0o644)
		}
		switch {
		case errors.Is(err, fs.ErrExist):
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}
