package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

func cassetteShowCommand() command {
	return command{
		name:  "cassette show",
		usage: "FILE [--full]",
		short: "show a recorded session",
		long: `Shows what a cassette contains: first what was recorded, then for each turn what happened, with the
time since the session began, and what the turn changed in the workspace. Long texts are folded,
with their sizes. On a terminal the output has colours, unless NO_COLOR is set.`,
		examples: `sdd-eval cassette show cassettes/evals/demo/task/fake.1.jsonl
sdd-eval cassette show --full cassettes/evals/demo/task/fake.1.jsonl`,
		codes: `0  success
2  the command line is wrong, or the file does not exist
3  the file is not a cassette, or was changed after it was recorded`,
		args: arguments{min: 1, max: 1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			full := false
			f.BoolVar(&full, "full", false, "Show everything, with nothing folded.")
			return func(_ context.Context, args []string) error { return a.showCassette(args[0], full) }
		},
	}
}

func (a *App) showCassette(file string, full bool) error {
	c, err := a.readCassette(file)
	if err != nil {
		return err
	}
	p := cassettePage{w: a.Stdout, paint: newPaint(a), secrets: a.secrets, full: full}
	p.head(a.shown(c.Path), c)
	for i, t := range c.Turns {
		p.turn(i+1, t)
	}
	return nil
}

// cassettePage writes what show prints about a cassette.
type cassettePage struct {
	w       io.Writer
	paint   paint
	secrets *secret.Set
	full    bool // show everything, with nothing folded
}

// head writes about the session as a whole.
func (p cassettePage) head(path string, c *cassette.Cassette) {
	h := c.Header
	p.fact("cassette", path)
	p.fact("unit", h.Unit)
	p.fact("agent", agentText(h))
	if h.Endpoint == "scripted" {
		p.fact("endpoint", "scripted: a test double stood in for the model")
	} else {
		p.fact("endpoint", h.Endpoint)
	}
	if h.Origin != cassette.OriginRecorded {
		p.fact("origin", h.Origin)
	}
	at, sandbox := h.RecordedAt.UTC().Format(time.DateTime), cmp.Or(h.Sandbox, "unknown")
	p.fact("recorded", fmt.Sprintf("%s UTC, sandbox %s", at, sandbox))
	f := h.Fingerprints
	p.fact("workspace", fmt.Sprintf("%sdigest %.12s", filesText(f.Workspace), f.Workspace.Digest))
	if len(h.LeftOut) > 0 {
		p.fact("left out", h.LeftOut.String())
	}
	if p.full {
		p.fact("permissions", strings.Join(f.Permissions, "\n"))
		p.fact("steps", strings.Join(f.Steps, "\n"))
		p.fact("servers", strings.Join(f.Servers, "\n"))
		p.fact("timeout", f.Timeout)
	}
	events, calls, last := 0, 0, time.Duration(0)
	for _, t := range c.Turns {
		events += len(t.Events)
		for _, e := range t.Events {
			if _, ok := e.Body.(trajectory.ToolStart); ok {
				calls++
			}
			last = max(last, e.At)
		}
	}
	p.fact("session", fmt.Sprintf("%s, %s, %s, %s", excerpt.Count(len(c.Turns), "turn"),
		excerpt.Count(events, "event"), excerpt.Count(calls, "tool call"), shortly(last)))
	if judges := judgment.Path(strings.TrimSuffix(c.Path, ".gz")); exists(judges) {
		p.fact("judges", "recorded, in the .judges.jsonl beside it")
	}
}

// filesText returns how many files a workspace had, as "3 files, ", or "" if they are not listed.
func filesText(f cassette.Files) string {
	if f.ByPath == nil {
		return ""
	}
	return excerpt.Count(len(f.ByPath), "file") + ", "
}

// agentText describes the agent that was recorded.
func agentText(h cassette.Header) string {
	text := h.Agent.Kind
	if h.Agent.Name != "" && h.Agent.Name != h.Agent.Kind {
		text += ", " + h.Agent.Name
	}
	if h.Agent.Version != "" {
		text += " " + h.Agent.Version
	}
	if h.Agent.Model != "" {
		text += ", model " + h.Agent.Model
	}
	if len(h.Agent.Modes) > 0 {
		text += ", mode " + strings.Join(h.Agent.Modes, ", then ")
	}
	return text
}

// fact writes a line of the head, or several, and nothing if text is empty.
func (p cassettePage) fact(name, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(p.secrets.String(text), "\n") {
		fmt.Fprintf(p.w, "%s %s\n", p.paint.dim(fmt.Sprintf("%-11s", name)), printable(line))
		name = ""
	}
}

// turn writes the events of one prompt.
func (p cassettePage) turn(n int, t cassette.Turn) {
	fmt.Fprintf(p.w, "\n%s\n", p.paint.bold(fmt.Sprintf("turn %d", n)))
	for _, e := range t.Events {
		p.entry(shortly(e.At), textOf(e.Body, p.full))
	}
	for _, c := range t.Delta.Changes {
		p.entry("", changeText(c))
	}
}

// The widths of the page's columns in characters: times, labels, and texts before they are cut.
const (
	timeColumns  = 8
	labelColumns = 16
	textColumns  = 100
)

// maxFolded is how many lines a folded text has.
const maxFolded = 4

