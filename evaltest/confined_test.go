//go:build linux

package evaltest_test

import (
	"crypto/rand"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

const strangerPlaybook = `name: stranger
cases: [{id: tests, prompt: Please write tests.}]
variants: {fake: {agent: {kind: fake-acp, args: [../scripts/greet.json]}}}
workspace: {from: ../fixtures/shop}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
evaluators:
  - {name: writes-tests, type: files, expect: [{path: stranger_test.go, exists: true}]}
`

// childrenMain tells whether the suite's process has had children.
const childrenMain = `package evals

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	var children syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children); err != nil || children.Maxrss > 0 {
		fmt.Println("there were children", err)
	}
	os.Exit(code)
}
`

// confinedSuite compiles the module's suite.
func confinedSuite(t *testing.T) suiteBinary {
	t.Helper()
	m := newModule(t)
	m.write("evals/main_test.go", childrenMain)
	return m.compile("./evals")
}

// TestStranger replays a cassette from somebody else, which brings hostile tests, with a step that runs them: confined,
// they run and get at nothing. Without a sandbox they get at all of it.
func TestStranger(t *testing.T) {
	suite := confinedSuite(t)
	for _, kind := range []string{"bwrap", "landlock"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newStranger(t, suite)
			step, sandbox := s.replay(kind)
			require.NotContains(t, sandbox, "unix sockets") // as open
			require.Empty(t, gotten(step.Output), step.Output)
			for _, name := range []string{"TestReads", "TestWrites", "TestKills", "TestConnects"} {
				require.Contains(t, step.Output, "--- PASS: "+name)
			}
			built := regexp.MustCompile(`(?m)^built: (\d+) <nil>$`).FindStringSubmatch(step.Output)
			require.NotNil(t, built, step.Output)
			n, err := strconv.Atoi(built[1])
			require.NoError(t, err)
			require.Less(t, n, 20, "the standard library is in the user's build cache")
			s.unharmed()
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		s := newStranger(t, suite)
		step, _ := s.replay("none")
		require.Equal(t, []string{
			"credentials: " + s.secret, s.planted + ": " + s.secret, "the project",
			"a file into " + s.caches[0], "a file into " + s.caches[1], "a file into " + s.home, "a file into " + s.dir,
			"the victim", "a parent", "a connection by tcp", "a connection by unix",
		}, gotten(step.Output), step.Output)
	})
}

// gotten returns what the stranger's tests got at.
func gotten(output string) []string {
	var all []string
	for line := range strings.Lines(output) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "GOT "); ok {
			all = append(all, what)
		}
	}
	return all
}

// stranger is a project with a cassette, and what its tests try to get at.
type stranger struct {
	suiteBinary
	secret  string
	planted string // the name of the file in the home that /etc/passwd names, and of those that are to be written
	home    string
	caches  []string // of Go
	victim  *exec.Cmd
}

func newStranger(t *testing.T, suite suiteBinary) *stranger {
	t.Helper()
	s := &stranger{
		suiteBinary: suite.in(t), secret: "planted-" + rand.Text(), planted: ".sdd-eval-test-" + rand.Text(),
		home: t.TempDir(),
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.home, "credentials"), []byte(s.secret), 0o600))
	s.plant(t)
	s.caches = []string{goCache(), t.TempDir()}
	t.Cleanup(func() { _ = os.Remove(filepath.Join(s.caches[0], s.planted)) })
	s.victim = exec.Command("sleep", "600")
	require.NoError(t, s.victim.Start())
	t.Cleanup(func() {
		_ = s.victim.Process.Kill()
		_ = s.victim.Wait()
	})
	s.record(map[string]string{
		"@HOME@": s.home, "@PROJECT@": s.dir, "@PLANTED@": s.planted, "@GOCACHE@": s.caches[0],
		"@GOMODCACHE@": s.caches[1],
		"@VICTIM@":     strconv.Itoa(s.victim.Process.Pid), "@TCP@": listen(t, "tcp", "127.0.0.1:0"),
		"@SOCKET@": listen(t, "unix", filepath.Join(s.home, "socket")),
	})
	return s
}

// plant puts the secret into the home that /etc/passwd names, whatever HOME is.
func (s *stranger) plant(t *testing.T) {
	t.Helper()
	me, err := user.LookupId(strconv.Itoa(os.Getuid()))
	require.NoError(t, err)
	path := filepath.Join(me.HomeDir, s.planted)
	require.NoError(t, os.WriteFile(path, []byte(s.secret), 0o600))
	t.Cleanup(func() { require.NoError(t, os.Remove(path)) })
}

// listen listens for nobody and returns the address.
func listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l.Addr().String()
}

