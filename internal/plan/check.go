package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// MaxUnits bounds what a few small numbers multiply to.
const MaxUnits = 100_000

// checker checks what concerns more than one part of a playbook. Parts that could not be decoded have been reported
// and are passed over.
type checker struct {
	p    *Playbook
	root *doc.Node

	// Where the cases stand, and those evaluators that hold for all of them.
	cases, common *doc.Node
	// own returns the evaluators of a case.
	own func(item *doc.Node) *doc.Node
	// noWorkspace says what to do where there is no workspace.
	noWorkspace string
	// bases are the variants that others are made of.
	bases map[string]bool
}

func check(p *Playbook, d *doc.Document, bases map[string]bool) {
	c := checker{
		p: p, root: d.Root, cases: d.Root.Get("cases"), common: d.Root.Get("evaluators"),
		own:         func(item *doc.Node) *doc.Node { return item.Get("evaluators") },
		noWorkspace: "let a step use " + action.Prepare,
		bases:       bases,
	}
	c.required()
	c.caseIDs()
	c.units()
	c.evaluators()
	c.styles()
	c.mcp()
	c.caches()
	c.ends()
	entries := c.root.Get("workflow").Get("jobs").Entries()
	for i, job := range p.Workflow.Jobs {
		c.job(job, entries[i].Value)
	}
	c.order()
	c.overlays()
	c.armed(p.listed, p.prepares)
	if d.Err() == nil {
		c.decided()
		c.until()
		c.judged()
		c.after()
	}
}

// required checks that there is something to do.
func (c checker) required() {
	if c.root.Get("workflow") == nil {
		c.root.Errorf("", "`workflow.jobs` is required")
	}
	switch task := c.root.Get("task"); {
	case task == nil && c.cases == nil:
		c.root.Errorf("", "`task` or `cases` is required")
	case task != nil && c.cases != nil:
		c.root.Errorf("cases", "a playbook has either `task` or `cases`")
	}
}

// caseIDs checks that no two cases, and no two variants, have the same id: it names their files.
func (c checker) caseIDs() {
	seen := make(map[string]doc.Position) // by the id in lower case: not all file systems tell case apart
	items := c.cases.Items()
	for i, x := range c.p.Cases {
		first, duplicate := seen[strings.ToLower(x.ID)]
		switch {
		case x.ID == "": // reported
		case duplicate:
			items[i].Errorf("id", "duplicate case id %q, first on line %d", x.ID, first.Line)
		case x.ID == "jobs":
			items[i].Errorf("id", "%q is reserved for the results of jobs outside the matrix", x.ID)
		default:
			seen[strings.ToLower(x.ID)] = x.Position
		}
	}
	variants := make(map[string]string)
	for _, v := range c.p.Variants {
		first, duplicate := variants[strings.ToLower(v.ID)]
		if duplicate {
			c.root.Errorf("variants", "the variants %s and %s differ in case alone, so they may share files", first,
				v.ID)
		}
		variants[strings.ToLower(v.ID)] = v.ID
	}
}

// units checks that there are not too many of them.
func (c checker) units() {
	if n := max(1, len(c.p.Cases)) * len(c.p.Variants) * c.p.Trials.Count; n > MaxUnits {
		c.root.Errorf("trials.count", "cases, variants and trials multiply to %d units, more than %d", n, MaxUnits)
	}
}

// evaluators checks that no two evaluators of a unit have the same name.
func (c checker) evaluators() {
	common := make(map[string]doc.Position)
	uniqueNames(c.p.Evaluators, c.common, nil, common)
	items := c.cases.Items()
	for i, x := range c.p.Cases {
		uniqueNames(x.Evaluators, c.own(items[i]), items[i], maps.Clone(common))
	}
}

// uniqueNames reports evaluators of a list that have the name of one seen before. Behind those of the list is that of
// the keys of a case at n.
func uniqueNames(evaluators []Evaluator, list, n *doc.Node, seen map[string]doc.Position) {
	for i, e := range evaluators {
		if e.Name == "" {
			continue // reported
		}
		first, duplicate := seen[e.Name]
		if duplicate && i >= len(list.Items()) {
			n.Errorf("", "`fires` and `silent` are an evaluator %q, and so is that on line %d: give that a `name`",
				e.Name, first.Line)
			continue
		}
		if duplicate {
			list.Errorf(fmt.Sprintf("[%d].name", i), "duplicate evaluator name %q, first on line %d: write a `name`",
				e.Name, first.Line)
			continue
		}
		seen[e.Name] = e.Position
	}
}

