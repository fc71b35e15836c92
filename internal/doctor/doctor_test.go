package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/agent"
)

func TestGroupLimits(t *testing.T) {
	const max1 = "9223372036854771712"
	tests := []struct {
		name, groups string
		files        map[string]string
		want         grouped
	}{
		{name: "none"},
		{
			name: "the narrowest on the way up", groups: "0::/a/b\n",
			files: map[string]string{
				"a/b/memory.max": "max\n", "a/memory.max": "2000\n", "memory.max": "3000\n",
				"a/b/cpu.max": "150000 100000\n", "a/cpu.max": "max 100000\n", "a/b/pids.max": "64\n",
				"a/pids.max": "max",
			},
			want: grouped{memory: 2000, processes: 64, cpus: 1.5},
		},
		{
			name: "version 1", groups: "5:memory:/x\n4:cpu,cpuacct:/x\n3:pids:/x\n2:name=systemd:/x\nodd\n",
			files: map[string]string{
				"memory/x/memory.limit_in_bytes": max1, "memory/memory.limit_in_bytes": "4096",
				"cpu,cpuacct/x/cpu.cfs_quota_us": "50000", "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
				"cpu,cpuacct/cpu.cfs_quota_us": "-1", "pids/x/pids.max": "max",
			},
			want: grouped{memory: 4096, cpus: 0.5},
		},
		{
			name: "above the root", groups: "0::/../../x", files: map[string]string{"x/memory.max": "7"},
			want: grouped{memory: 7},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, groupLimits(tt.groups, func(file string) string {
				return tt.files[strings.TrimPrefix(file, "/sys/fs/cgroup/")]
			}))
		})
	}
}

func FuzzGroupLimits(f *testing.F) {
	f.Add("0::/a/b\n3:pids:/x", "100000 50000")
	f.Fuzz(func(t *testing.T, groups, text string) {
		l := groupLimits(groups, func(string) string { return text })
		assert.False(t, l.memory < 0 || l.processes < 0 || l.cpus < 0, "%+v", l)
	})
}

func TestPackageOf(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) string {
		path = filepath.Join(dir, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
		return path
	}
	write("lib/node_modules/@x/agent/package.json", `{"name": "@x/agent", "version": "1.2.3"}`)
	write("lib/node_modules/@x/agent/dist/package.json", `{"type": "module"}`)
	script := write("lib/node_modules/@x/agent/dist/cli/index.js", "")
	link := filepath.Join(dir, "agent")
	if err := os.Symlink(script, link); err != nil {
		t.Skip(err)
	}
	name, version := packageOf(link)
	assert.Equal(t, "@x/agent 1.2.3", name+" "+version, "beside where the link leads, above what names no package")

	write("broken/package.json", "{")
	name, version = packageOf(write("broken/run", ""))
	assert.Empty(t, name+version)
	name, version = packageOf(filepath.Join(dir, "nowhere"))
	assert.Empty(t, name+version)
}

func TestCompare(t *testing.T) {
	claude, _ := agent.Lookup("claude-code-acp")
	codex, _ := agent.Lookup("codex-acp")
	goose, _ := agent.Lookup("goose-acp")
	first, second := codex.Programs[0], codex.Programs[1]
	tests := []struct {
		name       string
		of         agent.Profile
		is         installed
		text, next string
	}{
		{
			name: "as tested", of: claude,
			is:   installed{command: "claude-code-acp", version: claude.Programs[1].Tested},
			text: "claude-code-acp " + claude.Programs[1].Tested + ", as tested",
		},
		{
			name: "another version", of: claude, is: installed{command: "claude-agent-acp", version: "9.9.9"},
			text: "claude-agent-acp 9.9.9; tested: " + claude.Programs[0].Tested, next: claude.Programs[0].Install(),
		},
		{
			name: "one of two adapters with the same name", of: codex,
			is:   installed{command: "codex-acp", version: second.Tested},
			text: "codex-acp " + second.Tested + ", as tested",
		},
		{
			name: "the adapter that npm tells", of: codex,
			is:   installed{command: "codex-acp", pkg: second.Package, version: first.Tested},
			text: "codex-acp " + first.Tested + "; tested: " + second.Tested, next: second.Install(),
		},
		{
			name: "unknown", of: codex, is: installed{command: "codex-acp", err: errors.New("it hangs")},
			text: "codex-acp: its version is not known: it hangs", next: first.Install(),
		},
		{
			name: "none was tested", of: goose, is: installed{command: "goose", version: "1.0.0"},
			text: "goose 1.0.0; no version was tested", next: "see docs/agents.md",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, next := tt.is.compare(tt.of)
			assert.Equal(t, [2]string{tt.text, tt.next}, [2]string{text, next})
		})
	}
}

func TestNumberIn(t *testing.T) {
	for line, want := range map[string]string{
		"2.1.318 (Claude Code)": "2.1.318", "GitHub Copilot CLI 1.0.102.": "1.0.102",
		"v0.3.0-rc.1, built":                   "0.3.0-rc.1",
		"Docker version 28.2.2, build e6534b4": "28.2.2", "no": "", "go1.26": "",
	} {
		assert.Equal(t, want, numberIn(line), line)
	}
}
