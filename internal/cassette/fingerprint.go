package cassette

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// maxFiles is the largest number of files that a workspace's fingerprint lists, so that errors can name a changed one.
const maxFiles = 500

// Fingerprints are the inputs of a recording, except the prompts, which are in the events. Those of an import are what
// its playbook was when the session was imported.
type Fingerprints struct {
	Kind    string   `json:"kind"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// AgentFiles and ServerFiles have digests of the files that Command and Args, and the commands of Servers, name,
	// and of what these import, by their paths from the playbook.
	AgentFiles  map[string]string `json:"agent_files,omitempty"`
	ServerFiles map[string]string `json:"mcp_server_files,omitempty"`

	Model       string   `json:"model,omitempty"`
	Mode        string   `json:"mode,omitempty"`
	Permissions []string `json:"permissions"` // one line a rule
	// Steps are the commands that ran before the last prompt: the agent saw what they did to the workspace.
	Steps []string `json:"steps,omitempty"`
	// Commands are the programs that the playbook allows the agent to run, and Variables the variables of our
	// environment that it passes to the agent.
	Commands  []string `json:"allow_commands,omitempty"`
	Variables []string `json:"env,omitempty"`
	Timeout   string   `json:"timeout"` // as [time.Duration.String] writes it; empty: none
	ToolCalls int      `json:"max_tool_calls,omitempty"`
	Tokens    int64    `json:"max_tokens,omitempty"`
	CostUSD   float64  `json:"max_cost_usd,omitempty"`
	Git       bool     `json:"git,omitempty"`         // the workspace was a repository
	Servers   []string `json:"mcp_servers,omitempty"` // one line a server
	Overrides []string `json:"overrides,omitempty"`   // one line an overridden answer
	Plugins   []string `json:"plugins,omitempty"`     // those of which the agent is told, by their places
	// Until is what had to be known for the session to end early, one line an expectation; nil: no limit ended it so.
	Until     []string `json:"until,omitempty"`
	Workspace Files    `json:"workspace"`
}

// OfImport returns the fingerprints for a session that was imported: no limit of the playbook held for it.
func (f Fingerprints) OfImport() Fingerprints {
	f.Timeout, f.ToolCalls, f.Tokens, f.CostUSD, f.Until = "", 0, 0, 0, nil
	return f
}

// Files is the fingerprint of a prepared workspace.
type Files struct {
	Digest string `json:"digest"`
	// ByPath has a short digest of each file, followed by "x" if the file is executable; nil if there are too many
	// files.
	ByPath map[string]string `json:"files,omitempty"`
}

// FilesOf returns a workspace's fingerprint.
func FilesOf(m workspace.Manifest) Files {
	f := Files{Digest: m.Digest()}
	if len(m.Entries) > maxFiles {
		return f
	}
	f.ByPath = make(map[string]string)
	for _, e := range m.Entries {
		switch {
		case e.Kind == workspace.Symlink:
			f.ByPath[e.Path] = "-> " + e.Target
		case e.Kind == workspace.File && !e.Ignored:
			f.ByPath[e.Path] = short(e.Digest)
			if e.Exec {
				f.ByPath[e.Path] += "x"
			}
		}
	}
	return f
}

// Change is one input of a recording that has changed.
type Change struct {
	Input    string
	Was, Now string
}

func (c Change) String() string {
	d := diff(c.Was, c.Now)
	if strings.HasPrefix(d, " ") {
		return c.Input + ":\n" + d
	}
	return c.Input + ": " + d
}

// Stale returns the inputs that have changed since the recording. Now and prompts are the inputs of today; prompts has
// only those that are known in advance. A limit counts only if it did cut the recording or would cut it now. If an
// agent runs (any level but [LevelRun]), its prompts, command and limits may differ.
func (c *Cassette) Stale(now Fingerprints, prompts []string) []Change {
	if c.Header.Level != LevelRun {
		return c.staleWorld(now)
	}
	return slices.Concat(c.stalePrompts(prompts), c.staleAgent(now), c.staleWorld(now), c.staleLimits(now))
}

// CheckFiles returns a [*CorruptError] if the digest of the workspace and its files contradict each other: then one of
// them is not what was recorded, and neither says whether the cassette is stale.
func (c *Cassette) CheckFiles(now Files) error {
	was := c.Header.Fingerprints.Workspace
	if was.ByPath == nil || now.ByPath == nil {
		return nil
	}
	same := was.Digest == now.Digest
	for _, files := range []map[string]string{was.ByPath, now.ByPath} {
		for p := range files {
			differs := was.ByPath[p] != now.ByPath[p]
			link := strings.HasPrefix(files[p], "-> ") // the digest leaves out those that may lead outside
			if differs && !same {
				return nil
			}
			if differs && !link {
				return c.badFiles()
			}
		}
	}
	if !same {
		return c.badFiles()
	}
	return nil
}

func (c *Cassette) badFiles() error {
	return &CorruptError{
		Path: c.Path, Line: 1,
		Reason: "the cassette was edited: in its fingerprints, the digest of the workspace is not that of its files",
	}
}

// staleAgent compares how the agent was started.
func (c *Cassette) staleAgent(now Fingerprints) []Change {
	was := c.Header.Fingerprints
	return append(changed(
		Change{"agent kind", was.Kind, now.Kind},
		Change{"agent command", was.Command, now.Command},
		Change{"agent args", joinArgs(was.Args), joinArgs(now.Args)},
		Change{"agent model", was.Model, now.Model},
		Change{"agent mode", was.Mode, now.Mode},
	), changedFiles("file of the agent ", was.AgentFiles, now.AgentFiles)...)
}

// changedFiles returns the files whose digests differ.
func changedFiles(what string, was, now map[string]string) []Change {
	names := maps.Clone(was)
	if names == nil {
		names = make(map[string]string)
	}
	maps.Copy(names, now)
	var all []Change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, Change{what + name, was[name], now[name]})
	}
	return changed(all...)
}

// staleWorld compares the workspace and what the agent was allowed to do.
func (c *Cassette) staleWorld(now Fingerprints) []Change {
	was := c.Header.Fingerprints
	changes := changed(
		Change{"permissions", strings.Join(was.Permissions, "\n"), strings.Join(now.Permissions, "\n")},
		Change{"steps before the agent", strings.Join(was.Steps, "\n"), strings.Join(now.Steps, "\n")},
		Change{"allowed commands", strings.Join(was.Commands, " "), strings.Join(now.Commands, " ")},
		Change{"passed variables", strings.Join(was.Variables, " "), strings.Join(now.Variables, " ")},
		Change{"workspace git", strconv.FormatBool(was.Git), strconv.FormatBool(now.Git)},
		Change{"MCP servers", strings.Join(was.Servers, "\n"), strings.Join(now.Servers, "\n")},
		Change{"plugins", strings.Join(was.Plugins, "\n"), strings.Join(now.Plugins, "\n")},
		Change{"overrides", strings.Join(was.Overrides, "\n"), strings.Join(now.Overrides, "\n")},
	)
	changes = append(changes, changedFiles("file of an MCP server ", was.ServerFiles, now.ServerFiles)...)
	return append(changes, was.Workspace.changes(now.Workspace)...)
}

// changed returns the inputs that differ.
func changed(inputs ...Change) []Change {
	return slices.DeleteFunc(inputs, func(c Change) bool { return c.Was == c.Now })
}

// joinArgs joins arguments to one text, which differs for different arguments.
func joinArgs(args []string) string {
	written := make([]string, len(args))
	for i, arg := range args {
		written[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"") {
			written[i] = strconv.Quote(arg)
		}
	}
	return strings.Join(written, " ")
}

// stalePrompts compares the prompts. A session that ended early never saw the later ones.
func (c *Cassette) stalePrompts(now []string) []Change {
	var changes []Change
	for i := range max(len(c.Turns), len(now)) {
		change := Change{Input: fmt.Sprintf("prompt %d", i+1)}
		if i < len(c.Turns) {
			change.Was = c.Turns[i].prompt()
		}
		if i < len(now) {
			change.Now = now[i]
		}
		neverSeen := i >= len(c.Turns) && c.stop() != result.StopEndTurn
		if change.Was != change.Now && !neverSeen {
			changes = append(changes, change)
		}
	}
	return changes
}

// maxNamed is how many changed files of a workspace an error names.
const maxNamed = 10

// changes names the files that changed, or only the digest if they are not listed.
func (f Files) changes(now Files) []Change {
	if f.Digest == now.Digest {
		return nil
	}
	if f.ByPath == nil || now.ByPath == nil {
		return []Change{{"workspace", short(f.Digest), short(now.Digest)}}
	}
	paths := make(map[string]bool)
	for _, files := range []map[string]string{f.ByPath, now.ByPath} {
		for p := range files {
			if f.ByPath[p] != now.ByPath[p] {
				paths[p] = true
			}
		}
	}
	var changes []Change
	for i, p := range slices.Sorted(maps.Keys(paths)) {
		if i == maxNamed && len(paths) > maxNamed+1 {
			more := fmt.Sprintf("%d more workspace files; the whole workspace", len(paths)-i)
			return append(changes, Change{more, short(f.Digest), short(now.Digest)})
		}
		changes = append(changes, Change{"workspace file " + p, f.ByPath[p], now.ByPath[p]})
	}
	return changes
}

// short returns the beginning of a digest, which is enough to tell it from others.
func short(digest string) string { return digest[:min(12, len(digest))] }

// staleLimits compares the limits of now with what the recording used.
func (c *Cassette) staleLimits(now Fingerprints) []Change {
	was := c.Header.Fingerprints
	var changes []Change
	calls := totalsOf(c.Turns).ToolCalls
	if was.ToolCalls != now.ToolCalls && (c.stop() == result.StopToolCalls ||
		now.ToolCalls > 0 && calls > now.ToolCalls) {
		changes = append(changes, Change{"limit max_tool_calls", limit(was.ToolCalls), limit(now.ToolCalls)})
	}
	timeout, err := time.ParseDuration(now.Timeout)
	if was.Timeout != now.Timeout && (c.stop() == result.StopTimeout || err == nil && c.took() > timeout) {
		changes = append(changes, Change{"limit timeout", was.Timeout, now.Timeout})
	}
	if c.stop() == result.StopDecided && !slices.Equal(was.Until, now.Until) { // a whole session says all
		changes = append(changes, Change{"limit until", strings.Join(was.Until, "\n"), strings.Join(now.Until, "\n")})
	}
	return append(changes, c.staleSpending(now)...)
}

// staleSpending compares the limits on tokens and cost. A new limit always counts: it is checked during the session,
// and a recording does not say how much had been used at each moment.
func (c *Cassette) staleSpending(now Fingerprints) []Change {
	was := c.Header.Fingerprints
	var changes []Change
	if was.Tokens != now.Tokens && (c.stop() == result.StopTokenLimit || now.Tokens > 0) {
		changes = append(changes, Change{"limit max_tokens", limit(was.Tokens), limit(now.Tokens)})
	}
	if was.CostUSD != now.CostUSD && (c.stop() == result.StopCostLimit || now.CostUSD > 0) {
		changes = append(changes, Change{"limit max_cost_usd", fmt.Sprint(was.CostUSD), fmt.Sprint(now.CostUSD)})
	}
	return changes
}

// took returns how long the session took.
func (c *Cassette) took() time.Duration {
	var last time.Duration
	for _, t := range c.Turns {
		for _, e := range t.Events {
			last = max(last, e.At)
		}
	}
	return last
}

func limit[T int | int64](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}