func (c checker) job(job Job, n *doc.Node) {
	ids := make([]string, len(c.p.Workflow.Jobs))
	for i, j := range c.p.Workflow.Jobs {
		ids[i] = j.ID
	}
	known(n.Get("needs"), ids, func(need string) string {
		return fmt.Sprintf("needs unknown job %q%s", need, doc.DidYouMean(need, ids))
	})
	variants := make([]string, len(c.p.Variants))
	for i, v := range c.p.Variants {
		variants[i] = v.ID
	}
	known(n.Get("strategy").Get("matrix").Get("variant"), variants, func(v string) string {
		return fmt.Sprintf("the matrix names variant %q, which is missing from variants%s", v,
			doc.DidYouMean(v, variants))
	})
	s := scope{Playbook: c.p, matrix: n.Get("strategy") != nil}
	for _, v := range c.p.Variants {
		if slices.Contains(job.Variants(), v.ID) {
			s.variants = append(s.variants, v)
		}
	}
	items := n.Get("steps").Items()
	for i, step := range job.Steps {
		s.step(step, items[i])
	}
}

// known reports the elements of a list that are not among ids or stand there twice.
func known(list *doc.Node, ids []string, unknown func(string) string) {
	seen := make(map[string]bool)
	for _, item := range list.Items() {
		switch name := item.Text(); {
		case item.Kind() != doc.String: // reported
		case !slices.Contains(ids, name):
			item.Errorf("", "%s", unknown(name))
		case seen[name]:
			item.Errorf("", "duplicate %q", name)
		default:
			seen[name] = true
		}
	}
}

// order checks that the jobs can run one after the other.
func (c checker) order() {
	jobs := c.root.Get("workflow").Get("jobs")
	sorted, cycles := sortJobs(c.p.Workflow.Jobs)
	for _, cycle := range cycles {
		jobs.Get(cycle[0]).Errorf("needs", "dependency cycle: %s", strings.Join(append(cycle, cycle[0]), " -> "))
	}
	waits := needMatrix(sorted)
	for _, job := range sorted {
		for i, need := range job.Needs {
			if job.Strategy != nil && waits[need] && jobs.Get(need).Get("strategy") == nil {
				jobs.Get(job.ID).Errorf(fmt.Sprintf("needs[%d]", i),
					"needs %q, which needs a matrix job itself: a unit runs its matrix jobs without a break", need)
			}
		}
	}
	c.reports(sorted)
}

// reports checks that there are units to report on.
func (c checker) reports(sorted []Job) {
	after := afterUnits(sorted)
	if !slices.ContainsFunc(sorted, func(j Job) bool { return j.Strategy != nil }) {
		return
	}
	for _, job := range sorted {
		for i, step := range job.Steps {
			if job.Strategy == nil && !after[job.ID] && action.Of(step.Uses).Reports {
				c.root.Get("workflow").Get("jobs").Get(job.ID).Errorf(fmt.Sprintf("steps[%d].uses", i),
					"job %q runs before the matrix jobs and would have nothing to report on: "+
						"name them under `needs`", job.ID)
			}
		}
	}
}

// decided checks that one of a unit's evaluators decides, if it has any.
func (c checker) decided() {
	decides := func(e Evaluator) bool { return !e.Advisory }
	items := c.cases.Items()
	for i, x := range c.p.allCases() {
		evaluators := slices.Concat(c.p.Evaluators, x.Evaluators)
		if len(evaluators) == 0 || slices.ContainsFunc(evaluators, decides) {
			continue
		}
		at := c.common
		if len(x.Evaluators) > 0 {
			at = c.own(items[i])
		}
		at.Errorf("", "each evaluator has `required: false`, so case %q could not fail", x.ID)
	}
}

// judged checks that evaluators have something to judge, and that prompts are sent.
func (c checker) judged() {
	what := ""
	switch {
	case slices.ContainsFunc(c.p.Cases, func(x Case) bool { return len(x.Evaluators) > 0 }), len(c.p.Evaluators) > 0:
		what = "evaluators would have nothing to judge"
	case len(c.p.Cases) > 0:
		what = "cases would not run"
	case len(c.p.ExpectStop) > 0:
		what = "end of no session could be as expected"
	default:
		return
	}
	plan, err := c.p.Plan()
	if err != nil {
		c.root.Errorf("workflow.jobs", "%v", err)
		return
	}
	if len(plan.Units) == 0 {
		c.root.Errorf("workflow.jobs", "no job has a `strategy.matrix`, so the %s", what)
	}
	for _, u := range plan.Units {
		if u.Trial == 1 && !slices.ContainsFunc(u.Steps, Step.Prompts) {
			c.root.Errorf("workflow.jobs", "no step of variant %q starts its agent (`uses: %s` or `%s`), so the %s",
				u.Variant.ID, action.Prompt, action.Loop, what)
		}
	}
}

