package cli

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doctor"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestFound shows findings of all states on a narrow terminal, a wide one, and none.
func TestFound(t *testing.T) {
	all := []doctor.Finding{
		{Group: "sandbox", Name: "in use", State: doctor.Well, Text: "landlock, the strongest that works here"},
		{
			Group: "sandbox", Name: "bwrap", State: doctor.Absent, Text: "bwrap is not in PATH",
			Next: "install bubblewrap (Debian: apt-get install bubblewrap), see docs/confinement.md",
		},
		{
			Group: "sandbox", Name: "landlock", State: doctor.Well,
			Text: "ABI 7; open: file modes, terminals, processes, set-uid files, kernel interfaces, forks, memory, " +
				"cpu, disk",
		},
		{Group: "sandbox", Name: "podman", State: doctor.Absent, Text: "not in PATH; no run needs it"},
		{
			Group: "agents", Name: "claude-code-acp", State: doctor.Noted,
			Text: "claude-agent-acp 0.99.0; tested: 0.101.0; claude-code-acp 0.16.2, as tested",
			Next: "npm install -g @agentclientprotocol/claude-agent-acp@0.101.0",
		},
		{
			Group: "accounts", Name: "codex.toml", State: doctor.Noted,
			Text: "there is none, and codex-acp needs a preset",
			Next: "write down your account, such as:\n# /home/me/.config/llman/codex.toml\n" +
				"[model_providers.production]\n",
		},
		{
			Group: "machine", Name: "disk\x1b", State: doctor.Bad,
			Text: "0.5 GiB free in /tmp\n::error::no, sk-test-hidden",
			Next: "make room, for example with `sdd-eval clean --keep 20`",
		},
	}
	for _, columns := range []int{45, 120} {
		var out bytes.Buffer
		a := &App{Stdout: &door{w: &out}, Getenv: func(string) string { return "" }, secrets: new(secret.Set)}
		a.secrets.Mark("KEY", "sk-test-hidden")
		a.printFound(all, columns)
		fmt.Fprintln(a.Stdout, summaryOf(all))
		golden.Equal(t, fmt.Sprintf("testdata/doctor-%d.golden", columns), out.String())
		for line := range bytes.Lines(out.Bytes()) {
			text := string(bytes.TrimSpace(line))
			if !bytes.Contains(line, []byte("next:")) {
				require.LessOrEqual(t, width(text), columns, text)
			}
		}
	}
	var out bytes.Buffer
	a := &App{Stdout: &door{w: &out}, secrets: new(secret.Set)}
	a.secrets.Mark("KEY", "sk-test-hidden")
	all[4].Facts = map[string]any{"version": "0.99.0"}
	require.NoError(t, a.printJSON(doctorOutput{len(doctor.Worst(all[4:])) == 0, tool, all[4:]}))
	golden.Equal(t, "testdata/doctor-json.golden", out.String())
}
