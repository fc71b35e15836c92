// Package script runs what the author of a playbook wrote: judges, prompt templates and commands, each as a confined
// process with one input and one output.
//
//	r := &script.Runner{Sandbox: sandbox, Environ: os.Environ(), Root: root}
//	reply, err := r.Run(ctx, script.Script{Argv: []string{"python3", "/project/judges/tests.py"}}, input, workspace)
package script

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/spec"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
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

const (
	// maxStdout bounds what a script may write to its standard output.
	maxStdout = 10 << 20
	// keptStderr is how much of the end of its standard error is kept.
	keptStderr = 1 << 20
)

// Output is what a script wrote, and how it ended.
type Output struct {
	Stdout []byte
	// Stderr is the last MiB of it at most, as valid UTF-8; StderrCut tells that there was more.
	Stderr    string
	StderrCut bool
	Exit      supervise.Exit
}

// bounded keeps what is written to it up to a limit, and tells once that there is more.
type bounded struct {
	buf  []byte
	over func(error) // is called by the write that passes the limit
	past bool
}

// Write implements [io.Writer]. It never fails: the one who writes is stopped by other means, and copied from until then.
func (b *bounded) Write(p []byte) (int, error) {
	if room := maxStdout - len(b.buf); len(p) <= room {
		b.buf = append(b.buf, p...)
	} else if !b.past {
		b.past = true
		b.over(fmt.Errorf("it wrote more than %d MiB to its standard output", maxStdout>>20))
	}
	return len(p), nil
}

const (
	// maxStderr is how much of the end of what a script wrote to its standard error an error shows, in bytes.
	maxStderr = 2000
	// maxName is how many characters of a script's words an error shows.
	maxName = 200
)

// Error says that a script did not end as it should have.
type Error struct {
	// Script is the script as a person would type it.
	Script string
	// Err says how it ended: with an exit code or by a signal, at its timeout, or before it had begun.
	Err error
	// Stderr is the end of what it wrote to its standard error, at most 2,000 bytes of one or more lines.
	Stderr string
}

// Error returns all of it in one line.
func (e *Error) Error() string {
	text := "script " + e.Script + ": " + e.Err.Error()
	if e.Stderr != "" {
		text += ": " + excerpt.Line(e.Stderr, maxStderr)
	}
	return text
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Locate returns the words of a script in a playbook with those that name files made absolute as far as that is needed:
// the program, if it is a path, and the script's file, which is the first word behind the program with a slash or an
// extension that names an existing file. File is its path, empty if no word looks like the name of a file. N is the
// mapping that has argv under the key script; what is wrong with it is reported there: a program that does not exist, and
// names of files of which none does.
func Locate(n *doc.Node, argv []string) (located []string, file string) {
	if len(argv) == 0 {
		return nil, "" // reported
	}
	located = slices.Clone(argv)
	if strings.ContainsAny(argv[0], `/\`) {
		path, err := spec.File(n, argv[0])
		if err != nil {
			n.Errorf("script[0]", "%v", err)
		}
		located[0], file = path, path
	}
	var missing error
	for i, word := range argv[1:] {
		if !namesFile(word) {
			continue
		}
		path, err := spec.File(n, word)
		if err == nil {
			located[i+1] = path
			return located, path
		}
		if missing == nil {
			missing = err
		}
	}
	if file == "" && errors.Is(missing, fs.ErrNotExist) {
		n.Errorf("script", "no word of it names a file: %v", missing)
	}
	return located, file
}

// namesFile reports whether a word may name a file: no flag, and no program of a shell's.
func namesFile(word string) bool {
	return !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, " \t\n") &&
		(strings.ContainsAny(word, `/\`) || extension.MatchString(word))
}

var extension = lazyregexp.New(`\.[A-Za-z][A-Za-z0-9]*$`)
