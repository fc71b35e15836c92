package archtest

import (
	"go/ast"
	"slices"
	"testing"
)

// TestTrees holds that files of the user's module are changed through [disk.Tree], which follows no link out of it. A
// package that changes files in other ways says in the table whose they are.
func TestTrees(t *testing.T) {
	elsewhere := map[string]string{ // by package
		"internal/disk":                           "it is the way",
		"internal/secret":                         "directories of a unit, which are pinned",
		"internal/session":                        "directories of a unit, and the account that the user named",
		"internal/engine":                         "directories of a unit, which are pinned",
		"internal/workspace":                      "a workspace, below a root",
		"internal/script":                         "temporary directories",
		"internal/evaluator/command":              "temporary directories",
		"internal/lint":                           "temporary directories",
		"internal/worktree":                       "temporary directories",
		"internal/doctor":                         "temporary directories",
		"internal/toolcache":                      "a HOME in which nothing is at work yet",
		"internal/gocache":                        "temporary directories",
		"internal/interaction/mcpproxy":           "temporary directories",
		"internal/interaction/mcpproxy/relay":     "temporary directories",
		"internal/confine":                        "temporary directories",
		"internal/confine/probe":                  "temporary directories",
		"internal/supervise":                      "control groups, and temporary directories",
		"internal/helper":                         "the user's cache",
		"internal/claude/hook":                    "settings that the user named; the command checks links on the way",
		"evaltest":                                "temporary directories",
		"acp/scripted":                            "an agent, in its own process",
		"acp/internal/schemagen":                  "for developers",
		"internal/testkit/golden":                 "for developers",
		"internal/testkit/usermodule":             "for developers",
		"internal/testkit/mcpagent":               "for developers",
		"internal/testkit/modelserver":            "for developers",
		"internal/testkit/modelserver/with-model": "for developers",
		"internal/testkit/mutants":                "for developers",
		"internal/testkit/mutated":                "for developers",
		"internal/testkit/benchtable":             "for developers",
		"internal/testkit/agentvsuites":           "for developers",
	}
	functions := map[string][]string{
		"internal/cli": {"appendSummary", "(*App).agree", "(*App).nullPasses"}, // CI's files, temporary ones
		// Files of a run that are no links, and directories in one that has just been made.
		"internal/rundir":  {"openRegular", "(*journal).commit", "reopenOne", "(*Run).copyUnit"},
		"internal/shard":   {"acknowledge"},         // Bazel's file
		"evaltest/clitest": {"MinimalPath", "home"}, // temporary directories
	}
	changing := make(map[string]bool)
	load(t, func(r string, s *source) {
		for _, f := range s.files {
			for _, d := range f.Decls {
				reading := s.readingCalls(d)
				ast.Inspect(d, func(n ast.Node) bool {
					name, ok := n.(*ast.Ident)
					if !ok || reading[name] || !slices.Contains(waysToChange, fullName(s.info.Uses[name])) {
						return true
					}
					changing[r] = true
					if elsewhere[r] == "" && !slices.Contains(functions[r], declName(d)) {
						t.Errorf("%s: %s may follow a link out of the user's module: take a disk.Tree, or say in the "+
							"table whose files these are", s.fset.Position(n.Pos()), name.Name)
					}
					return true
				})
			}
		}
	})
	for r := range elsewhere {
		if !changing[r] {
			t.Errorf("%s no longer changes files: remove it from the table", r)
		}
	}
}

// waysToChange are functions that change what is at a path, wherever links on it lead.
var waysToChange = []string{
	"os.Create", "os.OpenFile", "os.WriteFile", "os.CopyFS", "os.Rename", "os.Link", "os.Symlink", "os.Remove",
	"os.RemoveAll", "os.Mkdir", "os.MkdirAll", "os.Chmod", "os.Chtimes", "os.Truncate", "internal/disk.Replace",
	"internal/disk.Put", "internal/disk.RemoveAll", "internal/disk.Move", "internal/disk.Copy",
}
