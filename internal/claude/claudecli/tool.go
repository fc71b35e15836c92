package claudecli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// input has the fields of a call's input that titles and locations need. A field of another type counts as missing.
type input struct {
	Command      string  `json:"command"`
	FilePath     string  `json:"file_path"`
	NotebookPath string  `json:"notebook_path"`
	Path         string  `json:"path"`
	Pattern      string  `json:"pattern"`
	Offset       float64 `json:"offset"`
	Limit        float64 `json:"limit"`
	URL          string  `json:"url"`
	Query        string  `json:"query"`
	Description  string  `json:"description"`
	Skill        string  `json:"skill"`
}

// start describes a call by its name and input, as the adapter for the Agent Client Protocol does.
func start(b claude.Block, cwd string) trajectory.ToolStart {
	var in input
	_ = json.Unmarshal(b.Input, &in) // fields of other types stay empty
	args := decoded(b.Input)
	c := trajectory.ToolStart{
		ID: b.ID, Name: b.Name, Kind: observe.Kind(b.Name, args), Args: args, Title: title(b.Name, in, cwd),
	}
	switch {
	case b.Name == "Read" && in.FilePath != "":
		line := max(int(in.Offset), 1)
		c.Locations = []trajectory.Location{{Path: in.FilePath, Line: &line}}
	case (b.Name == "Edit" || b.Name == "Write") && in.FilePath != "":
		c.Locations = []trajectory.Location{{Path: in.FilePath}}
	case b.Name == "NotebookEdit" && in.NotebookPath != "":
		c.Locations = []trajectory.Location{{Path: in.NotebookPath}}
	case b.Name == "Glob" && in.Path != "":
		c.Locations = []trajectory.Location{{Path: in.Path}}
	}
	return c
}

// title returns how a call is shown to people.
func title(tool string, in input, cwd string) string {
	switch {
	case tool == "Bash" && in.Command != "":
		return in.Command
	case tool == "Read" && in.FilePath != "":
		return "Read " + disk.Shown(cwd, in.FilePath) + lines(int(in.Offset), int(in.Limit))
	case (tool == "Edit" || tool == "Write") && in.FilePath != "":
		return tool + " " + disk.Shown(cwd, in.FilePath)
	case tool == "WebFetch" && in.URL != "":
		return "Fetch " + in.URL
	case tool == "WebSearch" && in.Query != "":
		return fmt.Sprintf("Search %q", in.Query)
	case (tool == "Task" || tool == "Agent") && in.Description != "":
		return in.Description
	case tool == "Skill" && in.Skill != "":
		return "Load skill: " + in.Skill
	}
	return tool
}

// lines names the lines of a file that a call reads, empty if it reads all.
func lines(offset, limit int) string {
	switch first := max(offset, 1); {
	case limit > 0:
		return fmt.Sprintf(" (%d - %d)", first, first+limit-1)
	case offset > 0:
		return fmt.Sprintf(" (from line %d)", offset)
	}
	return ""
}

// end returns the result of a call, and where its change begins, if it made one.
func end(tool string, b claude.Block, structured json.RawMessage) (e trajectory.ToolEnd, places []trajectory.Location) {
	e = trajectory.ToolEnd{ID: b.CallID, Status: trajectory.Completed}
	if b.Failed {
		e.Status = trajectory.Failed
	}
	if tool == "Bash" {
		e.Printed, e.ExitCode = commandEnd(b, structured)
		return e, nil
	}
	e.Output = decoded(b.Content)
	var c claude.Change
	if (tool != "Edit" && tool != "Write") || b.Failed || json.Unmarshal(structured, &c) != nil || c.Path == "" {
		return e, nil
	}
	if len(c.Patch) == 0 && c.Original == nil && c.Content != nil {
		e.Diffs = []trajectory.Diff{{Path: c.Path, New: *c.Content}}
		return e, []trajectory.Location{{Path: c.Path}}
	}
	for _, h := range c.Patch {
		e.Diffs = append(e.Diffs, diff(c.Path, h))
		line := h.NewStart
		places = append(places, trajectory.Location{Path: c.Path, Line: &line})
	}
	return e, places
}

// diff returns the lines before and after a change, with their context.
func diff(path string, h claude.Hunk) trajectory.Diff {
	var before, after []string
	for _, l := range h.Lines {
		switch {
		case strings.HasPrefix(l, "-"):
			before = append(before, l[1:])
		case strings.HasPrefix(l, "+"):
			after = append(after, l[1:])
		case strings.HasPrefix(l, " "):
			before, after = append(before, l[1:]), append(after, l[1:])
		}
	}
	d := trajectory.Diff{Path: path, New: strings.Join(after, "\n")}
	if old := strings.Join(before, "\n"); old != "" {
		d.Old = &old
	}
	return d
}

// commandEnd returns what a command printed and its exit code, nil if unknown.
func commandEnd(b claude.Block, structured json.RawMessage) (printed string, exit *int) {
	content, _ := b.ResultContent() // an error means that nothing was printed
	printed = content.Text()
	var s claude.Command
	if json.Unmarshal(structured, &s) == nil && s.Stdout != nil && s.Stderr != nil && !s.Image && s.Background == "" {
		printed = joined(*s.Stdout, *s.Stderr)
		if s.Interrupted {
			printed = joined(printed, "[Command was aborted before completion]")
		}
	}
	if b.Failed {
		return printed, claude.ExitCode(printed)
	}
	if s.ExitsZero() {
		exit = new(int)
	}
	return printed, exit
}

// joined returns two texts, a newline between them unless one is empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
