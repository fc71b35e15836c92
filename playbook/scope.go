package playbook

import (
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
)

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
		return "in a matrix job: it acts for the whole run, so it belongs in a job without `strategy`"
	case a.InRun == nil && !s.matrix:
		return "outside a matrix job: it acts for a variant, so the job needs `strategy.matrix`"
	}
	if v := s.styleless(); a.NeedsStyle && v != "" {
		return fmt.Sprintf("needs a style: variant %q has none", v)
	}
	return ""
}

// styleless returns the first variant without a style, "" if there is none.
func (s scope) styleless() string {
	if i := slices.IndexFunc(s.variants, func(v Variant) bool { return v.Style == "" }); i >= 0 {
		return s.variants[i].ID
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
	if v := s.styleless(); path == "variant.style" && v != "" {
		return fmt.Sprintf("variant %q has no style", v)
	}
	return ""
}

// actionNames returns all actions that a `uses` can mean, none if that is unknown because of problems that are reported.
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
