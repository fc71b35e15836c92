// Package plan reads playbooks: YAML files that say what coding agents are asked to do, which agents in which
// configurations, and what must hold afterwards.
//
//	task:
//	  title: Fix the bug
//	  prompt: The test of package shop fails. Find out why and fix it.
//	variants:
//	  claude: {agent: {kind: claude-code-acp, preset: production}}
//	workflow:
//	  jobs:
//	    eval:
//	      strategy: {matrix: {variant: [claude]}}
//	      steps:
//	        - uses: builtin:sdd-eval/workspace.prepare
//	        - uses: builtin:sdd-eval/acp.prompt
//	        - run: go test ./...
//
// [Load] is strict, since what is ignored in a test can make it pass: it refuses unknown keys, wrong types and anything
// that could have no effect, and reports all errors of a file at once, each with its position. A [Playbook] has the
// file's contents, [Playbook.Plan] what follows from them: jobs in their order and units, the single trials of each
// case with each variant.
//
// An eval file is an alternative to a playbook: questions under the key evalcases, without jobs. It is read as a
// playbook that asks each of its variants each question.
//
// Which types of evaluators there are is up to the caller, who passes their [Kinds]. What only concerns how a plan is
// carried out, such as directories and processes, belongs in package engine; the keys that tests written in Go use,
// too, are types of the public package playbook.
package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Plan is what a playbook will do: its jobs in an order that respects their needs, and its units.
type Plan struct {
	Playbook *Playbook
	// Jobs are in topological order; the order of the file breaks ties.
	Jobs []Job
	// Units are case by case, variant by variant in the order of the matrix, trial by trial.
	Units []Unit

	cases    []Case
	variants []Variant
	first    map[[2]string]int // the first unit of a case with a variant
}

// Unit is one trial of one case with one variant. It goes through all matrix jobs of its variant.
type Unit struct {
	// Playbook is the playbook's name.
	Playbook string
	Case     Case
	Variant  Variant
	// Trial counts from 1.
	Trial int
	// Steps are those of the variant's matrix jobs, in the order of the jobs.
	Steps []Step
	// Evaluators are the playbook's, the case's and those of [Plan.AddEvaluator].
	Evaluators []Evaluator

	// ExpectStop are the reasons for which the session should end, nil: the agent should finish. ExpectedAt is where
	// that stands.
	ExpectStop []string
	ExpectedAt doc.Position

	task       *Task
	iterations int // of a loop
}

// ID returns "playbook/case/variant/trial", which names the unit's results and its recording.
func (u Unit) ID() string {
	return strings.Join([]string{u.Playbook, u.Case.ID, u.Variant.ID, strconv.Itoa(u.Trial)}, "/")
}

// Values returns what the placeholders in the unit's steps stand for, run.run_id and run.run_dir excepted.
func (u Unit) Values() Values {
	v := u.task.values()
	maps.Copy(v, Values{
		"matrix.variant": u.Variant.ID, "variant.agent.kind": u.Variant.Agent.Kind,
		"case.id": u.Case.ID, "trial": strconv.Itoa(u.Trial),
	})
	for _, c := range u.Variant.Axes {
		if c.Axis != "variant" {
			v["matrix."+c.Axis] = c.Value
		}
	}
	if u.Variant.Style != "" {
		v["variant.style"] = u.Variant.Style
	}
	return v
}

// Prompts returns what the unit's agent is asked, in order.
func (u Unit) Prompts() []string {
	var prompts []string
	for _, s := range u.Steps {
		prompts = append(prompts, u.PromptsOf(s)...)
	}
	return prompts
}

// PromptsOf returns what a step of the unit asks the agent, nil if it does not speak with it.
func (u Unit) PromptsOf(s Step) []string {
	a := action.Of(s.Uses)
	if !a.Asks() {
		return nil
	}
	title := u.Case.ID
	if u.task != nil && u.task.Title != "" {
		title = u.task.Title
	}
	task := action.Task{Title: title, Prompts: u.Case.Prompts, Iterations: u.iterations}
	task.Style = u.Style()
	return a.Prompts(task)
}

