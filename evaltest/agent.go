package evaltest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// AgentRun is one session with an agent, as [RunAgent] and [AgentTask] run it.
type AgentRun struct {
	// ID names the recording: cassettes/<package>/<id>.go/run/<variant>.1.jsonl. It matches ^[a-zA-Z][a-zA-Z0-9_-]*$
	// and is unique in the package. In a suite's task it is empty: the suite's and the row's ids are used.
	ID string
	// Variant distinguishes agents that are given the same work. Default: the agent's kind.
	Variant string
	Agent   playbook.Agent
	// Prompt is sent to the agent verbatim. Either Prompt or Prompts is set; Prompts are sent one per turn.
	Prompt  string
	Prompts []string
	// Workspace is the directory that the agent gets a copy of, relative to the test's; empty: it starts with only
	// Files.
	Workspace string
	// Files are written into the workspace: path below it, with slashes, to text.
	Files map[string]string
	// Add are directories and files that are copied over the workspace, Skills directories with a SKILL.md that are put
	// where agents of the kind look for skills, and Instructions is a file that is appended to the one from which they
	// take instructions, such as AGENTS.md. All are relative to the test's directory, and a recording is stale when
	// they change. Sessions that differ in them have different Variants.
	Add          []playbook.Addition
	Skills       []string
	Instructions string
	// Plugins are directories with a .claude-plugin/plugin.json, for agents that know plugins; else as Skills.
	Plugins []string
	// Tools are those the agent may use; nil: all. Requests for others are refused; using one without asking is a
	// failure.
	Tools []string
	// Permissions answer the agent's requests for permission; the zero value allows all. They say nothing about what an
	// agent does without asking: Tools and [ExcludedTools] do. Either Tools or Permissions is set.
	Permissions playbook.Permissions
	// Limits end the session, as a failure of the agent that is recorded. The zero value is a timeout of 30 minutes
	// alone.
	Limits playbook.Limits
	// ExpectStop are the reasons for which the session should end, such as "refusal"; nil: the agent should finish.
	// docs/playbook.md lists them under expect_stop. Any other end is a failure, and so is a prompt that was not sent.
	ExpectStop []string
	// MaxTurns is how many turns the agent's model may take: one each time it calls tools, however many together, and
	// one for each answer. Agents report only calls, so turns are counted after the session, which Limits.MaxToolCalls
	// would end; 0: no limit.
	MaxTurns int
	// MCP are the tool servers that the agent receives.
	MCP []playbook.MCPServer
	// Env says which environment variables the agent sees besides those that every program needs.
	Env playbook.Env
	// Sandbox confines the agent; the zero value is the strongest kind that works on the machine. A run's environment
	// may choose another kind (EVALTEST_SANDBOX) and require more properties (EVALTEST_SANDBOX_REQUIRE).
	Sandbox playbook.Sandbox
	// Overrides give calls of tools other answers, see [Override]. In a suite's task they are empty: the suite has
	// them.
	Overrides []playbook.Override
	// Dirs says where recordings and accounts are. In a suite's task it is empty: the suite has it.
	Dirs Dirs
	// MayFail leaves it to the test to check [AgentResult.Errors], which otherwise fail it.
	MayFail bool
}

// RunAgent runs an agent once, through the same engine as playbooks: in a sandbox, and by default from its cassette,
// see the package documentation for the modes. If nothing is known about the agent, for example because there is no
// cassette, the test ends. If the agent did not end as it should have, the test fails and goes on; what the agent did
// is recorded.
func RunAgent(t *testing.T, run AgentRun) *AgentResult {
	t.Helper()
	h, err := newHarness(run.Dirs)
	if err == nil && !idPattern.MatchString(run.ID) {
		err = fmt.Errorf("the run's ID %q must match %s", run.ID, idPattern)
	}
	if err != nil {
		door.Of(t).Fatalf("evaltest.RunAgent: %v", err)
	}
	ctx, grace, cancel := testContext(t)
	defer cancel()
	_, file, line, _ := runtime.Caller(1)
	s := agentSession{
		harness: h, t: t, suite: run.ID, row: "run", run: run, at: h.position(file, line),
		overrides: overridesAt(run.Overrides, file, line), grace: grace, secrets: new(secret.Set),
	}
	res, err := s.do(ctx)
	if err != nil {
		door.Of(t).Fatalf("evaltest.RunAgent: %s: ERROR\n%v\n%s", run.ID, err, h.again(t, false))
	}
	door.Of(t).Attr("unit", run.ID)
	door.Of(t).Attr("mode", string(h.mode()))
	if res.Session != "" {
		door.Of(t).Attr("session", res.Session)
	}
	door.Of(t).Attr("endpoint", res.Endpoint)
	door.Of(t).Log(res.summary(run.ID))
	if err := res.failure(); err != nil {
		door.Of(t).Errorf("evaltest.RunAgent: %s: FAIL\n%v\n%s", run.ID, err, h.again(t, res.Session != ""))
	}
	return res
}

