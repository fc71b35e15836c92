package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// fingerprints are what a recording of the unit depends on, its prompts excepted.
func (a *attempt) fingerprints() cassette.Fingerprints {
	v := a.unit.Variant.Agent
	f := cassette.Fingerprints{
		Kind: v.Kind, Command: v.Command, Args: v.Args, Model: v.Model, Mode: v.Mode,
		Permissions: permissionLines(a.pb.Permissions), Timeout: a.pb.Limits.UnitTimeout().String(), ToolCalls: a.pb.Limits.MaxToolCalls,
		Tokens: a.pb.Limits.MaxTokens, CostUSD: a.pb.Limits.MaxCostUSD, Git: a.pb.Workspace.Git, Servers: serverLines(a.pb.MCP),
		Steps: a.setupSteps(), Commands: a.pb.Sandbox.AllowCommands, Variables: a.pb.Env.Pass,
		Workspace: cassette.FilesOf(a.manifest),
	}
	if a.pb.Cassette.Level.RunsAgent() { // which was given these answers
		f.Overrides = overrideLines(a.pb.Cassette.OverridesOf(a.unit))
	}
	return f
}

// setupSteps are the commands that run before the agent's last prompt: it sees what they leave.
func (a *attempt) setupSteps() []string {
	var setup, commands []string
	for _, s := range a.unit.Steps {
		switch {
		case s.Run != "" && s.Cwd != "":
			commands = append(commands, s.Run+" (in "+s.Cwd+")")
		case s.Run != "":
			commands = append(commands, s.Run)
		case s.Prompts():
			setup = slices.Clone(commands)
		}
	}
	return setup
}

// serverLines writes MCP servers a line a server.
func serverLines(servers []playbook.MCPServer) []string {
	var lines []string
	for _, s := range servers {
		lines = append(lines, s.Name+": "+strings.Join(s.Command, " "))
	}
	return lines
}

// overrideLines writes overrides a line each, as a diff of them is read.
func overrideLines(all []playbook.Override) []string {
	lines := make([]string, len(all))
	for i, o := range all {
		line, err := json.Marshal(struct {
			Tool   string         `json:"tool"`
			Args   map[string]any `json:"args,omitempty"`
			Nth    int            `json:"nth,omitempty"`
			Output any            `json:"output,omitempty"`
			Error  string         `json:"error,omitempty"`
		}{o.Tool, o.Args, o.Nth, o.Output, o.Error})
		if err != nil {
			panic(fmt.Sprintf("engine: an override that is no JSON: %v", err)) // it was read from YAML, or checked
		}
		lines[i] = string(line)
	}
	return lines
}

// permissionLines writes permissions a line a rule, as a diff of them is read.
func permissionLines(p playbook.Permissions) []string {
	lines := make([]string, 0, len(p.Rules)+1)
	for _, r := range p.Rules {
		lines = append(lines, fmt.Sprintf("tool %s, path %s: %s", orAny(r.Tool), orAny(r.Path), r.Decide))
	}
	return append(lines, "default: "+string(p.Default))
}

func orAny(s string) string {
	if s == "" {
		return "any"
	}
	return s
}
