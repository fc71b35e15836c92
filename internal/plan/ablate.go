package plan

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Ablation names what control arms leave out, one thing each: "skills/pdf", "mcp.search", or all.
type Ablation []string

// everything is the name that stands for each thing that a variant has.
const everything = "all"

func (a *Ablation) decode(n *doc.Node) {
	if n.Kind() == doc.String {
		*a = Ablation{n.Text()}
		return
	}
	if n.Decode((*[]string)(a)) && len(*a) == 0 {
		n.Errorf("", "must not be empty")
	}
	for i, name := range *a {
		switch {
		case slices.Contains((*a)[:i], name):
			n.Errorf(fmt.Sprintf("[%d]", i), "duplicate %q", name)
		case name == everything && len(*a) > 1:
			n.Errorf(fmt.Sprintf("[%d]", i), "%s leaves out each thing in turn: remove the others", everything)
		}
	}
}

// refineAblation lets what is left out be one name.
func refineAblation(s *doc.Schema) {
	names := *s
	names.UniqueItems, names.MinItems = true, new(1.0)
	*s = doc.Schema{AnyOf: []*doc.Schema{{Type: "string", Pattern: `\S`}, &names}}
}

// part is something that a variant has and that an arm can leave out.
type part struct {
	name string // as in `ablate`
	id   string // in the id of the arm
	// leave takes it out of a copy of the variant.
	leave func(v *Variant)
}

// parts returns what an arm could leave out of a variant, in the order of the keys' documentation.
func (p *Playbook) parts(v Variant) []part {
	var all []part
	add := func(name, id string, leave func(v *Variant)) { all = append(all, part{name, id, leave}) }
	o := v.Overlay
	for i, dir := range o.Skills {
		name := InstalledName(p.Dir, dir)
		add("skills/"+name, name, func(v *Variant) { v.Overlay.Skills = without(v.Overlay.Skills, i) })
	}
	for i, dir := range o.Plugins {
		name := InstalledName(p.Dir, dir)
		add("plugins/"+name, name, func(v *Variant) { v.Overlay.Plugins = without(v.Overlay.Plugins, i) })
	}
	for i, s := range o.MCP {
		add("mcp."+s.Name, s.Name, func(v *Variant) { v.Overlay.MCP = without(v.Overlay.MCP, i) })
	}
	for _, s := range p.MCP {
		add("mcp."+s.Name, s.Name, func(v *Variant) { v.WithoutMCP = s.Name })
	}
	if o.Instructions != "" {
		add("instructions", "instructions", func(v *Variant) { v.Overlay.Instructions = "" })
	}
	for _, a := range o.Workspace.Add { // what is copied to several places is one thing
		add("workspace.add/"+a.From, path.Base(cmp.Or(a.To, a.From)), func(v *Variant) {
			v.Overlay.Workspace.Add = slices.DeleteFunc(slices.Clone(v.Overlay.Workspace.Add),
				func(b playbook.Addition) bool { return b.From == a.From })
		})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Files)) {
		add("files/"+name, name, func(v *Variant) { v.Overlay.Files = withoutKey(v.Overlay.Files, name) })
	}
	for _, name := range slices.Sorted(maps.Keys(o.Env.Set)) {
		add("env."+name, name, func(v *Variant) { v.Overlay.Env.Set = withoutKey(v.Overlay.Env.Set, name) })
	}
	if o.PromptPrefix != "" {
		add("prompt_prefix", "prompt_prefix", func(v *Variant) { v.Overlay.PromptPrefix = "" })
	}
	if o.PromptSuffix != "" {
		add("prompt_suffix", "prompt_suffix", func(v *Variant) { v.Overlay.PromptSuffix = "" })
	}
	if len(o.Prompts) > 0 {
		add("prompts", "prompts", func(v *Variant) { v.Overlay.Prompts, v.Texts = nil, nil })
	}
	return all
}

func without[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }

func withoutKey(m map[string]string, key string) map[string]string {
	m = maps.Clone(m)
	delete(m, key)
	return m
}

