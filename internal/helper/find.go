package helper

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// variable names a helper that somebody built.
const variable = "EVALTEST_HELPER"

// command is the helper's main package.
const command = "github.com/sdd-eval/sdd-eval/cmd/sdd-eval-helper"

// place is where a process looks for the helper.
type place struct {
	exe     string   // its own program
	dir     string   // its working directory
	environ []string // its environment
	cache   string   // the user's cache; empty: there is none
	temp    string   // the directory for temporary files
}

// here is where this process was started. Tests change their working directory, and HOME and PATH: what they look for
// would then not be there, or be built once more.
var here = func() place {
	p := place{environ: os.Environ(), temp: os.TempDir()}
	p.exe, _ = os.Executable() // without one there is nothing beside it
	p.dir, _ = os.Getwd()
	p.cache, _ = os.UserCacheDir()
	return p
}()

// find returns the helper. Chosen, if not empty, is the file that the user named.
func (p place) find(chosen string) (Program, error) {
	if chosen != "" {
		h := Program{Path: chosen, remedy: "unset " + variable + ", or build the helper anew: " + buildCommand(chosen)}
		if !filepath.IsAbs(chosen) {
			return h, h.Failed(fmt.Errorf(
				"%s: %s: tests run in the directories of their packages, so the path has to be absolute", variable, chosen))
		}
		if err := h.check(); err != nil {
			return h, h.Failed(fmt.Errorf("%s: %w", variable, err))
		}
		return h, nil
	}
	beside := filepath.Join(filepath.Dir(p.exe), fileName("sdd-eval-helper"))
	if info, err := os.Stat(beside); err == nil && p.exe != "" {
		h := Program{Path: beside, remedy: "remove it, or build it anew: " + buildCommand(beside)}
		if err := trusted(info); err != nil {
			return h, h.Failed(fmt.Errorf("the helper beside the test binary: %s %w", beside, err))
		}
		if err := h.check(); err != nil {
			return h, h.Failed(fmt.Errorf("the helper beside the test binary: %w", err))
		}
		return h, nil
	}
	return p.cached()
}

// buildCommand is how a person builds the helper.
func buildCommand(path string) string { return "CGO_ENABLED=0 go build -o " + path + " " + command }

// fileName returns the name of a program's file.
func fileName(program string) string {
	if runtime.GOOS == "windows" {
		return program + ".exe"
	}
	return program
}

// check starts the helper to find out whether it is one, and the right one.
func (h Program) check() error {
	out, stderr, err := run(checkTimeout, h.Command(Check), "", []string{})
	if err == nil && out != Key()+"\n" {
		err = errors.New("it is not the helper of sdd-eval")
	}
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err // names the file
	}
	if text := cmp.Or(strings.TrimSpace(stderr), strings.TrimSpace(out)); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return fmt.Errorf("%s: %w", h.Path, err)
}
