package livetest

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// TestRealEscape has the model tell real agents to write and read outside of their workspaces, with all permissions:
// with commands, and with their own tools, in the project and the user's home. No sandbox lets any of it happen;
// without one, all of it does.
func TestRealEscape(t *testing.T) {
	t.Parallel()
	bin := agentsBin(t)
	requireAgents(t, bin)
	program := buildCommand(t)
	tests := []struct {
		kind  confine.Kind
		marks []string // the files that are new; those of the run's directory begin with "run/"
		told  []string // the files whose secrets the run's directory shows
	}{
		{kind: confine.Bwrap},
		{kind: confine.Landlock},
		{
			kind: confine.None,
			marks: []string{
				"home/mark-claude-command", "home/mark-claude-tool", "home/mark-codex-command",
				"project/mark-claude-command",
				"project/mark-claude-tool", "project/mark-codex-command", "project/mark-codex-tool",
			},
			told: []string{
				"home/claude-command.secret", "home/claude-tool.secret", "home/codex-command.secret",
				"project/claude-command.secret",
				"project/claude-tool.secret", "project/codex-command.secret",
			},
		},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			t.Parallel()
			s := newEscapeScene(t)
			s.run(t, program, bin, tt.kind)
			require.Equal(t, tt.marks, s.marks(t))
			require.Equal(t, tt.told, s.told(t))
		})
	}
}

// escapeScene is a project and a user's home, with secrets.
type escapeScene struct {
	dir     string
	secrets map[string]string // by their files, relative to dir
	planted map[string]string // all files that were there before, secrets among them
	runDir  string            // once there was a run
}

func newEscapeScene(t *testing.T) *escapeScene {
	t.Helper()
	s := &escapeScene{dir: t.TempDir(), secrets: make(map[string]string)}
	for _, place := range []string{"project", "home"} {
		for _, name := range []string{"claude-command.secret", "claude-tool.secret", "codex-command.secret"} {
			s.secrets[place+"/"+name] = "planted-" + rand.Text()
		}
	}
	s.planted = map[string]string{
		"project/escape.yaml": s.fill(t, "testdata/escape.yaml"), "project/start/README.md": "# Nothing\n",
		"model/escape.yaml": s.fill(t, "testdata/escape-model.yaml"),
	}
	maps.Copy(s.planted, s.secrets)
	for name, text := range s.planted {
		require.NoError(t, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
		require.NoError(t, os.WriteFile(s.path(name), []byte(text), 0o644))
	}
	return s
}

func (s *escapeScene) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// fill returns the text of a file with the scene's paths in it.
func (s *escapeScene) fill(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.NewReplacer("@PROJECT@", s.path("project"), "@HOME@", s.path("home")).Replace(string(text))
}

// run runs the scene's playbook as a user does whose home is the scene's. The agents come to their end, whatever came
// of what they tried.
func (s *escapeScene) run(t *testing.T, program, bin string, kind confine.Kind) {
	t.Helper()
	presets, project := startModel(t, s.path("model")), s.path("project")
	cmd := exec.Command(program, "run", "--playbook", "escape.yaml", "--root", project, "--config-dir", presets,
		"--sandbox", string(kind), "--parallel", "2")
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "HOME="+s.path("home"), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s", &stderr)
	s.runDir = strings.TrimSpace(stdout.String())
	r, err := rundir.Open(project, filepath.Base(s.runDir), nil)
	require.NoError(t, err)
	units, err := r.Units()
	require.NoError(t, err)
	require.Len(t, units, 2)
	for _, u := range units {
		require.Equal(t, result.Completed, u.Outcome, "%s: %s", u.ID, u.Reason)
		require.GreaterOrEqual(t, len(u.Metrics.ToolCalls), 2, "%s has used commands and its own tools", u.ID)
	}
}

// marks returns the files that are new in the scene, in the run's directory those alone that are marks. What was there
// is as it was.
func (s *escapeScene) marks(t *testing.T) []string {
	t.Helper()
	var found []string
	s.walk(t, s.dir, func(path string, data []byte) {
		name, err := filepath.Rel(s.dir, path)
		require.NoError(t, err)
		if planted, ok := s.planted[name]; ok {
			require.Equal(t, planted, string(data), name)
			return
		}
		if path == filepath.Join(filepath.Dir(s.runDir), ".gitignore") { // ours
			return
		}
		if run, err := filepath.Rel(s.runDir, path); err == nil && filepath.IsLocal(run) {
			if !strings.HasPrefix(filepath.Base(run), "mark-") {
				return
			}
			name = "run/" + run
		}
		found = append(found, name)
	})
	slices.Sort(found)
	return found
}

// told returns the files whose secrets are somewhere in the run's directory.
func (s *escapeScene) told(t *testing.T) []string {
	t.Helper()
	all := make(map[string]bool)
	s.walk(t, s.runDir, func(path string, data []byte) {
		for name, secret := range s.secrets {
			if bytes.Contains(data, []byte(secret)) {
				all[name] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(all))
}

func (s *escapeScene) walk(t *testing.T, dir string, visit func(path string, data []byte)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		visit(path, data)
		return err
	}))
}
