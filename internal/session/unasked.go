package session

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/shell"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// CheckPermissions returns an error if the agent did what the playbook's permissions forbid: unasked, or although it
// was refused. An agent that does not ask leaves permissions nothing to decide, so nothing is known of how it would
// have worked under them. Agents read and search without asking: that counts only where a rule names the tool.
//
// What the agent of an imported recording asked is not known, so such a recording is not checked.
func (s *Session) CheckPermissions() error {
	recorded := s.config.Recording.Cassette
	if !s.config.Playbook.Forbids() || recorded != nil && recorded.Header.Imported() {
		return nil
	}
	a := audit{
		playbook: s.config.Playbook, allowed: make(map[string]bool), refused: make(map[string]bool),
		permitted: make(map[string]bool),
	}
	a.run(s.run())
	for _, t := range s.turns {
		for _, c := range t.Delta.Changes {
			a.changed(c.Path)
		}
	}
	if len(a.found) == 0 {
		return nil
	}
	v := s.config.Unit.Variant
	text := fmt.Sprintf("%s: %s: the agent did what `permissions` forbid, unasked", v.Position, v.AgentAt())
	if modes := s.Identity().Agent.Modes; len(modes) > 0 {
		text += fmt.Sprintf(", in the mode %q", modes[len(modes)-1])
	}
	const shown = 5
	if more := len(a.found) - shown; more > 1 {
		a.found = append(a.found[:shown], fmt.Sprintf("and %d more", more))
	}
	profile, _ := agent.Lookup(v.Agent.Kind)
	next := "name a mode in which the agent asks"
	if modes := profile.AskingModes; len(modes) > 0 {
		next = fmt.Sprintf("write `mode: %s`", modes[0])
	}
	return fault.Advise(&ForbiddenError{text + ":\n  " + strings.Join(a.found, "\n  ")},
		fmt.Sprintf("%s under %s, or accept it with %s", next, v.AgentAt(), v.AllowsUnasked()))
}

// ForbiddenError says that the agent did what the playbook's permissions forbid.
type ForbiddenError struct{ text string }

func (e *ForbiddenError) Error() string { return e.text }

// audit looks for what an agent did that the playbook's permissions forbid.
type audit struct {
	playbook *plan.Playbook
	// allowed and refused are the calls that the agent has asked for, by the answer that it got.
	allowed, refused map[string]bool
	// permitted are the files that may have been changed: a call that names them was allowed, or nothing forbids it.
	// AnyFile says that such a call may have changed others, as commands may.
	permitted map[string]bool
	anyFile   bool
	// found are lines about what was done.
	found []string
}

// maxSubject bounds what an error shows of one thing that was done, in characters.
const maxSubject = 120

func (a *audit) report(format string, args ...any) {
	a.found = append(a.found, excerpt.Line(fmt.Sprintf(format, args...), maxSubject))
}

// run looks at the calls, and at what the client did for the agent beside them.
func (a *audit) run(run *trajectory.Run) {
	for _, e := range run.Events {
		if p, ok := e.Body.(trajectory.Permission); ok {
			a.answered(p)
		}
	}
	b := beside{audit: a, calls: make(map[string]*reason), denied: make(map[string]bool)}
	for _, c := range run.ToolCalls() {
		before := len(a.found)
		a.call(c)
		b.calls[c.ID] = &reason{call: c, told: a.allowed[c.ID] || len(a.found) > before}
	}
	for _, e := range run.Events {
		b.event(e.Body)
	}
}

// answered takes a question and the answer to it.
func (a *audit) answered(p trajectory.Permission) {
	if allows(p) {
		a.allowed[p.ID] = true
	} else {
		a.refused[p.ID] = true
	}
}

// allows reports whether the answer to a question allows what the agent asked for: all options with its id do.
func allows(p trajectory.Permission) bool {
	found := false
	for _, o := range p.Options {
		if o.ID != p.Decision {
			continue
		}
		if found = strings.HasPrefix(o.Kind, "allow"); !found {
			return false
		}
	}
	return found
}

