package main

import (
	"go/token"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/testkit/mutated"
)

// write makes files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOperators shows what each operator makes of a function.
func TestOperators(t *testing.T) {
	for _, c := range []struct{ op, function, want string }{
		{"condition", "if a > 1 { f() }", "if true || (a > 1) { f() }\nif false && (a > 1) { f() }"},
		{"condition", "for a < 1 { f() }", "for false && (a < 1) { f() }"},
		{"boundary", "_ = a < b", "_ = a <= b"},
		{"boundary", "_ = a == b", ""},
		{"opposite", "_ = a < b", "_ = a >= b"},
		{"opposite", "_ = a == b", "_ = a != b"},
		{"logic", "_ = a && b", "_ = a || b"},
		{"arithmetic", "a += b % c", "a -= b % c\na += b * c"},
		{"arithmetic", "a++", "a--"},
		{"not", "_ = !a", "_ = a"},
		{"not", "if f() { g() }", "if !f() { g() }"},
		{"not", "if a == b { g() }", ""},
		{"constant", `f(true, 7, "word", "", "a message")`, `f(false, 7, "word", "", "a message")
f(true, 8, "word", "", "a message")
f(true, 7, "", "", "a message")
f(true, 7, "word", "mutant", "a message")`},
		{"constant", "var _ struct { A int `json:\"a\"` }", ""},
		{"constant", "f(0o755)", ""},
		{"statement", "f()", "{}"},
		{"statement", "a = 1", "{}"},
		{"statement", "a := 1", ""},
		{"case", "switch a { case 1: f(); default: g() }", "switch a { ; default: g() }"},
		{"jump", "for { continue }", "for { break }"},
		{"jump", "for { break }", "for { continue }"},
	} {
		source := "package p\nfunc x() {\n" + c.function + "\n}\n"
		if got := lines(t, source, c.op); got != c.want {
			t.Errorf("%s of %q:\n%s\nwant:\n%s", c.op, c.function, got, c.want)
		}
	}
	for _, c := range []struct{ op, function, want string }{
		{"result", "func x() (*T, []int, T, error) { return a, b, c, err }", `{ return nil, b, c, err }
{ return a, nil, c, err }
{ return a, b, *new(T), err }
{ return a, b, c, nil }`},
		{"result", "func x() (*T, error) { return nil, nil }", ""},
		{"constant", `func x() (string, error) { return "", err }`, ""},
		{"constant", `func x() (string, error) { return "", nil }`, `{ return "mutant", nil }`},
		{"constant", `func x() (func(), error) { return func() {}, nil }`, ""},
		{
			"early", "func (t T) x() (n, m int, err error) { f(); return 1, 2, nil }",
			"{if true { return 0, 0, nil };  f(); return 1, 2, nil }",
		},
		{"early", "func x() { f() }", "{if true { return };  f() }"},
		{"early", "func x() int { return 1 }", ""},
		{"early", "var x = func() bool { f(); return true }", "{if true { return false };  f(); return true }"},
	} {
		got := lines(t, "package p\n"+c.function+"\n", c.op)
		head, _, _ := strings.Cut(c.function, "{")
		if got = strings.ReplaceAll(got, head, ""); got != c.want {
			t.Errorf("%s of %q:\n%s\nwant:\n%s", c.op, c.function, got, c.want)
		}
	}
}

// lines returns the changed lines of an operator's mutants, in the order in which they are found.
func lines(t *testing.T, source, op string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"p.go": source})
	files, err := parse(token.NewFileSet(), dir, []string{"p.go"})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, fn := range files[0].functions() {
		for _, m := range fn.mutants() {
			if m.Operator == op {
				found = append(found, strings.Join(strings.Fields(m.To), " "))
			}
		}
	}
	if op == "early" || op == "result" {
		return strings.ReplaceAll(strings.Join(found, "\n"), "}; ", "};  ")
	}
	return strings.Join(found, "\n")
}

