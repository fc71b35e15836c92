// Package composite is the evaluator kind composite: the verdict of several evaluators, its members, as one.
package composite

import (
	"math"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// keys are the evaluator's own keys in a playbook: exactly one of them.
type keys struct {
	Members []spec.Evaluator `yaml:"members" min:"1" doc:"Evaluators whose scores make a mean by weight."`
	All     []spec.Evaluator `yaml:"all" min:"1" doc:"Evaluators that must all pass."`
	Any     []spec.Evaluator `yaml:"any" min:"1" doc:"Evaluators of which at least one must pass."`
}

// Kind returns the kind of evaluator. Its members may be of every kind that the playbook may use.
func Kind() spec.Kind { return spec.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	n.Decode(&k)
	forms := []struct {
		key     string
		members []spec.Evaluator
		rule    rule
	}{
		{"members", k.Members, mean},
		{"all", k.All, all},
		{"any", k.Any, anyOf},
	}
	var c composite
	given := 0
	for _, f := range forms {
		list := n.Get(f.key)
		if list == nil {
			continue
		}
		given++
		c = composite{rule: f.rule}
		unique(list, f.members)
		for i, item := range list.Items() {
			f.members[i].Advisory = false // what is not required counts in the mean, and has no gate
			c.members = append(c.members, member{f.members[i], f.rule == mean && item.Get("required").Value() == true})
			if f.rule != mean {
				meaningless(item, f.key)
			}
		}
		if f.rule == mean && len(c.members) > 0 {
			checkWeights(list, c.members)
		}
	}
	if given != 1 {
		n.Errorf("", "exactly one of `members`, `all` and `any` is required")
	}
	return c
}

// unique reports members that have the same name.
func unique(list *doc.Node, members []spec.Evaluator) {
	items := list.Items()
	seen := make(map[string]int)
	for i, m := range members {
		if line, twice := seen[m.Name]; twice && m.Name != "" {
			items[i].Errorf("name", "duplicate evaluator name %q, first on line %d: write a `name`", m.Name, line)
			continue
		}
		seen[m.Name] = m.Position.Line
	}
}

// meaningless reports the keys that only a mean has a use for.
func meaningless(item *doc.Node, key string) {
	for _, k := range []string{"weight", "required"} {
		if item.Get(k) != nil {
			item.Errorf(k, "means nothing in `%s`, only in `members`", key)
		}
	}
}

func checkWeights(list *doc.Node, members []member) {
	items := list.Items()
	weight := 0.0
	for i, m := range members {
		weight += m.Weight
		if items[i].Get("threshold") != nil && !m.required {
			items[i].Errorf("threshold", "means nothing without `required: true`: the threshold of the mean decides")
		}
	}
	if weight == 0 || math.IsInf(weight, 0) {
		list.Errorf("", "the weights must add up to more than 0 and be finite: use `all` if no score is wanted")
	}
}
