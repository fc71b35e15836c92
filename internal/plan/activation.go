package plan

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// activationOf returns the evaluator of a case at n that says in its keys `fires` and `silent` what is used, and what
// is not; none without them.
func activationOf(n *doc.Node) []Evaluator {
	var all, others []string
	for _, e := range n.Entries() {
		if all = append(all, e.Key); e.Key != "fires" && e.Key != "silent" {
			others = append(others, e.Key)
		}
	}
	if len(others) == len(all) {
		return nil
	}
	d, err := doc.Of(struct {
		Type string `yaml:"type"`
	}{result.ActivationType})
	if err != nil {
		panic(err) // a text is always a document
	}
	own := n.Without(others...)
	var entry struct {
		Evaluator Evaluator `yaml:"evaluator"`
	}
	n.Without(all...).With("evaluator", own.With("type", d.Root.Get("type"))).Decode(&entry)
	entry.Evaluator.Position = own.Entries()[0].Position
	return []Evaluator{entry.Evaluator}
}

// Narrow is the configuration of an evaluator that has nothing to say of some variants.
type Narrow interface {
	Judges(variant string) bool
	// Arm tells it of a control arm, as in [Playbook.Ablate].
	Arm(arm Variant)
}

// aim has cases ask only variants of which an evaluator says something, where there are others. One of them must be
// able to fail the case.
func (p *Playbook) aim() {
	for i, c := range p.Cases {
		all := slices.Concat(p.Evaluators, c.Evaluators)
		var asked []string
		decided := false
		for _, v := range p.Variants {
			judges := func(e Evaluator) bool {
				narrow, ok := e.Config.(Narrow)
				return !ok || narrow.Judges(v.ID)
			}
			if c.asks(v.ID) && slices.ContainsFunc(all, judges) {
				asked, decided = append(asked, v.ID), decided || !v.Reference
			}
		}
		if n := len(asked); decided && n < len(p.Variants) && slices.ContainsFunc(c.Evaluators, isNarrow) {
			p.Cases[i].Variants = asked
		}
	}
}

func isNarrow(e Evaluator) bool {
	_, ok := e.Config.(Narrow)
	return ok
}

// Activated is a skill or a tool of which an expectation says whether it is used.
type Activated struct {
	Name string
	// Skill tells that it is a skill; else it is a tool, by a name in which * stands for any characters.
	Skill bool
	// Variants are the ids of those that have it.
	Variants []string
}

// Arm adds a control arm to the variants that have it, if the arm has it for sure.
func (a *Activated) Arm(arm Variant) {
	left := arm.Ablated
	server, isServer := strings.CutPrefix(left, "mcp.")
	lays := strings.HasPrefix(left, "workspace.add/") || strings.HasPrefix(left, "files/")
	switch {
	case !slices.Contains(a.Variants, arm.Of):
	case a.Skill && (lays || left == "skills/"+a.Name): // a directory may bring it
	case !a.Skill && isServer && (strings.HasPrefix(a.Name, mcpname.InServer(server)) || toolname.IsPattern(a.Name)):
	default:
		a.Variants = append(a.Variants, arm.ID)
	}
}

// Activate returns the skill or the tool that the text of n names, one that a variant of the playbook has. Any other
// name is reported: that it is not used would say nothing.
func Activate(n *doc.Node) Activated {
	a := Activated{Name: n.Text()}
	if n.Kind() != doc.String || n.Document() == nil {
		return a // reported
	}
	all := equipmentAt(n.Document().Root)
	var skills []string
	for _, e := range all {
		skills = slices.AppendSeq(skills, maps.Keys(e.skills()))
	}
	slices.Sort(skills)
	skills = slices.Compact(skills)
	if a.Skill = slices.Contains(skills, a.Name); a.Skill {
		for _, e := range all {
			dir, has := e.skills()[a.Name]
			if own := ownName(dir); has && own != "" && own != a.Name {
				n.Errorf("", "the skill %s calls itself %q, by which agents may use it: give directory and skill one "+
					"name", a.Name, own)
			}
			if profile, _ := agent.Lookup(e.kind); has || profile.Skills == "" { // where nobody knows whether it has it
				a.Variants = append(a.Variants, e.variant)
			}
		}
		return a
	}
	if near := toolname.Near(a.Name, skills); near != "" {
		n.Errorf("", "no variant has a skill %q, did you mean %q?", a.Name, near)
		return a
	}
	if !CheckTool(n, a.Name) {
		return a
	}
	for _, e := range all {
		if e.hasTool(a.Name) {
			a.Variants = append(a.Variants, e.variant)
		}
	}
	if a.Variants == nil {
		n.Errorf("", "%s", unknownActivated(a.Name, skills, all))
	}
	return a
}

// unknownActivated says of a name that it is neither a skill nor a tool of any variant.
func unknownActivated(name string, skills []string, all []equipment) string {
	var tools, servers []string
	for _, e := range all {
		profile, _ := agent.Lookup(e.kind)
		tools, servers = append(tools, profile.Tools...), append(servers, e.servers...)
	}
	if rest, ok := strings.CutPrefix(name, mcpname.Prefix); ok {
		server, _, _ := strings.Cut(rest, "__")
		return fmt.Sprintf("the playbook has no MCP server %q under `mcp`%s", server, doc.DidYouMean(server, servers))
	}
	hint := cmp.Or(doc.DidYouMean(name, skills), doc.DidYouMean(name, tools))
	if hint == "" && len(skills) > 0 {
		hint = "; the skills are " + strings.Join(skills, ", ")
	}
	return fmt.Sprintf("no variant has a skill %q, and no agent is known to have such a tool%s", name, hint)
}

