// Package mcpname has the one name of a tool of an MCP server: mcp__SERVER__TOOL, as Claude Code writes it.
package mcpname

import "strings"

// Prefix begins the name of every tool of an MCP server.
const Prefix = "mcp__"

// Of returns the name of a server's tool.
func Of(server, tool string) string { return InServer(server) + tool }

// InServer returns what the names of all tools of a server begin with: mcp__SERVER__.
func InServer(server string) string { return Server(server) + separator }

// Server returns the name that stands for all tools of a server: mcp__SERVER.
func Server(server string) string { return Prefix + server }

const (
	separator = "__"
	// client begins the names of the tools that Claude's older adapter runs through its client.
	client = Prefix + "acp" + separator
)

// WithoutClient returns a tool's name as users know it: Bash for mcp__acp__Bash, by which Claude's older adapter calls
// the tools that it runs through its client.
func WithoutClient(tool string) string { return strings.TrimPrefix(tool, client) }
