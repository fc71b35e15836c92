package claudecli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/acp"
)

func TestArgv(t *testing.T) {
	tests := []struct {
		name string
		Options
		want []string
	}{
		{name: "none", want: []string{"--strict-mcp-config"}},
		{
			name: "all",
			Options: Options{
				Args: []string{"-p"}, Settings: "/s", MCP: "/m", Session: "id", Model: "opus", Mode: "plan",
				Unasked: []string{"--skip"},
				Allow:   []string{"A", "B"}, Deny: []string{"C"}, MaxTurns: 3, MaxCostUSD: 0.00001,
			},
			want: []string{
				"-p", "--settings", "/s", "--mcp-config", "/m", "--strict-mcp-config", "--resume", "id", "--model",
				"opus", "--permission-mode", "plan", "--skip",
				"--allowed-tools", "A,B", "--disallowed-tools", "C", "--max-turns", "3", "--max-budget-usd", "0.00001",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.Argv()) })
	}
}

func TestMCPConfig(t *testing.T) {
	assert.Equal(t,
		`{"mcpServers":{"a":{"type":"stdio","command":"x","args":[]},"b":{"type":"stdio","command":"y","args":["1"]}}}`+
			"\n",
		string(MCPConfig([]acp.McpServer{
			acp.McpServerStdio{Name: "b", Command: "y", Args: []string{"1"}},
			acp.McpServerStdio{Name: "a", Command: "x"},
		})))
}
