package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVolatileText checks what of the texts of agents, as they were recorded, differs from run to run.
func TestVolatileText(t *testing.T) {
	tests := []struct{ kind, in, want string }{
		{
			"claude-code-acp", "agentId: ad901b017494a8ac2 (use SendMessage with to: 'ad901b017494a8ac2')",
			"# (use SendMessage with #')",
		},
		{
			"claude-cli", "agentId: ae46574 (for resuming)\n<usage>duration_ms: 173</usage>",
			"# (for resuming)\n<usage>#</usage>",
		},
		{
			"claude-cli", "saved to $HOME/.claude/projects/-WORKSPACE/s1/tool-results/bsa926q20.txt",
			"saved to $HOME/.claude/projects/-WORKSPACE/s1#.txt",
		},
		{
			"opencode-acp", "tool-output/tool_205606a4e001oiEmmrk4QRxCTM, ses_dfab72f31ffejFvdOwCkj3UysX; tool_call",
			"tool-output/#, #; tool_call",
		},
		{
			"copilot-acp", "Saved to: $TMPDIR/1795386522348-copilot-tool-output-16363-" +
				"eb86a5de-fffa-49b5-87a2-ea6e9c7de01b.txt",
			"Saved to: $TMPDIR/#.txt",
		},
		{"qwen-acp", "Background shell bg_ab94c00a started (pid 28282).", "Background shell # started (#)."},
		{
			"qwen-acp", "$HOME/.qwen/tmp/352241952ddeaaac4e6e733eb5efb02ed4f3294204c83071616073b8898bc103/" +
				"run_shell_command_8b2c0ac4ffb3.output",
			"$HOME/#/#.output",
		},
		{"fake-acp", "bg_ab94c00a", "bg_ab94c00a"},
	}
	for _, tt := range tests {
		profile, ok := Lookup(tt.kind)
		require.True(t, ok)
		got := tt.in
		for _, p := range profile.Patterns(nil) {
			got = p.ReplaceAllString(got, "#")
		}
		assert.Equal(t, tt.want, got, tt.kind)
	}
}
