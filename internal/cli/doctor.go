package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doctor"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// doctorOptions are the flags of `sdd-eval doctor`.
type doctorOptions struct {
	root, configDir string
	agent           string
	asJSON          bool
	timeout         time.Duration
}

func doctorCommand() command {
	return command{
		name: "doctor",
		usage: "[--json] [--timeout TIME] [--config-dir DIR] [--root DIR]\n" +
			"  sdd-eval doctor --agent KIND[/PRESET] [FLAGS] [-- COMMAND ARG...]",
		short: "say what this machine has for agents, and what it lacks",
		long: `Looks at what runs of agents need: sandboxes, and what each leaves open; the agents that are
installed, beside the versions that were tested; presets, and which variables they set (never values);
Go, git, caches, variables, room on the disk, limits. What is not well has a line "next:" with what to
do. It changes nothing and sends nothing: it starts programs with --version, and sandboxes with a
prober that tries to get out.
With --agent it starts an agent as a run would, confined and under its account, opens a session, shows
what the agent says of itself, and ends it. The agent is asked nothing.`,
		examples: `sdd-eval doctor
sdd-eval doctor --json
sdd-eval doctor --agent claude
sdd-eval doctor --agent acp/production -- python3 agent.py`,
		codes: `0  nothing keeps runs from working; notes are no errors
2  something has to be mended before runs work
3  the tool itself failed`,
		args: arguments{max: -1, what: "COMMAND", kind: kindFile},
		define: func(a *App, f *flags) action {
			var o doctorOptions
			f.text(&o.agent, "agent", kindText, "Say hello to this agent: `KIND[/PRESET]`, where a word of its name "+
				"(claude, codex) stands for a kind, and a preset that only one kind has for both.")
			f.BoolVar(&o.asJSON, "json", false, "Print one JSON object instead of lines.")
			f.Var(&span{p: &o.timeout}, "timeout", "The `TIME` that each program may take to print its version, "+
				"20s if not given, or an agent to say hello, 1m.")
			f.configDir(&o.configDir)
			f.root(&o.root)
			return func(ctx context.Context, command []string) error { return a.doctor(ctx, o, command) }
		},
	}
}

// doctorOutput is what --json prints.
type doctorOutput struct {
	OK     bool             `json:"ok"`
	Tool   string           `json:"tool"`
	Checks []doctor.Finding `json:"checks"`
}

func (a *App) doctor(ctx context.Context, o doctorOptions, command []string) error {
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	c := doctor.Config{
		Root: root, ConfigDir: o.configDir, Dir: a.Dir, Environ: a.Environ, Getenv: a.Getenv,
		GoVersion: runtime.Version(),
		Timeout:   cmp.Or(o.timeout, versionTimeout),
	}
	var all []doctor.Finding
	switch {
	case o.agent != "":
		c.Timeout = cmp.Or(o.timeout, helloTimeout)
		if all, err = a.greet(ctx, c, o.agent, command); err != nil {
			return err
		}
	case len(command) > 0:
		return usageError("doctor: unexpected argument %q", command[0]).hint("sdd-eval doctor --help")
	default:
		all = doctor.Examine(ctx, c)
	}
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted, err: errors.New("interrupted")}
	}
	bad := doctor.Worst(all)
	if !o.asJSON {
		a.printFound(all, a.columns())
		if o.agent == "" {
			fmt.Fprintln(a.Stdout, summaryOf(all))
		}
	} else if err := a.printJSON(doctorOutput{len(bad) == 0, tool, all}); err != nil {
		return err
	}
	if len(bad) == 0 {
		return nil
	}
	names := make([]string, len(bad))
	for i, f := range bad {
		names[i] = f.Group + ": " + f.Name
	}
	e := usageError("doctor: not well: %s", strings.Join(names, ", "))
	if !strings.Contains(bad[0].Next, "\n") { // else it is to be copied from above
		e.next = bad[0].Next
	}
	return e
}

// How long a program may take to print its version, and an agent to say hello.
const (
	versionTimeout = 20 * time.Second
	helloTimeout   = time.Minute
)

