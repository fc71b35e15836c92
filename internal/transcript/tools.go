package transcript

import (
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// pathKeys are the names under which tools that read or change a file take its path.
var pathKeys = []string{"file_path", "notebook_path", "absolute_path", "path"}

// newCall returns a call of a tool, described by its name and arguments. Tools that Claude's older adapter serves have
// the names that users know them by.
func newCall(id, tool string, args any) trajectory.ToolStart {
	tool = strings.TrimPrefix(tool, "mcp__acp__")
	kind := observe.Kind(tool)
	c := trajectory.ToolStart{ID: id, Name: tool, Kind: kind, Args: args}
	fields, _ := args.(map[string]any)
	switch kind {
	case "execute":
		c.Title = commandLine(fields)
	case "read", "edit":
		for _, key := range pathKeys {
			if path, ok := fields[key].(string); ok && path != "" {
				c.Title = tool + " " + filepath.Base(filepath.FromSlash(path))
				c.Locations = []trajectory.Location{{Path: path}}
				break
			}
		}
	}
	return c
}

// commandLine returns the command that the arguments of a tool name, empty if they name none.
func commandLine(args map[string]any) string {
	for _, key := range []string{"command", "cmd"} {
		switch command := args[key].(type) {
		case string:
			return command
		case []any:
			var words []string
			for _, w := range command {
				if text, ok := w.(string); ok {
					words = append(words, text)
				}
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}
