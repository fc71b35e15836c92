package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doctor"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// doctorOptions are the flags of `sdd-eval doctor`.
type doctorOptions struct {
	root, configDir string
	asJSON          bool
	timeout         time.Duration
}

func doctorCommand() command {
	return command{
		name:  "doctor",
		usage: "[--json] [--timeout TIME] [--config-dir DIR] [--root DIR]",
		short: "say what this machine has for agents, and what it lacks",
		long: `Looks at what runs of agents need: sandboxes, and what each leaves open; the agents that are
installed, beside the versions that were tested; presets, and which variables they set (never values);
Go, git, caches, variables, room on the disk, limits. What is not well has a line "next:" with what to
do. It changes nothing and sends nothing: it starts programs with --version, and sandboxes with a
prober that tries to get out.`,
		examples: `sdd-eval doctor
sdd-eval doctor --json`,
		codes: `0  nothing keeps runs from working; notes are no errors
2  something has to be mended before runs work
3  the tool itself failed`,
		define: func(a *App, f *flags) action {
			o := doctorOptions{timeout: 20 * time.Second}
			f.BoolVar(&o.asJSON, "json", false, "Print one JSON object instead of lines.")
			f.Var(&span{p: &o.timeout}, "timeout", "The `TIME` that each program may take to print its version.")
			f.configDir(&o.configDir)
			f.root(&o.root)
			return func(ctx context.Context, _ []string) error { return a.doctor(ctx, o) }
		},
	}
}

// doctorOutput is what --json prints.
type doctorOutput struct {
	OK     bool             `json:"ok"`
	Tool   string           `json:"tool"`
	Checks []doctor.Finding `json:"checks"`
}

func (a *App) doctor(ctx context.Context, o doctorOptions) error {
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	all := doctor.Examine(ctx, doctor.Config{
		Root: root, ConfigDir: o.configDir, Environ: a.Environ, Getenv: a.Getenv, GoVersion: runtime.Version(),
		Timeout: o.timeout,
	})
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted, err: errors.New("interrupted")}
	}
	bad := doctor.Worst(all)
	if !o.asJSON {
		a.printFound(all, a.columns())
	} else if err := a.printFoundJSON(all); err != nil {
		return err
	}
	if len(bad) == 0 {
		return nil
	}
	names := make([]string, len(bad))
	for i, f := range bad {
		names[i] = f.Group + ": " + f.Name
	}
	next, _, _ := strings.Cut(bad[0].Next, "\n")
	return usageError("doctor: not well: %s", strings.Join(names, ", ")).hint(next)
}

func (a *App) printFoundJSON(all []doctor.Finding) error {
	text, err := jsonvalue.MarshalIndent(doctorOutput{len(doctor.Worst(all)) == 0, tool, all}, "", "  ")
	if err == nil {
		_, err = fmt.Fprintln(inJSON{a.Stdout}, a.secrets.String(string(text)))
	}
	return err
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
	fmt.Fprintln(a.Stdout, summaryOf(all))
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
	installed := count(agents, "kind") + " of agents installed"
	if agents == 0 {
		installed = "no agent is installed: there is the built-in one, fake-acp"
	}
	return fmt.Sprintf("%d bad, %s; %s", states[doctor.Bad], count(states[doctor.Noted], "note"), installed)
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