// greet says hello to the agent that a person means by name, started by another command if there is one.
func (a *App) greet(ctx context.Context, c doctor.Config, name string, command []string) ([]doctor.Finding, error) {
	chosen, err := doctor.Choose(name, c.ConfigDir)
	if err != nil {
		return nil, usageError("doctor: --agent: %w", err).hint("sdd-eval doctor")
	}
	if len(command) > 0 {
		chosen.Command = command[0]
		if strings.ContainsAny(command[0], "/"+string(filepath.Separator)) {
			chosen.Command = a.path(command[0])
		}
		if len(command) > 1 {
			chosen.Args = command[1:]
		}
	}
	return doctor.Greet(ctx, c, chosen, a.secrets), nil
}

// printFound prints findings below their groups, for a terminal of so many columns.
func (a *App) printFound(all []doctor.Finding, columns int) {
	p := foundPrinter{App: a, paint: newPaint(a), columns: columns, names: make(map[string]int)}
	for _, f := range all {
		p.names[f.Group] = max(p.names[f.Group], width(printable(f.Name)))
	}
	group := ""
	for _, f := range all {
		if f.Group != group {
			group = f.Group
			fmt.Fprintln(a.Stdout, p.paint.bold(group))
		}
		p.print(f)
	}
}

// summaryOf says in a line what findings come to.
func summaryOf(all []doctor.Finding) string {
	states := make(map[doctor.State]int)
	agents := 0
	for _, f := range all {
		states[f.State]++
		if f.Group == "agents" && f.State != doctor.Absent {
			agents++
		}
	}
	installed := excerpt.Count(agents, "kind") + " of agents installed"
	if agents == 0 {
		installed = "no agent is installed: there is the built-in one, fake-acp"
	}
	return fmt.Sprintf("%d bad, %s; %s", states[doctor.Bad], excerpt.Count(states[doctor.Noted], "note"), installed)
}

// columns is how wide standard output is; what is no terminal has room.
func (a *App) columns() int {
	w := data(a.Stdout)
	if checked, ok := w.(*checkedWriter); ok {
		w = checked.w
	}
	if s := screenOf(w, a.Getenv, a.Now); s.size != nil {
		columns, _ := s.size()
		return columns
	}
	return helpWidth
}

// foundPrinter prints findings: names beside texts or, where that leaves too little room, above them.
type foundPrinter struct {
	*App
	paint   paint
	columns int
	names   map[string]int // the width of the names, by group
}

// What a line of a finding begins with, and how many columns a text has to have beside names.
const (
	foundIndent = "    "
	leastText   = 40
)

func (p foundPrinter) print(f doctor.Finding) {
	name, text := printable(f.Name), printable(p.secrets.String(f.Text))
	head := "  " + p.mark(f.State) + " " + name
	room, indent := p.columns-len(foundIndent), foundIndent
	beside := room - p.names[f.Group] - 2
	if beside >= leastText {
		room, indent = beside, strings.Repeat(" ", len(foundIndent)+p.names[f.Group]+2)
		head += strings.Repeat(" ", p.names[f.Group]+2-width(name))
	} else {
		head += "\n" + foundIndent
	}
	lines := fold(text, room)
	fmt.Fprintln(p.Stdout, head+strings.Join(lines, "\n"+indent))
	if f.Next == "" {
		return
	}
	// A command, or lines for a file, are to be copied: they are not broken.
	next := strings.TrimRight(p.secrets.String(f.Next), "\n")
	fmt.Fprintln(p.Stdout, indent+p.paint.cyan("next:")+" "+strings.ReplaceAll(next, "\n", "\n"+foundIndent))
}

// mark returns the sign of a state.
func (p foundPrinter) mark(s doctor.State) string {
	switch s {
	case doctor.Well:
		return p.paint.green("✓")
	case doctor.Bad:
		return p.paint.red("✗")
	case doctor.Noted:
		return p.paint.cyan("!")
	}
	return p.paint.dim("-")
}

// fold breaks a printable text between words into lines of at most columns columns. Longer words stay whole.
func fold(text string, columns int) []string {
	var lines []string
	now := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case now == "":
			now = word
		case width(now)+1+width(word) <= columns:
			now += " " + word
		default:
			lines = append(lines, now)
			now = word
		}
	}
	return append(lines, now)
}
