package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// consenting returns a run of a skill with a text, which starts so many sessions.
func consenting(root, text string, sessions int) *skillRun {
	r := &skillRun{suite: &skill.Suite{Name: "pdf", Root: root, Installed: skill.Tree{
		Files: map[string]workspace.Seed{
			"SKILL.md":         {Data: []byte("---\nname: pdf\nallowed-tools: Bash\n---\n" + text)},
			"scripts/a.sh":     {},
			".mcp.json":        {Data: []byte(`{"mcpServers": {"m": {"command": "npx", "args": ["evil"]}}}`)},
			"run\x1b[2J":       {Exec: true},
			"hooks/hooks.json": {},
		},
	}}}
	r.options.front = new(skillOptions)
	r.preview.Sandbox = "bwrap"
	for range sessions {
		r.preview.Units = append(r.preview.Units, engine.PreviewedUnit{StartsAgent: true})
	}
	return r
}

// TestConsent: a skill is asked about once, as it is, and many sessions each time. The answer is the user's own.
func TestConsent(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	root := t.TempDir()
	type step struct {
		name    string
		run     *skillRun
		keys    string // typed; empty: there is no terminal
		yes     bool
		asked   int
		refused bool
		told    bool // what the skill brings
	}
	for _, s := range []step{
		{name: "no terminal", run: consenting(root, "1", 4), refused: true, told: true},
		{name: "nothing starts", run: consenting(root, "1", 0)},
		{name: "no", run: consenting(root, "1", 4), keys: "n\n", asked: 1, refused: true, told: true},
		{name: "an empty line", run: consenting(root, "1", 4), keys: "\n", asked: 1, refused: true, told: true},
		{name: "no more input", run: consenting(root, "1", 4), keys: "\x04", asked: 1, refused: true, told: true},
		{name: "yes", run: consenting(root, "1", 4), keys: "Yes\n", asked: 1, told: true},
		{name: "remembered", run: consenting(root, "1", 50)},
		{name: "many sessions", run: consenting(root, "1", 51), keys: "y\n", asked: 1},
		{name: "many sessions, no terminal", run: consenting(root, "1", 51), refused: true},
		{name: "changed", run: consenting(root, "2", 51), keys: "y\nn\n", asked: 2, refused: true, told: true},
		{name: "not remembered half", run: consenting(root, "2", 4), keys: "n\n", asked: 1, refused: true, told: true},
		{name: "by a flag", run: consenting(root, "2", 51), yes: true, told: true},
		{name: "which is remembered", run: consenting(root, "2", 4)},
		{name: "where the answers are in the repository", run: consenting(config, "2", 4), refused: true, told: true},
	} {
		t.Run(s.name, func(t *testing.T) {
			var plain bytes.Buffer
			a := App{Getenv: os.Getenv, Now: time.Now, Stderr: &plain, Stdin: &bytes.Buffer{}, secrets: new(secret.Set)}
			shown := plain.String
			if s.keys != "" {
				keys, terminal := openPair(t, 80, 24)
				_, err := keys.WriteString(s.keys)
				require.NoError(t, err)
				a.Stdin, a.Stderr = terminal, &door{w: terminal}
				shown = func() string {
					text := make([]byte, 1<<16)
					n, err := keys.Read(text)
					require.NoError(t, err)
					for bytes.Count(text[:n], []byte("y or n:")) < s.asked {
						more, err := keys.Read(text[n:])
						require.NoError(t, err)
						n += more
					}
					return string(text[:n])
				}
			}
			agreed, err := a.consent(t.Context(), skillOptions{dir: ".", yes: s.yes}, []*skillRun{s.run})
			assert.Equal(t, !s.refused && s.run.sessions() > 0, agreed)
			if s.refused {
				require.ErrorContains(t, err, "nobody has agreed to")
				assert.Equal(t, exitUsage, exitCode(t.Context(), err))
				assert.Equal(t, "sdd-eval skill --yes", a.nextAfter(err))
			} else {
				require.NoError(t, err)
			}
			text := ""
			if s.keys != "" || s.told {
				text = shown()
			}
			assert.Equal(t, s.asked, bytes.Count([]byte(text), []byte("y or n:")))
			if s.told {
				for _, want := range []string{
					"has not run here before", "scripts    run", "[2J, scripts/a.sh", "servers    m: npx evil",
					"hooks/hooks.json",
					"allows     Bash", "can reach  the agent's token or key",
				} {
					assert.Contains(t, text, want)
				}
				assert.NotContains(t, text, "run\x1b")
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(config, "sdd-eval", "skills", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
}

// TestConsentInterrupted: Ctrl-C is no answer.
func TestConsentInterrupted(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	_, terminal := openPair(t, 80, 24)
	a := App{Getenv: os.Getenv, Now: time.Now, Stderr: &door{w: terminal}, Stdin: terminal, secrets: new(secret.Set)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.consent(ctx, skillOptions{dir: "."}, []*skillRun{consenting(t.TempDir(), "1", 1)})
	require.Equal(t, exitInterrupted, exitCode(t.Context(), err))
}

// TestConsentWithoutState: an answer that cannot be kept counts for this run.
func TestConsentWithoutState(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "file"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	var text bytes.Buffer
	a := App{Getenv: os.Getenv, Now: time.Now, Stderr: &text, secrets: new(secret.Set)}
	_, err := a.consent(t.Context(), skillOptions{yes: true}, []*skillRun{consenting(t.TempDir(), "1", 1)})
	require.NoError(t, err)
	require.Contains(t, text.String(), "note: the answer is not remembered: ")
}