// AgentTask returns the task of a [Suite] that gives an agent the row's input as its prompt. Whatever would fail
// [RunAgent] fails the row, whatever its scorers say.
func AgentTask(run AgentRun) func(ctx context.Context, prompt string) (*AgentResult, error) {
	_, file, line, _ := runtime.Caller(1)
	return func(ctx context.Context, prompt string) (*AgentResult, error) {
		r, err := rowOfTask(ctx)
		if err != nil {
			return nil, fmt.Errorf("evaltest.AgentTask: %w", err)
		}
		end, err := r.beginAgent()
		if err != nil {
			return nil, fmt.Errorf("evaltest.AgentTask: %w", err)
		}
		res, err := r.runAgent(ctx, run, prompt, r.position(file, line))
		end(res, err)
		return res, err
	}
}

// runAgent runs an agent of the row's task, which stands at a place in the test.
func (r *rowRun) runAgent(ctx context.Context, run AgentRun, prompt string, at doc.Position) (*AgentResult, error) {
	if run.ID != "" || run.Prompt != "" || run.Prompts != nil || run.Overrides != nil || run.Dirs != (Dirs{}) {
		return nil, errors.New("evaltest.AgentTask: ID, Prompt, Prompts, Overrides and Dirs must be empty: " +
			"the suite and its rows set them")
	}
	run.Prompt = prompt
	s := agentSession{
		harness: r.harness, t: r.t, suite: r.suiteRun.id, row: r.id, run: run, at: at,
		overrides: r.ownOverrides(), grace: r.patience, secrets: r.secrets, mutation: r.mutation,
	}
	return s.do(ctx)
}

// agentSession is one session with an agent.
type agentSession struct {
	*harness
	t          *testing.T
	suite, row string // ids
	run        AgentRun
	at         doc.Position // where the test asks for it
	overrides  []override
	grace      time.Duration
	secrets    *secret.Set
	mutation   *mutation // nil: the session is run as it is
}

// do returns an error if nothing is known about the agent.
func (s *agentSession) do(ctx context.Context) (*AgentResult, error) {
	s.t.Helper()
	if s.run.Variant == "" {
		s.run.Variant = s.run.Agent.Kind
	}
	if s.run.Prompts == nil && s.run.Prompt != "" {
		s.run.Prompts = []string{s.run.Prompt}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	pb := s.playbook()
	if err := s.override(pb, s.overrides); err != nil {
		return nil, err
	}
	planned, err := pb.Plan()
	if err != nil {
		return nil, err
	}
	seen := &observer{run: s.run, cleanup: s.t.Cleanup, t: s.t}
	planned.AddEvaluator("ends-as-asked", seen, s.at)
	var unit result.Unit
	if s.mutation != nil {
		seen.cleanup = s.mutation.cleanup
		unit, err = s.mutated(ctx, planned)
	} else {
		if err := s.claim(); err != nil {
			return nil, err
		}
		unit, err = s.execute(ctx, planned)
	}
	if err != nil {
		return nil, err
	}
	if unit.Outcome == result.Error || seen.result == nil {
		if s.mutation != nil && unit.Outcome == result.Fail {
			s.mutation.forbids(unit.Evaluations...)
		}
		v := verdict{harness: s.harness, Trials: result.Trials{Units: []result.Unit{unit}}}
		return nil, errors.New(v.trialText(0))
	}
	res := seen.result
	if wrong := unit.WrongEnd(); wrong != "" {
		res.Errors = append([]string{wrong}, res.Errors...)
	}
	res.Session, res.Replayed, res.Endpoint = unit.Session, unit.Replayed, unit.Endpoint
	for _, w := range unit.Warnings {
		if s.mutation == nil {
			door.Of(s.t).Logf("%s: warning: %s", unit.ID, w)
		}
	}
	return res, nil
}

// execute runs the plan's only unit.
func (s *agentSession) execute(ctx context.Context, planned *plan.Plan) (result.Unit, error) {
	s.t.Helper()
	cfg := s.config(s.grace, func(m engine.Mode, _ plan.Unit) string {
		return command(s.harness, m, s.t.Name()) + " -count=1"
	})
	cfg.Secrets = s.secrets
	run, err := s.start(s.t, ctx, planned, cfg)
	if err != nil {
		return result.Unit{}, err
	}
	defer run.close(s.t)
	run.logNotes(s.t)
	unit, _ := run.unit(s.t, planned.Units[0])
	return unit, nil
}

// check returns what is wrong with the run.
func (s *agentSession) check() error {
	r := s.run
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := s.keys().Check(); err != nil {
		errs = append(errs, err)
	}
	if !idPattern.MatchString(r.Variant) {
		add("Variant %q must match %s", r.Variant, idPattern)
	}
	if r.Prompt != "" && len(r.Prompts) > 0 && !slices.Equal(r.Prompts, []string{r.Prompt}) {
		add("set either Prompt or Prompts, not both")
	}
	if len(r.Prompts) == 0 ||
		slices.ContainsFunc(r.Prompts, func(p string) bool { return strings.TrimSpace(p) == "" }) {
		add("a prompt must not be empty")
	}
	for _, stop := range r.ExpectStop {
		if !slices.Contains(result.Stops(), stop) {
			add("ExpectStop: %q must be one of %s", stop, strings.Join(result.Stops(), ", "))
		}
	}
	if r.MaxTurns < 0 {
		add("MaxTurns is negative: %d", r.MaxTurns)
	}
	if p := r.Permissions; r.Tools != nil && (p.Default != "" || p.Rules != nil) {
		add("set either Tools or Permissions, not both")
	}
	for name := range r.Files {
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, `\:`) {
			add("Files: %q must be a path below the workspace, with slashes", name)
		}
	}
	return errors.Join(errs...)
}

