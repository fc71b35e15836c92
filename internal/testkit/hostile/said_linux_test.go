package hostile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/testkit/commandtest"
)

// TestSaid: what an agent says and a step prints begins no command of a CI system and controls no terminal, in the run
// and in its replay.
func TestSaid(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		text := "said\n" + strings.Join(commandtest.Texts, "\n")
		script, err := json.Marshal(scripted.Script{Turns: []scripted.Turn{{Actions: []scripted.Action{
			{DiskWrite: &scripted.DiskWrite{Path: "text", Text: text}},
			{Tool: &scripted.Tool{Name: "Bash", Title: text, Input: map[string]any{"path": text}, Output: text}},
			{Say: &scripted.Say{Text: text}},
		}}}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, "a.json"), script, 0o644))
		s.stranger(t, "name: said", "{kind: fake-acp, args: [a.json]}", "cat text >&2; false")
		for _, mode := range []string{"record", "replay"} {
			said, _, code := s.play(t, properties.Kind, "", "--mode", mode)
			require.Equal(t, 1, code, said)
			assert.Contains(t, said, `\::stop-commands::x`)
			assert.Contains(t, said, `#\#teamcity[`)
			assert.Empty(t, commandtest.Find(said), "%s: %q", mode, said)
		}
	})
}

// TestCommittedLinks: a link in the project, which a stranger may have committed, leads no recording out of it.
func TestCommittedLinks(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		outside := filepath.Join(s.target.Home, "recordings")
		require.NoError(t, os.Mkdir(outside, 0o755))
		require.NoError(t, os.Symlink(outside, filepath.Join(s.target.Project, "cassettes")))
		s.stranger(t, "name: linked", "{kind: fake-acp}", "true")
		for _, mode := range []string{"record", "replay"} {
			said, _, code := s.play(t, properties.Kind, "", "--mode", mode)
			assert.Equal(t, 3, code, said)
			assert.Contains(t, said, "cassettes is a symbolic link to ")
			assert.Contains(t, said, "such links are not followed")
		}
		left, err := os.ReadDir(outside)
		require.NoError(t, err)
		assert.Empty(t, left)
	})
}
