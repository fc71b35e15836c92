package plan

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/confine/probe"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Playbook is one file. Its fields, and those of the types below it, are the keys of the file; the tags give their
// names, defaults and bounds.
type Playbook struct {
	// File is the path that [Load] or [Parse] was given, or a [Source]'s name.
	File string
	// Dir is the directory of the file, absolute, to which paths in the playbook are relative; empty: it was parsed
	// from a text.
	Dir string
	// Text is what the playbook was decoded from. Whoever archives it takes this: the file may have changed since.
	Text []byte
	// AblatedAlso is what [Source.Ablate] said.
	AblatedAlso []string
	// Noted are notes of decoding, see [Plan.Notes].
	Noted []string
	// Files are the files beside it that it names, absolute, each once: scripts, prompts, goldens.
	Files []string

	// Name is the first part of every unit's id. Its default is the file's name without .yaml or .eval.yaml.
	Name string `yaml:"name" pattern:"id" doc:"Default: the file's name without .yaml or .eval.yaml."`

	// Task is what all variants are asked to do. A playbook has either a task or cases.
	Task *Task `yaml:"task" doc:"The job that every variant is given. Either task or cases."`

	// Cases are several tasks, each judged on its own.
	Cases []Case `yaml:"cases" min:"1" doc:"Several jobs, each judged on its own. Either task or cases."`

	// Variants are the agents that are compared, in the order of the file.
	Variants []Variant `yaml:"variants,required" reason:"at least one variant is required" doc:"The agents, by id."`

	// Ablate names what control arms leave out of the variants that run, one thing each.
	Ablate Ablation `yaml:"ablate" doc:"What control arms leave out, one thing each, such as skills/pdf; or all."`

	Workflow Workflow `yaml:"workflow" doc:"What is done for each variant, and around all of them."`

	// SDDLoop configures steps with [action.Loop].
	SDDLoop SDDLoop `yaml:"sdd_loop" doc:"How long acp.sdd-loop keeps on prompting."`

	// Styles are the playbook's own workflow styles, in the order of the file.
	Styles []StyleSource `yaml:"styles" doc:"Workflow styles beside sdd and sdd-legacy, by name."`

	Report      Report               `yaml:"report" doc:"Who scores the variants beside the evaluators."`
	Trials      Trials               `yaml:"trials"`
	Limits      Limits               `yaml:"limits" doc:"What ends a unit or the run early."`
	Permissions playbook.Permissions `yaml:"permissions" doc:"What the agent is told when it asks for permission."`

	// ExpectStop are the reasons for which sessions should end; nil: agents should finish. ExpectedAt is where that
	// stands.
	ExpectStop []Stop `yaml:"expect_stop" min:"1" doc:"How sessions should end; default: end_turn."`
	ExpectedAt doc.Position

	// Parallel is how many units run at a time, from 1; 0: not given.
	Parallel int `yaml:"parallel" min:"1" max:"1000" doc:"Units at a time; default: processors in replay, else 1."`

	// Retries is how often a unit is tried again after an infrastructure error: the agent did not start. What the agent
	// did wrong is never retried.
	Retries int `yaml:"retries" min:"0" max:"10" doc:"Further attempts after infrastructure errors only, 0 to 10."`

	// Evaluators judge every unit. A playbook without any, here or in its cases, never passes.
	Evaluators []Evaluator `yaml:"evaluators" min:"1" doc:"What must hold for every case."`

	Workspace Workspace    `yaml:"workspace" doc:"The files that the agent starts with."`
	Sandbox   Sandbox      `yaml:"sandbox" doc:"What agents and steps may do."`
	Env       playbook.Env `yaml:"env" doc:"The environment of agents and steps."`
	Caches    []Cache      `yaml:"caches" min:"1" doc:"Caches of tools that agents and steps read."`

	// MCP are the tool servers that agents receive when a session is opened.
	MCP []MCPServer `yaml:"mcp" doc:"Tool servers (Model Context Protocol) that agents are told of."`

	Cassette Cassette `yaml:"cassette" doc:"How sessions are recorded."`

	// Requires are programs without which the playbook is skipped; under CI their absence is an error.
	Requires []string `yaml:"requires" pattern:"program" doc:"Programs that must be installed."`

	Lint Lint `yaml:"lint" doc:"What sdd-eval lint finds and is known to be right."`

	Mutate Mutate `yaml:"mutate" doc:"What survives sdd-eval mutate and is known to be right."`
}

