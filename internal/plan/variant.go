package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/mock"
	"github.com/sdd-eval/sdd-eval/internal/mock/mockdir"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Variant is one agent in one configuration.
type Variant struct {
	ID string `yaml:",key" pattern:"id"`

	// Style is the workflow style that [action.Style] writes: sdd, sdd-legacy or one of [Playbook.Styles]. It is empty
	// in eval files and in tests written in Go, which have no styles.
	Style string `yaml:"style" min:"1" default:"sdd" doc:"The workflow style: sdd, sdd-legacy or a name under styles."`

	Agent playbook.Agent `yaml:"agent" doc:"The agent and how it is started."`

	// Base is the variant whose keys it has, too; those that it states itself come first.
	Base string `yaml:"base" min:"1" doc:"The variant from which this one differs in what it states."`

	// Reference says that the variant is there to be compared with: what it fails decides nothing. Its errors do.
	Reference bool `yaml:"reference" doc:"Whether to only compare with it: its fails decide nothing; default: false."`

	// Overlay is what the variant adds to the workspace, the prompts, the tool servers and the environment.
	Overlay playbook.Overlay `yaml:",inline"`

	// ExpectStop takes the place of the playbook's, and that of the case comes before both.
	ExpectStop []Stop `yaml:"expect_stop" min:"1" doc:"How its sessions should end; default: the playbook's."`
	ExpectedAt doc.Position

	// Axes are what it has on the axes of the matrix that has made it, in their order; nil: none has.
	Axes []Choice

	// Of is the variant that this one is but for what Ablated names, as in [Playbook.Ablate]; empty: it is no such
	// arm. WithoutMCP is the playbook's tool server that it does not have, or empty.
	Of, Ablated, WithoutMCP string

	// Position is where the variant's id stands.
	Position doc.Position `yaml:",position"`

	// Texts are those of the files of Overlay.Prompts, by case.
	Texts map[string]string

	// InGo tells that a test in Go names the agent, not a playbook, and Judges that an evaluator does.
	InGo, Judges bool
}

// AgentAt says where the author of the variant names its agent.
func (v Variant) AgentAt() string {
	switch {
	case v.InGo:
		return "Agent"
	case v.Judges:
		return "llm_judge.agent"
	}
	return "variants." + v.ID + ".agent"
}

// AllowsUnasked is what the author of the variant writes to accept what its agent does unasked.
func (v Variant) AllowsUnasked() string {
	if v.InGo {
		return "`Permissions.AllowUnasked`"
	}
	return "`permissions: {allow_unasked: true}`"
}

func decodeAgent(a *playbook.Agent, n *doc.Node) {
	if !n.Decode(a) {
		return
	}
	profile, ok := agent.Lookup(a.Kind)
	if !ok {
		kinds := agent.Kinds()
		hint := doc.DidYouMean(a.Kind, kinds)
		if hint == "" {
			hint = "; available: " + strings.Join(kinds, ", ")
		}
		n.Errorf("kind", "unknown kind of agent %q%s", a.Kind, hint)
		return
	}
	if profile.NeedsPreset && a.Preset == "" {
		n.Errorf("", "agents of kind %s need a `preset`: `sdd-eval doctor` shows those that there are", a.Kind)
	}
	if profile.Command == "" && a.Command == "" {
		n.Errorf("", "agents of kind %s need a `command`", a.Kind)
	}
	checkProgram(n, *a, a.Kind == agent.Fake)
}

// builtinStyles are the workflow styles whose templates are part of this program.
var builtinStyles = []string{"sdd", "sdd-legacy"}

// StyleSource is a workflow style of the playbook's own: a directory of templates.
type StyleSource struct {
	// Name is what variants call the style. The built-in styles sdd and sdd-legacy keep theirs.
	Name string `yaml:",key" pattern:"id"`

	// Dir has the style's files, relative to the playbook's directory. Whether it exists is only checked by the run.
	Dir string `yaml:"dir,required" doc:"Directory with the style's files, relative to the playbook's directory."`

	// Position is where the style's name stands.
	Position doc.Position `yaml:",position"`
}

// styleNames returns the styles that variants may have.
func (p *Playbook) styleNames() []string {
	names := slices.Clone(builtinStyles)
	for _, s := range p.Styles {
		names = append(names, s.Name)
	}
	return names
}

