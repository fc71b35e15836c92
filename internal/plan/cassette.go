package plan

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Cassette says how sessions are recorded and replayed.
type Cassette struct {
	// Level is what is replayed; empty: [LevelRun].
	Level Level `yaml:"level" enum:"run,client,mcp,client+mcp" default:"run"`

	// Normalise has patterns of text that differs from run to run, e.g. durations in the output of tests. Only that
	// text is lost: a pattern that matches the empty string is refused.
	Normalise []*regexp.Regexp `yaml:"normalise" doc:"Regular expressions of text that differs from run to run."`

	// MaxDelta bounds the files that one turn may change, in bytes; 0: not given, 16 MiB.
	MaxDelta int64 `yaml:"max_delta" min:"1" max:"1073741824" doc:"Bytes that one turn may change; default 16 MiB."`

	// Exclude has globs of what is left out of recordings, besides the directories that workspace.include would have to
	// name.
	Exclude []string `yaml:"exclude" min:"1" doc:"Globs of further files that recordings leave out."`

	MaxAge MaxAge `yaml:"max_age" doc:"How old a recording may be."`

	// Overrides replace answers of tools.
	Overrides []Override `yaml:"overrides" min:"1" doc:"Other answers of tools, for edge cases."`

	// AllowUnused are tools whose recorded answers need not all be used; `*` stands for anything. Not at [LevelRun].
	AllowUnused []string `yaml:"allow_unused" min:"1"`
}

// MaxAge says after how many days a recording is too old; 0: never. Age alone never causes a new recording.
type MaxAge struct {
	Warn Days `yaml:"warn" doc:"Replay an older recording with a warning, e.g. 30d."`
	Fail Days `yaml:"fail" doc:"An older recording is an error, e.g. 90d."`
}

func (m *MaxAge) decode(n *doc.Node) {
	if n.Decode(m) && m.Fail > 0 && m.Warn >= m.Fail {
		n.Errorf("warn", "must be less than `fail`, or the warning never shows")
	}
}

// Days is a number of days, written 90d.
type Days int

var days = regexp.MustCompile(`^[1-9][0-9]{0,3}d$`)

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Days) UnmarshalText(text []byte) error {
	if !days.Match(text) {
		return fmt.Errorf("must be a number of days like \"90d\", not %q", text)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(string(text), "d"))
	*d = Days(n)
	return err
}

func (c *Cassette) decode(n *doc.Node) {
	n.Decode(c)
	for i, pattern := range c.Normalise {
		if pattern != nil && pattern.MatchString("") {
			n.Errorf(fmt.Sprintf("normalise[%d]", i), "must not match the empty string")
		}
	}
	for i, pattern := range c.Exclude {
		if err := workspace.CheckPattern(pattern); err != nil {
			n.Errorf(fmt.Sprintf("exclude[%d]", i), "%v", err)
		}
	}
}

// Level is what a cassette replays.
type Level string

const (
	// LevelRun replays the whole session: no agent runs. It is the default.
	LevelRun Level = "run"
	// LevelClient runs the agent, and answers what it asks of its client: files, terminals, permissions.
	LevelClient Level = "client"
	// LevelMCP runs the agent, and answers what it asks of the playbook's MCP servers.
	LevelMCP Level = "mcp"
	// LevelClientMCP does both.
	LevelClientMCP Level = "client+mcp"
)

// Client reports whether what the agent asks of its client is replayed.
func (l Level) Client() bool { return l == LevelClient || l == LevelClientMCP }

// MCP reports whether what the agent asks of MCP servers is replayed.
func (l Level) MCP() bool { return l == LevelMCP || l == LevelClientMCP }

// RunsAgent reports whether the agent runs in replay, too.
func (l Level) RunsAgent() bool { return l.Client() || l.MCP() }

// checkTool returns what is wrong with a tool's name at the playbook's level, nil if nothing is. At [LevelRun] a tool
// has the name that the agent gives it.
func (p *Playbook) checkTool(name string) error {
	level := p.Cassette.Level
	if name == "" {
		return errors.New("a tool needs a name")
	}
	if !level.RunsAgent() {
		if slices.Contains(interaction.ClientTools, name) {
			return fmt.Errorf(
				"%s is asked of the client: with `level: run` name the agent's own tool, or use `level: client`", name)
		}
		_, err := p.tools().check(name) // one that no call matches is an error of the unit
		return err
	}
	var known []string
	if level.Client() {
		known = append(known, interaction.ClientTools...)
	}
	if level.MCP() {
		for _, s := range p.servers() {
			server := mcpname.InServer(s.Name)
			if tool, ok := strings.CutPrefix(name, server); ok && tool != "" {
				return nil
			}
			known = append(known, server+"TOOL")
		}
	}
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("unknown tool %q with `level: %s`; available: %s%s", name, level, strings.Join(known, ", "),
		doc.DidYouMean(name, known))
}

