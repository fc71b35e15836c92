package evaltest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mutated"
	"github.com/sdd-eval/sdd-eval/internal/testkit/usermodule"
)

// module is a user's module: a copy of testdata/module that uses this one through a replace directive.
type module struct {
	t   *testing.T
	dir string
}

// linked keeps the code under test in this test binary, by whose content go test's cache knows it: the modules that use
// it are built by tests, and their results from before a change would be served after it.
var linked = evaltest.Describe

// newModule makes the module and records its cassette with the scripted agent.
func newModule(t *testing.T) module {
	t.Helper()
	if testing.Short() {
		t.Skip("its suites are processes of their own")
	}
	require.NotNil(t, linked)
	m := module{t, t.TempDir()}
	require.NoError(t, os.CopyFS(m.dir, os.DirFS("testdata/module")))
	require.NoError(t, usermodule.Write(m.dir, "..", "example.com/shop"))
	return m
}

func (m module) path(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

func (m module) read(name string) string {
	m.t.Helper()
	data, err := os.ReadFile(m.path(name))
	require.NoError(m.t, err)
	return string(data)
}

func (m module) write(name, text string) {
	m.t.Helper()
	require.NoError(m.t, os.MkdirAll(filepath.Dir(m.path(name)), 0o755))
	require.NoError(m.t, os.WriteFile(m.path(name), []byte(text), 0o644))
}

func (m module) remove(name string) {
	m.t.Helper()
	require.NoError(m.t, os.Remove(m.path(name)))
}

// replace replaces old, which must be there, by new in a file.
func (m module) replace(name, old, new string) {
	m.t.Helper()
	text := m.read(name)
	require.Contains(m.t, text, old, name)
	m.write(name, strings.Replace(text, old, new, 1))
}

// goTest runs go test with arguments and variables, "NAME=value", and returns what it printed and its exit code.
func (m module) goTest(env []string, args ...string) (out string, code int) {
	m.t.Helper()
	return m.run(env, "go", append([]string{"test", "-mod=mod"}, args...)...)
}

func (m module) run(env []string, name string, args ...string) (out string, code int) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = m.dir
	cmd.Env = slices.Concat(cleanEnviron(), mutated.Environ(m.t.Name()), env)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	require.NoError(m.t, ctx.Err(), b.String())
	if _, ok := err.(*exec.ExitError); !ok {
		require.NoError(m.t, err)
	}
	return m.stable(b.String()), cmd.ProcessState.ExitCode()
}

// cleanEnviron is our environment less what would change how the module's suites run.
func cleanEnviron() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "EVALTEST_") || name == "CI" || name == "GOFLAGS" || name == "GOWORK" {
			continue
		}
		env = append(env, kv)
	}
	return append(env, "GOFLAGS=-mod=mod", "GOWORK=off")
}

var (
	durations = regexp.MustCompile(`\(\d+\.\d+s\)|\t\d+\.\d+s`)
	// frames are lines of a trace that lead into this module or Go's own.
	frames = regexp.MustCompile(`(?m)^.*\t(\$SDD_EVAL|\$GOROOT)/.*:\d+\n`)
)

var (
	goroot    = goSays("env", "GOROOT")
	goCache   = goSays("env", "GOCACHE")
	converter = goSays("tool", "-n", "test2json")
)

// goSays returns what the go command says, which is asked once.
func goSays(args ...string) func() string {
	return sync.OnceValue(func() string {
		out, err := exec.Command("go", args...).Output()
		if err != nil {
			panic(err)
		}
		return strings.TrimSpace(string(out))
	})
}

// stable removes from output what differs from run to run, and from machine to machine.
func (m module) stable(out string) string {
	root, err := filepath.Abs("..")
	require.NoError(m.t, err)
	out = strings.NewReplacer(m.dir, "$MODULE", root, "$SDD_EVAL", goroot(), "$GOROOT").Replace(out)
	out = frames.ReplaceAllString(out, "")
	return durations.ReplaceAllStringFunc(out, func(s string) string {
		if s[0] == '(' {
			return "(0.00s)"
		}
		return "\t0.00s"
	})
}

// compiled has the test binaries that were built, by a digest of the text of their packages: linking one takes seconds,
// and nearly all tests use the same.
var compiled struct {
	sync.Mutex
	dir string
}

func TestMain(m *testing.M) {
	dir, remove, err := mutated.Dir("evaltest-suites-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	compiled.dir = dir
	code := m.Run()
	remove()
	os.Exit(code)
}

// compile returns the test binary of a package, built in the first module whose package has the same text.
func (m module) compile(pkg string) suiteBinary {
	m.t.Helper()
	sources, err := filepath.Glob(filepath.Join(m.path(pkg), "*.go"))
	require.NoError(m.t, err)
	var text strings.Builder
	for _, file := range sources {
		text.WriteString(m.read(filepath.Join(pkg, filepath.Base(file))))
	}
	compiled.Lock()
	defer compiled.Unlock()
	bin := filepath.Join(compiled.dir, fmt.Sprintf("%.8x.test", sha256.Sum256([]byte(text.String()))))
	if _, err := os.Stat(bin); err != nil {
		m.build(bin, pkg)
	}
	return suiteBinary{m, bin, pkg}
}

// compileHere returns the test binary of a package, built in this module: its output names places in it.
func (m module) compileHere(pkg string) suiteBinary {
	m.t.Helper()
	bin := filepath.Join(m.t.TempDir(), "suite.test")
	m.build(bin, pkg)
	return suiteBinary{m, bin, pkg}
}

func (m module) build(bin, pkg string) {
	m.t.Helper()
	flags := []string{"GOFLAGS=-mod=mod " + mutated.Flags()}
	out, code := m.run(flags, "go", "test", "-c", "-ldflags=-s", "-o", bin, pkg) // no debugger needs it
	require.Zero(m.t, code, out)
}

// suiteBinary is a compiled test binary of a module's package.
type suiteBinary struct {
	module
	bin, pkg string
}

// in returns the same binary for a copy of its module, so that one scenario cannot spoil another.
func (b suiteBinary) in(t *testing.T) suiteBinary {
	t.Helper()
	m := module{t, t.TempDir()}
	require.NoError(t, os.CopyFS(m.dir, os.DirFS(b.dir)))
	return suiteBinary{m, b.bin, b.pkg}
}

func (b suiteBinary) test(env []string, args ...string) (out string, code int) {
	b.t.Helper()
	inPkg := module{b.t, b.dir}
	sh := append([]string{"-c", `cd "$0" && exec "$@"`, b.pkg, b.bin}, args...)
	return inPkg.run(env, "sh", sh...)
}