// styles checks the playbook's own styles, and that variants have a style that there is.
func (c checker) styles() {
	for _, s := range c.p.Styles {
		if slices.Contains(builtinStyles, s.Name) {
			c.root.Get("styles").Get(s.Name).Errorf("", "%q is a built-in style, choose another name", s.Name)
		}
	}
	names := c.p.styleNames()
	for _, v := range c.p.Variants {
		if v.Style != "" && !slices.Contains(names, v.Style) {
			c.root.Get("variants").Get(v.ID).Errorf("style",
				"unknown style %q%s: it is sdd, sdd-legacy or a name under `styles`",
				v.Style, doc.DidYouMean(v.Style, names))
		}
	}
}

// Decide returns the answer to a request of a tool that touches files, given relative to the workspace, with slashes.
func (p *Playbook) Decide(tool string, files []string) playbook.Decision {
	if r, ok := p.Rule(tool, files); ok {
		return r.Decide
	}
	return cmp.Or(p.Permissions.Default, playbook.DecideAllow)
}

// Rule returns the rule that decides about a request, as in [Playbook.Decide]; ok is false if none does.
func (p *Playbook) Rule(tool string, files []string) (r playbook.PermissionRule, ok bool) {
	i := slices.IndexFunc(p.Permissions.Rules,
		func(r playbook.PermissionRule) bool { return matches(r, tool, files) })
	if i < 0 {
		return r, false
	}
	return p.Permissions.Rules[i], true
}

// Forbids reports whether the permissions reject anything, or make it an error, and an agent must not do it unasked.
func (p *Playbook) Forbids() bool {
	return !p.Permissions.AllowUnasked && (p.Decide("", nil) != playbook.DecideAllow ||
		slices.ContainsFunc(p.Permissions.Rules, func(r playbook.PermissionRule) bool {
			return r.Decide != playbook.DecideAllow
		}))
}

func matches(r playbook.PermissionRule, tool string, files []string) bool {
	if r.Tool != "" && !wildcard.Match(r.Tool, tool) {
		return false
	}
	if r.Path == "" {
		return true
	}
	matched := 0
	for _, f := range files {
		if doublestar.MatchUnvalidated(r.Path, f) {
			matched++
		}
	}
	if r.Decide == playbook.DecideAllow {
		return matched > 0 && matched == len(files)
	}
	return matched > 0
}

// strayBackslash matches a backslash that escapes nothing in a glob: no separator of paths.
var strayBackslash = lazyregexp.New(`\\[^*?\[\]{}\\]`)

// elsewhere matches the beginning of a path that a shell or another system would take for a place.
var elsewhere = lazyregexp.New(`^(\./)*(\$[A-Z_]+|\$?\{[A-Za-z_]+\}|%[A-Z]+%|~[A-Za-z0-9._-]*|[A-Za-z]:)(/|$)`)

// BeginsElsewhere reports whether a path begins with a variable, a home or a drive: nothing replaces it, so there is
// nothing, where an expectation that nothing is there would always hold.
func BeginsElsewhere(path string) bool { return elsewhere.MatchString(path) }

func decodePermissionRule(r *playbook.PermissionRule, n *doc.Node) {
	if !n.Decode(r) {
		return
	}
	if r.Tool == "" && r.Path == "" {
		n.Errorf("", "a rule needs a `tool` or a `path`; use `default` for everything else")
	}
	switch {
	case r.Path == "":
	case !doublestar.ValidatePattern(r.Path):
		n.Errorf("path", "malformed glob %q", r.Path)
	case BeginsElsewhere(r.Path):
		n.Errorf("path", "%q begins with a variable, a home or a drive, and matches no file: write a path below the "+
			"workspace, like src/a.go, or one outside of it, like /etc/hosts", r.Path)
	case path.Clean(r.Path) != r.Path, strings.HasPrefix(r.Path, ".."), strings.Contains(r.Path, "\x00"),
		strayBackslash.MatchString(r.Path):
		n.Errorf("path",
			"%q matches no file: a file of the workspace is like src/a.go, one outside of it like /etc/hosts", r.Path)
	}
	if r.Tool != "" {
		CheckTool(n.Get("tool"), r.Tool)
	}
}

// MCPServer is one of a playbook's tool servers, or one named in Go, with its place.
type MCPServer struct {
	playbook.MCPServer
	Position doc.Position
}

func (m *MCPServer) decode(n *doc.Node) {
	m.Position = n.Position()
	decodeServer(&m.MCPServer, n)
}

