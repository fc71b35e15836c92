package claudecli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// Options are what the program is told for one prompt, which it reads from its standard input. The zero value tells it
// nothing.
type Options struct {
	// Args come first.
	Args []string
	// Settings is a file of settings, MCP one with servers as [MCPConfig] makes it; empty: none. The program starts no
	// other servers.
	Settings, MCP string
	// Session is the session that goes on, empty: a new one.
	Session string
	// Model and Mode, a permission mode, are the program's own if empty.
	Model, Mode string
	// Unasked are the arguments by which it asks for no permission.
	Unasked []string
	// Allow are tools that need no permission, Deny those that the model is not offered.
	Allow, Deny []string
	// MaxTurns bounds how often the model is asked, MaxCostUSD what the session may cost; 0: nothing does.
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
func MCPConfig(servers []spec.MCPServer) []byte {
	type server struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	all := make(map[string]server, len(servers))
	for _, s := range servers {
		all[s.Name] = server{Type: "stdio", Command: s.Command[0], Args: append([]string{}, s.Command[1:]...)}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": all})
	if err != nil {
		panic(fmt.Sprintf("claudecli: a configuration of our own: %v", err))
	}
	return append(data, '\n')
}
