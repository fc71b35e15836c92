// Package helper finds the program that works beside an agent: it supervises children, relays to MCP servers, and does
// the other things that the constants name. It is a program of its own, and not the user's test binary started again,
// so no child runs the init functions of a user's packages. What the program does belongs in package program and the
// packages that it calls.
//
//	p, err := helper.Find()
//	...
//	argv := p.Command(helper.Relay, socket)
//
// The command sdd-eval is its own helper and declares that by [Self]. A test uses the first of these:
//
//  1. the file that EVALTEST_HELPER names
//  2. the file sdd-eval-helper beside the test binary
//  3. the helper in the user's cache
//  4. one that the go command builds in the user's module, which goes to the cache
//
// A helper that was not built from the same sources as this package is an error.
package helper

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// The programs of the helper. Each constant is an argument, and its comment names the arguments that follow.
const (
	Supervisor = "supervisor" // none; see package supervise
	Prober     = "prober"     // none; see package probe
	Relay      = "mcp-relay"  // the socket; see package relay
	Server     = "mcp-server" // a file, and the command of an MCP server; see package relay
	GoCache    = "go-cache"   // the directory to write, and those to read; see package gocache
	Hook       = "hook"       // the phase; see package hook
	Agent      = "fake-acp"   // the script, or nothing; see package scripted

	Check = "check" // none; prints [Key]
)

// Word is the argument that makes sdd-eval the helper. It comes before all others.
const Word = "helper"

// Program is a helper that was found.
type Program struct {
	// Path is the absolute path of its file.
	Path string

	first  []string // the arguments before the key
	remedy string   // what a person can do if it does not work
}

// Command returns the command line that starts one of the helper's programs: Path, the key, by which the helper
// verifies its version, and args.
func (p Program) Command(args ...string) []string {
	return slices.Concat([]string{p.Path}, p.first, []string{Key()}, args)
}

// Failed marks err as an error of the helper, with advice that depends on where the helper was found.
func (p Program) Failed(err error) error { return &Error{fault.Advise(err, p.remedy)} }

// Error means that there is no helper, or that it does not work. [fault.Advice] returns what a person can do.
type Error struct{ error }

func (e *Error) Unwrap() error { return e.error }

// self is this process's own program if that is the helper.
var self Program

// Self declares that this process's program is the helper if [Word] is its first argument. Only its main calls it.
func Self() {
	if path, err := os.Executable(); err == nil {
		self = Program{Path: path, first: []string{Word}}
	}
}

// Find returns the helper, which it looks for once. The error is an [Error].
func Find() (Program, error) {
	if self.Path != "" {
		return self, nil
	}
	return found()
}

var found = sync.OnceValues(func() (Program, error) { return here.find(os.Getenv(variable)) })

// variable is the environment variable with the path of a helper that somebody built.
const variable = "EVALTEST_HELPER"

// command is the helper's main package.
const command = "github.com/sdd-eval/sdd-eval/cmd/sdd-eval-helper"

// process is a process that looks for the helper.
type process struct {
	exe     string   // its program
	dir     string   // its working directory
	environ []string // its environment
	cache   string   // the user's cache, or empty
	temp    string   // the directory for temporary files
}

// here is this process as it was started. Tests change their working directory, HOME and PATH; with these they would
// not find the helper, or would build it again.
var here = func() process {
	p := process{environ: os.Environ(), temp: os.TempDir()}
	p.exe, _ = os.Executable() // without it there is no helper beside it
	p.dir, _ = os.Getwd()
	p.cache, _ = os.UserCacheDir()
	return p
}()

// find returns the helper. Chosen, if not empty, is the file that the user named.
func (p process) find(chosen string) (Program, error) {
	if chosen != "" {
		h := Program{Path: chosen, remedy: "unset " + variable + ", or build the helper anew: " + buildCommand(chosen)}
		if !filepath.IsAbs(chosen) {
			return h, h.Failed(fmt.Errorf(
				"%s: %s: tests run in the directories of their packages, so the path must be absolute",
				variable, chosen))
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

// buildCommand returns the command with which a person builds the helper.
func buildCommand(path string) string { return "CGO_ENABLED=0 go build -o " + path + " " + command }

// fileName returns the name of a program's file.
func fileName(program string) string {
	if runtime.GOOS == "windows" {
		return program + ".exe"
	}
	return program
}

// check starts the helper to find out whether it is the helper, in this version.
func (h Program) check() error {
	out, stderr, err := run(checkTimeout, h.Command(Check), "", []string{})
	if err == nil && out != Key()+"\n" {
		err = errors.New("not the helper of sdd-eval")
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

//go:generate env UPDATE_GOLDEN=1 go test -count=1 -run ^TestSources$ .

// sources has the sum of the helper's sources and, line by line, the packages that they belong to.
//
//go:embed generated/sources.txt
var sources string

// Key identifies the helper that was built from the same sources as this package.
func Key() string {
	key, _, _ := strings.Cut(sources, "\n")
	return key
}

// sourcesKey returns the key of the sources on this machine, if they are where they were compiled, and [Key] otherwise.
// So people who work on sdd-eval, as their main module or by a replace directive, test their changes.
func sourcesKey() string {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) || strings.Contains(file, "sdd-eval@") { // built with -trimpath, or from the module cache
		return Key()
	}
	_, packages, _ := strings.Cut(sources, "\n")
	sum, err := sum(filepath.Join(filepath.Dir(file), "..", ".."), strings.Fields(packages))
	if err != nil { // the sources are not on this machine
		return Key()
	}
	return sum
}

// sum returns the sum of all files of packages except tests. The packages are directories below the module's root.
func sum(root string, packages []string) (string, error) {
	h := sha256.New()
	for _, pkg := range packages {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(pkg)))
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(pkg), e.Name()))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s/%s %d\n%s", pkg, e.Name(), len(data), data)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