// SDDLoop bounds the loop of [action.Loop].
type SDDLoop struct {
	// MaxIterations is the number of prompts that are sent in one session, each a turn.
	MaxIterations int `yaml:"max_iterations" default:"6" min:"1" max:"1000" doc:"Prompts in one session; default: 6."`
}

// Limits end a unit early, and Run the whole run. Zero fields are not given.
type Limits struct {
	playbook.Limits `yaml:",inline"`

	// Until is "decided" if a session ends once the verdict of all its evaluators is sure, see [Early]; empty: it goes
	// on.
	Until string    `yaml:"until" enum:"decided" doc:"Ends a session once what fires and silent say is decided."`
	Run   RunLimits `yaml:"run" doc:"What ends the whole run early."`
}

// RunLimits bound a run with all its units.
type RunLimits struct {
	// MaxCostUSD is what the agents of a run may cost in US dollars; 0: not given.
	MaxCostUSD float64 `yaml:"max_cost_usd" above:"0" doc:"Cost in US dollars that the agents report for all units."`
}

// UnitTimeout is the wall clock for a unit, and for each of its run steps: limits.timeout, or 30 minutes.
func (p *Playbook) UnitTimeout() time.Duration { return cmp.Or(p.Limits.Timeout, 30*time.Minute) }

// Values of [Sandbox.Network], beside "agent".
const (
	NetworkNone = "none"
	NetworkAll  = "all"
)

// Sandbox says what agents, and the code that they write, may do.
type Sandbox struct {
	playbook.Sandbox

	// Position is where the key stands.
	Position doc.Position
}

// ReadPath returns the path that an entry of `sandbox.allow_read` means, in a playbook in dir.
func ReadPath(dir, name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, filepath.FromSlash(rest)), err
	}
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name, nil
	}
	return filepath.Join(dir, name), nil
}

func (s *Sandbox) decode(n *doc.Node) {
	s.Position = n.Position()
	decodeSandbox(&s.Sandbox, n)
}

func decodeSandbox(s *playbook.Sandbox, n *doc.Node) {
	n.Decode(s)
	switch {
	case n.Kind() != doc.Map: // reported
	case s.Kind == "command" && len(s.Command) == 0:
		n.Errorf("kind", "a sandbox of kind command needs a `command`")
	case s.Kind != "command" && len(s.Command) > 0:
		n.Errorf("command", "only a sandbox of kind command takes it: add `kind: command`")
	}
	for i, p := range s.Require {
		if known := properties(); !slices.Contains(known, p) {
			n.Get("require").Items()[i].Errorf("", "unknown property %q%s; there are %s", p, doc.DidYouMean(p, known),
				strings.Join(known, ", "))
		}
	}
}

// properties are those that a sandbox can be required to have.
func properties() []string {
	var names []string
	for _, p := range probe.All() {
		names = append(names, string(p))
	}
	return names
}

// Workflow is what a playbook does.
type Workflow struct {
	// Jobs stand in the order of the file. [Playbook.Plan] has the order in which they run.
	Jobs []Job `yaml:"jobs,required" max:"1000" doc:"Jobs by id."`
}

