package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// TestSamplePresets reads every account that a sample has, each after the table's line.
func TestSamplePresets(t *testing.T) {
	for _, p := range Profiles() {
		if p.PresetFile == "" {
			assert.Empty(t, p.SamplePreset("f", "x"), p.Kind)
			continue
		}
		for _, name := range []string{"production", `my "own" preset`} {
			comment, rest, _ := strings.Cut(p.SamplePreset("/c/"+p.PresetFile, name), "\n")
			assert.Equal(t, "# /c/"+p.PresetFile, comment)
			table, rest, _ := strings.Cut(rest, "\n")
			for _, lines := range regexp.MustCompile(`(?m)^# or .*$`).Split(rest, -1) {
				text := table + "\n" + strings.ReplaceAll(lines, "\n# ", "\n")
				preset, err := p.decode(presetFile{p.PresetFile, []byte(text)}, name)
				require.NoError(t, err, text)
				_, err = p.Launch("agent", nil, preset)
				require.NoError(t, err, text)
			}
			_, err := p.decode(presetFile{p.PresetFile, []byte(table + "\n" + rest)}, name)
			require.NoError(t, err, "pasted as it is")
			for line := range strings.Lines(rest) {
				assert.LessOrEqual(t, len(line), 90, "it is to be read on a terminal")
			}
		}
	}
}

// TestMissingPreset: a preset that is not there is one that a person has to write down.
func TestMissingPreset(t *testing.T) {
	const want = `write down your account, such as:
# DIR/claude-code.toml
[groups.work]
ANTHROPIC_API_KEY = "YOUR-KEY"
# or a plan, by the token that ` + "`claude setup-token`" + ` prints:
# CLAUDE_CODE_OAUTH_TOKEN = "YOUR-TOKEN"
# or by the file that ` + "`claude auth login`" + ` writes on Linux:
# files = {".claude/.credentials.json" = "~/.claude/.credentials.json"}`
	tests := []struct{ name, text, preset, err string }{
		{name: "no file", preset: "work", err: "no such file or directory"},
		{
			name: "no such preset", preset: "work", text: "[groups.mine]\nA = 'a'\n",
			err: `unknown preset "work"; available: mine`,
		},
		{name: "none is named", err: "agents of kind claude-code-acp need a preset"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.text != "" {
				dir = write(t, "claude-code.toml", tt.text)
			}
			_, err := Resolve("claude-code-acp", tt.preset, dir)
			require.ErrorContains(t, err, tt.err)
			advice := strings.ReplaceAll(fault.Advice(err), dir+string(filepath.Separator), "DIR/")
			name := tt.preset
			if name == "" {
				name = "NAME"
			}
			assert.Equal(t, strings.Replace(want, "groups.work", "groups."+name, 1), advice)
		})
	}
	_, err := Resolve("claude-code-acp", "x", write(t, "claude-code.toml", "[groups.x]\nHOME = 'a'\n"))
	require.Error(t, err)
	assert.Empty(t, fault.Advice(err), "a preset that is wrong is there")
}

// TestPrograms holds the versions that are said to be tested to those that the tests install.
func TestPrograms(t *testing.T) {
	data, err := os.ReadFile("../../fixtures/agents/package.json")
	require.NoError(t, err)
	var pinned struct{ Dependencies, OptionalDependencies map[string]string }
	require.NoError(t, json.Unmarshal(data, &pinned))
	versions := make(map[string]string)
	for _, all := range []map[string]string{pinned.Dependencies, pinned.OptionalDependencies} {
		for name, version := range all {
			if alias, ok := strings.CutPrefix(version, "npm:"); ok {
				at := strings.LastIndex(alias, "@")
				name, version = alias[:at], alias[at+1:]
			}
			versions[name] = version
		}
	}
	versions["opencode-ai"] = versions["opencode-linux-x64"]
	readme, err := os.ReadFile("../../fixtures/agents/README.md")
	require.NoError(t, err)
	claude := regexp.MustCompile("`claude` is Claude Code itself, ([0-9.]+)\\. ").FindSubmatch(readme)
	require.NotNil(t, claude)
	versions["@anthropic-ai/claude-code"] = string(claude[1])
	seen := 0
	for _, p := range Profiles() {
		for _, known := range p.Programs {
			if known.Package == "cline" { // it starts under an account only, so no test installs it
				continue
			}
			assert.Equal(t, versions[known.Package], known.Tested, known.Package)
			seen++
		}
		if len(p.Programs) > 0 {
			assert.Equal(t, p.Command, p.Programs[0].Command)
		}
	}
	assert.Equal(t, 9, seen)
}

func TestInstall(t *testing.T) {
	p, _ := Lookup("claude-code-acp")
	assert.Equal(t, "npm install -g @zed-industries/claude-code-acp@0.16.2", p.Install("claude-code-acp"))
	assert.Equal(t, "install /opt/mine", p.Install("/opt/mine"))
}

// TestDocsAgents holds docs/agents.md to the table: the section of each kind says how its programs are installed, and
// has its preset, or says whose it shares.
func TestDocsAgents(t *testing.T) {
	text, err := os.ReadFile("../../docs/agents.md")
	require.NoError(t, err)
	samples := 0
	for _, p := range Profiles() {
		if p.Kind == Fake {
			continue
		}
		_, section, ok := strings.Cut(string(text), "\n## `"+p.Kind+"`")
		require.True(t, ok, "no section for %s", p.Kind)
		section, _, _ = strings.Cut(section, "\n## ")
		for _, known := range p.Programs {
			assert.Contains(t, section, "\n"+known.Install(), p.Kind)
		}
		for _, mode := range p.AskingModes {
			assert.Contains(t, section, "**`"+mode+"`**", "%s: the mode that is set", p.Kind)
		}
		if _, shared, ok := strings.Cut(section, "presets are"); ok {
			assert.Regexp(t, "(?s)^\\sas those of `acp`, in `"+p.PresetFile+"`|^ those of `claude-code-acp`, in `"+
				p.PresetFile+"`", shared)
			continue
		}
		assert.Contains(t, section, "```toml\n"+p.SamplePreset("~/.config/llman/"+p.PresetFile, "production")+"```",
			p.Kind)
		samples++
	}
	assert.Equal(t, 7, samples)
}
