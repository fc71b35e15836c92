package hostile_test

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/testkit/secrettest"
)

// tellAll writes a playbook whose agent leaves a text wherever it can: in files, as itself and through its client, on
// its standard error, in a terminal, in a call, in a thought and in its answer. A judge passes it if it sees seen.
func (s *scene) tellAll(t *testing.T, text, seen string) {
	t.Helper()
	script, err := json.Marshal(scripted.Script{Turns: []scripted.Turn{{Actions: []scripted.Action{
		{DiskWrite: &scripted.DiskWrite{Path: "left", Text: text}},
		{Write: &scripted.Write{Path: "served", Text: text}},
		{Exec: &scripted.Exec{Command: "sh", Args: []string{"-c", "cat left >&2"}}},
		{Terminal: &scripted.Terminal{Command: "sh", Args: []string{"-c", "cat left; cat left >&2"}}},
		{Tool: &scripted.Tool{Name: "Bash", Title: text, Input: map[string]any{"command": text}, Output: text}},
		{Think: &scripted.Think{Text: text}},
		{Say: &scripted.Say{Text: text}},
	}}}})
	require.NoError(t, err)
	judge := `if grep -q ` + seen + `; then echo '{"score": 1}'; else echo '{"score": 0}'; fi`
	for name, text := range map[string]string{
		"a.json": string(script), "judge.sh": judge,
		"p.yaml": `name: secrets
task: {prompt: Tell.}
workspace: {from: work}
variants: {a: {agent: {kind: fake-acp, args: [a.json]}}}
sandbox: {allow_commands: [sh]}
evaluators: [{type: code_judge, script: [sh, judge.sh]}]
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

// TestSecrets: a secret that is known is in nothing that is kept or printed, however an agent writes it down.
func TestSecrets(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		key := `k"e'y\&<` + rand.Text()
		s.tellAll(t, strings.Join(secrettest.Forms(key), "\n"), "REDACTED")
		said, run, code := s.play(t, properties.Kind, key, "--mode", "record")
		require.Equal(t, 3, code, said)
		assert.Contains(t, said, "leak: ")
		assert.Contains(t, said, "left: PLANTED_API_KEY at offset 0")
		assert.Empty(t, secrettest.Scan(said, key))
		found, err := secrettest.ScanDir(run, key)
		require.NoError(t, err)
		assert.Empty(t, found)
		recorded, err := filepath.Glob(filepath.Join(s.target.Project, "cassettes", "*", "*", "*"))
		require.NoError(t, err)
		assert.Empty(t, recorded)
	})
}

// TestSuspects: keys of vendors, and what is a credential by what stands before it, are printed nowhere and in no log,
// although nobody has named them. Those of vendors are in nothing that is kept or recorded, unless the agent began with
// them: then, as all that is guessed, judges, the workspace and the recording have them as they are.
func TestSuspects(t *testing.T) {
	t.Parallel()
	random := strings.ToLower(rand.Text() + rand.Text())
	var vendors []string
	for _, prefix := range [][2]string{{"sk-", "ant-api03-"}, {"gs", "k_"}, {"gh", "p_"}, {"hv", "s."}} {
		vendors = append(vendors, prefix[0]+prefix[1]+random)
	}
	guesses := []string{"of-url-4711", "of-bearer-4711", "b2YtYmFzaWMtNDcxMQ", "of-name-4711"}
	text := strings.Join(vendors, "\n") + "\npostgres://user:of-url-4711@db/x\nAuthorization: Bearer of-bearer-4711\n" +
		"Authorization: Basic b2YtYmFzaWMtNDcxMQ\nPAYMENT_KEY=of-name-4711\n"
	all := slices.Concat(vendors, guesses)
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		s.tellAll(t, text, "of-name-4711")
		for _, mode := range []string{"live", "record"} {
			said, run, code := s.play(t, properties.Kind, "", "--mode", mode)
			require.Equal(t, mode == "record", code == 3, said)
			assert.Contains(t, said, "masked in the copy that is kept: left: key at offset 0; served: key at offset 0")
			found, err := secrettest.ScanDir(run, vendors...)
			require.NoError(t, err)
			assert.Empty(t, found, mode)
			if mode == "live" {
				continue // it was judged, and passed
			}
			assert.Contains(t, said, "leak: the session has what looks like a key of a vendor: left:1; served:1; ")
			assert.Contains(t, said, "have it write one that says EXAMPLE")
			found, err = secrettest.ScanDir(filepath.Join(s.target.Project, "cassettes"), all...)
			require.NoError(t, err)
			assert.Empty(t, found)
		}
		fixture := filepath.Join(s.target.Project, "work", "fixture")
		require.NoError(t, os.WriteFile(fixture, []byte(strings.Join(vendors, "\n")), 0o644))
		for _, mode := range []string{"record", "replay"} {
			said, run, code := s.play(t, properties.Kind, "", "--mode", mode)
			require.Zero(t, code, said)
			recorded, err := filepath.Glob(filepath.Join(s.target.Project, "cassettes", "*", "*", "*"))
			require.NoError(t, err)
			require.Len(t, recorded, 1)
			const warning = "may hold credentials that nobody has named: left:5; served:5; turn 1, file_write"
			assert.Equal(t, mode == "record", strings.Contains(said, warning), said)
			assert.Empty(t, secrettest.Scan(said, all...), mode)
			found, err := secrettest.ScanDir(filepath.Join(run, "variants", "a", "logs"), all...)
			require.NoError(t, err)
			assert.Empty(t, found, mode)
			workspace := filepath.Join(run, "variants", "a", "workspace")
			for _, name := range []string{"left", "served"} {
				kept, err := os.ReadFile(filepath.Join(workspace, name))
				require.NoError(t, err)
				assert.Equal(t, text, string(kept), mode)
			}
			require.NoError(t, os.RemoveAll(workspace))
			found, err = secrettest.ScanDir(run, vendors...)
			require.NoError(t, err)
			assert.Empty(t, found, mode)
		}
	})
}
