package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sdd-eval/sdd-eval"

// pkg is what `go list` says about a package.
type pkg struct {
	ImportPath   string
	Dir          string
	Name         string
	Standard     bool
	GoFiles      []string
	Imports      []string
	Deps         []string
	TestImports  []string
	XTestImports []string
	Export       string // the file with its export data
}

// rel returns the import path below the module root, "." for the root itself, "" for other modules' packages.
func rel(importPath string) string {
	if importPath == module {
		return "."
	}
	r, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	return r
}

// list returns the packages of the module and all that they depend on, by import path.
func list(t *testing.T) map[string]pkg {
	t.Helper()
	pkgs := make(map[string]pkg)
	const fields = "ImportPath,Dir,Name,Standard,GoFiles,Imports,Deps,TestImports,XTestImports"
	for _, p := range goList(t, "-deps", "-test=false", "-json="+fields, "./...") {
		pkgs[p.ImportPath] = p
	}
	return pkgs
}

// goList runs `go list` at the module's root.
func goList(t *testing.T, args ...string) (pkgs []pkg) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// A rule says which imports a package may have, and why.
type rule struct {
	name, why string
	// check returns the imports of package p that break the rule. r is the path of p below the module root.
	check func(pkgs map[string]pkg, r string, p pkg) []string
}

var rules = []rule{
	{
		name: "acp is on the standard library",
		why:  "a recorder needs raw frames that no other layer has touched, and users of acp alone pull nothing in",
		check: forPackages(under("acp"), importsOrLeaves(func(p pkg) bool {
			return p.Standard || under("acp")(rel(p.ImportPath))
		})),
	},
	{
		name: "trajectory and judge are leaves",
		why:  "authors of matchers and judges can import them without the harness",
		check: forPackages(among("evaltest/trajectory", "evaltest/judge", "evaltest/capture"),
			importsOrLeaves(func(p pkg) bool {
				return p.Standard || rel(p.ImportPath) == "evaltest/trajectory"
			})),
	},
	{
		name: "testing stays in the packages that are for tests",
		why:  "package testing registers flags and must not reach the CLI's binary",
		check: forPackages(
			not(among("evaltest", "evaltest/clitest", "evaltest/internal/door", "acp/acptest")),
			deps(func(p pkg) bool { return p.ImportPath != "testing" })),
	},
	{
		name: "only internal/doc reads YAML",
		why:  "every YAML file is decoded strictly and every error has its position",
		check: forPackages(not(among("internal/doc")), imports(func(p pkg) bool {
			return !strings.Contains(p.ImportPath, "yaml")
		})),
	},
	{
		name: "only internal/llm talks to models",
		why:  "retries, budgets and recording of model calls are in one place",
		check: forPackages(not(among("internal/llm")), imports(func(p pkg) bool {
			return !strings.HasPrefix(p.ImportPath, "github.com/sashabaranov/go-openai")
		})),
	},
	{
		name: "only internal/tracing/otlp knows OpenTelemetry",
		why:  "with gRPC, which its exporter needs, it adds 8 MB to a binary",
		check: forPackages(not(among("internal/tracing/otlp")), imports(func(p pkg) bool {
			return !strings.HasPrefix(p.ImportPath, "go.opentelemetry.io/")
		})),
	},
	{
		name: "tests that send no traces do not link OpenTelemetry",
		why:  "a test binary links it by importing evaltest/tracing",
		check: forPackages(among("evaltest"), deps(func(p pkg) bool {
			return rel(p.ImportPath) != "internal/tracing/otlp"
		})),
	},
	{
		name: "a suite compiles little that is not ours",
		why:  "all that evaltest depends on is compiled with every suite of a user's, and vetted: docs/performance.md",
		check: forPackages(among("evaltest"), deps(func(p pkg) bool {
			ours := rel(p.ImportPath) != "" && rel(p.ImportPath) != "internal/convert"
			return p.Standard || ours || slices.Contains(withSuites, p.ImportPath)
		})),
	},
	{
		name: "testify is for tests",
		why:  "the product's binary and its users' binaries do not need it",
		check: forPackages(everywhere, imports(func(p pkg) bool {
			return !strings.HasPrefix(p.ImportPath, "github.com/stretchr/testify")
		})),
	},
	{
		name: "testkit is for tests",
		why:  "it is for our own tests: what a user's tests need is in evaltest and acptest",
		check: forPackages(not(under("internal/testkit")), imports(func(p pkg) bool {
			return !under("internal/testkit")(rel(p.ImportPath))
		})),
	},
	{
		name: "nothing builds on the façade",
		why:  "evaltest is at the top: what it shares with the command is below both",
		check: forPackages(not(under("evals")), imports(func(p pkg) bool {
			return rel(p.ImportPath) != "evaltest"
		})),
	},
	{
		name: "commands are a screenful",
		why:  "a command's work is in a package, which tests can call without a process",
		check: forPackages(under("cmd"), imports(func(p pkg) bool {
			return p.Standard || rel(p.ImportPath) == "internal/cli" || under("internal/helper")(rel(p.ImportPath))
		})),
	},
	{
		name: "the helper does without package net",
		why:  "it is built with CGO_ENABLED=0, for which net and all that imports it would have to be compiled anew",
		check: forPackages(among("internal/helper/program"), deps(func(p pkg) bool {
			return p.ImportPath != "net"
		})),
	},
}

