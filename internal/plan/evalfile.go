package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// evalFile is the second kind of document: questions, and what is expected of the sessions that answer them. It says
// nothing about jobs and steps; the playbook that it becomes asks each variant each question in a session of its own.
type evalFile struct {
	Description string     `yaml:"description" doc:"What the file is about, for people."`
	Evalcases   []evalCase `yaml:"evalcases,required" reason:"at least one case is required"`
	Execution   execution  `yaml:"execution" doc:"Who is asked, and what must hold, unless a case says more."`

	// Rest has the keys that playbooks have, too.
	Rest *doc.Node `yaml:",rest"`
}

// execution says who is asked and what must hold: for all cases of a file, or for one.
type execution struct {
	Target     string      `yaml:"target" min:"1" doc:"A variant, or a kind of agent; default: all variants."`
	Targets    []string    `yaml:"targets" min:"1" doc:"Several targets. Either target or targets."`
	Evaluators []Evaluator `yaml:"evaluators" min:"1" doc:"What must hold. Those of a case are added to the file's."`
}

// playbookOnly are the keys of playbooks that eval files cannot have, each with the reason.
var playbookOnly = map[string]string{
	"workflow":   "a file has either `evalcases` or `workflow`: an eval file's steps are always the same",
	"task":       "a file has either `evalcases` or `task`",
	"cases":      "a file has either `evalcases` or `cases`",
	"evaluators": "in an eval file they belong in `execution.evaluators`",
	"sdd_loop":   "an eval file sends its questions as they are: loops are for playbooks",
	"styles":     "an eval file has no workflow styles: they are for playbooks",
}

// foreign are keys of established tools that this format says differently.
var foreign = map[string]string{
	"$schema":                "remove it: editors find the schema by a comment, # yaml-language-server: $schema=...",
	"version":                "remove it: the format has no versions",
	"target":                 "write it as `execution.target`",
	"tests":                  "write the cases under `evalcases`",
	"eval_cases":             "write the cases under `evalcases`",
	"dataset":                "write it as `name`",
	"execution.trials":       "write `trials: {count: N}` at the top of the file",
	"execution.workers":      "say how many units run at a time with --parallel",
	"execution.cache":        "remove it: sessions are replayed from their recordings",
	"evalcases[].criteria":   "write it as `expected_outcome`",
	"evalcases[].outcome":    "write it as `expected_outcome`",
	"evalcases[].rubrics":    "write an evaluator of type llm_judge with `rubrics`",
	"evalcases[].evaluators": "write them under `execution.evaluators`",
	"evalcases[].target":     "write it as `execution.target`",
	"evalcases[].prompt":     "write it as `question`",
	"evalcases[].prompts":    "write them as `input_messages`",
	"evalcases[].conversation_id": "remove it: each case is a session, and the turns of one conversation are the " +
		"messages of one case",
	"evalcases[].execution.skip_defaults": "evaluators of the file hold for all cases: move the others to their cases",
	"execution.skip_defaults":             "evaluators of the file hold for all cases: move the others to their cases",
}

// refusedInEvalFiles returns the keys of eval files with a better reason than that they are unknown.
func refusedInEvalFiles() map[string]string {
	reasons := maps.Clone(refused)
	maps.Copy(reasons, foreign)
	return reasons
}

// isEvalFile tells eval files from playbooks. The name decides only where what is in the file does not.
func isEvalFile(file string, root *doc.Node) bool {
	if root.Get("evalcases") != nil {
		return true
	}
	name := strings.TrimSuffix(strings.TrimSuffix(file, ".yaml"), ".yml")
	return strings.HasSuffix(name, ".eval") && root.Get("workflow") == nil && root.Get("task") == nil &&
		root.Get("cases") == nil
}

// decodeEvalFile makes the playbook that an eval file is read as.
func (p *Playbook) decodeEvalFile(d *doc.Document, bases map[string]bool) {
	d.Refuse(refusedInEvalFiles())
	doc.Handle(d, (*evalCase).decode)
	doc.Handle(d, (*execution).decode)
	doc.Handle(d, (*input).decode)
	doc.Handle(d, (*expectation).decode)
	doc.Handle(d, (*content).decode)
	var f evalFile
	d.Root.Decode(&f)
	if d.Root.Kind() != doc.Map {
		return // reported
	}
	for key, reason := range playbookOnly {
		d.Root.Get(key).Errorf("", "%s", reason)
	}
	f.Rest.Without(slices.Collect(maps.Keys(playbookOnly))...).Decode(p)
	p.nameAfterFile(d.Root)
	p.placeEnds(d.Root)
	p.Evaluators = f.Execution.Evaluators
	for _, c := range f.Evalcases {
		p.Cases = append(p.Cases, c.Case)
	}
	f.target(p, d.Root)
	checkEvalFile(p, d, bases)
	if d.Err() == nil {
		p.Workflow = evalWorkflow(p, d.Root)
	}
}

