package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// writer is a place that writes other than through secret's Set.WriteFile, Set.Lines and Set.Writer, which mask
// secrets, or something built on them, such as rundir.Run.
type writer struct {
	pkg   string
	funcs []string // nil: all of the package's
	why   string
}

// writers lists all functions that can write files or the streams of this process without masking. A new function
// writes through package secret, or is listed here with the reason why no secret can pass.
var writers = []writer{
	{"internal/secret", []string{"(*Set).put", "(*sweep).rewrite", "(*sweep).relink", "(*sweep).rename"}, "it masks"},
	{"internal/disk", nil, "its callers count as writers, and a workspace that is moved was searched"},
	{"internal/baseline", []string{"WriteFile"}, "it masks"},
	{"internal/judgment", []string{"(*Agreements).Write"}, "it masks"},
	{"internal/rundir", []string{"writeFile", "(*journal).commit", "openRegular"}, "Run.WriteFile and Run.Append mask"},
	{"internal/rundir", []string{"claim", "removeRun", "tryLock"}, "names that we chose, and empty files"},
	{"internal/shard", []string{"acknowledge"}, "our own text, for Bazel"},
	{"internal/session", []string{"(*Log).open", "(*Log).write"}, "each line is masked"},
	{"internal/engine", []string{"(*tape).checkWritable", "(*Runner).build"}, "an empty file"},
	{"internal/session", []string{"replace"}, "the agent's account, in the file of the user's that it came from"},
	{"internal/session", []string{"writeFiles"}, "the agent's account, in a home that is removed with the unit"},
	{"internal/gocache", nil, "a build cache that is removed with the unit, or of files that no agent has changed"},
	{"internal/cassette", []string{"(packed).write"}, "a session that shows a secret is not recorded"},
	{"internal/judgment", []string{"(*File).replace"}, "answers are masked; one with a secret is not recorded"},
	{"internal/localtools", []string{"replace"}, "an agent's files in its workspace, which is searched later"},
	{"internal/workspace", nil, "the user's files, before the agent starts, and those of a cassette"},
	{"internal/style", []string{"(change).write"}, "our own texts, in a workspace"},
	{"internal/claude/hook", []string{"appendLine"}, "each line is masked"},
	{"internal/claude/hook", []string{"Main"}, "Hook masks what it prints"},
	{"internal/claude/hook", []string{"Edit"}, "the user's settings, in which only our hooks change"},
	{"internal/scoring/human", []string{"lockScores"}, "an empty file"},
	{"internal/skill", []string{"(*Suite).Lock"}, "an empty file"},
	{"internal/worktree", []string{"(*Tree).own", "removeOrphan"}, "an empty file"},
	{"internal/cli", []string{"Main"}, "App masks errors and notes, and prints only what is masked"},
	{"internal/cli", []string{"(*App).init", "(*App).initJudge"}, "a template, a file of ours"},
	{"internal/skill", []string{"(*Suite).write", "(*Suite).copy"}, "the user's evals and skill, beside these"},
	{"internal/cli", []string{"(*App).writePlaybooks", "(*App).writeSuite"}, "what they write is masked"},
	{"internal/starter", []string{"(Starter).Write", "(Starter).copyMod"}, "our own texts; go.mod"},
	{"internal/lint", []string{"NullPasses"}, "a constant"},
	{"internal/cli", []string{"appendSummary"}, "files of a run's directory were masked when they were written"},
	{"internal/project", []string{"createOnce"}, "our own texts"},
	{"evaltest/clitest", []string{"MinimalPath", "buildCommand", "putLast"}, "links to programs, and what we built"},
	{"evaltest", []string{"copyWorkspace"}, "a workspace that was searched, for the test that asked"},
	{"evaltest/judge", []string{"serve"}, "a judge in its own process, whose answer the harness masks"},
	{"internal/supervise", nil, "messages to and from a supervisor, which is our own process"},
	{"internal/confine", nil, "bait for probers, made of our own texts"},
	{"internal/confine/probe", nil, "a prober, in its own process"},
	{
		"internal/interaction/mcpproxy",
		[]string{"(*pipes).open", "(duplex).Write"},
		"named pipes to a relay, from which the agent reads what it would read without us",
	},
	{"internal/interaction/mcpproxy/relay", nil, "a relay, in its own process, from our server to the agent"},
	{"internal/helper", []string{"(process).findIn", "lock"}, "a program the go command built, and an empty file"},
	{"internal/helper/program", nil, "another process, which writes our own texts, or the scripted agent"},
	{"acp/internal/schemagen", []string{"main"}, "Go code made from the protocol's schema"},
	{"acp/scripted", nil, "an agent, in its own process"},
	{"acp/acptest", nil, "for tests"},
	{"internal/testkit/mcpagent", nil, "an agent for tests, with its server"},
	{"internal/testkit/mutants", nil, "a command for developers, in a directory of its own"},
	{"internal/testkit/simulate", nil, "figures, for developers"},
	{"internal/testkit/simulatescale", nil, "figures, for developers"},
	{"internal/testkit/benchtable", nil, "a command for developers, in a directory of its own"},
	{"internal/testkit/agentvsuites", nil, "a command for developers, in a checkout of public suites"},
	{"internal/testkit/usermodule", nil, "our own texts, for tests"},
	{"internal/testkit/golden", nil, "golden files of our tests"},
	{"internal/testkit/modelserver", nil, "a model for tests"},
	{"internal/testkit/modelserver/with-model", nil, "a command for tests and recordings"},
}

