package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/claude/hook"
	"github.com/sdd-eval/sdd-eval/internal/words"
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

func hookInstallCommand() command {
	return command{
		name:  "hook install",
		usage: "--settings FILE [--matcher REGEXP] [--command COMMAND] [--print] [FLAGS OF A POLICY]",
		short: "put the hooks into Claude Code's settings",
		long: `Puts "hook pre", "hook post" and "hook failure" into a file of Claude Code's settings, in the place of those that are
there; the policy is for the first. All else in the file stays as it is. A file that is not JSON is an error; one that
is not there is made.

Installed hooks do nothing but in tests: see "sdd-eval help hook pre".`,
		examples: `sdd-eval hook install --settings .claude/settings.json
sdd-eval hook install --settings .claude/settings.json --matcher mcp__.* --deny mcp__mail__*
sdd-eval hook install --settings settings.json --print`,
		define: func(a *App, f *flags) action {
			var (
				file string
				h    hook.Handlers
				show bool
			)
			f.text(&file, "settings", kindFile, "The `FILE` of settings: those of a project are in .claude/settings.json.")
			f.require("settings")
			f.text(&h.Matcher, "matcher", kindText, "Run the hooks for the tools that match `REGEXP`; default: for all.")
			f.text(&h.Command, "command", kindText,
				"What starts sdd-eval in a shell, `COMMAND`; default: sdd-eval if PATH has it, else the path of this program.")
			f.policy(&h.Policy)
			f.BoolVar(&show, "print", false, "Change no file, print the settings.")
			return func(context.Context, []string) error {
				if err := hook.CheckMatcher(h.Matcher); err != nil {
					return usageError("hook install: --matcher: %w", err).hint("sdd-eval hook install --help")
				}
				if h.Command == "" {
					h.Command = a.ownCommand()
				}
				return a.editSettings(file, show, "installed the hooks in", func(settings []byte) ([]byte, error) {
					return hook.Merge(settings, h)
				})
			}
		},
	}
}

func hookUninstallCommand() command {
	return command{
		name:  "hook uninstall",
		usage: "--settings FILE [--command COMMAND] [--print]",
		short: "take the hooks out of Claude Code's settings",
		long: `Takes out of a file of Claude Code's settings what "hook install" put there: all hooks whose program is sdd-eval, and
those of COMMAND. All else stays.`,
		examples: `sdd-eval hook uninstall --settings .claude/settings.json`,
		define: func(a *App, f *flags) action {
			var (
				file, command string
				show          bool
			)
			f.text(&file, "settings", kindFile, "The `FILE` of settings: those of a project are in .claude/settings.json.")
			f.require("settings")
			f.text(&command, "command", kindText, "The `COMMAND` that the hooks were installed with.")
			f.BoolVar(&show, "print", false, "Change no file, print the settings.")
			return func(context.Context, []string) error {
				return a.editSettings(file, show, "took the hooks out of", func(settings []byte) ([]byte, error) {
					return hook.Without(settings, command)
				})
			}
		},
	}
}

// editSettings changes a file of settings, or prints what it would be.
func (a *App) editSettings(file string, show bool, done string, change func([]byte) ([]byte, error)) error {
	path := a.path(file)
	if show {
		settings, err := hook.Preview(path, change)
		if err != nil {
			return usageError("%w", err)
		}
		_, err = a.Stdout.Write(settings)
		return err
	}
	changed, err := hook.Edit(path, change)
	switch {
	case err != nil:
		return usageError("%w", err)
	case !changed:
		done = "nothing to change in"
	}
	fmt.Fprintf(a.Stderr, "%s %s\n", done, printable(a.shown(path)))
	return nil
}

// ownCommand returns what starts this program in a shell.
func (a *App) ownCommand() string {
	const name = "sdd-eval"
	self, err := os.Executable()
	if err != nil {
		return name
	}
	found, err := exec.LookPath(name)
	if err == nil && sameFile(found, self) {
		return name
	}
	return words.Quote(filepath.ToSlash(self))
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