// playbook is what the run asks for, as the engine takes it.
func (s *agentSession) playbook() *plan.Playbook {
	const job = "agent"
	r, keys := s.run, s.keys()
	c := plan.Case{ID: s.row, Prompts: r.Prompts, Files: r.Files, Position: s.at, ExpectedAt: s.at}
	if len(r.Prompts) == 1 {
		c.Prompt = r.Prompts[0]
	}
	for _, stop := range r.ExpectStop {
		c.ExpectStop = append(c.ExpectStop, plan.Stop(stop))
	}
	return &plan.Playbook{
		File: s.stem(s.suite), Name: s.suite,
		Cases: []plan.Case{c},
		Variants: []plan.Variant{{
			ID: r.Variant, Agent: keys.Agent, Position: s.at, InGo: true,
			Overlay: playbook.Overlay{
				Workspace: playbook.Additions{Add: keys.Add}, Skills: keys.Skills, Plugins: keys.Plugins,
				Instructions: keys.Instructions,
			},
		}},
		Workflow: plan.Workflow{Jobs: []plan.Job{{
			ID: job, Position: s.at,
			Strategy: &plan.Strategy{Matrix: plan.Matrix{Variant: []string{r.Variant}}},
			Steps: []plan.Step{
				{Uses: action.Prepare, Job: job, Position: s.at}, {Uses: action.Prompt, Job: job, Position: s.at},
			},
		}}},
		Workspace:   plan.Workspace{From: r.Workspace},
		Limits:      plan.Limits{Limits: keys.Limits},
		Permissions: keys.Permissions,
		MCP:         plan.ServersAt(keys.MCP, s.at),
		Env:         keys.Env,
		Sandbox:     plan.Sandbox{Sandbox: keys.Sandbox, Position: s.at},
	}
}

// keys are those parts of the run that a playbook has too.
func (s *agentSession) keys() plan.Run {
	r := s.run
	run := plan.Run{
		Agent: r.Agent, Limits: r.Limits, Permissions: r.Permissions, MCP: r.MCP, Env: r.Env, Sandbox: r.Sandbox,
		Add: r.Add, Skills: r.Skills, Plugins: r.Plugins, Instructions: r.Instructions,
	}
	if r.Tools != nil {
		run.Permissions = permissions(r.Tools)
	}
	if run.Permissions.Default == "" {
		run.Permissions.Default = playbook.DecideAllow
	}
	return run
}

// permissions allow these tools alone.
func permissions(tools []string) playbook.Permissions {
	p := playbook.Permissions{Default: playbook.DecideReject}
	for _, name := range tools {
		p.Rules = append(p.Rules, playbook.PermissionRule{Tool: name, Decide: playbook.DecideAllow})
	}
	return p
}

// claims has the recordings of this test process, each with the test that has it.
var claims struct {
	sync.Mutex
	names map[string]claim
}

type claim struct {
	test    string
	running bool // the test has not ended
}

// claim takes the name of the session's recording for the test, until that has ended. One that another test has, or the
// same one for another session, is an error: they would share it.
func (s *agentSession) claim() error {
	return claimRecording(s.t, s.stem(s.suite)+"/"+s.row+"/"+s.run.Variant)
}

func claimRecording(t *testing.T, name string) error {
	claims.Lock()
	defer claims.Unlock()
	if c, taken := claims.names[name]; taken && (c.running || c.test != t.Name()) {
		return fmt.Errorf("%s has a recording named %s already: give one of them another ID or Variant",
			c.test, name)
	}
	if claims.names == nil {
		claims.names = make(map[string]claim)
	}
	claims.names[name] = claim{t.Name(), true}
	t.Cleanup(func() {
		claims.Lock()
		defer claims.Unlock()
		claims.names[name] = claim{t.Name(), false}
	})
	return nil
}