// after checks that there are steps whose files `after: steps` could show.
func (c checker) after() {
	runs := func(j Job) bool {
		return j.Strategy != nil && slices.ContainsFunc(j.Steps, func(s Step) bool { return action.Of(s.Uses).Files })
	}
	if slices.ContainsFunc(c.p.Workflow.Jobs, runs) {
		return
	}
	check := func(list *doc.Node) {
		for _, e := range list.Items() {
			if e.Get("after").Text() == "steps" {
				e.Errorf("after", "no step of a matrix job makes files: remove it")
			}
		}
	}
	check(c.common)
	for _, item := range c.cases.Items() {
		check(c.own(item))
	}
}

// scope is what the placeholders of a job's steps can mean.
type scope struct {
	*Playbook
	matrix   bool
	variants []Variant // of the matrix
}

// step checks a step against the rest of the playbook.
func (s scope) step(step Step, n *doc.Node) {
	s.placeholders(n.Get("uses"), step.Uses, "run.run_id", "run.run_dir")
	s.placeholders(n.Get("cwd"), step.Cwd)
	for _, arg := range step.Args {
		s.placeholders(n.Get("run"), arg)
	}
	s.settings(n.Get("with"))
	if len(step.Args) > 0 && !hasPlaceholder(step.Args[0]) {
		if err := s.checkCommand(step.Args); err != nil {
			n.Errorf("run", "%v", err)
		}
	}
	for _, name := range s.actionNames(step.Uses) {
		a, err := lookupAction(name)
		if err != nil {
			n.Errorf("uses", "%v", err)
			continue
		}
		if reason := s.misplaced(a); reason != "" {
			n.Errorf("uses", "action %s %s", name, reason)
		}
		for _, e := range n.Get("with").Entries() {
			if !slices.Contains(a.Settings, e.Key) {
				e.Value.Errorf("", "action %s has no setting %q%s", name, e.Key, doc.DidYouMean(e.Key, a.Settings))
			}
		}
	}
}

// misplaced returns why a job cannot have an action, "" if it can.
func (s scope) misplaced(a action.Action) string {
	switch {
	case a.InUnit == nil && s.matrix:
		return "must be in a job without `strategy`: it acts on the whole run"
	case a.InRun == nil && !s.matrix:
		return "must be in a matrix job: it acts on a variant, so the job needs `strategy.matrix`"
	}
	return ""
}

// settings checks the placeholders in each string of an action's settings.
func (s scope) settings(n *doc.Node) {
	if n.Kind() == doc.String {
		s.placeholders(n, n.Text())
	}
	for _, item := range n.Items() {
		s.settings(item)
	}
	for _, e := range n.Entries() {
		s.settings(e.Value)
	}
}

// placeholders checks those of a text that stands at n. Some paths may be banned there.
func (s scope) placeholders(n *doc.Node, text string, banned ...string) {
	err := eachPlaceholder(text, func(_, path string) error {
		if path == "" {
			return nil
		}
		if err := checkPath(path); err != nil {
			return err
		}
		reason := s.unavailable(path)
		if slices.Contains(banned, path) {
			reason = "an action must be known before the run"
		}
		if reason != "" {
			return fmt.Errorf("${{ %s }} is not available here: %s", path, reason)
		}
		return nil
	})
	if err != nil {
		n.Errorf("", "%v", err)
	}
}

// unavailable returns why a path has no value in the job, "" if it has one.
func (s scope) unavailable(path string) string {
	switch path {
	case "run.run_id", "run.run_dir":
		return ""
	case "task.title", "task.prompt":
		switch {
		case s.Task == nil:
			return "the playbook has no `task`"
		case s.Values()[path] == "":
			return "the task has no title"
		}
		return ""
	}
	if !s.matrix {
		return "the job has no `strategy.matrix`"
	}
	if slices.Contains(paths, path) {
		return ""
	}
	for _, v := range s.variants {
		if (Unit{Variant: v}).Values()[path] == "" {
			return fmt.Sprintf("variant %s has no axis of that name%s", v.ID, doc.DidYouMean(path, paths))
		}
	}
	return ""
}

// actionNames returns all actions that a `uses` can mean, none if that is unknown because of problems that are
// reported.
func (s scope) actionNames(uses string) []string {
	if !hasPlaceholder(uses) {
		return slices.DeleteFunc([]string{uses}, func(u string) bool { return u == "" })
	}
	var names []string
	add := func(values Values) {
		if name, err := Interpolate(uses, values); err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if !s.matrix {
		add(s.Values())
	}
	for _, v := range s.variants {
		for _, c := range s.allCases() {
			add(Unit{Case: c, Variant: v, Trial: 1, task: s.Task}.Values())
		}
	}
	return names
}
