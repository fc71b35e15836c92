package archtest

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// source is the files of a package, with type information.
type source struct {
	path  string // below the root
	fset  *token.FileSet
	files []*ast.File
	info  types.Info
}

// loaded are the packages once a test has loaded them.
var loaded []*source

// load calls f for each package of the module as this system builds it. r is its path below the root.
func load(t *testing.T, f func(r string, s *source)) {
	t.Helper()
	if loaded == nil {
		loaded = loadAll(t)
	}
	for _, s := range loaded {
		f(s.path, s)
	}
}

func loadAll(t *testing.T) (all []*source) {
	t.Helper()
	fset := token.NewFileSet()
	importer := importerOf(t, fset, "./...")
	for _, p := range list(t) {
		r := rel(p.ImportPath)
		if r == "" {
			continue
		}
		s := &source{path: r, fset: fset}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(s.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			s.files = append(s.files, file)
		}
		if err := s.check(p.ImportPath, importer); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// importerOf imports packages and their dependencies.
func importerOf(t *testing.T, fset *token.FileSet, patterns ...string) types.Importer {
	t.Helper()
	files := make(map[string]string)
	for _, p := range goList(t, append([]string{"-deps", "-export", "-json=ImportPath,Export"}, patterns...)...) {
		files[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}

// check type-checks the files.
func (s *source) check(path string, importer types.Importer) error {
	s.info = types.Info{Uses: make(map[*ast.Ident]types.Object), Types: make(map[ast.Expr]types.TypeAndValue)}
	conf := types.Config{Importer: importer}
	_, err := conf.Check(path, s.fset, s.files, &s.info)
	return err
}

// writes returns where the package can write, such as "file.go:12 os.Create", by function.
func (s *source) writes() map[string][]string {
	found := make(map[string][]string)
	for _, f := range s.files {
		for _, d := range f.Decls {
			if places := s.writesIn(d); len(places) > 0 {
				found[declName(d)] = append(found[declName(d)], places...)
			}
		}
	}
	return found
}

func (s *source) writesIn(d ast.Decl) (places []string) {
	reading := s.readingCalls(d)
	ast.Inspect(d, func(n ast.Node) bool {
		if n, ok := n.(*ast.Ident); ok && !reading[n] {
			if name := fullName(s.info.Uses[n]); canWrite(name) {
				at := s.fset.Position(n.Pos())
				places = append(places, fmt.Sprintf("%s:%d %s", filepath.Base(at.Filename), at.Line, name))
			}
		}
		return true
	})
	return places
}

// readingCalls returns the names of functions that open a file, in calls that open it for reading.
func (s *source) readingCalls(d ast.Decl) map[*ast.Ident]bool {
	reading := make(map[*ast.Ident]bool)
	ast.Inspect(d, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name := called(call); name != nil && s.opensForReading(call) {
				reading[name] = true
			}
		}
		return true
	})
	return reading
}

// declName returns a function's name, "(*T).m" for a method, "var" for anything else.
func declName(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	switch {
	case !ok:
		return "var"
	case f.Recv == nil:
		return f.Name.Name
	}
	return fmt.Sprintf("(%s).%s", types.ExprString(f.Recv.List[0].Type), f.Name.Name)
}

// called returns the name of the function that is called, nil if it has none.
func called(call *ast.CallExpr) *ast.Ident {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

// opensForReading reports whether a call opens a file with flags that are known, and not for writing.
func (s *source) opensForReading(call *ast.CallExpr) bool {
	if name := called(call).Name; name != "Open" && name != "OpenFile" || len(call.Args) != 3 {
		return false
	}
	value := s.info.Types[call.Args[1]].Value
	if value == nil || value.Kind() != constant.Int {
		return false
	}
	const writing = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREATE | os.O_TRUNC
	flags, ok := constant.Int64Val(value)
	return ok && flags&int64(writing) == 0
}

// fullName returns the name of what is used, with its package, and that of the receiver of a method. Ours are named
// below the module's root.
func fullName(used types.Object) string {
	switch o := used.(type) {
	case *types.Func:
		return strings.Replace(o.FullName(), module+"/", "", 1)
	case *types.Builtin:
		return o.Name()
	case *types.Var:
		if o.Pkg() != nil && o.Parent() == o.Pkg().Scope() {
			return o.Pkg().Path() + "." + o.Name()
		}
	}
	return ""
}

// canWrite reports whether a function or variable can write. Functions that take an [io.Writer] do not count: whoever
// has opened the writer does.
func canWrite(name string) bool {
	return strings.HasPrefix(name, "log.") || strings.HasPrefix(name, "log/slog.") ||
		strings.HasPrefix(name, "fmt.Print") ||
		slices.Contains(waysToWrite, name)
}

// waysToWrite are functions and variables of other packages that can write.
var waysToWrite = []string{
	"print", "println", "os.Stdout", "os.Stderr",
	"os.Create", "os.CreateTemp", "os.OpenFile", "os.WriteFile", "os.CopyFS", "os.Rename", "os.Link", "os.Symlink",
	"(*os.Root).Create", "(*os.Root).OpenFile", "(*os.Root).WriteFile", "(*os.Root).Rename", "(*os.Root).Link",
	"(*os.Root).Symlink",
	"(*os.File).Write", "(*os.File).WriteString", "(*os.File).WriteAt", "(*os.File).ReadFrom",
	"syscall.Open", "syscall.Write", "golang.org/x/sys/unix.Open", "golang.org/x/sys/unix.Openat",
	"golang.org/x/sys/unix.Write",
	"internal/disk.Replace", "internal/disk.Put", "(internal/disk.Tree).Replace", "(internal/disk.Tree).Create",
	"(internal/disk.Tree).OpenFile", "(internal/disk.Tree).Rename",
}

// TestChildren holds that child processes are started from the helper program, not from os.Executable, which may be a
// user's test binary; and that main starts them, not a function init, which would run in every test binary of a user.
func TestChildren(t *testing.T) {
	var (
		selves = []string{
			"internal/helper",             // finds the helper beside this program, or is the helper itself
			"internal/cli",                // writes its own name into the settings of Claude Code
			"internal/testkit/mcpagent",   // is for tests
			"internal/testkit/benchtable", // is for developers
		}
		inits = []string{
			"internal/tracing/otlp",     // registers itself, and starts nothing
			"internal/testkit/mcpagent", // is for tests
		}
	)
	load(t, func(r string, s *source) {
		for _, f := range s.files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if name := fullName(s.info.Uses[n]); name == "os.Executable" && !slices.Contains(selves, r) {
						t.Errorf("%s: take the program from internal/helper, in place of os.Executable",
							s.fset.Position(n.Pos()))
					}
				case *ast.FuncDecl:
					if n.Name.Name == "init" && n.Recv == nil && !slices.Contains(inits, r) {
						t.Errorf("%s: call it from main: users' test binaries run every init", s.fset.Position(n.Pos()))
					}
				}
				return true
			})
		}
	})
}

// TestLazyRegexps compiles all lazy expressions. No test may ever use one of them, and a mistake in it would be a panic
// in front of a user.
func TestLazyRegexps(t *testing.T) {
	found := 0
	load(t, func(_ string, s *source) {
		for _, f := range s.files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || called(call) == nil || fullName(s.info.Uses[called(call)]) != "internal/lazyregexp.New" {
					return true
				}
				found++
				at, text := s.fset.Position(call.Pos()), s.info.Types[call.Args[0]].Value
				if text == nil {
					t.Errorf("%s: the expression is not a constant", at)
				} else if _, err := regexp.Compile(constant.StringVal(text)); err != nil {
					t.Errorf("%s: %v", at, err)
				}
				return true
			})
		}
	})
	if found == 0 {
		t.Error("found no lazy expressions: does the test look for the right name?")
	}
}
