package plan

import (
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// A matrix may have several axes, each with a list of variants. What follows crosses them: it makes a variant of each
// combination, an arm, so that nothing behind it knows of more than one axis.

// byDefault is the value of an axis that adds nothing to an arm, neither to what it is nor to its id. An axis with it
// can be added to a matrix, and arms keep their ids.
const byDefault = "default"

// Choice is the value that an arm has on one axis.
type Choice struct{ Axis, Value string }

// keys of a matrix that are no axes.
const (
	includeKey = "include"
	excludeKey = "exclude"
)

// crossing makes the arms of the matrices of a playbook.
type crossing struct {
	variants *doc.Node
	arms     map[string][]Choice // of all jobs, by the arm's id
	parts    map[string]bool     // variants that are values of axes
	plain    map[string]bool     // variants that a matrix without further axes lists
}

// cross returns a playbook in which each matrix lists variants alone, and the choices of those that are arms. Variants
// that are only values of axes are gone.
func cross(root *doc.Node) (*doc.Node, map[string][]Choice) {
	x := crossing{
		variants: root.Get("variants"), arms: make(map[string][]Choice), parts: make(map[string]bool),
		plain: make(map[string]bool),
	}
	workflow := root.Get("workflow")
	jobs := workflow.Get("jobs")
	if x.variants.Kind() != doc.Map || jobs.Kind() != doc.Map {
		return root, nil // reported
	}
	all, failed := x.variants, false
	for _, job := range jobs.Entries() {
		strategy := job.Value.Get("strategy")
		matrix := strategy.Get("matrix")
		if !slices.ContainsFunc(matrix.Entries(), func(e doc.Entry) bool { return e.Key != "variant" }) {
			for _, item := range matrix.Get("variant").Items() {
				x.plain[item.Text()] = true
			}
			continue
		}
		var ids []string
		arms := x.matrix(matrix)
		failed = failed || len(arms) == 0
		for _, arm := range arms {
			ids = append(ids, arm.id)
			all = all.With(arm.id, arm.node)
		}
		only := matrix.Without(keysOf(matrix)...).With("variant", matrix.Texts(ids...))
		jobs = jobs.With(job.Key, job.Value.With("strategy", strategy.With("matrix", only)))
	}
	if len(x.parts) == 0 {
		return root, nil
	}
	for part := range x.parts {
		if isUnit := x.arms[part] != nil || x.plain[part]; !isUnit && (!failed || all.Get(part).Get("agent") == nil) {
			all = all.Without(part)
		}
	}
	return root.With("variants", all).With("workflow", workflow.With("jobs", jobs)), x.arms
}

// combination is what an arm has on each axis, in the order of the axes.
type combination struct {
	choices []Choice
	at      *doc.Node // what asks for it
}

func (c combination) value(axis string) (string, bool) {
	i := slices.IndexFunc(c.choices, func(c Choice) bool { return c.Axis == axis })
	if i < 0 {
		return "", false
	}
	return c.choices[i].Value, true
}

// has reports whether the combination has all of these values.
func (c combination) has(values []Choice) bool {
	return !slices.ContainsFunc(values, func(want Choice) bool {
		value, ok := c.value(want.Axis)
		return !ok || value != want.Value
	})
}

// id returns the arm's id: the values, joined, but for those by default.
func (c combination) id() string {
	var parts []string
	for _, choice := range c.choices {
		if choice.Value != byDefault {
			parts = append(parts, choice.Value)
		}
	}
	return strings.Join(parts, "-")
}

// String says what the arm is made of: "agent claude, skill with".
func (c combination) String() string {
	parts := make([]string, len(c.choices))
	for i, choice := range c.choices {
		parts[i] = choice.Axis + " " + choice.Value
	}
	return strings.Join(parts, ", ")
}

// armNode is an arm as a variant of the playbook.
type armNode struct {
	id   string
	node *doc.Node
}

// matrix returns the arms of a matrix with several axes.
func (x crossing) matrix(n *doc.Node) []armNode {
	var axes []doc.Entry
	flawed := false
	for _, e := range n.Entries() {
		if e.Key != includeKey && e.Key != excludeKey {
			axes, flawed = append(axes, e), !x.axis(e) || flawed
		}
	}
	exclude, ok := x.entries(n.Get(excludeKey))
	include, alsoOK := x.entries(n.Get(includeKey))
	if flawed || !ok || !alsoOK {
		return nil
	}
	total := 1
	for _, axis := range axes {
		if total *= len(axis.Value.Items()); total > MaxUnits {
			n.Errorf("", "the axes multiply to more than %d arms", MaxUnits)
			return nil
		}
	}
	combinations := x.without(exclude, axes, product(axes))
	combinations = with(include, axes, combinations)
	if len(combinations) == 0 {
		n.Errorf("", "no arm is left: remove something from `exclude`")
	}
	return x.assemble(combinations)
}

// axis reports whether an axis is a list of variants. If it is not, that is reported.
func (x crossing) axis(e doc.Entry) bool {
	switch {
	case !id.MatchString(e.Key):
		e.Value.Errorf("", "an axis must be called like %s", id)
		return false
	case e.Value.Kind() != doc.List:
		e.Value.Errorf("", "an axis is a list of variants: write [a, b]")
		return false
	case len(e.Value.Items()) == 0:
		e.Value.Errorf("", "must not be empty")
		return false
	}
	seen, ok := make(map[string]bool), true
	for _, item := range e.Value.Items() {
		if item.Kind() == doc.String && seen[item.Text()] {
			item.Errorf("", "duplicate %q", item.Text())
			ok = false
		}
		seen[item.Text()] = true
		ok = x.known(item, e.Key) && ok
	}
	return ok
}

// known reports whether n names a variant that can be a value of the axis. If it does not, that is reported.
func (x crossing) known(n *doc.Node, axis string) bool {
	name := n.Text()
	switch {
	case n.Kind() != doc.String:
		n.Errorf("", "must be the id of a variant, or %s", byDefault)
		return false
	case name == byDefault && x.variants.Get(name) != nil:
		n.Errorf("", "%s stands for no variant, and one is called that: give it another name", byDefault)
		return false
	case name == byDefault:
	case x.variants.Get(name) == nil:
		n.Errorf("", "the axis %s names variant %q, which is missing from variants%s", axis, name,
			doc.DidYouMean(name, keysOf(x.variants)))
		return false
	default:
		x.parts[name] = true
	}
	return true
}

// entry is one of those of include or exclude.
type entry struct {
	node   *doc.Node
	values []Choice
}

// entries returns those of include or exclude, n, which is nil if there are none; ok says that all are well.
func (x crossing) entries(n *doc.Node) (list []entry, ok bool) {
	if n == nil {
		return nil, true
	}
	if n.Kind() != doc.List || len(n.Items()) == 0 {
		n.Errorf("", "must be a list of mappings from axes to variants: [{axis: variant}]")
		return nil, false
	}
	ok = true
	for _, item := range n.Items() {
		e := entry{node: item}
		if item.Kind() != doc.Map || len(item.Entries()) == 0 {
			item.Errorf("", "must be a mapping from axes to variants: {axis: variant}")
			ok = false
		}
		for _, pair := range item.Entries() {
			if !id.MatchString(pair.Key) || pair.Key == includeKey || pair.Key == excludeKey {
				pair.Value.Errorf("", "%q is not the name of an axis", pair.Key)
				ok = false
			}
			ok = x.known(pair.Value, pair.Key) && ok
			e.values = append(e.values, Choice{pair.Key, pair.Value.Text()})
		}
		list = append(list, e)
	}
	return list, ok
}

// product crosses axes; the last one changes fastest.
func product(axes []doc.Entry) []combination {
	combinations := []combination{{}}
	for _, axis := range axes {
		var more []combination
		for _, c := range combinations {
			for _, item := range axis.Value.Items() {
				more = append(more, combination{append(slices.Clip(c.choices), Choice{axis.Key, item.Text()}), item})
			}
		}
		combinations = more
	}
	return combinations
}

// without removes the combinations that an entry excludes: those that have all of its values.
func (x crossing) without(exclude []entry, axes []doc.Entry, all []combination) []combination {
	left := slices.Clone(all)
	for _, e := range exclude {
		if !slices.ContainsFunc(all, func(c combination) bool { return c.has(e.values) }) {
			x.excludesNothing(e, axes)
			continue
		}
		before := len(left)
		left = slices.DeleteFunc(left, func(c combination) bool { return c.has(e.values) })
		if len(left) == before {
			e.node.Errorf("", "excludes no arm that the entries before it leave: remove it")
		}
	}
	return left
}

// excludesNothing reports why an entry excludes nothing.
func (crossing) excludesNothing(e entry, axes []doc.Entry) {
	var names []string
	for _, axis := range axes {
		names = append(names, axis.Key)
	}
	for _, v := range e.values {
		i := slices.Index(names, v.Axis)
		if i < 0 {
			e.node.Errorf(v.Axis, "excludes no arm: no axis is called %q%s; there is %s", v.Axis,
				doc.DidYouMean(v.Axis, names), strings.Join(names, ", "))
			return
		}
		var values []string
		for _, item := range axes[i].Value.Items() {
			values = append(values, item.Text())
		}
		if !slices.Contains(values, v.Value) {
			e.node.Errorf(v.Axis, "excludes no arm: the axis %s has no %q; it has %s", v.Axis, v.Value,
				strings.Join(values, ", "))
			return
		}
	}
}

// with adds entries as GitHub Actions does: the values on other axes to all combinations that have those of the entry
// on the axes of the matrix, or, if there are none, a combination of its own.
func with(include []entry, axes []doc.Entry, combinations []combination) []combination {
	isAxis := func(c Choice) bool {
		return slices.ContainsFunc(axes, func(e doc.Entry) bool { return e.Key == c.Axis })
	}
	crossed := len(combinations)
	for _, e := range include {
		var on, besides []Choice
		for _, v := range e.values {
			if isAxis(v) {
				on = append(on, v)
			} else {
				besides = append(besides, v)
			}
		}
		added := false
		for i, c := range combinations[:crossed] {
			if len(besides) == 0 || !c.has(on) {
				continue
			}
			added = true
			own := slices.DeleteFunc(slices.Clone(c.choices), func(c Choice) bool {
				return slices.ContainsFunc(besides, func(b Choice) bool { return b.Axis == c.Axis })
			})
			combinations[i].choices = append(own, besides...)
		}
		if !added {
			combinations = append(combinations, combination{inOrder(e.values, axes), e.node})
		}
	}
	return combinations
}

// inOrder sorts values by the order of their axes; others come last.
func inOrder(values []Choice, axes []doc.Entry) []Choice {
	place := func(c Choice) int {
		i := slices.IndexFunc(axes, func(e doc.Entry) bool { return e.Key == c.Axis })
		if i < 0 {
			return len(axes)
		}
		return i
	}
	sorted := slices.Clone(values)
	slices.SortStableFunc(sorted, func(a, b Choice) int { return place(a) - place(b) })
	return sorted
}

// assemble makes variants of combinations.
func (x crossing) assemble(combinations []combination) []armNode {
	var arms []armNode
	made := make(map[string]combination)
	for _, c := range combinations {
		id := c.id()
		first, twice := made[id]
		before, elsewhere := x.arms[id]
		made[id] = c
		var node, reference *doc.Node
		for _, choice := range c.choices {
			part := x.variants.Get(choice.Value)
			if node == nil {
				node = part
			} else if part != nil {
				node = merge(node, part)
			}
			if r := part.Get("reference"); r.Text() == "true" {
				reference = r
			}
		}
		switch {
		case id == "":
			c.at.Errorf("", "the arm (%s) is of nothing: an axis must give it a variant with an agent", c)
			continue
		case twice:
			c.at.Errorf("", "the arm %s is made twice: (%s) and (%s)", id, first, c)
			continue
		case elsewhere && !slices.Equal(before, c.choices):
			c.at.Errorf("", "the arm %s is another in another job: (%s) and (%s)", id, combination{choices: before}, c)
			continue
		case x.variants.Get(id) != nil && node != x.variants.Get(id):
			c.at.Errorf("", "the arm %s (%s) is called as a variant, on line %d: give that another name", id, c,
				x.variants.Get(id).Position().Line)
			continue
		case node.Kind() == doc.Map && node.Get("agent") == nil:
			c.at.Errorf("", "the arm %s (%s) has no agent: an axis must give it a variant with one", id, c)
			continue
		}
		if reference != nil {
			node = node.With("reference", reference)
		}
		x.arms[id] = c.choices
		arms = append(arms, armNode{id, node})
	}
	return arms
}