// checkCassette checks what a cassette's keys say of the rest of the playbook.
func (p *Playbook) checkCassette(n *doc.Node) {
	for i, o := range p.Cassette.Overrides {
		if o.Tool == "" {
			continue // reported
		}
		if key, err := p.checkOverride(o); err != nil {
			n.Errorf(fmt.Sprintf("overrides[%d].%s", i, key), "%v", err)
		}
	}
	if n.Get("allow_unused") != nil && !p.Cassette.Level.RunsAgent() {
		n.Errorf("allow_unused", "has no effect with `level: run`, which replays the whole session")
		return
	}
	for i, name := range p.Cassette.AllowUnused {
		if strings.Contains(name, "*") {
			continue
		}
		if err := p.checkTool(name); err != nil {
			n.Errorf(fmt.Sprintf("allow_unused[%d]", i), "%v", err)
		}
	}
}

// Override is one of a playbook's overrides, or one written in Go, with its place.
type Override struct {
	playbook.Override
	Position doc.Position
}

func (o *Override) decode(n *doc.Node) {
	o.Position = n.Position()
	if !n.Decode(&o.Override) {
		return
	}
	output, failure := n.Get("output"), n.Get("error")
	switch {
	case output == nil && failure == nil:
		n.Errorf("", "an override needs an `output` or an `error`")
	case output != nil && failure != nil:
		n.Errorf("error", "set either `output` or `error`, not both")
	case output != nil && o.Output == nil:
		n.Errorf("output", "must not be null")
	}
}

// holds reports whether the override is one of the unit's.
func (o Override) holds(u Unit) bool {
	return (o.Case == "" || o.Case == u.Case.ID) && (o.Variant == "" || o.Variant == u.Variant.ID)
}

// OverridesOf returns the overrides that apply to a unit.
func (c Cassette) OverridesOf(u Unit) []Override {
	return slices.DeleteFunc(slices.Clone(c.Overrides), func(o Override) bool { return !o.holds(u) })
}

// Override adds an override written in Go. Its arguments and output may be any values that encoding/json can marshal.
// The error says what is wrong with it.
func (p *Playbook) Override(o Override) error {
	if (o.Output == nil) == (o.Error == "") {
		return errors.New("an override needs either an output or an error")
	}
	if o.Nth < 0 {
		return fmt.Errorf("no call has the number %d: calls are counted from 1", o.Nth)
	}
	args, errArgs := jsonvalue.Of(o.Args)
	output, errOutput := jsonvalue.Of(o.Output)
	if err := cmp.Or(errArgs, errOutput); err != nil {
		return fmt.Errorf("an override of %s: %w", o.Tool, err)
	}
	if o.Output = output; o.Args != nil {
		o.Args = args.(map[string]any)
	}
	if key, err := p.checkOverride(o); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	p.Cassette.Overrides = append(p.Cassette.Overrides, o)
	return nil
}

// checkOverride returns what is wrong with an override in this playbook, and at which of its keys; nil if nothing is.
func (p *Playbook) checkOverride(o Override) (key string, err error) {
	var cases, variants []string
	for _, c := range p.allCases() {
		cases = append(cases, c.ID)
	}
	for _, v := range p.Variants {
		variants = append(variants, v.ID)
	}
	if o.Case != "" && !slices.Contains(cases, o.Case) {
		return "case", fmt.Errorf("unknown case %q%s", o.Case, doc.DidYouMean(o.Case, cases))
	}
	if o.Variant != "" && !slices.Contains(variants, o.Variant) {
		return "variant", fmt.Errorf("unknown variant %q%s", o.Variant, doc.DidYouMean(o.Variant, variants))
	}
	if plan, err := p.Plan(); err == nil && len(plan.Units) > 0 && !slices.ContainsFunc(plan.Units, o.holds) {
		return "variant", fmt.Errorf("variant %q has no unit that it could apply to", o.Variant)
	}
	if err := p.checkTool(o.Tool); err != nil {
		return "tool", err
	}
	if p.Cassette.Level.RunsAgent() && o.Error == "" {
		return "output", interaction.CheckOutput(o.Tool, o.Output)
	}
	return "", nil
}
