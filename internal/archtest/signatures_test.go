package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPublicSignatures holds that no exported declaration of a public package mentions a type of an internal one: a
// user could not name it.
func TestPublicSignatures(t *testing.T) {
	public := 0
	for _, p := range list(t) {
		r := rel(p.ImportPath)
		if r == "" || strings.Contains("/"+r+"/", "/internal/") || p.Name == "main" {
			continue
		}
		public++
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, leak := range internalMentions(fset, f) {
				t.Errorf("%s/%s", r, leak)
			}
		}
	}
	if public == 0 {
		t.Fatal("no public package found")
	}
}

func TestPublicSignaturesBite(t *testing.T) {
	const src = `package p
import "m/internal/x"
import y "m/internal/z"
type hidden struct{ F x.T }
func (hidden) Do(x.T) {}
type T struct{ F, g x.T; h y.U }
func F(int) y.U { var v x.T; _ = v; return nil }
func (*T) M(...x.T) {}
func (*T) m(x.T) {}
var V map[string]x.T
type A = y.U
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(internalMentions(fset, f), "\n")
	want := `p.go:6: T mentions m/internal/x
p.go:7: F mentions m/internal/z
p.go:8: T.M mentions m/internal/x
p.go:10: V mentions m/internal/x
p.go:11: A mentions m/internal/z`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// internalMentions returns the file's exported declarations that mention an internal package, one line each.
func internalMentions(fset *token.FileSet, f *ast.File) []string {
	internal := make(map[string]string)
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if !strings.Contains("/"+p+"/", "/internal/") {
			continue
		}
		name := p[strings.LastIndex(p, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		internal[name] = p
	}
	var found []string
	check := func(name string, n ast.Node) {
		if n == nil {
			return
		}
		seen := make(map[string]bool)
		inspectExported(n, func(sel *ast.SelectorExpr) {
			id, ok := sel.X.(*ast.Ident)
			if !ok || internal[id.Name] == "" || seen[id.Name] {
				return
			}
			seen[id.Name] = true
			at := fset.Position(n.Pos())
			found = append(found,
				fmt.Sprintf("%s:%d: %s mentions %s", filepath.Base(at.Filename), at.Line, name, internal[id.Name]))
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name, ok := exportedFunc(d); ok {
				check(name, d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						check(s.Name.Name, s.Type)
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.IsExported() && s.Type != nil {
							check(n.Name, s.Type)
						}
					}
				}
			}
		}
	}
	return found
}

// exportedFunc returns the name of an exported function, or of an exported method of an exported type.
func exportedFunc(d *ast.FuncDecl) (string, bool) {
	if !d.Name.IsExported() {
		return "", false
	}
	if d.Recv == nil {
		return d.Name.Name, true
	}
	typ := d.Recv.List[0].Type
	if s, ok := typ.(*ast.StarExpr); ok {
		typ = s.X
	}
	switch x := typ.(type) {
	case *ast.IndexExpr:
		typ = x.X
	case *ast.IndexListExpr:
		typ = x.X
	}
	id, ok := typ.(*ast.Ident)
	if !ok || !id.IsExported() {
		return "", false
	}
	return id.Name + "." + d.Name.Name, true
}

// inspectExported calls f for each selector in a type, passing over unexported fields of structs.
func inspectExported(n ast.Node, f func(*ast.SelectorExpr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
					inspectExported(field.Type, f)
				}
			}
			return false
		case *ast.SelectorExpr:
			f(n)
		}
		return true
	})
}
