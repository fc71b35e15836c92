package hostile_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

// suiteVariable is set for a test binary that is a user's suite.
const suiteVariable = "HOSTILE_TEST_SUITE"

// TestSuite is the suite of a user whose project is a scene's: see [scene.program].
func TestSuite(t *testing.T) {
	if os.Getenv(suiteVariable) != "" {
		evaltest.Describe(t, "p.yaml", evaltest.Check("work", func(*evaltest.T, evaltest.Unit) {}))
	}
}

// buildCommand builds sdd-eval: without the race detector, which takes memory of its own.
func buildCommand(t *testing.T, to string) {
	t.Helper()
	out, err := exec.Command("go", "build", "-o", to, "github.com/sdd-eval/sdd-eval/cmd/sdd-eval").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// command returns the path of sdd-eval: for [TestAsUser] it is in the working directory.
func command(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("sdd-eval")
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(t.TempDir(), "sdd-eval")
		buildCommand(t, path)
	}
	return path
}

// program is a process that runs the playbook of a scene's project: the command, or go test with a suite.
type program struct {
	*exec.Cmd
	said      bytes.Buffer
	tmp, runs string
}

// program starts one: a suite, or the command at a path.
func (s *scene) program(t *testing.T, kind confine.Kind, command string) *program {
	t.Helper()
	h, err := helper.Find()
	require.NoError(t, err)
	p := &program{Cmd: exec.Command(cmp.Or(command, s.exe)), tmp: t.TempDir()}
	p.runs = filepath.Join(s.target.Project, ".llman", "sdd-eval", "runs") // where the command has them
	p.Dir, p.Stdout, p.Stderr = s.target.Project, &p.said, &p.said
	p.Env = []string{
		"PATH=" + systemPath, "HOME=" + s.target.Home, "TMPDIR=" + p.tmp, "EVALTEST_HELPER=" + h.Path,
		"EVALTEST_SANDBOX=" + string(kind),
	}
	if command == "" {
		p.Args = append(p.Args, "-test.run=^TestSuite$")
		p.Env = append(p.Env, suiteVariable+"=1", "EVALTEST_MODE=live", "EVALTEST_RUN_DIR="+p.runs)
	} else {
		p.Args = append(p.Args, "run", "--playbook", "p.yaml")
	}
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		if t.Failed() {
			t.Log(p.said.String())
		}
	})
	return p
}

// found returns the path of something that the agent makes in its workspace, once it is there.
func (p *program) found(t *testing.T, name string) string {
	t.Helper()
	var paths []string
	require.Eventually(t, func() bool {
		paths, _ = filepath.Glob(filepath.Join(p.tmp, "*", "workspace", name))
		return len(paths) == 1
	}, deadline, time.Millisecond, name)
	return paths[0]
}

// searches reports whether the program has a file open whose name begins like this.
func (p *program) searches(prefix string) bool {
	all, _ := filepath.Glob(filepath.Join("/proc", itoa(p.Process.Pid), "fd", "*"))
	for _, fd := range all {
		if path, err := os.Readlink(fd); err == nil && strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// TestSignals: the first SIGINT or SIGTERM ends a run, of the command and in go test, while an agent is at work that
// hears nothing, and while a vast file that it left is searched. None of its processes lives on, and nothing is kept.
func TestSignals(t *testing.T) {
	t.Parallel()
	doors := map[string]string{"command": command(t), "go test": ""}
	moments := []struct {
		name, line string
		// wait waits for the moment, and returns what to look at in the end.
		wait func(t *testing.T, p *program) (after func())
	}{
		{"agent", "stay .", func(t *testing.T, p *program) func() {
			f, err := os.Open(p.found(t, "heartbeat"))
			require.NoError(t, err)
			t.Cleanup(func() { f.Close() })
			require.Eventually(t, func() bool { return isLocked(t, f) }, deadline, time.Millisecond)
			return func() { assert.False(t, isLocked(t, f), "a process of the agent's lives") }
		}},
		{"search", "vast vast", func(t *testing.T, p *program) func() {
			first := p.found(t, "vast")
			require.Eventually(t, func() bool { return p.searches(first) }, deadline, time.Millisecond)
			return func() {
				kept, err := filepath.Glob(filepath.Join(p.runs, "*", "variants", "a", "workspace", "*"))
				require.NoError(t, err)
				assert.Empty(t, kept, "what was not searched")
			}
		}},
	}
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		for _, m := range moments {
			if m.name == "search" && properties.Kind != confine.None {
				continue // it is we who search, whatever confined the agent
			}
			for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
				for door, command := range doors {
					t.Run(m.name+"/"+signal.String()+"/"+door, func(t *testing.T) {
						s := newScene(t)
						s.deaf(t, m.line)
						p := s.program(t, properties.Kind, command)
						after := m.wait(t, p)
						require.NoError(t, p.Process.Signal(signal))
						_ = p.Wait()
						said := p.said.String()
						if command == "" {
							assert.Equal(t, 1, p.ProcessState.ExitCode(), said)
							assert.Contains(t, said, signal.String()+" signal received")
							assert.Contains(t, said, "signals/task/a: ERROR")
						} else {
							assert.Equal(t, 130, p.ProcessState.ExitCode(), said)
							assert.Contains(t, said, "\nnext: sdd-eval run --resume ")
						}
						after()
						left, err := os.ReadDir(p.tmp)
						require.NoError(t, err)
						assert.Empty(t, left)
					})
				}
			}
		}
	})
}

// deaf writes a playbook whose agent is the hostile process with these arguments, and does not end when it is told to.
func (s *scene) deaf(t *testing.T, arguments string) {
	t.Helper()
	line := "ln -s " + s.exe + " " + hostile.Name + " && exec ./" + hostile.Name + " " + arguments
	for name, text := range map[string]string{
		"go.mod": "module example.com/suite\n",
		"a.json": `{"turns": [{"actions": [{"exec": {"command": "sh", "args": ["-c", "` + line + `"]}}]}]}`,
		"p.yaml": `name: signals
task: {prompt: Work.}
workspace: {from: work}
variants: {a: {agent: {kind: fake-acp, args: [a.json]}}}
sandbox: {allow_read: [` + s.exe + `]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(s.target.Project, "work"), 0o755))
}