// unsafe matches what cannot be in an id.
var unsafe = lazyregexp.New(`[^a-zA-Z0-9_-]+`)

// without returns the arm that leaves a part out.
func (v Variant) without(left part) Variant {
	arm := v
	left.leave(&arm)
	arm.ID = v.ID + "-without-" + strings.Trim(unsafe.ReplaceAllString(left.id, "-"), "-")
	arm.Of, arm.Ablated, arm.Reference, arm.Axes = v.ID, left.name, true, nil
	return arm
}

// ablate adds the control arms that the playbook asks for, after their variants, and those that leave out what also
// names, as --ablate does. Of references there are none. Problems of the playbook are reported at n, its key `ablate`.
func (p *Playbook) ablate(n *doc.Node, also []string) error {
	made := make(map[string]bool) // parts, by the variant and their names
	for i, name := range p.Ablate {
		if err := p.leaveOut(name, made); err != nil {
			at := ""
			if n.Kind() == doc.List {
				at = fmt.Sprintf("[%d]", i)
			}
			n.Errorf(at, "%v", err)
		}
	}
	for _, name := range also {
		if err := p.leaveOut(name, made); err != nil {
			return fmt.Errorf("--ablate %s: %s: %w", name, p.File, err)
		}
	}
	return nil
}

// leaveOut adds the arms that leave out what the name stands for, unless they have been made.
func (p *Playbook) leaveOut(name string, made map[string]bool) error {
	var known []string
	found := false
	for _, v := range slices.Clone(p.Variants) {
		if v.Reference || !p.listed(v) {
			continue
		}
		for _, left := range p.parts(v) {
			if !slices.Contains(known, left.name) {
				known = append(known, left.name)
			}
			if name != everything && left.name != name {
				continue
			}
			found = true
			if made[v.ID+"\x00"+left.name] {
				continue
			}
			made[v.ID+"\x00"+left.name] = true
			if err := p.addArm(v.without(left)); err != nil {
				return err
			}
		}
	}
	switch {
	case found:
		return nil
	case len(known) == 0:
		return fmt.Errorf("no variant that runs has anything to leave out: add `skills`, `mcp` or other keys to one")
	}
	return fmt.Errorf("no variant that runs has %q%s; there is %s", name, doc.DidYouMean(name, known),
		strings.Join(known, ", "))
}

// addArm adds a control arm wherever its variant runs, after it.
func (p *Playbook) addArm(arm Variant) error {
	if i := slices.IndexFunc(p.Variants, func(v Variant) bool { return strings.EqualFold(v.ID, arm.ID) }); i >= 0 {
		other := p.Variants[i]
		if other.Ablated == "" {
			return fmt.Errorf("the arm that leaves out %s would be called %s, as the variant on line %d is: give that "+
				"another name", arm.Ablated, arm.ID, other.Position.Line)
		}
		return fmt.Errorf("the arm %s is made twice: without %s and without %s: name one of them alone", arm.ID,
			other.Ablated, arm.Ablated)
	}
	if n := max(1, len(p.Cases)) * (len(p.Variants) + 1) * max(1, p.Trials.Count); n > MaxUnits {
		return fmt.Errorf("with its arms the playbook has %d units, more than %d", n, MaxUnits)
	}
	p.Variants = append(p.Variants, arm)
	tell := func(evaluators []Evaluator) {
		for _, e := range evaluators {
			if narrow, ok := e.Config.(Narrow); ok {
				narrow.Arm(arm)
			}
		}
	}
	tell(p.Evaluators)
	for _, c := range p.Cases {
		tell(c.Evaluators)
	}
	for _, j := range p.Workflow.Jobs {
		if i := slices.Index(j.Variants(), arm.Of); i >= 0 {
			j.Strategy.Matrix.Variant = slices.Insert(slices.Clone(j.Strategy.Matrix.Variant), i+1, arm.ID)
		}
	}
	for i, c := range p.Cases {
		if at := slices.Index(c.Variants, arm.Of); at >= 0 {
			p.Cases[i].Variants = slices.Insert(slices.Clone(c.Variants), at+1, arm.ID)
		}
	}
	return nil
}