// withSuites are the packages of others that evaltest depends on.
var withSuites = []string{
	"github.com/aymanbagabas/go-udiff",
	"github.com/aymanbagabas/go-udiff/lcs",
	"github.com/bmatcuk/doublestar/v4",
	"github.com/google/jsonschema-go/jsonschema",
	"github.com/pelletier/go-toml/v2",
	"github.com/pelletier/go-toml/v2/internal/parserbridge",
	"github.com/pelletier/go-toml/v2/internal/tracker",
	"github.com/pelletier/go-toml/v2/unstable",
	"github.com/sashabaranov/go-openai",
	"github.com/sashabaranov/go-openai/internal",
	"golang.org/x/sync/errgroup",
	"golang.org/x/sys/unix",
	"golang.org/x/sys/windows",
	"gopkg.in/yaml.v3",
}

func forPackages(
	which func(r string) bool, check func(map[string]pkg, pkg) []string,
) func(map[string]pkg, string, pkg) []string {
	return func(pkgs map[string]pkg, r string, p pkg) []string {
		if !which(r) {
			return nil
		}
		return check(pkgs, p)
	}
}

func everywhere(string) bool { return true }

func under(dir string) func(string) bool {
	return func(r string) bool { return r == dir || strings.HasPrefix(r, dir+"/") }
}

func among(dirs ...string) func(string) bool {
	return func(r string) bool { return slices.Contains(dirs, r) }
}

func not(f func(string) bool) func(string) bool {
	return func(r string) bool { return !f(r) }
}

// imports reports the direct imports that are not allowed.
func imports(allowed func(pkg) bool) func(map[string]pkg, pkg) []string {
	return func(pkgs map[string]pkg, p pkg) []string { return offending(pkgs, p.Imports, allowed) }
}

// importsOrLeaves is like imports, but also allows leaves: internal packages that import only the standard library.
func importsOrLeaves(allowed func(pkg) bool) func(map[string]pkg, pkg) []string {
	return func(pkgs map[string]pkg, p pkg) []string {
		return offending(pkgs, p.Imports, func(q pkg) bool { return allowed(q) || isLeaf(pkgs, q) })
	}
}

func isLeaf(pkgs map[string]pkg, p pkg) bool {
	return under("internal")(rel(p.ImportPath)) &&
		!slices.ContainsFunc(p.Imports, func(i string) bool { return !pkgs[i].Standard })
}

// deps reports the dependencies, direct or not, that are not allowed.
func deps(allowed func(pkg) bool) func(map[string]pkg, pkg) []string {
	return func(pkgs map[string]pkg, p pkg) []string { return offending(pkgs, p.Deps, allowed) }
}

