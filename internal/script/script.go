// Package script runs programs of a playbook's author: judges, prompt templates and commands, each as a confined
// process with one input and one output. What the output means is up to the caller.
//
//	r := &script.Runner{Sandbox: sandbox, Environ: os.Environ(), Root: root}
//	reply, err := r.Run(ctx, script.Script{Argv: []string{"python3", "/project/judges/tests.py"}}, input, workspace)
package script

import (
	"cmp"
	"encoding/json"
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
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// Script is a program with its arguments, and what it may do.
type Script struct {
	// Argv is the program and its arguments. There is no shell, and names of files are not interpreted. The program is
	// a name that is looked up in PATH, or an absolute path.
	Argv []string
	// Cwd is the working directory, an absolute path. If it is empty, it is the project's root.
	Cwd string
	// Env has further variables, "NAME=value" each.
	Env []string
	// Write lists files and directories, as absolute paths, that the script may change besides its HOME and TMPDIR.
	Write []string
	// Timeout is how long the script may take; 0 means [DefaultTimeout].
	Timeout time.Duration
	// Network lets the script reach the network as we can.
	Network bool
	// Apart keeps the project from the script. It is for code that an agent wrote.
	Apart bool
}

// DefaultTimeout is the timeout of a [Script] whose Timeout is 0.
const DefaultTimeout = 120 * time.Second

func (s *Script) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return DefaultTimeout
}

// check returns an error if s cannot be run.
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

// name returns the script's words as people know them, with paths relative to the project's root.
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
	// maxStdout is how many bytes a script may write to its standard output.
	maxStdout = 10 << 20
	// keptStderr is how many bytes are kept from the end of its standard error.
	keptStderr = 1 << 20
)

// Output is the output of a script, and how it ended.
type Output struct {
	Stdout []byte
	// Stderr is the standard error, or its last MiB, as valid UTF-8. StderrCut means that there was more.
	Stderr    string
	StderrCut bool
	Exit      supervise.Exit
}

const (
	// maxShown is how many bytes from the end of each of a script's outputs an error shows.
	maxShown = 2000
	// maxName is how many characters of a script's words an error shows.
	maxName = 200
)

// Error means that a script did not succeed.
type Error struct {
	// Script is the script as a person would type it.
	Script string
	// Err says how it ended: with an exit code, by a signal, at its timeout, or before it had started.
	Err error
	// Stderr and Stdout are the ends of its standard error and its standard output, at most 2,000 bytes each of one or
	// more lines.
	Stderr, Stdout string
}

// Error returns everything on one line, of the outputs the standard error unless that is empty.
func (e *Error) Error() string {
	text := "script " + e.Script + ": " + e.Err.Error()
	if wrote := cmp.Or(e.Stderr, e.Stdout); wrote != "" {
		text += ": " + excerpt.Line(wrote, maxShown)
	}
	return text
}

// Brief is Error for who shows the outputs, too: of several lines of output it has the one that says most, such as the
// last of a traceback.
func (e *Error) Brief() string {
	wrote := strings.TrimSpace(cmp.Or(e.Stderr, e.Stdout))
	first, _, several := strings.Cut(wrote, "\n")
	if !several {
		return e.Error()
	}
	if all := exception.FindAllString(wrote, -1); len(all) > 0 {
		first = all[len(all)-1]
	}
	var verdict struct{ Reason string }
	if json.Unmarshal([]byte(wrote), &verdict) == nil && verdict.Reason != "" { // of an SDK of judges
		first = verdict.Reason
	}
	return "script " + e.Script + ": " + e.Err.Error() + ": " + excerpt.Line(first, maxShown)
}

// exception matches a line that names what a program has thrown.
var exception = lazyregexp.New(`(?m)^[\w.]*(Error|Exception|panic): .+$`)

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Locate returns the words of a script in a playbook, of which it makes two absolute: the program, if it is a path, and
// the script's file. That is the first word after the program that has a slash or an extension and names an existing
// file. Its path is file, or "" if no word looks like the name of a file. n is the mapping that has argv under the key
// script. Locate reports an error there if the program does not exist, or if none of the named files does.
func Locate(n *doc.Node, argv []string) (located []string, file string) {
	if len(argv) == 0 {
		return nil, "" // reported elsewhere
	}
	located = slices.Clone(argv)
	if d := n.Document(); d != nil {
		d.Files = append(d.Files, Files(n, argv)...)
	}
	if strings.ContainsAny(argv[0], `/\`) {
		path, err := plan.File(n, argv[0])
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
		path, err := plan.File(n, word)
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

// namesFile reports whether a word may name a file: it is not a flag, and not a program for a shell.
func namesFile(word string) bool {
	return !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, " \t\n") &&
		(strings.ContainsAny(word, `/\`) || extension.MatchString(word))
}

var extension = lazyregexp.New(`\.[A-Za-z][A-Za-z0-9]*$`)