// Style returns the style that the unit's agent is given; empty if no step writes it.
func (u Unit) Style() string {
	if slices.ContainsFunc(u.Steps, func(s Step) bool { return action.Of(s.Uses).WritesStyle }) {
		return u.Variant.Style
	}
	return ""
}

// withActions returns the unit with the placeholders in the names of its steps' actions replaced: what is known about
// an action has to be known before the run.
func (u Unit) withActions() (Unit, error) {
	if !slices.ContainsFunc(u.Steps, func(s Step) bool { return hasPlaceholder(s.Uses) }) {
		return u, nil
	}
	u.Steps = slices.Clone(u.Steps)
	for i, s := range u.Steps {
		var err error
		if u.Steps[i].Uses, err = Interpolate(s.Uses, u.Values()); err != nil {
			return Unit{}, at(s.Position, "uses", err)
		}
	}
	return u, nil
}

// Plan returns the playbook's plan. Those that [Load] and [Parse] return always have one.
func (p *Playbook) Plan() (*Plan, error) {
	jobs, cycles := sortJobs(p.Workflow.Jobs)
	if len(cycles) > 0 {
		return nil, fmt.Errorf("%s: dependency cycle of jobs %s", p.File, strings.Join(cycles[0], ", "))
	}
	plan := &Plan{Playbook: p, Jobs: jobs, cases: p.allCases(), first: make(map[[2]string]int)}
	steps := make(map[string][]Step) // by variant
	for _, job := range jobs {
		for _, id := range job.Variants() {
			i := slices.IndexFunc(p.Variants, func(v Variant) bool { return v.ID == id })
			if i < 0 {
				return nil, fmt.Errorf("%s: the matrix names variant %q, which is missing from variants", job.Position,
					id)
			}
			if _, seen := steps[id]; !seen {
				plan.variants = append(plan.variants, p.Variants[i])
			}
			steps[id] = append(steps[id], job.Steps...)
		}
	}
	trials, asked := max(p.Trials.Count, 1), 0
	for _, c := range plan.cases {
		asked += len(plan.Variants(c))
	}
	plan.Units = make([]Unit, 0, asked*trials)
	for _, c := range plan.cases {
		for _, v := range plan.Variants(c) {
			plan.first[[2]string{c.ID, v.ID}] = len(plan.Units)
			for trial := range trials {
				expect, at := p.endOf(c, v)
				unit, err := Unit{
					Playbook: p.Name, Case: v.ask(c), Variant: v, Trial: trial + 1, task: p.Task,
					ExpectStop: expect, ExpectedAt: at,
					iterations: p.SDDLoop.MaxIterations,
					Steps:      steps[v.ID], Evaluators: slices.Concat(p.Evaluators, c.Evaluators),
				}.withActions()
				if err != nil {
					return nil, err
				}
				plan.Units = append(plan.Units, unit)
			}
		}
	}
	return plan, nil
}

// allCases returns the playbook's cases, or its task as the only one.
func (p *Playbook) allCases() []Case {
	if p.Task == nil {
		return p.Cases
	}
	return []Case{{
		ID: "task", Prompt: p.Task.Prompt, Prompts: []string{p.Task.Prompt}, Position: p.Task.Position,
	}}
}

// Cases returns the cases of the plan's units. A task is the case "task".
func (p *Plan) Cases() []Case { return p.cases }

// Variants returns the variants that a case asks, in the order in which the matrices first list them.
func (p *Plan) Variants(c Case) []Variant {
	return slices.DeleteFunc(slices.Clone(p.variants), func(v Variant) bool { return !c.asks(v.ID) })
}

// Trials returns the units of a case with a variant, nil if the plan has none.
func (p *Plan) Trials(caseID, variantID string) []Unit {
	first, ok := p.first[[2]string{caseID, variantID}]
	if !ok {
		return nil
	}
	return p.Units[first : first+max(p.Playbook.Trials.Count, 1)]
}

// Notes are lines for people, "file:line: note: ...", about things that are not errors but may be mistakes: variants
// that no unit has, and names of tools that no agent is known to have.
func (p *Plan) Notes() []string {
	reason := "is in no matrix"
	if slices.ContainsFunc(p.cases, func(c Case) bool { return c.Variants != nil }) {
		reason = "is the target of no case"
	}
	notes := slices.Clone(p.Playbook.Noted)
	for _, v := range p.Playbook.Variants {
		if !slices.ContainsFunc(p.variants, func(planned Variant) bool { return planned.ID == v.ID }) {
			notes = append(notes, fmt.Sprintf("%s: note: variant %s %s: nothing runs it", v.Position, v.ID, reason))
		}
	}
	return notes
}