// TestCollect holds that neither a line number nor a change elsewhere says which mutants are chosen, but the seed.
func TestCollect(t *testing.T) {
	const body = "func f(a, b int) bool {\n\tif a < b {\n\t\treturn a == 1\n\t}\n\treturn b == 1\n}\n"
	ids := func(source, seed string) (ids []string) {
		dir := t.TempDir()
		write(t, dir, map[string]string{"p.go": source})
		files, err := parse(token.NewFileSet(), dir, []string{"p.go"})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range collect(files, seed) {
			if m.Func == "f" {
				ids = append(ids, m.ID)
			}
		}
		return ids
	}
	want := ids("package p\n"+body, "1")
	if len(want) < 8 || len(slices.Compact(slices.Sorted(slices.Values(want)))) != len(want) {
		t.Fatalf("ids: %q", want)
	}
	if got := ids("package p\n\nfunc g() bool { return false }\n"+body, "1"); !slices.Equal(got, want) {
		t.Errorf("with another function: %q, want %q", got, want)
	}
	if got := ids("package p\n"+body, "2"); slices.Equal(got, want) {
		t.Errorf("with another seed: the same %q", got)
	}
}

// TestRun tries a module: what the tests check is killed, what they do not check survives.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("go test is a process of its own")
	}
	root, work := t.TempDir(), t.TempDir()
	write(t, root, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"p/p.go": `package p

import "errors"

func Max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func Check(n int) (err error) {
	for n != 0 {
		n--
	}
	switch {
	case n < 0:
		return errors.New("never")
	}
	return nil
}

func Unused() bool { return true }
`,
		"p/p_test.go": `package p

import "testing"

func TestMax(t *testing.T) {
	if Max(1, 2) != 2 || Max(2, 1) != 2 {
		t.Error()
	}
}

func TestCheck(t *testing.T) {
	if Check(3) != nil {
		t.Error()
	}
}

func TestBroken(t *testing.T) { t.Error() }
`,
	})
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	try := func() string {
		t.Helper()
		var out, errs strings.Builder
		args := []string{"-root", root, "-work", work, "-grace", "500ms", "./p"}
		if code := run(t.Context(), args, &out, &errs); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		return out.String()
	}
	out := try()
	for _, want := range []string{
		"survived p/p.go:6 Max, boundary\n\t- if a > b {\n\t+ if a >= b {\n",
		"not covered p/p.go:23 Unused, constant\n\t- func Unused() bool { return true }\n",
		"p: TestBroken fails without a mutant, and is left out\n",
		"2 hang, ", "0 equivalent left out",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report has no %q:\n%s", want, out)
		}
	}
	for _, bad := range []string{"Max, opposite", "Max, result", "Max, condition"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q survived:\n%s", bad, out)
		}
	}

	// The second time, nothing is run but what the new test may kill; one is known to be equivalent, and one unknown.
	results := filepath.Join(work, "p", "results.jsonl")
	count := func() int {
		t.Helper()
		text, err := os.ReadFile(results)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	before := count()
	if again := try(); again != out || count() != before {
		t.Errorf("the second time: %d results and not %d:\n%s", count(), before, again)
	}
	_, id, _ := strings.Cut(out[:strings.Index(out, " survived p/p.go:6 Max, boundary")], "p ")
	id = id[strings.LastIndex(id, " ")+1:]
	write(t, root, map[string]string{
		"p/unused_test.go": "package p\n\nimport \"testing\"\n\n" +
			"func TestUnused(t *testing.T) {\n\tif !Unused() {\n\t\tt.Error()\n\t}\n}\n",
		equivalentsFile: "# comment\n\np " + id + " the greater of two equal numbers is either\np 0123456789 gone\n",
	})
	out = try()
	for _, want := range []string{
		equivalentsFile + ": p has no mutant 0123456789 any more: remove it\n", " 1 equivalent left out",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report has no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "Unused, ") || strings.Contains(out, "Max, boundary") {
		t.Errorf("a mutant survived that the new test kills, or is equivalent:\n%s", out)
	}
}

