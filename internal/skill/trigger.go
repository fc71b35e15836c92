package skill

import (
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// loadTriggers reads the files with queries.
func (r *reader) loadTriggers() {
	for _, name := range triggerFiles {
		if r.there(name) {
			file := path.Join(r.dir, name)
			root, _ := r.load(file)
			r.Triggers, r.roots = append(r.Triggers, file), append(r.roots, root)
			r.skillName(root)
		}
	}
}

// triggers makes queries of what is in the files, and of those among the cases.
func (r *reader) triggers() {
	for _, n := range r.among {
		r.query(n, r.Evals)
	}
	for i, root := range r.roots {
		before, found := len(r.Queries), len(r.Findings)
		r.queries(root, r.Triggers[i])
		if root != nil && len(r.Queries) == before && len(r.Findings) == found {
			r.bad(root, r.Triggers[i], "there are no queries")
		}
	}
	if len(r.Queries) == 0 {
		return
	}
	yes := 0
	for _, q := range r.Queries {
		if slices.Contains(q.Skills, r.Name) {
			yes++
		}
	}
	if yes == 0 || yes == len(r.Queries) {
		what := "all queries are to trigger the skill: one that always triggers passes"
		if yes == 0 {
			what = "no query is to trigger the skill: one that never triggers passes"
		}
		r.add(Warning, "one-sided", r.Queries[0].Position, r.Queries[0].ID, what,
			"add queries of the other kind")
	}
}

// halves are the names of two lists, of queries that are to trigger the skill and of those that are not.
var halves = [][2]string{
	{"should_trigger", "should_not_trigger"},
	{"should_activate", "should_not_activate"},
	{"positive", "negative"},
	{"positives", "negatives"},
}

func (r *reader) queries(root *doc.Node, file string) {
	list := root
	if root.Kind() == doc.Map {
		for _, h := range halves {
			if root.Get(h[0]).Kind() != doc.List && root.Get(h[1]).Kind() != doc.List {
				continue
			}
			r.unknown("file", root, "skill_name", h[0], h[1])
			for i, key := range h {
				list := root.Get(key)
				if kind := list.Kind(); kind != doc.List && kind != doc.Null && kind != doc.Invalid {
					r.bad(list, file, "must be a list of queries, not %s", kind)
				}
				for j, n := range list.Items() {
					if j == maxCases {
						r.bad(n, file, "there are more than %d queries", maxCases)
						break
					}
					r.half(n, file, i == 0)
				}
			}
			return
		}
		r.unknown("file", root, "skill_name", "queries", "evals", "cases")
		list = r.only(root, file, "queries", "evals", "cases")
	}
	if list != nil && list.Kind() != doc.List && list.Kind() != doc.Invalid {
		r.bad(list, file, "must be a list of queries, not %s", list.Kind())
	}
	for i, n := range list.Items() {
		if i == maxCases {
			r.bad(n, file, "there are more than %d queries", maxCases)
			break
		}
		switch {
		case n.Kind() == doc.Invalid: // it is found already
		case n.Kind() != doc.Map:
			r.bad(n, file, "a query must be a mapping, not %s", n.Kind())
		default:
			r.query(n, file)
		}
	}
}

// half reads an element of one of two lists.
func (r *reader) half(n *doc.Node, file string, trigger bool) {
	q := Query{Position: n.Position()}
	if trigger {
		q.Skills = []string{r.Name}
	}
	switch n.Kind() {
	case doc.Invalid:
		return
	case doc.Map:
		r.unknown("query", n, queryKeys...)
		r.addQuery(q, n, n.Get("id"), r.prompt(n), file)
	default:
		r.addQuery(q, n, nil, n, file)
	}
}

var (
	promptKeys  = []string{"query", "prompt", "input"}
	triggerKeys = []string{"should_trigger", "expected_trigger"}
	routingKeys = []string{"expected", "expected_skill", "expected_skills"}
	queryKeys   = slices.Concat([]string{"id"}, promptKeys, triggerKeys, routingKeys)
)

// isQuery reports whether a case is none, but a query.
func isQuery(n *doc.Node) bool {
	return slices.ContainsFunc(triggerKeys, func(k string) bool { return n.Get(k).Kind() == doc.Bool }) &&
		!slices.ContainsFunc(caseKeys[4:], func(k string) bool { return n.Get(k) != nil })
}

func (r *reader) prompt(n *doc.Node) *doc.Node {
	for _, key := range promptKeys {
		if p := n.Get(key); p != nil {
			return p
		}
	}
	return nil
}

func (r *reader) query(n *doc.Node, file string) {
	r.unknown("query", n, queryKeys...)
	q := Query{Position: n.Position()}
	var says *doc.Node
	for _, key := range slices.Concat(triggerKeys, routingKeys) {
		v := n.Get(key)
		if v == nil {
			continue
		}
		if says != nil {
			r.bad(v, file, "%s says, too, what is expected", says.Path())
			return
		}
		says = v
	}
	switch kind := says.Kind(); {
	case says == nil:
		r.bad(n, file, "the query does not say whether it should_trigger, or which skill is expected")
		return
	case kind == doc.Invalid:
		return
	case kind == doc.Bool:
		if says.Text() == "true" {
			q.Skills = []string{r.Name}
		}
	case slices.ContainsFunc(triggerKeys, func(k string) bool { return n.Get(k) != nil }):
		r.bad(says, file, "must be true or false, not %s", kind)
		return
	default:
		q.Routing = true
		for _, s := range r.texts(says, file) {
			q.Skills = append(q.Skills, s.Text())
		}
	}
	r.addQuery(q, n, n.Get("id"), r.prompt(n), file)
}

// addQuery adds a query at n, whose prompt is in another node, nil: nowhere.
func (r *reader) addQuery(q Query, n, id, prompt *doc.Node, file string) {
	q.Prompt = r.text(prompt, file)
	if strings.TrimSpace(q.Prompt) == "" {
		if prompt.Kind() == doc.String || prompt.Kind() == doc.Null || prompt == nil {
			r.bad(n, file, "the query has no text")
		}
		return
	}
	q.ID, q.Given = r.identify("trigger", nil, id, q.Prompt)
	r.duplicate(q.ID, n)
	r.Queries = append(r.Queries, q)
}