// Before returns the jobs outside the matrix that run before the units: those that a matrix job needs, and those that
// come before the first matrix job.
func (p *Plan) Before() []Job { return p.outsideMatrix(false) }

// After returns the jobs outside the matrix that run after the units.
func (p *Plan) After() []Job { return p.outsideMatrix(true) }

func (p *Plan) outsideMatrix(after bool) []Job {
	isAfter := afterUnits(p.Jobs)
	var jobs []Job
	for _, j := range p.Jobs {
		if j.Strategy == nil && isAfter[j.ID] == after {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// AddEvaluator adds an expectation that is not in the playbook to each unit; at is its place. It panics if a unit has
// an evaluator of that name.
func (p *Plan) AddEvaluator(name string, config any, at doc.Position) {
	for i := range p.Units {
		u := &p.Units[i]
		if slices.ContainsFunc(u.Evaluators, func(e Evaluator) bool { return e.Name == name }) {
			panic(fmt.Sprintf("playbook: unit %s has an evaluator %q already: choose another name", u.ID(), name))
		}
		u.Evaluators = append(u.Evaluators, Evaluator{
			Name: name, Type: "go", Threshold: 1, Weight: 1, Config: config, Position: at,
		})
	}
}

// sortJobs sorts jobs so that each comes after those that it needs, those that come first in the file first. Jobs that
// wait for each other are returned as cycles and left out. Needs that are no jobs are passed over.
func sortJobs(jobs []Job) (sorted []Job, cycles [][]string) {
	waiting := make(map[string]Job, len(jobs))
	for _, j := range jobs {
		waiting[j.ID] = j
	}
	ready := func(j Job) bool {
		_, waits := waiting[j.ID]
		return waits && !slices.ContainsFunc(j.Needs, func(need string) bool { _, w := waiting[need]; return w })
	}
	for len(waiting) > 0 {
		if i := slices.IndexFunc(jobs, ready); i >= 0 {
			sorted = append(sorted, jobs[i])
			delete(waiting, jobs[i].ID)
			continue
		}
		cycle := findCycle(jobs, waiting)
		cycles = append(cycles, cycle)
		for _, id := range cycle {
			delete(waiting, id)
		}
	}
	return sorted, cycles
}

// findCycle follows needs among jobs that all wait for each other until it comes back to where it was.
func findCycle(jobs []Job, waiting map[string]Job) []string {
	var path []string
	first := slices.IndexFunc(jobs, func(j Job) bool { _, w := waiting[j.ID]; return w })
	for id := jobs[first].ID; ; {
		if i := slices.Index(path, id); i >= 0 {
			return path[i:]
		}
		path = append(path, id)
		for _, need := range waiting[id].Needs {
			if _, w := waiting[need]; w {
				id = need
				break
			}
		}
	}
}

// afterUnits tells which of the sorted jobs run after the units. The units run where the first matrix job stands,
// except that what any matrix job needs comes before them.
func afterUnits(sorted []Job) map[string]bool {
	before := make(map[string]bool)
	for _, j := range slices.Backward(sorted) { // needs stand before what needs them
		if j.Strategy == nil && !before[j.ID] {
			continue
		}
		for _, need := range j.Needs {
			before[need] = true
		}
	}
	after := make(map[string]bool)
	units := false
	for _, j := range sorted {
		units = units || j.Strategy != nil
		after[j.ID] = units && j.Strategy == nil && !before[j.ID]
	}
	return after
}

// needMatrix tells which of the sorted jobs need a matrix job, be it by way of others.
func needMatrix(sorted []Job) map[string]bool {
	needs := make(map[string]bool)
	matrix := make(map[string]bool)
	for _, j := range sorted {
		matrix[j.ID] = j.Strategy != nil
		needs[j.ID] = slices.ContainsFunc(j.Needs, func(need string) bool { return matrix[need] || needs[need] })
	}
	return needs
}
