package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// command is one command of sdd-eval.
type command struct {
	// name is a word, or two of which the first is one of groups.
	name string
	// usage is what follows the name on the command line.
	usage string
	// short says in one line what the command does, for the list of commands; long says all of it.
	short, long string
	// examples are command lines that a person could type, one a line.
	examples string
	// codes says what the exit codes mean here, a line each; empty: 0, 2 and 3 mean what they always do.
	codes string
	// args says what the arguments besides flags are; the zero value is that there are none.
	args arguments
	// hidden commands are for scripts: neither help nor completion shows them, and they have no help of their own.
	hidden bool
	// misused, if not nil, takes the place of the error about a wrong command line.
	misused func(a *App, err error) error
	// define defines the flags and returns the action that they are for.
	define func(a *App, f *flags) action
}

// arguments are what a command takes besides flags.
type arguments struct {
	min, max int // a max below 0 is no limit
	// what names one, for errors; kind and choices are for completion.
	what    string
	kind    kind
	choices func() []string
}

// action does what a command is for. Its arguments are those besides flags, as many as the command takes.
type action func(ctx context.Context, args []string) error

// commands returns the table of commands, in the order of the help.
func commands() []command {
	return []command{
		initCommand(), validateCommand(), runCommand(), reportCommand(), importHumanCommand(),
		listCommand(), showCommand(), cleanCommand(),
		cassetteShowCommand(), cassetteDiffCommand(), cassetteVerifyCommand(), cassettePruneCommand(), cassetteMigrateCommand(),
		cassetteImportCommand(), cassetteExportCommand(),
		hookInstallCommand(), hookUninstallCommand(), hookPreCommand(), hookPostCommand(), hookFailureCommand(),
		matchCommand(), schemaCommand(), completionCommand(), helpCommand(), completeCommand(),
	}
}

// lookupCommand returns the command that words begin with, and the words behind its name.
func lookupCommand(words []string) (command, []string, error) {
	for _, c := range commands() {
		if name := strings.Fields(c.name); len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
			return c, words[len(name):], nil
		}
	}
	name := words[0]
	if list := group(name); list != nil {
		if len(words) == 1 {
			return command{}, nil, usageError("%s: use %s", name, alternatives(list)).hint("sdd-eval help " + name)
		}
		return command{}, nil, usageError("%s: unknown command %q%s", name, words[1], doc.DidYouMean(words[1], list)).
			hint("sdd-eval help " + name)
	}
	return command{}, nil, usageError("unknown command %q%s", name, doc.DidYouMean(name, firstWords())).hint("sdd-eval help")
}

// dispatch runs the command that the arguments name.
func (a *App) dispatch(ctx context.Context) error {
	if len(a.Args) == 0 {
		writeOverview(a.Stderr)
		return &exitError{code: exitUsage}
	}
	first, rest := a.Args[0], a.Args[1:]
	switch first {
	case "--help", "-h", "--version":
		if len(rest) > 0 {
			return usageError("unexpected argument %q after %s", rest[0], first).hint("sdd-eval help")
		}
		if first == "--version" {
			fmt.Fprintln(a.Stdout, versionLine())
			return nil
		}
		writeOverview(a.Stdout)
		return nil
	}
	if strings.HasPrefix(first, "-") {
		did := doc.DidYouMean(first, []string{"--help", "--version"})
		return usageError("unknown flag %s before the command%s", first, did).hint("sdd-eval help")
	}
	if group(first) != nil && len(rest) == 1 && (rest[0] == "--help" || rest[0] == "-h") {
		writeGroup(a.Stdout, first)
		return nil
	}
	c, rest, err := lookupCommand(a.Args)
	if err != nil {
		return err
	}
	return c.run(ctx, a, rest)
}

// flags returns the command's flags and its action.
func (c command) flags(a *App) (*flags, action) {
	f := &flags{FlagSet: pflag.NewFlagSet(c.name, pflag.ContinueOnError)}
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.SortFlags = false
	return f, c.define(a, f)
}

func (c command) run(ctx context.Context, a *App, args []string) error {
	f, act := c.flags(a)
	err := f.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		c.writeHelp(a.Stdout)
		return nil
	}
	if err == nil {
		err = c.check(f)
	} else {
		err = f.explain(err)
	}
	switch {
	case err != nil && c.misused != nil:
		return c.misused(a, err)
	case err != nil:
		return usageError("%s: %w", c.name, err).hint("sdd-eval " + c.name + " --help")
	}
	return act(ctx, f.Args())
}

