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
	// name is one word, or two if the first is one of groups.
	name string
	// usage is what follows the name on the command line.
	usage string
	// short describes the command in one line, for the list of commands; long describes all of it.
	short, long string
	// examples are command lines, one per line.
	examples string
	// codes describes the exit codes, one per line; empty for commonCodes.
	codes string
	// args describes the arguments besides flags; the zero value allows none.
	args arguments
	// hidden commands are for scripts: neither help nor completion lists them, and they have no help text.
	hidden bool
	// misused, if not nil, is called with the error of a wrong command line.
	misused func(a *App, err error) error
	// define defines the flags and returns the action that reads them.
	define func(a *App, f *flags) action
}

// arguments describes what a command takes besides flags.
type arguments struct {
	min, max int // no limit if max is negative
	// what names one of them in errors; kind and choices are for completion.
	what    string
	kind    kind
	choices func() []string
}

// action runs a command. args are its arguments besides flags, as many as the command takes.
type action func(ctx context.Context, args []string) error

// commands returns the table of commands, in the order of the help.
func commands() []command {
	return []command{
		initCommand(), validateCommand(), lintCommand(), mutateCommand(),
		skillCommand(), convertCommand(), planCommand(), runCommand(),
		rejudgeCommand(), mergeCommand(), reportCommand(), importHumanCommand(), listCommand(), showCommand(),
		compareCommand(), agreementCommand(), blessCommand(),
		cleanCommand(), doctorCommand(), cassetteShowCommand(), cassetteDiffCommand(), cassetteVerifyCommand(),
		cassettePruneCommand(), cassetteMigrateCommand(), cassetteImportCommand(), cassetteExportCommand(),
		hookInstallCommand(), hookUninstallCommand(), hookPreCommand(), hookPostCommand(), hookFailureCommand(),
		matchCommand(), schemaCommand(), completionCommand(), helpCommand(), versionCommand(), completeCommand(),
	}
}

// lookupCommand returns the command whose name words begin with, and the words after the name.
func lookupCommand(words []string) (command, []string, error) {
	for _, c := range commands() {
		if name := strings.Fields(c.name); len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
			return c, words[len(name):], nil
		}
	}
	name := words[0]
	if list := group(name); list != nil {
		if len(words) == 1 {
			return command{}, nil, usageError("%s: missing command: use %s", name, alternatives(list)).
				hint("sdd-eval help " + name)
		}
		return command{}, nil, usageError("%s: unknown command %q%s", name, words[1], doc.DidYouMean(words[1], list)).
			hint("sdd-eval help " + name)
	}
	return command{}, nil, usageError("unknown command %q%s", name, doc.DidYouMean(name, firstWords())).
		hint("sdd-eval help")
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

// check returns an error if a required flag or an argument is missing, or if there are too many arguments.
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

// groups describes the commands whose names begin with the same word.
var groups = map[string]string{
	"cassette": "inspect and maintain recorded sessions",
	"hook":     "capture Claude Code's tool calls with its hooks",
}

// group returns the second words of a group's commands, nil if there is no such group.
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
		short: "describe a command",
		long:  "Describes a command and its flags, like COMMAND --help. Without a command, lists all commands.",
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

func versionCommand() command {
	return command{
		name:     "version",
		short:    "print the version",
		long:     "Prints the version of sdd-eval, what it was built from, and the version of Go, like --version.",
		examples: `sdd-eval version`,
		define: func(a *App, _ *flags) action {
			return func(context.Context, []string) error {
				fmt.Fprintln(a.Stdout, versionLine())
				return nil
			}
		},
	}
}

const overview = `sdd-eval runs coding agents on the tasks of a playbook and reports how they did.

Usage:
  sdd-eval COMMAND [FLAGS]
  sdd-eval --version

Commands:
%s
To get started in a Go module, without installing an agent:
  sdd-eval init
  go test ./evals

` + "Run `sdd-eval help COMMAND` for the details of a command.\n"

func writeOverview(w io.Writer) {
	fmt.Fprintf(w, overview, commandList(""))
}

// writeGroup writes the help of a group: its commands.
func writeGroup(w io.Writer, name string) {
	fmt.Fprintf(w, "sdd-eval %s: %s\n\nUsage:\n  sdd-eval %[1]s COMMAND [FLAGS]\n\nCommands:\n%[3]s\n"+
		"Run `sdd-eval help %[1]s COMMAND` for the details of a command.\n", name, groups[name], commandList(name+" "))
}

// commandList returns one line for each command whose name begins with prefix.
func commandList(prefix string) string {
	var list strings.Builder
	for _, c := range commands() {
		if !c.hidden && strings.HasPrefix(c.name, prefix) {
			fmt.Fprintf(&list, "  %-16s %s\n", c.name, c.short)
		}
	}
	return list.String()
}

// commonCodes describes the exit codes of commands that have no codes of their own.
const commonCodes = `0  success
2  the command line, a file or the configuration is wrong
3  the tool itself failed`

// writeHelp writes the full help of the command.
func (c command) writeHelp(w io.Writer) {
	codes := c.codes
	if codes == "" {
		codes = commonCodes
	}
	line := strings.TrimSpace(c.name + " " + c.usage)
	fmt.Fprintf(w, "sdd-eval %s: %s\n\nUsage:\n  sdd-eval %s\n\n%s\n", c.name, c.short, line, c.long)
	f, _ := c.flags(&App{})
	if f.HasFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", f.FlagUsagesWrapped(helpWidth))
	}
	fmt.Fprintf(w, "\nExamples:\n%s\n\nExit codes:\n%s\n", indent(c.examples), indent(codes))
}

func indent(lines string) string { return "  " + strings.ReplaceAll(lines, "\n", "\n  ") }
