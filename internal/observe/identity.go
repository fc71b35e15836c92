package observe

import (
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// nameSources are the places in which agents put a tool's name.
type nameSources struct {
	name string // the protocol's own field
	meta string // _meta.claudeCode.toolName, else _meta.toolName
}

// learn takes what an update's metadata says.
func (n *nameSources) learn(m meta) {
	switch {
	case m.ClaudeCode.ToolName != "":
		n.meta = m.ClaudeCode.ToolName
	case m.ToolName != "":
		n.meta = m.ToolName
	}
}

// of returns the tool's name: the agent's own word for it, else the part of the call's id before "__" (Gemini), else
// the call's first title. Tools that Claude's older adapter serves through its client keep the names that users know
// them by: "mcp__acp__Bash" is Bash.
func (n *nameSources) of(id, title string) string {
	name := n.name
	if name == "" {
		name = n.meta
	}
	if name == "" {
		if before, _, ok := strings.Cut(id, "__"); ok {
			name = before
		}
	}
	if name == "" {
		name = title
	}
	return strings.TrimPrefix(name, "mcp__acp__")
}

// rooted returns a call's title, as a path if it is one of the places without its first slash: outside of repositories
// OpenCode names files so, and whoever looks for the workspace in the title does not find it.
func rooted(title string, places []trajectory.Location) string {
	if path := "/" + title; slices.ContainsFunc(places, func(l trajectory.Location) bool { return l.Path == path }) {
		return path
	}
	return title
}
