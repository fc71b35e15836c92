package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/shard"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Agents asks agents that judge, by the configuration of a run whose playbook, or test in Go, is file. Notes about them
// go to log. Each turn has an agent of its own, in an empty directory and confined as agents of the run are, which is
// offered nothing and allowed nothing.
func Agents(c Config, file string, sandbox playbook.Sandbox, log io.Writer) llm.Asker {
	// It judges, and is judged by nobody: nothing of it is recorded, kept or bounded in cost.
	c.Mode, c.Keep, c.Budget, c.LLMJudge, c.RecordJudges = Live, nil, Budget{}, false, false
	c.Selected, c.SelectedJob, c.Shard = nil, nil, shard.Shard{}
	return agents{c, file, sandbox, log}
}

type agents struct {
	cfg     Config
	file    string
	sandbox playbook.Sandbox
	log     io.Writer
}

// judgeAgent is the id of the variant that judges.
const judgeAgent = "judge"

// Complete implements [llm.Asker]. After an outage of the agent's model it asks once more.
func (a agents) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	failed := func(err error) (llm.Reply, error) {
		return llm.Reply{}, fault.Advise(fmt.Errorf("ask %s: %w", r.Judge(), err), fault.Advice(err))
	}
	most, err := llm.MaxCalls(a.cfg.Getenv)
	if err != nil {
		return failed(err)
	}
	if err := a.cfg.Spent.Take(r.Judge(), most); err != nil {
		return llm.Reply{}, err
	}
	p, err := a.playbookOf(r).Plan()
	if err != nil {
		return failed(err)
	}
	runner, err := New(p, a.cfg)
	if err != nil {
		return failed(err)
	}
	reply, err := runner.judge(ctx, r, a.log)
	if fault.IsTransient(err) {
		if err := runner.pause(ctx, p.Units[0], 1, err.Error(), a.log); err != nil {
			return failed(err)
		}
		reply, err = runner.judge(ctx, r, a.log)
	}
	if err != nil {
		_, err = failed(runner.adviseLimit(err))
	}
	return reply, err
}

// playbookOf returns a playbook in which an agent is asked once.
func (a agents) playbookOf(r llm.Request) *plan.Playbook {
	const job = "judge"
	timeout := r.Agent.Timeout
	if timeout == 0 {
		timeout = llm.AgentTimeout
	}
	return &plan.Playbook{
		File: a.file, Name: judgeAgent, Retries: 1,
		Cases: []plan.Case{{ID: "checks", Prompt: r.Prompt(), Prompts: []string{r.Prompt()}}},
		Variants: []plan.Variant{{
			ID: judgeAgent, Judges: true,
			Agent: playbook.Agent{
				Kind: r.Agent.Kind, Preset: r.Agent.Preset, Model: r.Model,
				Command: r.Agent.Command, Args: r.Agent.Args,
			},
		}},
		Workflow: plan.Workflow{Jobs: []plan.Job{{
			ID: job, Strategy: &plan.Strategy{Matrix: plan.Matrix{Variant: []string{judgeAgent}}},
			Steps: []plan.Step{{Uses: action.Prompt, Job: job}},
		}}},
		Limits: plan.Limits{Limits: playbook.Limits{Timeout: timeout}},
		// Whatever it does unasked is found in what it did.
		Permissions: playbook.Permissions{Default: playbook.DecideReject, AllowUnasked: true},
		Sandbox:     plan.Sandbox{Sandbox: a.sandbox},
	}
}

// judge asks the agent of the plan's only unit about the checks of a request.
func (r *Runner) judge(ctx context.Context, of llm.Request, log io.Writer) (reply llm.Reply, err error) {
	a := r.newAttempt(r.plan.Units[0], judges, log, result.Unit{})
	if err := a.openDirs(ctx); err != nil {
		return reply, err
	}
	defer func() { err = errors.Join(err, a.endSession(ctx), a.site.dirs.remove()) }()
	if err := a.openSession(ctx); err != nil {
		return reply, err
	}
	if err := a.session.Ask(ctx, a.unit.Case.Prompts); err != nil {
		return reply, err
	}
	model := a.session.Model()
	if err := a.endSession(ctx); err != nil { // it adds what the agent did after its answer
		return reply, err
	}
	run := a.session.Run()
	reply.InputTokens, reply.OutputTokens, reply.CostUSD = spentOn(run)
	if err := checkJudged(run, of.Model, model); err != nil {
		return reply, err
	}
	text := run.Answer()
	if reply.Verdicts, err = llm.ParseVerdicts(text, of.Checks); err != nil {
		return reply, fmt.Errorf("%w; the reply was %s", err, excerpt.Quote(r.secrets.String(text), maxReply))
	}
	for i := range reply.Verdicts {
		reply.Verdicts[i].Program = strings.TrimSpace(run.Agent.Name + " " + run.Agent.Version)
		reply.Verdicts[i].Model = model
	}
	return reply, nil
}

