package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// shellNames are the shells that completion has scripts for.
func shellNames() []string { return []string{"bash", "zsh", "fish"} }

// script returns the completion script of a shell.
func script(shell string) (text string, known bool) {
	switch shell {
	case "bash":
		return bashScript(completedCommands()), true
	case "zsh":
		return zshScript(completedCommands()), true
	case "fish":
		return fishScript(completedCommands()), true
	}
	return "", false
}

func completionCommand() command {
	return command{
		name:  "completion",
		usage: "bash|zsh|fish",
		short: "print a completion script",
		long:  "Prints a script that makes a shell complete commands, flags and their values, files and run ids.",
		examples: `source <(sdd-eval completion bash)                                    # in ~/.bashrc
source <(sdd-eval completion zsh)                                     # in ~/.zshrc, after compinit
sdd-eval completion fish > ~/.config/fish/completions/sdd-eval.fish`,
		args: arguments{min: 1, max: 1, what: "bash, zsh or fish", kind: kindChoice, choices: shellNames},
		define: func(a *App, _ *flags) action {
			return func(_ context.Context, args []string) error {
				text, ok := script(args[0])
				if !ok {
					return usageError("completion: unknown shell %q: use %s", args[0], alternatives(shellNames())).
						hint("sdd-eval completion --help")
				}
				_, err := fmt.Fprint(data(a.Stdout), text)
				return err
			}
		},
	}
}

// completeCommand is for completion scripts, which call `__complete runs -- WORDS` to get the ids of runs. WORDS is the
// command line that is being completed. After an error there is nothing to complete.
func completeCommand() command {
	return command{
		name: "__complete", hidden: true,
		args: arguments{min: 1, max: -1, what: "runs"},
		define: func(a *App, _ *flags) action {
			return func(_ context.Context, args []string) error {
				if args[0] != "runs" {
					return usageError("__complete: unknown list %q", args[0])
				}
				root, err := a.projectRoot(rootOf(args[1:]))
				if err != nil {
					return err
				}
				runs, err := rundir.List(root)
				if err != nil || len(runs) == 0 {
					return err
				}
				fmt.Fprintln(a.Stdout, latest)
				for _, r := range runs {
					fmt.Fprintln(a.Stdout, r.ID)
				}
				return nil
			}
		},
	}
}

// rootOf returns the value of --root in the words of a command line, "" if it has none. In bash an equal sign is a word
// of its own.
func rootOf(words []string) string {
	for i, w := range words {
		if dir, ok := strings.CutPrefix(w, "--root="); ok && dir != "" {
			return dir
		}
		rest := words[i+1:]
		if len(rest) > 1 && rest[0] == "=" {
			rest = rest[1:]
		}
		if w == "--root" && len(rest) > 0 {
			return rest[0]
		}
	}
	return ""
}

// completed is what completion offers for a command.
type completed struct {
	name, short string
	flags       []completedFlag
	// kind and choices are those of the arguments; a command with an empty kind has none.
	kind    kind
	choices []string
}

// completedFlag is what completion offers for a flag. A flag without a kind takes no value.
type completedFlag struct {
	name, help, arg string
	kind            kind
	choices         []string
}

// completedCommands returns what completion offers, in the order of the help.
func completedCommands() []completed {
	var list []completed
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		entry := completed{name: c.name, short: c.short, kind: c.args.kind}
		if c.args.choices != nil {
			entry.choices = c.args.choices()
		}
		f, _ := c.flags(&App{})
		f.VisitAll(func(flag *pflag.Flag) { entry.flags = append(entry.flags, completedFlagOf(flag)) })
		entry.flags = append(entry.flags, completedFlag{name: "help", help: "Describe the command."})
		list = append(list, entry)
	}
	return list
}

func completedFlagOf(flag *pflag.Flag) completedFlag {
	arg, help := pflag.UnquoteUsage(flag)
	if i := strings.IndexAny(help, ".:;"); i >= 0 { // the beginning is enough for a menu
		help = help[:i] + "."
	}
	c := completedFlag{name: flag.Name, help: help, arg: arg}
	switch v := flag.Value.(type) {
	case *value:
		c.kind, c.choices = v.kind, v.choices
	default:
		if flag.NoOptDefVal == "" { // a flag that is not a bool
			c.kind = kindText
		}
	}
	return c
}