func decodeServer(m *playbook.MCPServer, n *doc.Node) {
	if !n.Decode(m) {
		return
	}
	switch {
	case len(m.Command) > 0 && len(m.Mock) > 0, len(m.Command)+len(m.Mock) == 0:
		n.Errorf("", "either `command` or `mock` is required")
		return
	case len(m.Mock) > 0:
		checkMock(n, *m)
		return
	case strings.TrimSpace(m.Command[0]) == "":
		n.Errorf("command[0]", "must not be empty")
	}
	if dir := Dir(n); dir != "" {
		if _, err := FindProgram(dir, m.Command); err != nil {
			n.Errorf("command[0]", "%v", err)
		}
	}
}

// MockOf returns the server that is played in the place of one of a playbook in dir, and the files that it is made of.
func MockOf(dir string, m playbook.MCPServer) (*mock.Server, []string, error) {
	var dirs []string
	for _, d := range m.Mock {
		if d = filepath.FromSlash(d); !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		dirs = append(dirs, d)
	}
	return mockdir.Read(m.Name, dirs)
}

// checkMock reports what is wrong with the directories that a server is played from.
func checkMock(n *doc.Node, m playbook.MCPServer) {
	dir := Dir(n)
	if dir == "" {
		return
	}
	for i, item := range n.Get("mock").Items() {
		if n.Document().Untrusted && outside(item) {
			n.Errorf(fmt.Sprintf("mock[%d]", i), "%q is outside", item.Text())
			return
		}
	}
	_, files, err := MockOf(dir, m)
	if problems, ok := errors.AsType[doc.Problems](err); ok {
		for _, p := range problems {
			n.Errorf("mock", "%v", p)
		}
	} else if err != nil {
		n.Errorf("mock", "relative to the playbook: %v", err)
	}
	n.Document().Files = append(n.Document().Files, files...)
}

// mcp checks that no two servers have the same name, and that there is one to replay if the playbook wants that.
func (c checker) mcp() {
	if c.p.Cassette.Level.MCP() && len(c.p.servers()) == 0 {
		c.root.Errorf("cassette.level", "%s replays MCP servers, and the playbook lists none under `mcp`",
			c.p.Cassette.Level)
	}
	seen := make(map[string]doc.Position)
	for i, m := range c.p.MCP {
		if first, duplicate := seen[m.Name]; duplicate && m.Name != "" {
			c.root.Errorf(fmt.Sprintf("mcp[%d].name", i), "duplicate server name %q, first on line %d", m.Name,
				first.Line)
			continue
		}
		seen[m.Name] = m.Position
	}
	for _, v := range c.root.Get("variants").Entries() {
		own := maps.Clone(seen)
		for _, item := range v.Value.Get("mcp").Items() {
			name := item.Get("name")
			if first, duplicate := own[name.Text()]; duplicate && name.Text() != "" {
				name.Errorf("", "duplicate server name %q, first on line %d", name.Text(), first.Line)
			}
			own[name.Text()] = item.Position()
		}
	}
}

// Run has the keys of a playbook that a session started by a test written in Go has too.
type Run struct {
	Agent       playbook.Agent       `yaml:"agent,required"`
	Limits      playbook.Limits      `yaml:"limits"`
	Permissions playbook.Permissions `yaml:"permissions"`
	MCP         []playbook.MCPServer `yaml:"mcp"`
	Env         playbook.Env         `yaml:"env"`
	Sandbox     playbook.Sandbox     `yaml:"sandbox"`

	// As in a variant; Add is its workspace.add.
	Add          []playbook.Addition `yaml:"add"`
	Skills       []string            `yaml:"skills"`
	Plugins      []string            `yaml:"plugins"`
	Instructions string              `yaml:"instructions"`
}

// Check returns what a playbook with these keys would be refused for, each error with the path of its key.
func (r Run) Check() error {
	d, err := doc.Of(r)
	if err != nil {
		return err
	}
	handle(d, nil)
	var again Run
	d.Root.Decode(&again)
	checkTargets(d.Root.Get("add"))
	checkOverlay(d.Root, r.Agent.Kind)
	checker{p: &Playbook{MCP: ServersAt(again.MCP, doc.Position{})}, root: d.Root}.mcp()
	return doc.Unplaced(d.Err())
}

// ServersAt returns servers that were named in Go, at a place.
func ServersAt(servers []playbook.MCPServer, at doc.Position) []MCPServer {
	var placed []MCPServer
	for _, s := range servers {
		placed = append(placed, MCPServer{s, at})
	}
	return placed
}