// check refuses command lines on which something is missing or too much.
func (c command) check(f *flags) error {
	for _, name := range f.required {
		if !f.Changed(name) {
			arg, _ := pflag.UnquoteUsage(f.Lookup(name))
			return fmt.Errorf("--%s %s is required", name, arg)
		}
	}
	switch n := f.NArg(); {
	case n < c.args.min:
		return fmt.Errorf("%s is missing", c.args.what)
	case c.args.max >= 0 && n > c.args.max:
		return fmt.Errorf("unexpected argument %q", f.Arg(c.args.max))
	}
	return nil
}

// groups says what commands are for whose names begin with the same word.
var groups = map[string]string{
	"cassette": "look at recorded sessions and keep them in order",
	"hook":     "capture tool calls of Claude Code by its hooks",
}

// group returns the second words of the commands of a group, nil if it is not a group.
func group(name string) []string {
	var words []string
	for _, c := range commands() {
		if word, ok := strings.CutPrefix(c.name, name+" "); ok {
			words = append(words, word)
		}
	}
	return words
}

// firstWords returns the first words of the commands that are not hidden.
func firstWords() []string {
	var words []string
	for _, c := range commands() {
		word, _, _ := strings.Cut(c.name, " ")
		if !c.hidden && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// helpWidth is the width that the descriptions of flags are wrapped to.
const helpWidth = 100

func helpCommand() command {
	return command{
		name:  "help",
		usage: "[COMMAND]",
		short: "tell about a command",
		long:  "Tells what a command does and which flags it has, as its own --help does; without a command, which commands there are.",
		examples: `sdd-eval help
sdd-eval help run
sdd-eval help cassette show`,
		args: arguments{max: 2, what: "COMMAND", kind: kindCommand, choices: firstWords},
		define: func(a *App, _ *flags) action {
			return func(_ context.Context, args []string) error {
				if len(args) == 0 {
					writeOverview(a.Stdout)
					return nil
				}
				if len(args) == 1 && group(args[0]) != nil {
					writeGroup(a.Stdout, args[0])
					return nil
				}
				c, rest, err := lookupCommand(args)
				switch {
				case err != nil:
					return err
				case len(rest) > 0:
					return usageError("help: unexpected argument %q", rest[0]).hint("sdd-eval help " + c.name)
				}
				c.writeHelp(a.Stdout)
				return nil
			}
		},
	}
}

const overview = `sdd-eval runs coding agents on the tasks of a playbook and tells how they did.

Usage:
  sdd-eval COMMAND [FLAGS]
  sdd-eval --version

Commands:
%s
To begin, without any agent installed:
  sdd-eval init --name demo
  sdd-eval run --playbook .llman/sdd-eval/playbooks/demo.yaml

` + "`sdd-eval help COMMAND` tells about a command.\n"

func writeOverview(w io.Writer) {
	fmt.Fprintf(w, overview, commandList(""))
}

// writeGroup tells which commands a group has.
func writeGroup(w io.Writer, name string) {
	fmt.Fprintf(w, "sdd-eval %s: %s\n\nUsage:\n  sdd-eval %[1]s COMMAND [FLAGS]\n\nCommands:\n%[3]s\n"+
		"`sdd-eval help %[1]s COMMAND` tells about a command.\n", name, groups[name], commandList(name+" "))
}

// commandList returns a line about each command whose name begins so.
func commandList(prefix string) string {
	var list strings.Builder
	for _, c := range commands() {
		if !c.hidden && strings.HasPrefix(c.name, prefix) {
			fmt.Fprintf(&list, "  %-16s %s\n", c.name, c.short)
		}
	}
	return list.String()
}

// commonCodes is what the exit codes mean unless a command says more.
const commonCodes = `0  all is well
2  the command line, a file or the configuration is wrong
3  the tool itself failed`

// writeHelp writes all there is to know about the command.
func (c command) writeHelp(w io.Writer) {
	codes := c.codes
	if codes == "" {
		codes = commonCodes
	}
	fmt.Fprintf(w, "sdd-eval %s: %s\n\nUsage:\n  sdd-eval %s\n\n%s\n", c.name, c.short, strings.TrimSpace(c.name+" "+c.usage), c.long)
	f, _ := c.flags(&App{})
	if f.HasFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", f.FlagUsagesWrapped(helpWidth))
	}
	fmt.Fprintf(w, "\nExamples:\n%s\n\nExit codes:\n%s\n", indent(c.examples), indent(codes))
}

func indent(lines string) string { return "  " + strings.ReplaceAll(lines, "\n", "\n  ") }
