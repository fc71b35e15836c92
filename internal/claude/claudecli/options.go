package claudecli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/acp"
)

// Options are the program's options for one prompt, which it reads from its standard input. The zero value has none.
type Options struct {
	// Args come first.
	Args []string
	// Settings is a file of settings, MCP a file of servers that [MCPConfig] made; empty: none. The program starts no
	// other servers.
	Settings, MCP string
	// Plugins are the directories of plugins.
	Plugins []string
	// Session is the id of the session to resume; empty: a new one.
	Session string
	// Model and Mode, the permission mode, default to the program's own.
	Model, Mode string
	// Unasked are the arguments that make it ask for no permission.
	Unasked []string
	// Allow lists tools that need no permission, Deny tools that are not offered to the model.
	Allow, Deny []string
	// MaxTurns limits how often the model is asked, MaxCostUSD the cost of the session; 0: no limit.
	MaxTurns   int
	MaxCostUSD float64
}

// Argv returns the arguments without argv[0].
func (o Options) Argv() []string {
	argv := append([]string{}, o.Args...)
	add := func(flag, value string) {
		if value != "" {
			argv = append(argv, flag, value)
		}
	}
	add("--settings", o.Settings)
	add("--mcp-config", o.MCP)
	argv = append(argv, "--strict-mcp-config")
	for _, dir := range o.Plugins {
		add("--plugin-dir", dir)
	}
	add("--resume", o.Session)
	add("--model", o.Model)
	add("--permission-mode", o.Mode)
	argv = append(argv, o.Unasked...)
	add("--allowed-tools", strings.Join(o.Allow, ","))
	add("--disallowed-tools", strings.Join(o.Deny, ","))
	if o.MaxTurns > 0 {
		add("--max-turns", strconv.Itoa(o.MaxTurns))
	}
	if o.MaxCostUSD > 0 {
		add("--max-budget-usd", strconv.FormatFloat(o.MaxCostUSD, 'f', -1, 64))
	}
	return argv
}

// MCPConfig returns the text of a file with MCP servers, for the program to start.
func MCPConfig(servers []acp.McpServer) []byte {
	type server struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	all := make(map[string]server, len(servers))
	for _, s := range servers {
		if s, ok := s.(acp.McpServerStdio); ok {
			all[s.Name] = server{Type: "stdio", Command: s.Command, Args: append([]string{}, s.Args...)}
		}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": all})
	if err != nil {
		panic(fmt.Sprintf("claudecli: a configuration of our own: %v", err))
	}
	return append(data, '\n')
}
