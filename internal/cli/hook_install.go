package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/claude/hook"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

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