// Job is a list of steps. With a matrix its steps run for each unit of each variant that the matrix lists, one unit
// going through all its jobs; without one they run once.
type Job struct {
	ID string `yaml:",key" pattern:"id"`

	// Needs are the ids of jobs that must have passed before.
	Needs []string `yaml:"needs" doc:"Jobs that must have passed before."`

	// Strategy is nil for a job outside the matrix.
	Strategy *Strategy `yaml:"strategy" doc:"For which variants to run the steps; without it they run once."`

	Steps []Step `yaml:"steps,required" doc:"What to do, in order."`

	// Position is where the job's id stands.
	Position doc.Position `yaml:",position"`
}

// Strategy spreads a job over variants.
type Strategy struct {
	Matrix Matrix `yaml:"matrix,required" doc:"What to spread the job over."`
}

// Matrix lists variants, in the order in which they run. In a file it may have further axes, with include and exclude:
// [Load] makes a variant of each combination, see [Variant.Axes].
type Matrix struct {
	Variant []string `yaml:"variant,required" doc:"Ids of variants, in the order in which they run."`
}

// Variants returns the ids of the variants that the job runs for, nil for a job outside the matrix.
func (j Job) Variants() []string {
	if j.Strategy == nil {
		return nil
	}
	return j.Strategy.Matrix.Variant
}

// Trials says how often each case is tried with each variant. The zero value is one trial that has to pass.
type Trials struct {
	Count int `yaml:"count" default:"1" min:"1" max:"1000" doc:"How many trials, 1 to 1000."`

	// Pass is how many trials must pass; 0: not given. See [Trials.Need].
	Pass int `yaml:"pass" min:"1" doc:"How many trials must pass; default: all. Either pass or pass_rate."`

	// PassRate is the share of the trials that must pass, above 0 and up to 1; 0: not given. See [Trials.Need].
	PassRate float64 `yaml:"pass_rate" above:"0" max:"1"`

	// Score, if it is not 0, is what the mean of the trials' scores must reach in the place of that.
	Score float64 `yaml:"score" above:"0" max:"1"`
}

func (t *Trials) decode(n *doc.Node) {
	if !n.Decode(t) {
		return
	}
	if n.Get("pass") != nil && n.Get("pass_rate") != nil {
		n.Errorf("pass_rate", "give either `pass` or `pass_rate`")
		return
	}
	if n.Get("score") != nil && (n.Get("pass") != nil || n.Get("pass_rate") != nil) {
		n.Errorf("score", "give either `score`, or `pass` or `pass_rate`")
		return
	}
	if t.Pass > t.Count {
		n.Errorf("pass", "%d of %d trials can never pass", t.Pass, t.Count)
	}
}

// Need returns how many trials have to pass: Pass, or PassRate of Count rounded up, or else all.
func (t Trials) Need() int {
	count := max(t.Count, 1)
	switch {
	case t.Pass > 0:
		return t.Pass
	case t.PassRate > 0:
		// A rate of 0.28 of 25 trials is 7.000000000000001, and meant is 7.
		return max(1, int(math.Ceil(t.PassRate*float64(count)-1e-9)))
	default:
		return count
	}
}

// Report says who scores the variants, besides the evaluators. It does not affect outcomes.
type Report struct {
	AIJudge AIJudge `yaml:"ai_judge" doc:"A model that scores what each variant did."`
	Human   Human   `yaml:"human" doc:"People who score what each variant did."`
}

// AIJudge is a model that scores what each variant did, 0 to 10.
type AIJudge struct {
	Enabled bool   `yaml:"enabled" doc:"Whether to ask the model; default: false."`
	Model   string `yaml:"model" min:"1" doc:"The model to ask, e.g. gpt-4.1; required if enabled."`
}

// Human says whether people are asked for scores: they get a pack of material to look at, and a template.
type Human struct {
	Enabled bool `yaml:"enabled" default:"true" doc:"Whether to write the pack and the template; default: true."`
}

func (j *AIJudge) decode(n *doc.Node) {
	if n.Decode(j) && j.Enabled && j.Model == "" {
		n.Errorf("", "an enabled AI judge needs a `model`")
	}
}