// entry writes an event: its time, its label and its text.
func (p cassettePage) entry(at string, e entry) {
	label := printable(p.secrets.String(e.label))
	pad := strings.Repeat(" ", max(0, labelColumns-width(label)))
	switch {
	case e.bad:
		label = p.paint.red(label)
	case e.call:
		label = p.paint.cyan(label)
	}
	head := p.paint.dim(fmt.Sprintf("%*s", timeColumns, at)) + "  " + label
	lines := p.fold(e)
	if len(lines) == 0 {
		fmt.Fprintln(p.w, head)
		return
	}
	fmt.Fprintf(p.w, "%s%s  %s\n", head, pad, lines[0])
	for _, line := range lines[1:] {
		fmt.Fprintln(p.w, strings.TrimRight(strings.Repeat(" ", timeColumns+2+labelColumns+2)+line, " "))
	}
}

// fold returns the printable lines of an event's text. Of a long text it returns the beginning and the size.
func (p cassettePage) fold(e entry) []string {
	text := strings.TrimRight(p.secrets.String(e.text), "\n")
	if text == "" {
		return nil
	}
	var lines []string
	folded := false
	all := strings.Split(text, "\n")
	for _, line := range all {
		line = printable(line)
		switch {
		case p.full:
			lines = append(lines, line)
		case e.prose:
			lines = append(lines, wrap(line, textColumns)...)
		default:
			short := cut(line, textColumns)
			folded = folded || short != line
			lines = append(lines, short)
		}
	}
	if most := cmp.Or(e.whole, maxFolded); !p.full && len(lines) > most {
		lines, folded = lines[:most-1], true
	}
	if folded {
		size := bytesText(len(text)) + " in all"
		if len(all) > 1 {
			size = excerpt.Count(len(all), "line") + ", " + size
		}
		lines = append(lines, p.paint.dim("… "+size))
	}
	return lines
}

// wrap breaks a printable line between words into lines of at most columns columns. It cuts words that are longer.
func wrap(line string, columns int) []string {
	if width(line) <= columns {
		return []string{line}
	}
	lines := fold(line, columns)
	for i, l := range lines {
		lines[i] = cut(l, columns)
	}
	return lines
}

// shortly formats the time of an event: "0.12s", "2m03s".
func shortly(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// bytesText formats a size for people: "53 B", "2.1 KiB".
func bytesText(n int) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, "KiB"
	if size >= 1024 {
		size, unit = size/1024, "MiB"
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// changeText describes what a turn did to a path.
func changeText(c workspace.Change) entry {
	text := c.Path
	switch {
	case c.Op == workspace.Deleted:
	case c.Ignored:
		text += " (git ignores it: only its digest is kept)"
	case c.Kind == workspace.Symlink:
		text += " -> " + c.Target
	case c.Kind == workspace.Dir:
		text += "/"
	case c.ModeOnly && c.Exec:
		text += " (now executable)"
	case c.ModeOnly:
		text += " (no longer executable)"
	default:
		text += ", " + bytesText(len(c.Data))
	}
	return entry{label: string(c.Op), text: text}
}

func cassetteDiffCommand() command {
	return command{
		name:  "cassette diff",
		usage: "FILE FILE",
		short: "compare two recorded sessions",
		long: `Aligns the lines of two cassettes and prints those that differ. It ignores when they were recorded,
how long everything took and which sandbox confined the agent.`,
		examples: `sdd-eval cassette diff old/fake.1.jsonl cassettes/evals/demo/task/fake.1.jsonl`,
		codes: `0  the sessions are the same
1  they differ
2  the command line is wrong, or a file does not exist
3  a file is not a cassette, or was changed after it was recorded`,
		args: arguments{min: 2, max: 2, what: "FILE", kind: kindFile},
		define: func(a *App, _ *flags) action {
			return func(_ context.Context, files []string) error { return a.diffCassettes(files[0], files[1]) }
		},
	}
}

func (a *App) diffCassettes(one, two string) error {
	if slices.Contains([]string{one, two}, "") {
		return usageError("the file name is empty")
	}
	differences, err := cassette.CompareFiles(a.path(one), a.path(two))
	if missing, ok := errors.AsType[*cassette.MissingError](err); ok {
		return usageError("%s: no such file", a.shown(missing.Path))
	}
	if err != nil || len(differences) == 0 {
		return err
	}
	p := newPaint(a)
	fmt.Fprintln(a.Stdout, p.bold("--- "+printable(one)))
	fmt.Fprintln(a.Stdout, p.bold("+++ "+printable(two)))
	for _, d := range differences {
		for line := range strings.SplitSeq(a.secrets.String(d.String()), "\n") {
			text := printable(line)
			switch mark := strings.TrimSpace(text); {
			case strings.HasPrefix(mark, "- "):
				text = p.red(text)
			case strings.HasPrefix(mark, "+ "):
				text = p.green(text)
			}
			fmt.Fprintln(a.Stdout, text)
		}
	}
	err = fmt.Errorf("cassette diff: %s", excerpt.Count(len(differences), "difference"))
	return &exitError{code: exitFailed, err: err}
}

// readCassette reads a file that the user named.
func (a *App) readCassette(file string) (*cassette.Cassette, error) {
	if file == "" {
		return nil, usageError("the file name is empty")
	}
	c, err := cassette.Read(a.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("%s: no such file", file)
	}
	return c, err
}
