package cassette

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// maxFiles is up to how many files a workspace's fingerprint lists, so that a changed one can be named.
const maxFiles = 500

// Fingerprints are what a recording depended on. The prompts are not among them: they are in the events.
type Fingerprints struct {
	Kind        string   `json:"kind"`
	Command     string   `json:"command,omitempty"`
	Args        []string `json:"args,omitempty"`
	Model       string   `json:"model,omitempty"`
	Mode        string   `json:"mode,omitempty"`
	Permissions []string `json:"permissions"` // a line a rule
	Timeout     string   `json:"timeout"`     // as [time.Duration.String] writes it
	ToolCalls   int      `json:"max_tool_calls,omitempty"`
	Workspace   Files    `json:"workspace"`
}

// Files is the fingerprint of a prepared workspace.
type Files struct {
	Digest string `json:"digest"`
	// ByPath has a short digest of each file, "x" behind it if it may be executed; nil if there are too many.
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
			short := e.Digest[:12]
			if e.Exec {
				short += "x"
			}
			f.ByPath[e.Path] = short
		}
	}
	return f
}

// Change is one input of a recording that is not what it was.
type Change struct {
	Input    string
	Was, Now string
}

func (c Change) String() string {
	was, now := fold(c.Was), fold(c.Now)
	if !strings.Contains(was+now, "\n") && len(was)+len(now) < 60 {
		return fmt.Sprintf("%s: was %s, is %s", c.Input, quoted(was), quoted(now))
	}
	return fmt.Sprintf("%s:\n  - %s\n  + %s", c.Input,
		strings.ReplaceAll(orNone(was), "\n", "\n  - "), strings.ReplaceAll(orNone(now), "\n", "\n  + "))
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return strconv.Quote(s)
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// maxFold is how much of a changed text is shown, in runes.
const maxFold = 400

func fold(s string) string {
	s = strings.TrimRight(s, "\n")
	if r := []rune(s); len(r) > maxFold {
		return string(r[:maxFold]) + "..."
	}
	return s
}

// Stale returns what changed since the recording: now is what the recording would be made from today. A limit counts only
// if it would have cut the recording, or did.
func (c *Cassette) Stale(now Fingerprints, prompts []string) []Change {
	was := c.Header.Fingerprints
	changes := c.stalePrompts(prompts)
	for _, input := range []Change{
		{"agent kind", was.Kind, now.Kind},
		{"agent command", was.Command, now.Command},
		{"agent args", strings.Join(was.Args, " "), strings.Join(now.Args, " ")},
		{"agent model", was.Model, now.Model},
		{"agent mode", was.Mode, now.Mode},
		{"permissions", strings.Join(was.Permissions, "\n"), strings.Join(now.Permissions, "\n")},
	} {
		if input.Was != input.Now {
			changes = append(changes, input)
		}
	}
	changes = append(changes, was.Workspace.changes(now.Workspace)...)
	return append(changes, c.staleLimits(now)...)
}

// stalePrompts compares the prompts. A session that ended early never saw the later ones.
func (c *Cassette) stalePrompts(now []string) []Change {
	was := c.prompts()
	var changes []Change
	for i := range max(len(was), len(now)) {
		change := Change{Input: fmt.Sprintf("prompt %d", i+1)}
		if i < len(was) {
			change.Was = was[i]
		}
		if i < len(now) {
			change.Now = now[i]
		}
		neverSeen := i >= len(was) && c.lastStop() != "end_turn"
		if change.Was != change.Now && !neverSeen {
			changes = append(changes, change)
		}
	}
	return changes
}

// changes names the files that changed, or only the digest if they are not listed.
func (f Files) changes(now Files) []Change {
	if f.Digest == now.Digest {
		return nil
	}
	if f.ByPath == nil || now.ByPath == nil {
		return []Change{{"workspace", "files with digest " + f.Digest[:min(12, len(f.Digest))], now.Digest[:12]}}
	}
	paths := slices.Sorted(maps.Keys(f.ByPath))
	for path := range now.ByPath {
		if _, known := f.ByPath[path]; !known {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var changes []Change
	for _, path := range paths {
		if was, is := f.ByPath[path], now.ByPath[path]; was != is {
			changes = append(changes, Change{"workspace file " + path, was, is})
		}
	}
	return changes
}

// staleLimits compares the limits with what the recording took.
func (c *Cassette) staleLimits(now Fingerprints) []Change {
	var changes []Change
	was := c.Header.Fingerprints
	calls, took := 0, time.Duration(0)
	for _, t := range c.Turns {
		for _, e := range t.Events {
			took = max(took, e.At)
			if _, ok := e.Body.(trajectory.ToolStart); ok {
				calls++
			}
		}
	}
	cutByCalls := c.lastStop() == "max_tool_calls" && was.ToolCalls != now.ToolCalls
	if cutByCalls || now.ToolCalls > 0 && calls > now.ToolCalls && was.ToolCalls != now.ToolCalls {
		changes = append(changes, Change{"limit max_tool_calls", limitText(was.ToolCalls), limitText(now.ToolCalls)})
	}
	limit, err := time.ParseDuration(now.Timeout)
	if was.Timeout != now.Timeout && (err != nil || c.lastStop() == "timeout" || took > limit) {
		changes = append(changes, Change{"limit timeout", was.Timeout, now.Timeout})
	}
	return changes
}

func limitText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
