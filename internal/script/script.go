package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Script is a program with what it is given.
type Script struct {
	// Argv are the program and its arguments, handed over as they are: there is no shell, and the names of files mean
	// nothing. The program is a name that is looked up in PATH, or an absolute path.
	Argv []string
	// Cwd is the working directory, an absolute path; empty: the project's root.
	Cwd string
	// Env are further variables, "NAME=value" each.
	Env []string
	// Write are files and directories that it may change besides its HOME and TMPDIR, absolute paths.
	Write []string
	// Timeout is how long it may take, start to end; 0: [DefaultTimeout].
	Timeout time.Duration
	// Network lets it reach the network as we do.
	Network bool
	// Apart keeps the project from it, for code that an agent wrote.
	Apart bool
}

// DefaultTimeout is the timeout of a [Script] that has none.
const DefaultTimeout = 120 * time.Second

func (s *Script) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultTimeout
}

// check reports what can be no script.
func (s *Script) check() error {
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return errors.New("script: no program given")
	case strings.ContainsAny(s.Argv[0], `/\`) && !filepath.IsAbs(s.Argv[0]):
		return fmt.Errorf("script: program %q must be a name or an absolute path", s.Argv[0])
	case s.Cwd != "" && !filepath.IsAbs(s.Cwd):
		return fmt.Errorf("script %s: cwd %q must be an absolute path", s.Argv[0], s.Cwd)
	}
	return nil
}

// name returns the script as people know it: its words, with paths relative to the project's root.
func (s *Script) name(root string) string {
	words := make([]string, len(s.Argv))
	for i, w := range s.Argv {
		if rel, err := filepath.Rel(root, w); err == nil && filepath.IsAbs(w) && filepath.IsLocal(rel) {
			w = filepath.ToSlash(rel)
		}
		words[i] = w
	}
	return excerpt.Line(strings.Join(words, " "), maxName)
}