// checkEvalFile checks what concerns more than one part of an eval file.
func checkEvalFile(p *Playbook, d *doc.Document, bases map[string]bool) {
	c := checker{
		p: p, root: d.Root, cases: d.Root.Get("evalcases"), common: d.Root.Get("execution").Get("evaluators"),
		own:         func(item *doc.Node) *doc.Node { return item.Get("execution").Get("evaluators") },
		noWorkspace: "add a `workspace`, with the directory to copy as `from`",
		bases:       bases,
	}
	c.caseIDs()
	c.units()
	c.evaluators()
	c.mcp()
	c.ends()
	c.expecting()
	c.overlays()
	c.armed(func(v Variant) bool {
		asked := slices.ContainsFunc(p.Cases, func(x Case) bool { return x.asks(v.ID) })
		return asked && (v.Agent.Kind != "" || !bases[v.ID])
	}, func(Variant) bool { return d.Root.Get("workspace") != nil })
	if d.Err() == nil {
		c.decided()
		c.after()
	}
	for i := range p.Variants {
		p.Variants[i].Style = ""
	}
	for _, v := range d.Root.Get("variants").Entries() {
		v.Value.Get("style").Errorf("", "an eval file has no workflow styles: they are for playbooks")
	}
	for _, item := range c.cases.Items() {
		for _, key := range []string{"files", "workspace"} {
			if item.Get(key) != nil && d.Root.Get("workspace") == nil {
				item.Errorf(key,
					"there is no `workspace` to write them into: add one, with the directory to copy as `from`")
			}
		}
	}
}

// expecting checks that something is expected of each case.
func (c checker) expecting() {
	if c.common != nil {
		return
	}
	var without []*doc.Node
	items := c.cases.Items()
	for _, item := range items {
		if c.own(item) == nil {
			without = append(without, item)
		}
	}
	if len(without) == len(items) && len(items) > 0 {
		c.root.Errorf("",
			"no case expects anything, so none could fail: write `execution.evaluators`, here or in the cases")
		return
	}
	for _, item := range without {
		item.Errorf("",
			"the case expects nothing, so it could not fail: write `execution.evaluators`, here or for the whole file")
	}
}

// evalWorkflow is what a valid eval file does: one job that asks each variant that is a target of some case.
func evalWorkflow(p *Playbook, root *doc.Node) Workflow {
	const job = "eval"
	at := root.Get("evalcases").Position()
	var steps []Step
	if workspace := root.Get("workspace"); workspace != nil {
		steps = append(steps, Step{Uses: action.Prepare, Job: job, Position: workspace.Position()})
	}
	steps = append(steps, Step{Uses: action.Prompt, Job: job, Position: at})
	var matrix []string
	for _, v := range p.Variants {
		if slices.ContainsFunc(p.Cases, func(c Case) bool { return c.asks(v.ID) }) {
			matrix = append(matrix, v.ID)
		}
	}
	return Workflow{Jobs: []Job{{
		ID: job, Strategy: &Strategy{Matrix: Matrix{Variant: matrix}}, Steps: steps, Position: at,
	}}}
}

// evalCase is one entry of an eval file's evalcases.
type evalCase struct {
	ID   string `yaml:"id,required" pattern:"id" doc:"Unique in the file; part of names and paths."`
	Note string `yaml:"note" doc:"For people."`

	Question      string `yaml:"question" min:"1"`
	Input         input  `yaml:"input" doc:"The same as question or, if it is a list, as input_messages."`
	InputMessages input  `yaml:"input_messages" doc:"What the agent is asked, a turn each."`

	ExpectedOutcome  string      `yaml:"expected_outcome" doc:"What a good session comes to, for judges."`
	ReferenceAnswer  string      `yaml:"reference_answer"`
	ExpectedOutput   expectation `yaml:"expected_output" doc:"The same as expected_messages; a text is the answer's."`
	ExpectedMessages expectation `yaml:"expected_messages" doc:"What a good session says and calls, for judges."`

	// Fires and Silent are as those of [Case].
	Fires  []string `yaml:"fires" min:"1" doc:"Skills and tools that the agent must use."`
	Silent []string `yaml:"silent" min:"1" doc:"Skills and tools that the agent must not use."`

	ExpectStop []Stop `yaml:"expect_stop" min:"1" doc:"How this case's session should end; default: the file's."`

	Files     map[string]string  `yaml:"files" doc:"Files to write into the workspace first, by path."`
	Workspace playbook.Additions `yaml:"workspace" doc:"Directories and files to copy over the workspace first."`
	Execution execution          `yaml:"execution" doc:"Who is asked, and what must hold for this case besides."`
	Position  doc.Position       `yaml:",position"`

	// Case is the resulting case, without its variants.
	Case Case
}

// questions are the keys of which a case has one.
var questions = []string{"question", "input", "input_messages"}

func (c *evalCase) decode(n *doc.Node) {
	n.Decode(c)
	if n.Kind() != doc.Map {
		return // reported
	}
	given := slices.DeleteFunc(slices.Clone(questions), func(key string) bool { return n.Get(key) == nil })
	if len(given) != 1 {
		n.Errorf("", "a case has exactly one of `%s`", strings.Join(questions, "`, `"))
	}
	if n.Get("expected_output") != nil && n.Get("expected_messages") != nil {
		n.Errorf("expected_output", "give either `expected_output` or `expected_messages`")
	}
	checkGiven(n)

	prompts := slices.Concat(c.Input, c.InputMessages)
	if c.Question != "" {
		prompts = []string{c.Question}
	}
	c.Case = Case{
		ID: c.ID, Prompts: prompts, ExpectedOutcome: c.ExpectedOutcome, ReferenceAnswer: c.ReferenceAnswer,
		ExpectedMessages: slices.Concat(c.ExpectedOutput, c.ExpectedMessages), Files: c.Files,
		Workspace:  c.Workspace,
		Evaluators: slices.Concat(c.Execution.Evaluators, activationOf(n)), Position: c.Position,
		ExpectStop: c.ExpectStop,
		ExpectedAt: n.Get("expect_stop").Position(),
	}
	if len(prompts) == 1 {
		c.Case.Prompt = prompts[0]
	}
	if m := c.Case.ExpectedMessages; n.Get("reference_answer") == nil && len(m) > 0 {
		c.Case.ReferenceAnswer = m[len(m)-1].Content
	}
}

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
			n.Errorf(path, "duplicate %q", target)
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