// record makes the cassette: that of an agent which writes the tests, with the words replaced.
func (s *stranger) record(words map[string]string) {
	s.t.Helper()
	text, err := os.ReadFile("testdata/stranger/stranger_test.go")
	require.NoError(s.t, err)
	tests := string(text)
	for word, value := range words {
		require.Contains(s.t, tests, word)
		tests = strings.ReplaceAll(tests, word, value)
	}
	script, err := json.Marshal(scripted.Script{Turns: []scripted.Turn{{Actions: []scripted.Action{
		{DiskWrite: &scripted.DiskWrite{Path: "go.mod", Text: "module example.com/stranger\n"}},
		{DiskWrite: &scripted.DiskWrite{Path: "stranger_test.go", Text: tests}},
	}}}})
	require.NoError(s.t, err)
	s.write("scripts/greet.json", string(script))
	s.write("evals/greet.yaml", strangerPlaybook)
	out, code := s.test([]string{"EVALTEST_MODE=record", "EVALTEST_SANDBOX=none"})
	require.Zero(s.t, code, out)
}

// replay replays the cassette and runs its tests. It returns what came of that, and what the run says of its sandbox.
func (s *stranger) replay(kind string) (step result.Command, sandbox string) {
	s.t.Helper()
	s.replace("evals/greet.yaml", "acp.prompt\n", "acp.prompt\n        - run: go test -v -count=1 ./...\n")
	kept := s.t.TempDir()
	h, err := helper.Find() // it would be built in this HOME, of which confined processes then see an empty directory
	require.NoError(s.t, err)
	out, code := s.test([]string{
		"EVALTEST_SANDBOX=" + kind, "EVALTEST_RUN_DIR=" + kept, "EVALTEST_HELPER=" + h.Path,
		"HOME=" + s.home, "XDG_CACHE_HOME=" + s.t.TempDir(), "GOCACHE=" + s.caches[0], "GOMODCACHE=" + s.caches[1],
	})
	require.Zero(s.t, code, out)
	require.Contains(s.t, out, "there were children")
	runs, err := rundir.List(kept)
	require.NoError(s.t, err)
	require.Len(s.t, runs, 1)
	r, err := rundir.Open(kept, runs[0].ID, nil)
	require.NoError(s.t, err)
	units, err := r.Units()
	require.NoError(s.t, err)
	require.Len(s.t, units, 1)
	require.Len(s.t, units[0].Metrics.Commands, 1)
	sandbox = r.Manifest().Sandbox
	require.True(s.t, strings.HasPrefix(sandbox, kind), sandbox)
	return units[0].Metrics.Commands[0], sandbox
}

// unharmed expects everything outside to be as it was.
func (s *stranger) unharmed() {
	s.t.Helper()
	for _, dir := range append([]string{s.home, s.dir}, s.caches...) {
		require.NoFileExists(s.t, filepath.Join(dir, s.planted))
	}
	require.NoError(s.t, s.victim.Process.Signal(syscall.SIGTERM))
	err := s.victim.Wait()
	require.EqualError(s.t, err, "signal: terminated", "it was killed before")
}

// TestNoSandbox has none that works: what starts a child is refused with what to do, and a pure replay needs none.
func TestNoSandbox(t *testing.T) {
	suite := confinedSuite(t)
	record := suite.in(t)
	out, code := record.test([]string{"EVALTEST_MODE=record", "EVALTEST_SANDBOX=none"})
	require.Zero(t, code, out)
	tests := []struct {
		name  string
		step  bool // whether a command is run after the replay
		env   []string
		green bool
		want  []string
	}{
		{
			name: "pure-replay", env: []string{"PATH=/nowhere", "EVALTEST_SANDBOX=bwrap"}, green: true,
			want: []string{"PASS"},
		},
		{
			name: "step", step: true, env: []string{"PATH=/nowhere", "EVALTEST_SANDBOX=bwrap"},
			want: []string{
				"the sandbox bwrap does not work on this machine: bwrap: bwrap is not in PATH",
				"next: install bubblewrap (Debian: apt-get install bubblewrap), or use the kind that works here: " +
					"--sandbox landlock, EVALTEST_SANDBOX=landlock with go test",
			},
		},
		{
			name: "misspelt", env: []string{"EVALTEST_SANDBOX=bwarp"},
			want: []string{
				`EVALTEST_SANDBOX: unknown kind of sandbox "bwarp"; available: auto, bwrap, landlock, command, none`,
			},
		},
		{
			name: "misspelt-variable", env: []string{"EVALTEST_SANBOX=none"},
			want: []string{"unknown environment variable EVALTEST_SANBOX: write EVALTEST_SANDBOX"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := record.in(t)
			if tt.step {
				s.replace("evals/greet.yaml", "acp.prompt\n", "acp.prompt\n        - run: go version\n")
			}
			out, code := s.test(tt.env, "-test.v")
			require.Equal(t, tt.green, code == 0, out)
			for _, want := range tt.want {
				require.Contains(t, out, want)
			}
			require.Equal(t, tt.step, strings.Contains(out, "there were children"),
				"those that find out which kind works")
		})
	}
}