// equipment is what a variant's agent can use.
type equipment struct {
	variant, kind string
	servers       []string
	// installed are the directories of skills, files the paths that the cases and the variant write into the workspace,
	// and laid the directories that are copied to a place below the workspace.
	installed, files []string
	laid             []playbook.Addition
}

// equipmentAt returns what the variants of a playbook have that may not have been decoded yet.
func equipmentAt(root *doc.Node) []equipment {
	trusted := func(n *doc.Node) bool { return !root.Document().Untrusted || !outside(n) }
	beside := func(n *doc.Node) string {
		if name := filepath.FromSlash(n.Text()); filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(Dir(root), filepath.FromSlash(n.Text()))
	}
	names := func(list *doc.Node) (all []string) {
		for _, s := range list.Items() {
			all = append(all, s.Get("name").Text())
		}
		return all
	}
	additions := func(n *doc.Node) (all []playbook.Addition) {
		for _, add := range n.Get("workspace").Get("add").Items() {
			if from := add.Get("from"); from != nil && trusted(from) {
				all = append(all, playbook.Addition{From: beside(from), To: add.Get("to").Text()})
			}
		}
		return all
	}
	common := equipment{servers: names(root.Get("mcp"))}
	for _, cases := range []string{"cases", "evalcases"} {
		for _, c := range root.Get(cases).Items() {
			common.files = append(common.files, keysOf(c.Get("files"))...)
			common.laid = append(common.laid, additions(c)...)
		}
	}
	if from := root.Get("workspace").Get("from"); from != nil && trusted(from) {
		common.laid = append(common.laid, playbook.Addition{From: beside(from)})
	}
	var all []equipment
	for _, v := range root.Get("variants").Entries() {
		e := common
		e.variant, e.kind = v.Key, v.Value.Get("agent").Get("kind").Text()
		if e.kind == "" {
			continue // only a base, or reported
		}
		e.files = slices.Concat(e.files, keysOf(v.Value.Get("files")))
		e.servers = slices.Concat(e.servers, names(v.Value.Get("mcp")))
		for _, s := range v.Value.Get("skills").Items() {
			if trusted(s) {
				e.installed = append(e.installed, beside(s))
			}
		}
		e.laid = slices.Concat(e.laid, additions(v.Value))
		all = append(all, e)
	}
	return all
}

// skills returns the skills where the agent looks for them, by name, with their directories: empty for one that is
// written.
func (e equipment) skills() map[string]string {
	profile, _ := agent.Lookup(e.kind)
	skills := make(map[string]string)
	if profile.Skills == "" {
		return skills
	}
	for _, file := range e.files {
		if ok, _ := path.Match(path.Join(profile.Skills, "*", SkillFile), file); ok {
			skills[path.Base(path.Dir(file))] = ""
		}
	}
	for _, l := range e.laid {
		to := path.Clean(cmp.Or(l.To, "."))
		if path.Dir(to) == profile.Skills {
			if checkRegular(filepath.Join(l.From, SkillFile)) == nil {
				skills[path.Base(to)] = l.From
			}
			continue
		}
		below, ok := strings.CutPrefix(profile.Skills+"/", to+"/")
		if to == "." {
			below, ok = profile.Skills, true
		}
		if !ok {
			continue
		}
		place := filepath.Join(l.From, filepath.FromSlash(below))
		entries, _ := os.ReadDir(place) // what cannot be read has no skills
		for _, entry := range entries {
			if dir := filepath.Join(place, entry.Name()); checkRegular(filepath.Join(dir, SkillFile)) == nil {
				skills[entry.Name()] = dir
			}
		}
	}
	for _, dir := range e.installed {
		skills[filepath.Base(dir)] = dir
	}
	return skills
}

// hasTool reports whether the variant's agent has a tool of this name, which can be a pattern, as far as is known.
func (e equipment) hasTool(name string) bool {
	if rest, ok := strings.CutPrefix(name, mcpname.Prefix); ok {
		server, _, _ := strings.Cut(rest, "__")
		return slices.ContainsFunc(e.servers, func(s string) bool {
			return strings.HasPrefix(name, mcpname.InServer(s)) ||
				toolname.IsPattern(server) && wildcard.Match(server, s)
		})
	}
	profile, _ := agent.Lookup(e.kind)
	return slices.ContainsFunc(profile.Tools, func(t string) bool { return wildcard.Match(name, t) })
}

// maxSkill is how large a skill's file may be of which the name is read, in bytes.
const maxSkill = 1 << 20

// ownName returns the name in the head of the file of a skill in a directory, empty if it has none.
func ownName(dir string) string {
	if dir == "" {
		return ""
	}
	file := filepath.Join(dir, SkillFile)
	data, err := disk.ReadRegular(file, maxSkill)
	if err != nil {
		return "" // installing it says so
	}
	name, _ := NameAtHead(file, data)
	return name
}
