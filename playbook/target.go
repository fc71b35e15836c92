package playbook

import (
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

func (e *execution) decode(n *doc.Node) {
	n.Decode(e)
	if n.Get("target") != nil && n.Get("targets") != nil {
		n.Errorf("targets", "give either `target` or `targets`")
	}
	if e.Target != "" {
		e.Targets = []string{e.Target}
	}
}

// target tells the cases which variants they ask: those of their own targets, else of the file's, else all.
func (f *evalFile) target(p *Playbook, root *doc.Node) {
	common := f.Execution.variants(p, root.Get("execution"))
	items := root.Get("evalcases").Items()
	for i, c := range f.Evalcases {
		p.Cases[i].Variants = common
		if c.Execution.Targets != nil {
			p.Cases[i].Variants = c.Execution.variants(p, items[i].Get("execution"))
		}
	}
}

// variants returns the ids of the variants that the targets stand for, in the order of the file; nil: there is no
// target. Targets that name nothing are reported on n.
func (e execution) variants(p *Playbook, n *doc.Node) []string {
	var chosen []string
	for i, target := range e.Targets {
		path := "target"
		if e.Target == "" {
			path = fmt.Sprintf("targets[%d]", i)
		}
		switch found := p.withAgent(target); {
		case target == "": // reported
		case len(found) == 0:
			p.unknownTarget(target, n, path)
		case slices.Contains(e.Targets[:i], target):
			n.Errorf(path, "%q is given twice", target)
		default:
			chosen = append(chosen, found...)
		}
	}
	var ids []string
	for _, v := range p.Variants {
		if slices.Contains(chosen, v.ID) {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

// withAgent returns the ids of the variants that a target stands for: the one of that id, or else all with an agent of
// that kind.
func (p *Playbook) withAgent(target string) []string {
	var ids []string
	for _, v := range p.Variants {
		if v.ID == target {
			return []string{v.ID}
		}
		if v.Agent.Kind == target {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

func (p *Playbook) unknownTarget(target string, n *doc.Node, path string) {
	var names []string
	for _, v := range p.Variants {
		names = append(names, v.ID)
	}
	for _, v := range p.Variants {
		names = append(names, v.Agent.Kind)
	}
	n.Errorf(path, "%q is neither a variant nor the kind of a variant's agent%s", target, doc.DidYouMean(target, names))
}

// asks reports whether a case asks a variant.
func (c Case) asks(variant string) bool {
	return c.Variants == nil || slices.Contains(c.Variants, variant)
}