// call looks at a call.
func (a *audit) call(c trajectory.ToolCall) {
	may := changes(c)
	switch {
	case a.allowed[c.ID]:
		a.permit(c, may)
	case a.refused[c.ID]:
		if (may || a.forbids(c, may)) && (c.Status == trajectory.Completed || c.ExitCode != nil) {
			a.report("%s (although it was refused)", describe(c))
		}
	case !a.forbids(c, may):
		a.permit(c, may)
	case ran(c):
		a.report("%s", describe(c))
	}
}

// permit takes a call that may have changed files.
func (a *audit) permit(c trajectory.ToolCall, may bool) {
	files := filesOf(c)
	if may && (c.Kind != "edit" && c.Kind != "delete" || len(files) == 0) {
		a.anyFile = true
	}
	for _, file := range files {
		a.permitted[file] = a.permitted[file] || may
	}
}

// mayDiffer reports whether a permitted call may have changed the file, or a directory that it is in.
func (a *audit) mayDiffer(file string) bool {
	for ; file != "." && file != "/"; file = path.Dir(file) {
		if a.permitted[file] {
			return true
		}
	}
	return a.anyFile
}

// forbids reports whether the permissions forbid a call that was made unasked. A rule has to name the tool of one that
// changes nothing.
func (a *audit) forbids(c trajectory.ToolCall, may bool) bool {
	files := filesOf(c)
	if may {
		return a.playbook.Decide(c.Name, files) != playbook.DecideAllow
	}
	rule, ok := a.playbook.Rule(c.Name, files)
	return ok && rule.Tool != "" && rule.Decide != playbook.DecideAllow
}

// changed looks at a file that differs after a turn. If nothing was permitted that may have changed it, the agent did
// so without saying it.
func (a *audit) changed(file string) {
	if !a.mayDiffer(file) && a.playbook.Decide("", []string{file}) != playbook.DecideAllow {
		a.report("changed %s", file)
	}
}

// describe names a call by its tool and its title.
func describe(c trajectory.ToolCall) string {
	if strings.HasPrefix(c.Title, c.Name) {
		return cmp.Or(c.Title, c.Kind)
	}
	return c.Name + " " + c.Title
}

// ran reports whether a call has done something: one that failed has, if it was a command that exited.
func ran(c trajectory.ToolCall) bool {
	switch c.Status {
	case trajectory.Cancelled:
		return false
	case trajectory.Failed:
		return c.ExitCode != nil
	}
	return true
}

// changes reports whether a call may change something: by its kind or, if a shell does it, unless its command is known
// to be harmless. Agents run such commands without asking.
func changes(c trajectory.ToolCall) bool {
	switch c.Kind {
	case "edit", "delete", "move":
		return true
	case "execute":
		line, argv := c.Command()
		return !(argv != nil && shell.HarmlessWords(argv) || line != "" && shell.Harmless(line))
	}
	// Codex says of some commands that they read or search.
	return slices.ContainsFunc(c.Does(), func(deed string) bool {
		return deed == "edit" || deed == "delete" || deed == "move"
	})
}

// filesOf returns the files that a call names.
func filesOf(c trajectory.ToolCall) (files []string) {
	for _, l := range c.Locations {
		files = append(files, recordedFile(l.Path))
	}
	for _, d := range c.Diffs {
		files = append(files, recordedFile(d.Path))
	}
	return files
}

// recordedFile returns a path of a recording as rules have it: relative to the workspace, or absolute.
func recordedFile(path string) string {
	if rel, ok := strings.CutPrefix(path, "$WORKSPACE/"); ok {
		return rel
	}
	if strings.HasPrefix(path, "$") { // the agent's home or temporary directory
		return "/" + path
	}
	return path
}
