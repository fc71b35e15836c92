package archtest

import (
	"go/ast"
	"slices"
	"testing"
)

// TestChildren holds that our children are started from the helper, and by main: not from the program that runs, which may
// be a user's test binary, and not by function init, before which a user's packages may have run theirs.
func TestChildren(t *testing.T) {
	var (
		selves = []string{
			"internal/helper",           // finds what lies beside it, and is told by sdd-eval that it is the one
			"internal/cli",              // writes its own name into the settings of Claude Code
			"internal/testkit/mcpagent", // is for tests
		}
		inits = []string{
			"internal/tracing/otlp",                                 // registers itself, and starts nothing
			"internal/testkit/hostile", "internal/testkit/mcpagent", // are for tests
		}
	)
	load(t, func(r string, s *source) {
		for _, f := range s.files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if name := fullName(s.info.Uses[n]); name == "os.Executable" && !slices.Contains(selves, r) {
						t.Errorf("%s: take the program from internal/helper, in place of os.Executable", s.fset.Position(n.Pos()))
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