func offending(pkgs map[string]pkg, paths []string, allowed func(pkg) bool) []string {
	var bad []string
	for _, i := range paths {
		if q, ok := pkgs[i]; ok && !allowed(q) {
			bad = append(bad, i)
		}
	}
	return bad
}

func TestImports(t *testing.T) {
	pkgs := list(t)
	for _, rule := range rules {
		t.Run(strings.ReplaceAll(rule.name, " ", "-"), func(t *testing.T) {
			for _, p := range pkgs {
				r := rel(p.ImportPath)
				if r == "" {
					continue
				}
				for _, bad := range rule.check(pkgs, r, p) {
					t.Errorf("%s depends on %s\n%s: %s", r, bad, rule.name, rule.why)
				}
			}
		})
	}
}

// TestRulesBite shows that each rule can fail: a made-up package that breaks it is reported.
func TestRulesBite(t *testing.T) {
	breaks := map[string]struct{ from, to string }{
		"acp is on the standard library":                      {"acp", module + "/internal/doc"},
		"trajectory and judge are leaves":                     {"evaltest/trajectory", module + "/acp"},
		"testing stays in the packages that are for tests":    {"internal/engine", "testing"},
		"only internal/doc reads YAML":                        {"playbook", "gopkg.in/yaml.v3"},
		"only internal/llm talks to models":                   {"internal/report", "github.com/sashabaranov/go-openai"},
		"only internal/tracing/otlp knows OpenTelemetry":      {"internal/engine", "go.opentelemetry.io/otel"},
		"tests that send no traces do not link OpenTelemetry": {"evaltest", module + "/internal/tracing/otlp"},

		"a suite compiles little that is not ours": {"evaltest", module + "/internal/convert"},

		"testify is for tests":                {"internal/engine", "github.com/stretchr/testify/require"},
		"testkit is for tests":                {"evaltest/clitest", module + "/internal/testkit/golden"},
		"nothing builds on the façade":        {"internal/cli", module + "/evaltest"},
		"commands are a screenful":            {"cmd/sdd-eval", module + "/internal/engine"},
		"the helper does without package net": {"internal/helper/program", "net"},
	}
	for _, rule := range rules {
		edge, ok := breaks[rule.name]
		if !ok {
			t.Errorf("rule %q has no case that breaks it", rule.name)
			continue
		}
		from := pkg{ImportPath: path.Join(module, edge.from), Imports: []string{edge.to}, Deps: []string{edge.to}}
		const other = "gopkg.in/yaml.v3"
		pkgs := map[string]pkg{
			from.ImportPath: from,
			other:           {ImportPath: other},
			edge.to:         {ImportPath: edge.to, Standard: !strings.Contains(edge.to, "."), Imports: []string{other}},
		}
		if got := fmt.Sprint(rule.check(pkgs, edge.from, from)); got != fmt.Sprint([]string{edge.to}) {
			t.Errorf("%s: %s -> %s: reported %s", rule.name, edge.from, edge.to, got)
		}
	}
}

// TestLeaves tests which internal packages public ones may import.
func TestLeaves(t *testing.T) {
	tests := []struct {
		name, path string
		imports    []string
		want       bool
	}{
		{"standard library", "internal/a", []string{"fmt", "vendor/golang.org/x/net"}, true},
		{"another leaf", "internal/b", []string{"fmt", module + "/internal/a"}, false},
		{"another module", "internal/c", []string{"gopkg.in/yaml.v3"}, false},
		{"public", "playbook", []string{"fmt"}, false},
	}
	pkgs := map[string]pkg{"fmt": {Standard: true}, "vendor/golang.org/x/net": {Standard: true}, "gopkg.in/yaml.v3": {}}
	for _, tt := range tests {
		p := pkg{ImportPath: module + "/" + tt.path, Imports: tt.imports}
		pkgs[p.ImportPath] = p
		if got := isLeaf(pkgs, p); got != tt.want {
			t.Errorf("%s: %s is a leaf: %t", tt.name, tt.path, got)
		}
	}
}
