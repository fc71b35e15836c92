package cassette

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlayer(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"add.go", "run.sh", "old.go"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644))
	}
	p := NewPlayer(sample(), dir)
	for i, prompt := range samplePrompts {
		turn, err := p.Prompt(t.Context(), prompt)
		require.NoError(t, err)
		assert.Equal(t, sample().Turns[i], turn)
		text, err := os.ReadFile(filepath.Join(dir, "add.go"))
		require.NoError(t, err)
		assert.Contains(t, string(text), "return a + b")
	}
	require.NoError(t, p.End())
	info, err := os.Stat(filepath.Join(dir, "run.sh"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode())
	assert.NoFileExists(t, filepath.Join(dir, "old.go"))
	target, err := os.Readlink(filepath.Join(dir, "latest"))
	require.NoError(t, err)
	assert.Equal(t, "add.go", target)
}

func TestPlayerRefuses(t *testing.T) {
	tests := []struct {
		name    string
		prompts []string
		any     bool
		want    string // of the last prompt
		wantEnd string
	}{
		{name: "all turns", prompts: samplePrompts},
		{
			name: "another prompt", prompts: []string{"Fix it."},
			want: "prompt 1:\n    - Fix Add in add.go.\n    - Run the tests.\n    + Fix it.", wantEnd: "prompt 1:",
		},
		{name: "any prompt", prompts: []string{"Fix it.", "Go on."}, any: true},
		{
			name: "a prompt more", prompts: append(samplePrompts[:2:2], "Thanks."),
			want: `prompt 3: was none, is "Thanks."`,
		},
		{
			name: "any prompt more", prompts: append(samplePrompts[:2:2], "Thanks."), any: true,
			want: `prompt 3: was none, is "Thanks."`,
		},
		{name: "any prompt less", prompts: samplePrompts[:1], any: true},
		{
			name: "no prompt", wantEnd: "prompt 1:\n    - Fix Add in add.go.\n    - Run the tests.\n" +
				`  prompt 2: was "Now the tests.", is none`,
		},
		{name: "a prompt less", prompts: samplePrompts[:1], wantEnd: `prompt 2: was "Now the tests.", is none`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sample()
			c.Path = "cassettes/a.1.jsonl"
			p := NewPlayer(c, "")
			p.AnyPrompt = tt.any
			var err error
			for _, prompt := range tt.prompts {
				require.NoError(t, err)
				_, err = p.Prompt(t.Context(), prompt)
			}
			requireStale(t, err, tt.want)
			requireStale(t, p.End(), tt.wantEnd)
		})
	}
}

func requireStale(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	var stale *StaleError
	require.ErrorAs(t, err, &stale)
	require.ErrorContains(t, err,
		"stale cassette cassettes/a.1.jsonl: these inputs changed after it was recorded:\n  "+want)
}

func TestPlayerAppliesNext(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"add.go": "what the agent made of it now",
		"run.sh": "old", "old.go": "old",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Symlink("add.go", filepath.Join(dir, "latest")), "the agent has made this already")
	p := NewPlayer(sample(), dir)
	require.NoError(t, p.ApplyNext(t.Context()))
	require.NoError(t, p.Close(), "a turn is left")
	text, err := os.ReadFile(filepath.Join(dir, "add.go"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "return a + b")

	require.NoError(t, p.ApplyNext(t.Context()))
	assert.NoFileExists(t, filepath.Join(dir, "old.go"))
	target, err := os.Readlink(filepath.Join(dir, "latest"))
	require.NoError(t, err)
	assert.Equal(t, "add.go", target)
	require.NoError(t, p.ApplyNext(t.Context()), "there is no other turn")
}

func TestPlayerInAnotherWorkspace(t *testing.T) {
	_, err := NewPlayer(sample(), t.TempDir()).Prompt(t.Context(), samplePrompts[0])
	require.ErrorContains(t, err, "replay turn 1")
	require.ErrorContains(t, err, "write add.go: not found: the workspace differs from the recorded one")
}

func TestPlayerCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	_, err := NewPlayer(sample(), "").Prompt(ctx, samplePrompts[0])
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