// TestWriters holds that everything is written through package secret, or by one of the writers.
func TestWriters(t *testing.T) {
	found := make(map[string]map[string][]string) // places by package and function
	load(t, func(r string, s *source) { found[r] = s.writes() })
	for _, w := range writers {
		funcs := w.funcs
		if funcs == nil {
			funcs = slices.Collect(maps.Keys(found[w.pkg]))
		}
		stale := len(funcs) == 0
		for _, f := range funcs {
			stale = stale || found[w.pkg][f] == nil
			delete(found[w.pkg], f)
		}
		if stale && runtime.GOOS == "linux" { // elsewhere, files are left out
			t.Errorf("%s: one of %v no longer writes: remove it from the table", w.pkg, funcs)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(found)) {
		for _, f := range slices.Sorted(maps.Keys(found[r])) {
			t.Errorf("%s: %s writes without masking secrets. Write through internal/secret or rundir.Run, or say in "+
				"the table why no secret can pass here:\n\t%s", r, f, strings.Join(found[r][f], "\n\t"))
		}
	}
}

func TestWritersBite(t *testing.T) {
	const src = `package p
import (
	"fmt"
	"io"
	"log"
	. "os"
)
type file = File
var out = Stdout
func f(flag int, root *Root, w io.Writer) {
	WriteFile("a", nil, 0)
	open := Create
	open("a")
	OpenFile("a", O_RDONLY, 0)
	OpenFile("a", O_RDONLY|O_CREATE, 0)
	OpenFile("a", flag, 0)
	root.OpenFile("a", O_WRONLY, 0)
	g, _ := Open("a")
	g.Write(nil)
	(*file).WriteString(g, "")
	fmt.Fprintln(Stderr)
	fmt.Println()
	println()
	log.Fatal()
	fmt.Fprintln(w)
	w.Write(nil)
}
type T struct{}
func (*T) m() { Rename("a", "b") }
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	s := &source{fset: fset, files: []*ast.File{f}}
	if err := s.check("p", importerOf(t, s.fset, "fmt", "io", "log", "os")); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"f": {
			"p.go:11 os.WriteFile", "p.go:12 os.Create", "p.go:15 os.OpenFile", "p.go:16 os.OpenFile",
			"p.go:17 (*os.Root).OpenFile", "p.go:19 (*os.File).Write", "p.go:20 (*os.File).WriteString",
			"p.go:21 os.Stderr",
			"p.go:22 fmt.Println", "p.go:23 println", "p.go:24 log.Fatal",
		},
		"(*T).m": {"p.go:29 os.Rename"},
		"var":    {"p.go:9 os.Stdout"},
	}
	if got := s.writes(); !reflect.DeepEqual(got, want) {
		t.Errorf("got:\n%q\nwant:\n%q", got, want)
	}
}
