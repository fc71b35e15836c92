package mutate

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// view is a session with what operators ask of it.
type view struct {
	*Session
	calls   []call
	owner   map[place]int // of events that belong to a call: the call's index
	changed []string      // paths that can be as they were before, sorted
	after   map[string]string
}

// place is where an event stands.
type place struct{ turn, event int }

// call is a tool call of the session.
type call struct {
	index, turn int
	start, end  place // the end's event is -1 if it never ended
	trajectory.ToolStart
	last  trajectory.ToolEnd
	paths []string // in the workspace
	edits bool     // it changes these files
}

// name is the call's number with its tool, for people.
func (c *call) name() string { return fmt.Sprintf("call %d %s", c.index+1, c.tool()) }

func (c *call) tool() string {
	if c.Name != "" {
		return c.Name
	}
	return c.Kind
}

// command is the command line of the call; empty: it runs none.
func (c *call) command() string {
	if c.Kind != "execute" {
		return ""
	}
	text, err := json.Marshal(c.Args)
	if err != nil {
		return c.Title
	}
	return c.Title + " " + string(text)
}

func viewOf(s *Session) *view {
	v := &view{Session: s, owner: make(map[place]int), after: make(map[string]string)}
	for t := range s.Turns {
		v.readTurn(t)
	}
	for i := range v.calls {
		c := &v.calls[i]
		slices.Sort(c.paths)
		c.paths = slices.Compact(c.paths)
		c.edits = c.edits || slices.Contains([]string{"edit", "delete", "move"}, c.Kind)
	}
	seen := make(map[string]bool)
	for _, t := range s.Turns {
		for _, ch := range t.Delta.Changes {
			seen[ch.Path] = true
			if ch.Writes() && plainText(ch.Data) {
				v.after[ch.Path] = string(ch.Data)
			} else {
				delete(v.after, ch.Path)
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(seen)) {
		if v.alone(p) {
			v.changed = append(v.changed, p)
		}
	}
	return v
}

// maxText is how large a text may be that is taken apart, in bytes.
const maxText = 256 << 10

func plainText(data []byte) bool {
	return len(data) <= maxText && utf8.Valid(data) && !slices.Contains(data, 0)
}

// readTurn finds the calls of a turn, and which events are theirs.
func (v *view) readTurn(t int) {
	open := make(map[string]int)
	latest := -1
	for i, e := range v.Turns[t].Events {
		at := place{t, i}
		switch b := e.Body.(type) {
		case trajectory.ToolStart:
			latest = len(v.calls)
			open[b.ID] = latest
			c := call{index: latest, turn: t, start: at, end: place{t, -1}, ToolStart: b}
			for _, l := range b.Locations {
				c.paths = append(c.paths, local(l.Path))
			}
			if args, ok := b.Args.(map[string]any); ok {
				for name, a := range args {
					if text, ok := a.(string); ok && pathArg(name) {
						c.paths = append(c.paths, local(text))
					}
				}
			}
			v.calls = append(v.calls, c)
			v.owner[at] = latest
		case trajectory.ToolEnd:
			n, ok := open[b.ID]
			if !ok {
				continue
			}
			c := &v.calls[n]
			c.end, c.last = at, b
			for _, d := range b.Diffs {
				c.paths, c.edits = append(c.paths, local(d.Path)), true
			}
			v.owner[at] = n
			delete(open, b.ID)
			if latest == n {
				latest = -1
				for _, other := range open {
					latest = max(latest, other)
				}
			}
		case trajectory.Permission:
			if n, ok := open[b.ID]; ok {
				v.owner[at] = n
			}
		case trajectory.FileWrite:
			if latest >= 0 {
				c := &v.calls[latest]
				c.paths, c.edits = append(c.paths, local(b.Path)), c.edits || b.Error == ""
				v.owner[at] = latest
			}
		case trajectory.FileRead, trajectory.Terminal, trajectory.MCPCall:
			if latest >= 0 {
				v.owner[at] = latest
			}
		}
	}
}

// pathArg reports whether tools call an argument so that is a path.
func pathArg(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	return slices.Contains([]string{"path", "filepath", "absolutepath", "abspath", "file", "filename", "notebookpath"},
		name)
}

// alone reports whether the changes of a path can be taken away without those of others: it is a file all the time, in
// a directory that stays.
func (v *view) alone(p string) bool {
	for _, t := range v.Turns {
		for _, c := range t.Delta.Changes {
			switch {
			case c.Path == p && (c.Kind != workspace.File || c.Ignored):
				return false
			case strings.HasPrefix(c.Path, p+"/"):
				return false
			case strings.HasPrefix(p, c.Path+"/") && (c.Op == workspace.Deleted || c.Kind != workspace.Dir):
				return false
			}
		}
	}
	return true
}

// removeCalls takes calls away, with all events that are theirs.
func (v *view) removeCalls(turns []cassette.Turn, gone func(*call) bool) {
	for t := range turns {
		var kept []trajectory.Event
		for i, e := range v.Turns[t].Events {
			if n, ok := v.owner[place{t, i}]; ok && gone(&v.calls[n]) {
				continue
			}
			kept = append(kept, e)
		}
		turns[t].Events = kept
	}
}

// without takes the changes of a path away.
func without(turns []cassette.Turn, p string) {
	for t := range turns {
		turns[t].Delta.Changes = slices.DeleteFunc(turns[t].Delta.Changes,
			func(c workspace.Change) bool { return c.Path == p })
	}
}

// write sets what a file holds in the end, in the last turn that wrote it.
func write(turns []cassette.Turn, p, text string) {
	for t := len(turns) - 1; t >= 0; t-- {
		changes := turns[t].Delta.Changes
		for i := range changes {
			if changes[i].Path == p && changes[i].Writes() {
				changes[i].Data = []byte(text)
				return
			}
		}
	}
}

// add makes a change in the last turn, of a path that no turn changes.
func add(turns []cassette.Turn, c workspace.Change) {
	d := &turns[len(turns)-1].Delta
	i, _ := slices.BinarySearchFunc(d.Changes, c.Path,
		func(c workspace.Change, p string) int { return strings.Compare(c.Path, p) })
	d.Changes = slices.Insert(d.Changes, i, c)
}

// touched reports whether the session changes something at a path, or at one above or below it.
func (v *view) touched(p string) bool {
	for _, t := range v.Turns {
		for _, c := range t.Delta.Changes {
			if c.Path == p || strings.HasPrefix(c.Path, p+"/") ||
				strings.HasPrefix(p, c.Path+"/") && c.Kind != workspace.Dir {
				return true
			}
		}
	}
	return false
}

// undo takes back what a call did to the files, and reports whether that is known.
func (v *view) undo(turns []cassette.Turn, c *call) bool {
	for _, p := range v.changed {
		switch others, own := v.editors(p, c); {
		case own && others == 0:
			without(turns, p)
		case own && !v.takeBack(turns, p, c):
			return false
		case !own && others == 0 && c.command() != "" && v.ran(p, c):
			without(turns, p)
		}
	}
	return true
}

// editors tells whether a call edits a path, and how many others do.
func (v *view) editors(p string, of *call) (others int, own bool) {
	for i := range v.calls {
		c := &v.calls[i]
		if !c.edits || c.last.Status == trajectory.Failed || !slices.Contains(c.paths, p) {
			continue
		}
		if c.index == of.index {
			own = true
		} else {
			others++
		}
	}
	return others, own
}

// ran reports whether the command of a call has changed a path that no tool edits: it names it, or is the only command.
func (v *view) ran(p string, of *call) bool {
	commands := 0
	for i := range v.calls {
		if v.calls[i].command() != "" {
			commands++
		}
	}
	return commands == 1 || strings.Contains(of.command(), path.Base(p))
}

// takeBack undoes one of several edits of a file.
func (v *view) takeBack(turns []cassette.Turn, p string, c *call) bool {
	text, ok := v.after[p]
	for _, d := range c.last.Diffs {
		if local(d.Path) != p {
			continue
		}
		if !ok || d.Old == nil || d.New == "" || strings.Count(text, d.New) != 1 {
			return false
		}
		text = strings.Replace(text, d.New, *d.Old, 1)
		write(turns, p, text)
		return true
	}
	return false
}

// rewrite makes turns end with another text of a file than the session did, in its files and in what its calls show:
// by has the new text of each of the edits.
func (v *view) rewrite(turns []cassette.Turn, p, text string, edits []udiff.Edit, by ...string) []cassette.Turn {
	write(turns, p, text)
	old := v.after[p]
	swap := func(s string) string {
		if s == old {
			return text
		}
		for i, e := range edits {
			switch last, lines := strings.CutSuffix(e.New, "\n"); {
			case e.New == "" || e.New == by[i]:
			case strings.Count(s, e.New) == 1:
				s = strings.Replace(s, e.New, by[i], 1)
			case lines && (s == last || strings.HasSuffix(s, "\n"+last)):
				s = strings.TrimSuffix(s, last) + strings.TrimSuffix(by[i], "\n")
			}
		}
		return s
	}
	for n := range v.calls {
		c := &v.calls[n]
		if !c.edits || !slices.Contains(c.paths, p) {
			continue
		}
		for at, of := range v.owner {
			if of != n {
				continue
			}
			e := &turns[at.turn].Events[at.event]
			switch b := e.Body.(type) {
			case trajectory.ToolStart:
				b.Args = replaceTexts(b.Args, swap)
				e.Body = b
			case trajectory.ToolEnd:
				b.Diffs = slices.Clone(b.Diffs)
				for i, d := range b.Diffs {
					if local(d.Path) == p {
						b.Diffs[i].New = swap(d.New)
					}
				}
				e.Body = b
			case trajectory.FileWrite:
				if local(b.Path) == p {
					b.Text = swap(b.Text)
					e.Body = b
				}
			}
		}
	}
	return turns
}

// replaceTexts returns a JSON value with other texts; the names of members stay.
func replaceTexts(v any, swap func(string) string) any {
	switch v := v.(type) {
	case string:
		return swap(v)
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			all[i] = replaceTexts(e, swap)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for k, e := range v {
			all[k] = replaceTexts(e, swap)
		}
		return all
	}
	return v
}
