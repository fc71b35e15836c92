package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/testkit/mutated"
)

const (
	// noMutant is the number of none, with which the limits hold. With 0, not even these do.
	noMutant = -1

	// late is the exit code of a process that lived longer than it may.
	late = 98

	// swtch is the source of the switch, and of what notes which marks are reached. A mutant that allocates
	// without end would take the machine with it, and tests that are killed leave children.
	swtch = `package %s

import (
	"os"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"time"
)

var activeMutant = func() int {
	n, _ := strconv.Atoi(os.Getenv("` + mutated.Mutant + `"))
	if n == 0 {
		return 0
	}
	if seconds, _ := strconv.Atoi(os.Getenv("` + mutated.Seconds + `")); seconds > 0 {
		time.AfterFunc(time.Duration(seconds)*time.Second, func() { os.Exit(%d) })
	}
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	var watch func()
	watch = func() { // no goroutine of its own: tests look whether some are left
		if metrics.Read(sample); sample[0].Value.Uint64() > 2<<30 {
			os.Stderr.WriteString("the mutant takes too much memory\n")
			os.Exit(97)
		}
		time.AfterFunc(50*time.Millisecond, watch)
	}
	watch()
	return n
}()

var (
	reachedFile  = os.Getenv("` + mutated.Reached + `")
	reachedMarks [%d]atomic.Bool
)

func reachedCondition[T ~bool](n int, c T) T {
	if c {
		reachedMark(n)
	} else {
		reachedMark(n + 1)
	}
	return c
}

func reachedMark(n int) {
	if reachedFile == "" || reachedMarks[n].Swap(true) {
		return
	}
	if f, err := os.OpenFile(reachedFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
		f.WriteString(strconv.Itoa(n) + "\n")
		f.Close()
	}
}
`
)

// span is where a mutant is in a generated file.
type span struct {
	from, to int
	mutant   *mutant
}

// generate returns a file's source with a switch in each function that has mutants, and marks. These have numbers from
// the first one on; it returns the next.
func (f *file) generate(mutants []*mutant, first int) (source []byte, spans []span, next int) {
	of := make(map[int][]*mutant) // by the offset of the function's body
	for _, m := range mutants {
		if m.function.file == f {
			of[m.function.from] = append(of[m.function.from], m)
		}
	}
	var out bytes.Buffer
	done := 0
	for _, fn := range f.functions() {
		if len(of[fn.from]) == 0 {
			continue
		}
		out.Write(f.source[done : fn.from+1])
		done = fn.from + 1
		out.WriteString("\nswitch activeMutant {\n")
		for _, m := range of[fn.from] {
			from := out.Len()
			if fn.results != "" {
				fmt.Fprintf(&out, "case %d: return func() %s %s()\n", m.number, fn.results, m.body)
			} else {
				fmt.Fprintf(&out, "case %d: func() %s(); return\n", m.number, m.body)
			}
			spans = append(spans, span{from, out.Len(), m})
		}
		out.WriteString("}\n")
		for _, i := range fn.marks(of[fn.from], &first) {
			out.Write(f.source[done:i.at])
			out.WriteString(i.text)
			done = i.at
		}
	}
	out.Write(f.source[done:])
	return out.Bytes(), spans, first
}

// listed is what go list says about a package.
type listed struct {
	ImportPath, Dir, Name, Export      string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// list runs go list on a package, and on all that it imports if they are to be compiled.
func list(ctx context.Context, tree, dir string, deps bool) ([]listed, error) {
	args := []string{"list", "-json=ImportPath,Dir,Name,Export,GoFiles,TestGoFiles,XTestGoFiles"}
	if deps {
		args = append(args, "-deps", "-export")
	}
	out, err := command(ctx, tree, nil, "go", append(args, "./"+dir)...)
	if err != nil {
		return nil, err
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, err
		}
		packages = append(packages, p)
	}
}

// command runs a program and returns what it prints, also beside an error.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return out, fmt.Errorf("%s %.80q: %w\n%.4000s%.4000s", name, args, err, stderr.Bytes(), out)
	}
	return out, nil
}

// choose returns the first mutants that compile, at most count, and the sources with all of them, by the file's name.
func choose(
	pkg listed, imports types.Importer, files []*file, all []*mutant, count int,
) ([]*mutant, map[string][]byte, error) {
	chosen, rest := []*mutant(nil), all
	for {
		more := min(len(rest), max(0, count-len(chosen)))
		for _, m := range rest[:more] {
			if _, err := parser.ParseExpr("func() " + m.body); err == nil {
				chosen = append(chosen, m)
			}
		}
		rest = rest[more:]
		for i, m := range chosen {
			m.number = i + 1
		}
		sources, bad, err := check(pkg, imports, files, chosen)
		if err != nil {
			return nil, nil, err
		}
		if len(bad) == 0 && (len(chosen) == count || len(rest) == 0) {
			return chosen, sources, nil
		}
		chosen = slices.DeleteFunc(chosen, func(m *mutant) bool { return bad[m] })
	}
}

// check returns the sources with mutants, and those mutants that do not compile.
func check(
	pkg listed, imports types.Importer, files []*file, mutants []*mutant,
) (map[string][]byte, map[*mutant]bool, error) {
	fset := token.NewFileSet()
	sources, marks := make(map[string][]byte), 0
	spans := make(map[string][]span)
	for _, f := range files {
		sources[f.name], spans[f.name], marks = f.generate(mutants, marks)
	}
	sources["activemutant.go"] = fmt.Appendf(nil, swtch, pkg.Name, late, marks)
	var syntax []*ast.File
	for name, source := range sources {
		parsed, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, fmt.Errorf("a mutant is no Go: %w", err)
		}
		syntax = append(syntax, parsed)
	}
	bad := make(map[*mutant]bool)
	var other error
	config := types.Config{Importer: imports, Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) {
			other = err
			return
		}
		p := fset.Position(e.Pos)
		for _, s := range spans[p.Filename] {
			if s.from <= p.Offset && p.Offset < s.to {
				bad[s.mutant] = true
				return
			}
		}
		other = err
	}}
	_, _ = config.Check(pkg.ImportPath, fset, syntax, nil)
	if len(bad) > 0 {
		other = nil // may follow from them
	}
	return sources, bad, other
}

// importsOf returns an importer for what a package imports, compiled by the go command.
func importsOf(ctx context.Context, tree, dir string) (types.Importer, error) {
	packages, err := list(ctx, tree, dir, true)
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string)
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	// The switch imports these, whether the package does or not.
	for _, name := range []string{"os", "runtime/metrics", "strconv", "sync/atomic", "time"} {
		if exports[name] != "" {
			continue
		}
		out, err := command(ctx, tree, nil, "go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}", name)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(out) {
			if path, export, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" ")); ok {
				exports[string(path)] = string(export)
			}
		}
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("not compiled: " + strconv.Quote(path))
		}
		return os.Open(exports[path])
	}), nil
}

// overlay writes the sources below out, and a file for go build's flag -overlay.
func overlay(pkg listed, out string, sources map[string][]byte) (string, error) {
	replace := make(map[string]string)
	for name, source := range sources {
		to := filepath.Join(out, "overlay", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, source, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(pkg.Dir, name)] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(out, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}
