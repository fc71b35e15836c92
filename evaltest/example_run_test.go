package evaltest_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runTest runs a test as go test does, for an example, and prints whether it passed. What go test was asked for, such
// as
// -v and -run, is about the example and not about this test.
func runTest(test func(t *testing.T)) {
	for name, value := range map[string]string{"test.v": "false", "test.run": "", "test.skip": "", "test.count": "1"} {
		f := flag.Lookup(name)
		before := f.Value.String()
		if err := f.Value.Set(value); err != nil {
			panic(err)
		}
		defer func() { _ = f.Value.Set(before) }()
	}
	all := func(_, _ string) (bool, error) { return true, nil }
	fmt.Println("passed:", testing.RunTests(all, []testing.InternalTest{{Name: "TestExample", F: test}}))
}

// TestEveryNameHasAnExample holds the package to an example, whose output is checked, for each exported name.
func TestEveryNameHasAnExample(t *testing.T) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "example_test.go", nil, parser.ParseComments)
	require.NoError(t, err)
	used := make(map[string]bool)
	for _, e := range doc.Examples(parsed) {
		require.NotEmpty(t, e.Output, "Example%s: its output is not checked", e.Name)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "evaltest" {
				used[s.Sel.Name] = true
			}
		}
		return true
	})
	for _, name := range exported(t, files) {
		require.True(t, used[name], "%s is in no example", name)
	}
	// The 27th is Compare and the 28th Skill, which the command alone would not give to those who gate by go test.
	// The 29th and 30th are Mutate and Mutation: whether an eval notices a bad agent is a gate of go test, too.
	// Survivor is Mutation's, and Plugin with its flags, From, is as Skill is.
	require.LessOrEqual(t, len(exported(t, files)), 33,
		"a name that is added is one that everybody reads: what can go?")
}

// exported are the package's exported functions and types.
func exported(t *testing.T, files *token.FileSet) (names []string) {
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var parsed []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || path == "vendored.go" {
			continue
		}
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	p, err := doc.NewFromFiles(files, parsed, "github.com/sdd-eval/sdd-eval/evaltest")
	require.NoError(t, err)
	funcs := p.Funcs
	for _, typ := range p.Types {
		names = append(names, typ.Name)
		funcs = append(funcs, typ.Funcs...)
	}
	for _, f := range funcs {
		names = append(names, f.Name)
	}
	require.Empty(t, p.Consts)
	require.Empty(t, p.Vars)
	return names
}