// maxReply is how many characters of a reply an error shows.
const maxReply = 2_000

// checkJudged returns an error unless the agent has done nothing but answer, by the model that it was to use.
func checkJudged(run *trajectory.Run, asked, answered string) error {
	if calls := run.ToolCalls(); len(calls) > 0 {
		name := calls[0].Name
		if name == "" {
			name = calls[0].Title
		}
		return fmt.Errorf("it called the tool %s, and an agent that judges may use none",
			excerpt.Quote(name, maxShownReason))
	}
	for _, stop := range run.StopReasons() {
		if stop != result.StopEndTurn {
			return fmt.Errorf("it did not end its answer: %s", stop)
		}
	}
	if another := llm.AnotherOfAgent(asked, answered); another != "" {
		return errors.New(another)
	}
	return nil
}

// spentOn returns what the agent says that its answer took: no tokens, or nil, if it does not.
func spentOn(run *trajectory.Run) (input, output int, usd *float64) {
	m := measure(result.Unit{Run: run})
	if t := m.Tokens; t != nil {
		input, output = int(valueOf(t.Input)), int(valueOf(t.Output))
	}
	if c := m.Cost; c != nil && c.Currency == "USD" && c.Amount >= 0 {
		usd = &c.Amount
	}
	return input, output, usd
}

// valueOf is a count that may be unknown, 0 then and where it makes no sense.
func valueOf(n *int64) int64 {
	if n == nil {
		return 0
	}
	return max(*n, 0)
}

// agents asks agents that judge the attempt's unit.
func (a *attempt) agents() llm.Asker {
	c := a.cfg
	c.Secrets, c.Spent = a.secrets, a.spent
	return Agents(c, a.pb.File, a.pb.Sandbox.Sandbox, a.log.Notes())
}

// asksAgents reports whether agents may be asked to judge a unit.
func (r *Runner) asksAgents(u plan.Unit) bool {
	if evaluatorNeeds(u)&evaluator.AsksAgent == 0 {
		return false
	}
	mode, ok := r.judgesOf(u).mode()
	return ok && mode != judgment.Replay
}

// checkAgents makes sure, before anything runs, that the agents that may be asked to judge units which have not ended
// are installed and have their accounts.
func (r *Runner) checkAgents(ended []result.Unit) error {
	known := make(map[string]bool)
	for _, u := range r.plan.Units {
		hasEnded := slices.ContainsFunc(ended, func(e result.Unit) bool { return e.ID == u.ID() })
		if hasEnded || r.cfg.Selected != nil && !r.cfg.Selected(u) || !r.asksAgents(u) {
			continue
		}
		for _, e := range u.Evaluators {
			for _, a := range evaluator.Agents(e.Config.(evaluator.Evaluator)) {
				name := fmt.Sprintf("%q", []string{a.Kind, a.Preset, a.Command})
				if known[name] {
					continue
				}
				if err := r.checkAgent(a); err != nil {
					return fault.Advise(fmt.Errorf("%s: evaluator %s: %w", e.Position, e.Name, err), fault.Advice(err))
				}
				known[name] = true
			}
		}
	}
	return nil
}

// checkAgent makes sure that an agent is installed and has its account.
func (r *Runner) checkAgent(a playbook.Agent) error {
	profile, ok := agent.Lookup(a.Kind)
	if !ok {
		return fmt.Errorf("unknown kind of agent %q", a.Kind)
	}
	launch, err := r.account(profile, a)
	if err != nil || a.Kind == agent.Fake || filepath.IsAbs(launch.Command) {
		return err
	}
	if _, err := environ.LookPath(launch.Command, environ.Get(r.cfg.Environ, "PATH")); err != nil {
		return fault.Advise(err, profile.Install(launch.Command))
	}
	return nil
}