// TestBuilt tries a package whose functions only run in a program that tests build: once, and with each mutant then.
func TestBuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("go test is a process of its own")
	}
	builtBy["p"] = []string{"cmd ^Test(Command|Alone)$"}
	t.Cleanup(func() { delete(builtBy, "p") })
	root, work := t.TempDir(), t.TempDir()
	built := filepath.Join(t.TempDir(), "built")
	write(t, root, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"p/p.go": "package p\n\nfunc Max(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn b\n}\n",
		"cmd/main.go": `package main

import (
	"fmt"
	"os"

	"example.com/m/p"
)

func main() { fmt.Print(p.Max(len(os.Args[1]), len(os.Args[2]))) }
`,
		"cmd/main_test.go": `package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestMain(m *testing.M) {
	if _, err := os.Stat(program); err != nil {
		c := exec.Command("go", "build", "-o", program, ".")
		c.Env = append(os.Environ(), "GOFLAGS=" + os.Getenv("` + mutated.BuildFlags + `"))
		if err := c.Run(); err != nil {
			panic(err)
		}
		f, err := os.OpenFile("` + filepath.ToSlash(built) + `", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		f.WriteString("x")
		f.Close()
	}
	os.Exit(m.Run())
}

var program = filepath.Join(os.Getenv("` + mutated.Programs + `"), "program.exe")

func check(t *testing.T, a, b, want string) {
	c := exec.Command(program, a, b)
	if dir := os.Getenv("` + mutated.ReachedDir + `"); dir != "" {
		c.Env = append(os.Environ(), "` + mutated.Reached + `=" + filepath.Join(dir, url.PathEscape(t.Name())))
	}
	if out, err := c.Output(); err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
}

func TestCommand(t *testing.T) {
	t.Run("first", func(t *testing.T) { check(t, "aa", "b", "2") })
	t.Run("broken", func(t *testing.T) { check(t, "a", "b", "2") })
}

func TestAlone(t *testing.T) { check(t, "", "b", "1") }
`,
	})
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"-root", root, "-work", work, "./p"}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	for _, want := range []string{
		"survived p/p.go:4 Max, boundary\n\t- if a > b {\n\t+ if a >= b {\n",
		"cmd: TestCommand/broken fails without a mutant, and is left out\n", ": 6 of 7 killed", "0 not covered",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, &out)
		}
	}
	if got, err := os.ReadFile(built); err != nil || string(got) != "x" {
		t.Errorf("the program was built %q times, %v", got, err)
	}
	results, err := os.ReadFile(filepath.Join(work, "p", "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"By":"cmd: TestCommand/first"`, `"By":"cmd: TestAlone"`} {
		if !strings.Contains(string(results), want) {
			t.Errorf("the results have no %s:\n%s", want, results)
		}
	}
}

func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{{0, 0, 0, 1}, {0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {285, 300, 0.9192, 0.9693}} {
		if low, high := wilson(c.k, c.n); math.Abs(low-c.low) > 5e-4 || math.Abs(high-c.high) > 5e-4 {
			t.Errorf("wilson(%d, %d) = %.4f, %.4f, want %.4f, %.4f", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

// TestHangs tells a mutant with which tests do not end from a machine on which they do not: that gives no figure.
func TestHangs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tests are a shell script")
	}
	const never = "echo 'panic: test timed out'; exit 2\n"
	for _, tt := range []struct{ name, script, outcome, report string }{
		{"a mutant", "test $" + mutated.Mutant + " = -1 && exit 0\n" + never, hangs, "1 of 1 killed"},
		{"a busy machine", never, unclear, "no figure"},
		{"ended when alone", "exit 0\n", survived, "0 of 1 killed"},
		{"left a child", "sleep 20 &\nexit 0\n", survived, "0 of 1 killed"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "tests")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+tt.script), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
			t.Fatal(err)
		}
		b := &bench{options: options{work: dir, grace: time.Second}}
		s := &suite{dir: dir, binary: path}
		outcome, _, err := b.runAlone(t.Context(), 1, []*test{{suite: s, name: "TestIt"}})
		if err != nil || outcome != tt.outcome {
			t.Errorf("%s: %q, %v, want %q", tt.name, outcome, err, tt.outcome)
		}
		var out strings.Builder
		r := &report{mutants: []*mutant{{ID: "m"}}, verdicts: map[string]verdict{"m": {ID: "m", Outcome: outcome}}}
		if r.print(&out); !strings.Contains(out.String(), tt.report) {
			t.Errorf("%s: the report has no %q:\n%s", tt.name, tt.report, out.String())
		}
	}
}

// TestGuard holds that mutants write only where we work.
func TestGuard(t *testing.T) {
	o := options{root: t.TempDir(), work: t.TempDir()}
	words := o.guard()
	if len(words) == 0 {
		t.Skip("needs bubblewrap")
	}
	for dir, writable := range map[string]bool{o.root: false, o.work: true, "/etc": false} {
		file := filepath.Join(dir, "sdd-eval-mutant")
		out, err := exec.Command(words[0], slices.Concat(words[1:], []string{"touch", file})...).CombinedOutput()
		if _, made := os.Lstat(file); writable != (err == nil) || writable != (made == nil) {
			t.Errorf("touch %s: %v, %v: %s", file, err, made, out)
		}
	}
}
