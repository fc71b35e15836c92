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
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

func hookPreCommand() command {
	c := hookCommand(claude.Pre)
	c.usage = "[--deny RULE]... [--allow RULE]... [--rewrite 'RULE FIELD=VALUE']..."
	c.short = "capture a tool call before it runs"
	c.long = `Reads the payload that Claude Code passes to a hook before a tool call, and appends a line about the
call to the file that EVALTEST_CAPTURE names, else to test-output/$TEST_RUN_ID/tool-calls.jsonl in
the project. It only acts in tests, that is with EVALTEST_CAPTURE or with TEST_MODE=true, and does
nothing otherwise. Its own errors go to a file beside the capture, <file>.errors.

A RULE is TOOL or TOOL(PATTERN), such as 'Read(secrets/**)'. The pattern matches the path of the
call, relative to the project unless absolute; * and ** are wildcards. For a tool without a path it
matches the command, the URL or the query; * is a wildcard.`
	c.examples = `sdd-eval hook pre
sdd-eval hook pre --deny WebFetch --deny mcp__mail__*`
	c.codes = `0  the call may go on, even if the hook had an error
2  the policy denies the call; standard error says why`
	return c
}

func hookPostCommand() command {
	c := hookCommand(claude.Post)
	c.short = "capture the result of a tool call"
	c.long = `Does after a tool call what "hook pre" does before it, without a policy.`
	return c
}

func hookFailureCommand() command {
	c := hookCommand(claude.Failure)
	c.short = "capture a tool call that failed"
	c.long = `Does after a failed tool call what "hook pre" does before it, without a policy.`
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

// hook runs a hook. Claude Code reads its exit code: a 2 denies the call, so only the policy may cause it.
func (a *App) hook(phase claude.Phase, policy hook.Policy, fault error) error {
	code := hook.Hook{
		Phase: phase, Policy: policy, Fault: fault, Stdin: a.Stdin, Stdout: data(a.Stdout), Stderr: data(a.Stderr),
		Getenv: a.Getenv, Dir: a.Dir, Now: a.Now, Secrets: a.secrets,
	}.Run()
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// rules is the value of a flag that is repeated, once for each rule.
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
		return errors.New("duplicate rule")
	}
	*r.p = append(*r.p, rule)
	return nil
}

// policy defines the flags of a policy.
func (f *flags) policy(p *hook.Policy) {
	f.Var(rules[hook.Rule]{&p.Deny, hook.ParseRule}, "deny", "Deny calls that match `RULE`; may be repeated.")
	f.Var(rules[hook.Rule]{&p.Allow, hook.ParseRule}, "allow",
		"Deny calls that match no `RULE` of this flag; may be repeated.")
	f.Var(rules[hook.Rewrite]{&p.Rewrite, hook.ParseRewrite}, "rewrite",
		"Change a field in the input of matching calls: `'RULE FIELD=VALUE'`. {old} in VALUE is the old value; "+
			"may be repeated.")
}

func hookInstallCommand() command {
	return command{
		name:  "hook install",
		usage: "--settings FILE [--matcher REGEXP] [--command COMMAND] [--print] [POLICY FLAGS]",
		short: "add the hooks to Claude Code's settings",
		long: `Adds "hook pre", "hook post" and "hook failure" to a settings file of Claude Code, or replaces those
that are there. The policy flags (--deny, --allow, --rewrite) are for "hook pre". Everything else in
the file stays as it is. A file that does not exist is created; a file that is not JSON is an error.

Installed hooks only act in tests: see "sdd-eval help hook pre".`,
		examples: `sdd-eval hook install --settings .claude/settings.json
sdd-eval hook install --settings .claude/settings.json --matcher mcp__.* --deny mcp__mail__*
sdd-eval hook install --settings settings.json --print`,
		define: func(a *App, f *flags) action {
			var (
				file string
				h    hook.Handlers
				show bool
			)
			f.text(&file, "settings", kindFile, "The settings `FILE`; that of a project is .claude/settings.json.")
			f.require("settings")
			f.text(&h.Matcher, "matcher", kindText, "Run the hooks for tools that match `REGEXP`; default: all tools.")
			f.text(&h.Command, "command", kindText,
				"The shell `COMMAND` that starts sdd-eval; default: sdd-eval if it is in PATH, else the path of this "+
					"program.")
			f.policy(&h.Policy)
			f.BoolVar(&show, "print", false, "Print the settings instead of changing the file.")
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
		short: "remove the hooks from Claude Code's settings",
		long: `Removes what "hook install" added to a settings file of Claude Code: all hooks whose program is
sdd-eval, and those of COMMAND. Everything else stays as it is.`,
		examples: `sdd-eval hook uninstall --settings .claude/settings.json`,
		define: func(a *App, f *flags) action {
			var (
				file, command string
				show          bool
			)
			f.text(&file, "settings", kindFile, "The settings `FILE`; that of a project is .claude/settings.json.")
			f.require("settings")
			f.text(&command, "command", kindText, "The `COMMAND` that the hooks were installed with.")
			f.BoolVar(&show, "print", false, "Print the settings instead of changing the file.")
			return func(context.Context, []string) error {
				return a.editSettings(file, show, "removed the hooks from", func(settings []byte) ([]byte, error) {
					return hook.Without(settings, command)
				})
			}
		},
	}
}

// editSettings changes a settings file, or prints the changed settings.
func (a *App) editSettings(file string, show bool, done string, change func([]byte) ([]byte, error)) error {
	path := a.path(file)
	if root, err := a.projectRoot(""); err == nil {
		if err := disk.Within(root, path).Check(path); err != nil {
			return usageError("%w", err)
		}
	}
	if show {
		settings, err := hook.Preview(path, change)
		if err != nil {
			return usageError("%w", err)
		}
		_, err = data(a.Stdout).Write(settings)
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

// ownCommand returns the shell command that starts this program.
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
