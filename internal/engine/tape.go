package engine

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// tape is a unit's cassette.
type tape struct {
	*Runner
	unit     plan.Unit
	path     string
	tree     disk.Tree          // that the path is in
	recorded *cassette.Cassette // that was opened; nil: none
	recast   *cassette.Cassette // that stands for the file; nil: the file is read
	stale    bool               // it was recorded from something else, and that was allowed
	warnings []string           // about it
}

// name is the cassette's file for people.
func (t *tape) name() string { return t.relCassette(t.unit) }

// imported reports whether the session was imported, not recorded: what it left in the workspace is not known.
func (t *tape) imported() bool { return t.recorded != nil && t.recorded.Header.Imported() }

// open opens the cassette and refuses it if it was recorded from something else than what the playbook says now, with
// what was prepared now.
func (t *tape) open(prepared workspace.Manifest) error {
	if t.recast != nil {
		t.recorded = t.recast
		return nil
	}
	c, err := cassette.Open(t.tree, t.path)
	if err != nil {
		return t.shorten(err, t.unit)
	}
	if err := c.CheckUnit(t.unit.ID()); err != nil {
		return fmt.Errorf("%s:1: %w", t.name(), err)
	}
	c.Path, t.recorded = t.name(), c
	if err := t.checkAge(c); err != nil {
		return err
	}
	if err := t.checkImported(c); err != nil {
		return err
	}
	now := t.fingerprints(prepared)
	if err := c.CheckFiles(now.Workspace); err != nil {
		return err
	}
	changes := c.Stale(now, t.unit.Prompts())
	if c.Header.Level != t.level() {
		changes = slices.Insert(changes, 0,
			cassette.Change{Input: "cassette level", Was: c.Header.Level, Now: t.level()})
	}
	if len(changes) > 0 {
		err := &cassette.StaleError{Path: c.Path, Changes: changes}
		if t.cfg.Stale != StaleWarns {
			return err
		}
		t.warnings = append(t.warnings, err.Error())
		t.stale = true
	}
	return nil
}

// level is what the unit's cassette replays.
func (t *tape) level() string { return string(cmp.Or(t.pb.Cassette.Level, plan.LevelRun)) }

// checkImported accepts a session that was imported, not recorded, and says so. What the agent left in its workspace is
// not known, and so nothing that looks at it can be done.
func (t *tape) checkImported(c *cassette.Cassette) error {
	if !c.Header.Imported() {
		return nil
	}
	prompted := false
	for _, s := range t.unit.Steps {
		if prompted && action.Of(s.Uses).Files {
			return fmt.Errorf("%s: the step %s runs after the agent, and %s was %s: what the agent left is not known",
				s.Position, stepName(s), c.Path, c.Header.Origin)
		}
		prompted = prompted || s.Prompts()
	}
	warning := fmt.Sprintf("%s was %s: only its prompts are known to be the playbook's; all else is compared with "+
		"what the playbook was at the import", c.Path, c.Header.Origin)
	if t.pb.Forbids() {
		warning += "; `permissions` are not checked, since what its agent asked is not known"
	}
	t.warnings = append(t.warnings, warning)
	return nil
}

// oldError says that a recording is older than the playbook allows.
type oldError struct {
	path     string
	recorded time.Time
	days     int // that it is old
	limit    string
}

func (e *oldError) Error() string {
	return fmt.Sprintf("the cassette %s is %d days old, it was recorded on %s: %s",
		e.path, e.days, e.recorded.Format(time.DateOnly), e.limit)
}

