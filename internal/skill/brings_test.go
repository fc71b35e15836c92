package skill

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

func TestBrings(t *testing.T) {
	const head = "---\nname: x\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  Brings
	}{
		"text": {files: map[string]string{
			"SKILL.md":   head + "description: hooks: none, allowed-tools none\n---\nallowed-tools: Bash\n",
			"scripts.md": "",
		}},
		"scripts": {
			files: map[string]string{"scripts/a.py": "", "sub/scripts/deep/b": "", "run*": "", "scripts": ""},
			want:  Brings{Scripts: []string{"run", "scripts/a.py", "sub/scripts/deep/b"}},
		},
		"servers": {
			files: map[string]string{
				".mcp.json": `{"mcpServers": {
					"b": {"url": "https://x"}, "a": {"command": "npx", "args": ["-y", "x"]}}}`,
				"sub/.mcp.json":              `{"c": {"command": "sh"}}`,
				".claude-plugin/plugin.json": `{"name": "p", "mcpServers": "./servers.json"}`,
				"other/plugin.json":          `{"name": "p"}`,
			},
			want: Brings{Servers: []string{
				`.claude-plugin/plugin.json: "./servers.json"`, "a: npx -y x", "b: https://x", "c: sh",
			}},
		},
		"hooks": {
			files: map[string]string{
				"hooks/hooks.json": `{}`, ".claude/settings.json": `{"hooks": {}}`, "settings.json": `{"model": "x"}`,
				".claude-plugin/plugin.json": `{"hooks": "x"}`, "SKILL.md": head + "hooks:\n  PreToolUse: []\n---\n",
			},
			want: Brings{Hooks: []string{
				".claude-plugin/plugin.json", ".claude/settings.json", "SKILL.md", "hooks/hooks.json",
			}},
		},
		"not read": {
			files: map[string]string{".mcp.json": `{`},
			want:  Brings{Servers: []string{".mcp.json (not read)"}, Hooks: []string{".mcp.json (not read)"}},
		},
		"tools on a line": {
			files: map[string]string{"SKILL.md": head + "allowed-tools: Bash(git:*), Read\n---\n"},
			want:  Brings{Allows: []string{"Bash(git:*)", "Read"}},
		},
		"tools in a list": {
			files: map[string]string{
				"SKILL.md": "\uFEFF---\r\nallowed-tools:\r\n  - Bash\r\n  - 'Read'\r\nname: [\r\n---\r\n",
			},
			want: Brings{Allows: []string{"Bash", "Read"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := Tree{Files: make(map[string]workspace.Seed)}
			for file, text := range tt.files {
				exec := file[len(file)-1] == '*'
				if exec {
					file = file[:len(file)-1]
				}
				tree.Files[file] = workspace.Seed{Data: []byte(text), Exec: exec}
			}
			require.Equal(t, tt.want, tree.Brings())
		})
	}
}

func FuzzBrings(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x"}}}`))
	f.Add([]byte("---\nallowed-tools: [a, b]\nhooks:\n---\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		Tree{Files: map[string]workspace.Seed{"SKILL.md": {Data: data}, ".mcp.json": {Data: data}}}.Brings()
	})
}

// TestAround: the plugin around a skill is told with what it brings beside its skills, since agents get none of it.
func TestAround(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"skills/pdf/SKILL.md": "---\nname: pdf\n---\n", "skills/pdf/.mcp.json": `{"mcpServers": {"own": {}}}`,
		"skills/pdf/evals/evals.json": `[{"prompt": "Go.", "expected_output": "Gone."}]`,
	} {
		file := filepath.Join(root, "plugins", "office", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	s, err := Load(t.Context(), Place{root, "plugins/office/skills/pdf/evals"})
	require.NoError(t, err)
	dir, _, err := s.Around(t.Context())
	require.NoError(t, err)
	require.Empty(t, dir, "there is no plugin")

	plugin := filepath.Join(root, "plugins", "office")
	require.NoError(t, os.MkdirAll(filepath.Join(plugin, ".claude-plugin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(plugin, ".claude-plugin", "plugin.json"),
		[]byte(`{"name": "office", "hooks": {}, "mcpServers": {"m": {"command": "npx", "args": ["x"]}}}`), 0o600))
	dir, b, err := s.Around(t.Context())
	require.NoError(t, err)
	require.Equal(t, "plugins/office", dir)
	require.Equal(t, Brings{
		Servers: []string{"m: npx x"}, Hooks: []string{".claude-plugin/plugin.json"},
	}, b)
}

// TestTakePlugin: agents get of a plugin neither the evals of the suite, wherever it has them, nor what is said there.
func TestTakePlugin(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		".claude-plugin/plugin.json": `{"name": "o/.."}`, "commands/go.md": "",
		"skills/pdf/SKILL.md":    "---\nname: pdf\n---\n",
		"skills/pdf/baselines/a": "", "quality/notes.md": "", "quality/evals/.sdd-eval/baseline.json": "",
		"quality/evals/evals.json": `{"skill_name": "pdf", "evals": [{"prompt": "/go", "expected_output": "Gone."}]}`,
	} {
		file := filepath.Join(root, "office", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	s, err := Load(t.Context(), Place{root, "office/quality/evals"})
	require.NoError(t, err)
	require.NoError(t, s.TakePlugin(t.Context(), false))
	require.Nil(t, s.Plugin, "nobody asks, and nothing is recorded")
	require.Zero(t, s.Runnable())
	require.False(t, s.Concerns([]string{"office/commands/go.md"}))
	require.NoError(t, s.TakePlugin(t.Context(), true))
	require.Equal(t, 1, s.Runnable())
	require.Empty(t, s.Findings)
	require.True(t, s.Concerns([]string{"office/commands/go.md"}))
	require.Equal(t, "office", s.Plugin.Dir)
	require.Equal(t, "pdf", s.Plugin.Name, "a name that is no directory's is not taken")
	require.Equal(t, []string{
		".claude-plugin/plugin.json", "commands/go.md", "quality/notes.md", "skills/pdf/SKILL.md",
	}, slices.Sorted(maps.Keys(s.Plugin.Installed.Files)))
}
