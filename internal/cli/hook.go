package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/claude/hook"
)

func hookPreCommand() command {
	c := hookCommand(claude.Pre)
	c.usage = "[--deny RULE]... [--allow RULE]... [--rewrite 'RULE FIELD=VALUE']..."
	c.short = "capture a tool call before it runs"
	c.long = `Reads the payload that Claude Code gives a hook before a tool call and appends a line about it to the file that
EVALTEST_CAPTURE names, else to test-output/$TEST_RUN_ID/tool-calls.jsonl of the project. It does so in tests only:
with EVALTEST_CAPTURE or with TEST_MODE=true, and nothing at all otherwise. What goes wrong with it stands in a file
beside the capture, <file>.errors.

A RULE is TOOL or TOOL(PATTERN), such as 'Read(secrets/**)'. The pattern is for the path of the call, below the project
unless absolute, with * and **; of tools without a path it is for the command, the URL or the query, with *.`
	c.examples = `sdd-eval hook pre
sdd-eval hook pre --deny WebFetch --deny mcp__mail__*`
	c.codes += "\n2  the policy denies the call; standard error says why"
	return c
}

func hookPostCommand() command {
	c := hookCommand(claude.Post)
	c.short = "capture what came of a tool call"
	c.long = `Does after a tool call what "hook pre" does before it.`
	return c
}

func hookFailureCommand() command {
	c := hookCommand(claude.Failure)
	c.short = "capture a tool call that failed"
	c.long = `Does after a tool call that failed what "hook pre" does before it.`
	return c
}

func hookCommand(phase claude.Phase) command {
	return command{
		name:     "hook " + string(phase),
		examples: "sdd-eval hook " + string(phase),
		codes:    "0  always, so that the agent goes on",
		misused:  func(a *App, err error) error { return a.hook(phase, hook.Policy{}, err) },
		define: func(a *App, f *flags) action {
			var p hook.Policy
			if phase == claude.Pre {
				f.policy(&p)
			}
			return func(context.Context, []string) error { return a.hook(phase, p, nil) }
		},
	}
}

// hook runs a hook. Its exit codes mean something to Claude Code: a 2 that is not the policy's would deny a call.
func (a *App) hook(phase claude.Phase, policy hook.Policy, fault error) error {
	code := hook.Hook{
		Phase: phase, Policy: policy, Fault: fault,
		Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr, Getenv: a.Getenv, Dir: a.Dir, Now: a.Now, Secrets: a.secrets,
	}.Run()
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// rules is the value of a flag that is given once for each of several rules.
type rules[T interface{ String() string }] struct {
	p     *[]T
	parse func(string) (T, error)
}

func (r rules[T]) String() string { return "" }

// Type implements [pflag.Value].
func (rules[T]) Type() string { return string(kindText) }

// Set implements [pflag.Value].
func (r rules[T]) Set(s string) error {
	rule, err := r.parse(s)
	if err != nil {
		return err
	}
	same := func(other T) bool { return other.String() == s }
	if slices.ContainsFunc(*r.p, same) {
		return errors.New("the rule is given twice")
	}
	*r.p = append(*r.p, rule)
	return nil
}

// policy defines the flags of a policy.
func (f *flags) policy(p *hook.Policy) {
	f.Var(rules[hook.Rule]{&p.Deny, hook.ParseRule}, "deny", "Deny the calls of `RULE`, as often as there are rules.")
	f.Var(rules[hook.Rule]{&p.Allow, hook.ParseRule}, "allow", "Deny all calls but those of `RULE`, as often as there are rules.")
	f.Var(rules[hook.Rewrite]{&p.Rewrite, hook.ParseRewrite}, "rewrite",
		"Change a field of the input of calls: `'RULE FIELD=VALUE'`. {old} in VALUE is what the field had.")
}
