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

// writer is where something is written other than through the doors: secret's Set.WriteFile, Set.Lines and Set.Writer, and
// what writes through those, such as rundir.Run.
type writer struct {
	pkg   string
	funcs []string // nil: all of the package's
	why   string
}

// writers are all functions that have means to write files, or the streams of this process. A new one takes a door, or has
// to say here why no secret can pass it.
var writers = []writer{
	{"internal/secret", []string{"(*Set).put", "(*sweep).rewrite", "(*sweep).relink", "(*sweep).rename"}, "it is the door"},
	{"internal/disk", []string{"Replace", "Put", "Create", "writeSynced", "write"}, "it is a means itself"},
	{"internal/rundir", []string{"writeFile", "(*journal).commit", "openRegular"}, "Run.WriteFile and Run.Append mask what they hand over"},
	{"internal/rundir", []string{"claim", "removeRun", "tryLock"}, "names that we chose, and files without content"},
	{"internal/session", []string{"(*Log).Open", "(*Log).write"}, "each line is masked"},
	{"internal/engine", []string{"(*tape).checkWritable"}, "a file without content"},
	{"internal/session", []string{"writeFiles"}, "the agent's account, in a home that goes with the unit"},
	{"internal/gocache", nil, "a build cache that goes with the unit"},
	{"internal/cassette", []string{"writeFile"}, "a session that shows a secret is not recorded"},
	{"internal/judgment", []string{"(*File).replace"}, "answers are masked, and what holds a secret all the same is not recorded"},
	{"internal/localtools", []string{"replace"}, "what an agent writes into its workspace, which is searched when it has ended"},
	{"internal/workspace", nil, "the user's files, before the agent starts, and those of a cassette"},
	{"internal/style", []string{"(change).write"}, "our own texts, in a workspace"},
	{"internal/claude/hook", []string{"appendLine"}, "each line is masked"},
	{"internal/claude/hook", []string{"Main"}, "Hook masks what it says"},
	{"internal/claude/hook", []string{"Edit"}, "the user's settings, in which only hooks of ours change"},
	{"internal/scoring/human", []string{"lockScores"}, "a file without content"},
	{"internal/worktree", []string{"(*Tree).own", "removeOrphan"}, "a file without content"},
	{"internal/cli", []string{"Main"}, "App prints errors and notes masked, and nothing else but what was written masked"},
	{"internal/cli", []string{"(*App).init"}, "a playbook of ours, for the user to change"},
	{"internal/cli", []string{"appendSummary"}, "what is read from a run's directory was masked when it was written"},
	{"internal/project", []string{"createOnce"}, "texts of ours"},
	{"evaltest/clitest", []string{"MinimalPath", "buildCommand"}, "links to programs, and programs that the go command built"},
	{"evaltest", []string{"copyWorkspace"}, "a workspace in which a search has found no secret, for the test that asked for it"},
	{"evaltest/judge", []string{"serve"}, "a judge in its own process, whose answer the harness masks"},
	{"internal/supervise", nil, "what goes to and from a supervisor, which is us"},
	{"internal/confine", nil, "the bait of probers, which is made of our own texts"},
	{"internal/confine/probe", nil, "a prober, in its own process"},
	{"internal/interaction/mcpproxy/relay", nil, "a relay, in its own process, from a server of ours to the agent"},
	{"internal/helper", []string{"(process).findIn", "lock"}, "a program that the go command built, and a file without content"},
	{"internal/helper/program", nil, "another process, of texts of ours, or the scripted agent"},
	{"acp/internal/schemagen", []string{"main"}, "Go that is made from the protocol's schema"},
	{"acp/scripted", nil, "an agent, in its own process"},
	{"acp/acptest", nil, "a kit for tests"},
	{"internal/testkit/hostile", nil, "an agent for tests, which tries to get out"},
	{"internal/testkit/mcpagent", nil, "an agent for tests, with its server"},
	{"internal/testkit/golden", nil, "what a test of ours got, if its author asks for it"},
	{"internal/testkit/modelserver", nil, "a model for tests"},
	{"internal/testkit/modelserver/with-model", nil, "a command for tests and recordings"},
}

// TestWriters holds that nothing is written but through the doors.
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
			t.Errorf("%s: of %v, one does not write any more: take it out of the table", w.pkg, funcs)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(found)) {
		for _, f := range slices.Sorted(maps.Keys(found[r])) {
			t.Errorf("%s: %s writes past the doors, internal/secret and rundir.Run. Take one, or say in the table why no secret "+
				"can pass here:\n\t%s", r, f, strings.Join(found[r][f], "\n\t"))
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
			"p.go:17 (*os.Root).OpenFile", "p.go:19 (*os.File).Write", "p.go:20 (*os.File).WriteString", "p.go:21 os.Stderr",
			"p.go:22 fmt.Println", "p.go:23 println", "p.go:24 log.Fatal",
		},
		"(*T).m": {"p.go:29 os.Rename"},
		"var":    {"p.go:9 os.Stdout"},
	}
	if got := s.writes(); !reflect.DeepEqual(got, want) {
		t.Errorf("got:\n%q\nwant:\n%q", got, want)
	}
}