// checkAge refuses a recording that is older than the playbook allows, or warns of it.
func (t *tape) checkAge(c *cassette.Cassette) error {
	const day = 24 * time.Hour
	limit, age := t.pb.Cassette.MaxAge, t.now().Sub(c.Header.RecordedAt)
	over := func(d plan.Days) bool { return d > 0 && age > time.Duration(d)*day }
	err := &oldError{path: c.Path, recorded: c.Header.RecordedAt, days: int(age / day)}
	switch {
	case over(limit.Fail):
		err.limit = fmt.Sprintf("cassette.max_age.fail is %dd", limit.Fail)
		if t.cfg.Stale != StaleWarns {
			return err
		}
	case over(limit.Warn):
		err.limit = fmt.Sprintf("cassette.max_age.warn is %dd", limit.Warn)
	default:
		return nil
	}
	t.warnings = append(t.warnings, err.Error())
	return nil
}

// checkWritable finds out whether a cassette can be written before the agent does work that would be lost.
func (t *tape) checkWritable() error {
	dir := filepath.Dir(t.path)
	if err := t.tree.MkdirAll(dir); err != nil {
		return err
	}
	if info, err := os.Lstat(t.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: no cassette can be written there", t.name())
	}
	probe := filepath.Join(dir, ".probe-"+rand.Text())
	f, err := t.tree.OpenFile(probe, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), t.tree.Remove(probe))
}

// header is that of a recording which is made of a session now, in a workspace that was prepared so.
func (t *tape) header(who session.Identity, sandbox string, prepared workspace.Manifest) cassette.Header {
	return cassette.Header{
		Unit: t.unit.ID(), Level: t.level(), Agent: who.Agent, Endpoint: who.Endpoint, ProtocolVersion: who.Protocol,
		ClientVersion: Version, RecordedAt: t.now().UTC().Truncate(time.Second), Sandbox: sandbox,
		Fingerprints: t.fingerprints(prepared),
	}
}

// fingerprints are what a recording of the unit depends on, its prompts excepted.
func (t *tape) fingerprints(prepared workspace.Manifest) cassette.Fingerprints {
	v, limits, pb := t.unit.Variant.Agent, t.pb.Limits, t.pb.For(t.unit.Variant)
	f := cassette.Fingerprints{
		Kind: v.Kind, Command: v.Command, Args: v.Args, AgentFiles: t.agentFiles(v), Model: v.Model, Mode: v.Mode,
		Permissions: permissionLines(t.pb.Permissions),
		Timeout:     t.pb.UnitTimeout().String(), ToolCalls: limits.MaxToolCalls,
		Tokens: limits.MaxTokens, CostUSD: limits.MaxCostUSD, Git: t.pb.Workspace.Repository,
		Servers: serverLines(pb.MCP), ServerFiles: t.serverFiles(pb.MCP),
		Steps: t.setupSteps(), Commands: t.pb.Sandbox.AllowCommands, Variables: variableLines(pb.Env),
		Workspace: cassette.FilesOf(prepared), Plugins: t.pb.PluginsOf(t.unit.Variant),
	}
	if limits.Until != "" {
		f.Until = t.unit.Awaits()
	}
	if t.pb.Cassette.Level.RunsAgent() { // which was given these answers
		f.Overrides = overrideLines(t.pb.Cassette.OverridesOf(t.unit))
	}
	return f
}

// setupSteps are the commands that run before the agent's last prompt: it sees what they leave.
func (t *tape) setupSteps() []string {
	var setup, commands []string
	for _, s := range t.unit.Steps {
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
func serverLines(servers []plan.MCPServer) []string {
	var lines []string
	for _, s := range servers {
		line := s.Name + ": " + strings.Join(s.Command, " ")
		if len(s.Mock) > 0 {
			line = s.Name + ": mock " + strings.Join(s.Mock, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// variableLines writes variables a line each: those that are passed on, and those that are set with their values.
func variableLines(env playbook.Env) []string {
	lines := slices.Clone(env.Pass)
	for _, name := range slices.Sorted(maps.Keys(env.Set)) {
		lines = append(lines, name+"="+env.Set[name])
	}
	return lines
}

// overrideLines writes overrides a line each, as a diff of them is read.
func overrideLines(all []plan.Override) []string {
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
