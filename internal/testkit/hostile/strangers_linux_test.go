package hostile_test

import (
	"crypto/rand"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

// strangers are keys by which a stranger's playbook gives its children what they do not have otherwise, and a step that
// uses it. SHARED is a directory of the user's, ADDRESS a server on the user's machine.
var strangers = []struct {
	name, key, value, step string
	// property is what keeps the step from it where the playbook does not have the key; empty: the client does.
	property confine.Property
}{
	{
		"files", "sandbox.allow_read", "sandbox: {allow_read: [SHARED]}", "cat SHARED/credentials >got",
		confine.FilesRead,
	},
	{
		"variables", "env.pass", "env: {pass: [PLANTED_API_KEY]}",
		"test ${#PLANTED_API_KEY} -gt 0 && echo SECRET >got", "",
	},
	{
		"network", "sandbox.network", "sandbox: {network: all}", "git ls-remote git://ADDRESS/x", confine.Network,
	},
}

// TestStrangers: a stranger's playbook is given what it asks for, whatever kind of sandbox the user chose; in untrusted
// mode it is refused before anything starts. Without asking, it is given nothing.
func TestStrangers(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		for _, st := range strangers {
			t.Run(st.name, func(t *testing.T) {
				s := newScene(t)
				shared := s.share(t)
				address, calls := countCalls(t)
				words := strings.NewReplacer("SHARED", shared, "ADDRESS", address, "SECRET", s.secret)
				given := func(value string, args ...string) (escaped bool, said string, code int) {
					t.Helper()
					s.stranger(t, words.Replace(value), "{kind: fake-acp}", words.Replace(st.step))
					before := calls.Load()
					said, run, code := s.play(t, properties.Kind, "key-"+rand.Text(), args...)
					return s.got(run) || calls.Load() > before, said, code
				}
				escaped, said, _ := given(st.value)
				assert.True(t, escaped, "the attack does not work: %s", said)
				escaped, said, code := given(st.value, "--untrusted")
				assert.False(t, escaped)
				assert.Equal(t, 2, code)
				assert.Contains(t, said, "p.yaml:1:")
				assert.Contains(t, said, st.key+": refused in untrusted mode: ")
				if st.property == "" || slices.Contains(properties.Holds, st.property) {
					escaped, _, _ = given("name: stranger")
					assert.False(t, escaped, "it need not ask")
				}
			})
		}
	})
}

// TestArgument: an argument that names a file shows it, and nothing beside it; in untrusted mode it is refused where
// the file is not the project's.
func TestArgument(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		shared := s.share(t)
		path := filepath.Join(shared, "script.json")
		script, err := json.Marshal(scripted.Script{Turns: []scripted.Turn{{Actions: []scripted.Action{
			{Exec: &scripted.Exec{Command: "sh", Args: []string{"-c", "cat " + shared + "/credentials >got; true"}}},
		}}}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, script, 0o644))
		s.stranger(t, "name: stranger", "{kind: fake-acp, args: ["+path+"]}", "true")
		said, run, code := s.play(t, properties.Kind, "")
		require.Zero(t, code, said)
		assert.Equal(t, !slices.Contains(properties.Holds, confine.FilesRead), s.got(run), said)
		said, run, code = s.play(t, properties.Kind, "", "--untrusted")
		assert.Equal(t, 2, code)
		assert.Contains(t, said, "agent.args[0]: refused in untrusted mode: shows a file that is not in the project")
		assert.False(t, s.got(run))
	})
}

// share makes a directory in the user's home, with the secret.
func (s *scene) share(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(s.target.Home, "shared")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, hostile.SecretFile), []byte(s.secret), 0o644))
	return dir
}

// stranger writes a playbook that begins with a line, and runs a line for a shell as a step.
func (s *scene) stranger(t *testing.T, first, agent, step string) {
	t.Helper()
	text := first + "\ntask: {prompt: Work.}\nvariants: {a: {agent: " + agent + "}}\n" +
		"workflow: {jobs: {eval: {strategy: {matrix: {variant: [a]}}, steps: [" +
		"{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}, " +
		`{run: 'git -c "alias.x=!` + step + `" x'}]}}}` + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, "p.yaml"), []byte(text), 0o644))
}

// got reports whether the unit of a run has left the secret.
func (s *scene) got(run string) bool {
	data, err := os.ReadFile(filepath.Join(run, "variants", "a", "workspace", "got"))
	return err == nil && strings.Contains(string(data), s.secret)
}

// countCalls listens on an address of the machine's own, and counts who calls.
func countCalls(t *testing.T) (address string, calls *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	calls = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			conn.Close()
		}
	}()
	return l.Addr().String(), calls
}

// planted leaves commands that git runs for whoever looks: in a configuration, as a hook, in a repository within the
// other, and in one that has another name. MARK is what they make.
const planted = `
commit() { git init -q && echo a >a && git add a && git -c user.name=a -c user.email=a@b commit -qm first; }
arm() { printf '[core]\n\tfsmonitor = "touch MARK; false"\n' >>$1/config; }
set -e
mkdir hook nested named
(cd hook; commit; mkdir -p .git/hooks; printf '#!/bin/sh\ntouch MARK\n' >.git/hooks/post-index-change
	chmod +x .git/hooks/post-index-change; touch -d 2001-01-01 a)
(cd nested; commit; arm .git)
(cd named; commit; arm .git; mv .git ../data; echo 'gitdir: ../data' >.git)
commit; arm .git
`

// TestRepositories: what an agent leaves in repositories does not run for a person who looks at the workspace that is
// kept.
func TestRepositories(t *testing.T) {
	t.Parallel()
	places := []string{".", "hook", "nested", "named"}
	look := func(t *testing.T, workspace, place string) string {
		t.Helper()
		cmd := exec.Command("git", "status")
		cmd.Dir = filepath.Join(workspace, place)
		cmd.Env = []string{"PATH=" + systemPath, "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
		out, _ := cmd.CombinedOutput() // a planted command fails
		return string(out)
	}
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		mark := filepath.Join(s.target.Project, "ran")
		line := strings.ReplaceAll(planted, "MARK", mark)
		bare := t.TempDir()
		sh := exec.Command("sh", "-c", line)
		sh.Dir, sh.Env = bare, []string{"PATH=" + systemPath, "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
		out, err := sh.CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, place := range places {
			require.NoFileExists(t, mark)
			said := look(t, bare, place)
			require.FileExists(t, mark, "%s: the attack does not work: %s", place, said)
			require.NoError(t, os.Remove(mark))
		}

		s.agents(t, map[string]string{"a": line})
		said, run, code := s.play(t, properties.Kind, "")
		require.Zero(t, code, said)
		_ = os.Remove(mark) // where nothing confines them, the agent's own commands made it
		workspace := filepath.Join(run, "variants", "a", "workspace")
		for _, place := range places {
			require.FileExists(t, filepath.Join(workspace, place, "a"))
			said := look(t, workspace, place)
			assert.NoFileExists(t, mark, "%s: %s", place, said)
		}
	})
}
