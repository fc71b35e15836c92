package mutate

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// callOperators change what tools the agent calls.
var callOperators = []Operator{
	{ID: "drop-call", Doc: "leaves out one call", Looks: Calls, derive: dropCalls, advice: func(m Mutant) string {
		return fmt.Sprintf("`tool_trajectory` with `at_least: {%s: 1}`, or the call under `expected`", m.Tool)
	}},
	{ID: "double-call", Doc: "makes one call twice", Looks: Calls, derive: doubleCalls, advice: func(m Mutant) string {
		return fmt.Sprintf("`tool_trajectory` with `no_duplicates: [%s]` or `at_most: {%[1]s: ...}`", m.Tool)
	}},
	{ID: "move-call", Doc: "makes one call at the end", Looks: Calls, derive: moveCalls, advice: func(Mutant) string {
		return "`tool_trajectory` with `mode: in_order`, or `before: [...]`"
	}},
	{ID: "fail-call", Doc: "has one call fail", Looks: Calls, derive: failCalls, advice: func(m Mutant) string {
		return fmt.Sprintf("`tool_trajectory` with `{tool: %s, outcome: ok}` under `expected`, or what it brings about",
			m.Tool)
	}},
	{ID: "near-miss", Doc: "gives one argument almost right", Looks: Calls, derive: nearMisses, advice: func(
		m Mutant,
	) string {
		return fmt.Sprintf("`tool_trajectory` with the arguments of %s under `expected: [{tool: ..., args: {...}}]`",
			m.Tool)
	}},
	{ID: "many-calls", Doc: "makes each call ten times", Looks: Calls, derive: manyCalls, advice: func(
		Mutant,
	) string {
		return "`metrics` with `max_tool_calls`"
	}},
	{ID: "many-tokens", Doc: "takes ten times the tokens", Looks: Calls, derive: manyTokens, advice: func(
		Mutant,
	) string {
		return "`metrics` with `max_tokens`"
	}},
	{
		ID: "forbidden-call", Doc: "calls a tool that nothing needs", Looks: Calls, derive: forbiddenCall,
		advice: func(m Mutant) string { return fmt.Sprintf("`tool_trajectory` with `never: [%s]`", m.Tool) },
	},
}

// maxCalls is how many calls of a session are changed by themselves.
const maxCalls = 200

// taken are the calls that are changed by themselves.
func (v *view) taken() []call { return v.calls[:min(len(v.calls), maxCalls)] }

func dropCalls(v *view, yield func(Mutant)) {
	for i := range v.taken() {
		c := &v.calls[i]
		turns := copyOf(v.Turns)
		v.removeCalls(turns, func(o *call) bool { return o.index == i || o.Parent != "" && o.Parent == c.ID })
		if v.undo(turns, c) {
			yield(Mutant{Where: c.name(), What: "the agent does not make " + c.name(), Turns: turns, Tool: c.tool()})
		}
	}
}

// eventsOf returns the events of a call under another id.
func (v *view) eventsOf(c *call, id string) []trajectory.Event {
	var all []trajectory.Event
	for i, e := range v.Turns[c.turn].Events {
		if n, ok := v.owner[place{c.turn, i}]; !ok || n != c.index {
			continue
		}
		switch b := e.Body.(type) {
		case trajectory.ToolStart:
			b.ID = id
			e.Body = b
		case trajectory.ToolEnd:
			b.ID = id
			e.Body = b
		case trajectory.Permission:
			b.ID = id
			e.Body = b
		}
		all = append(all, e)
	}
	return all
}

// insert adds events to a turn at an index of the recorded session; they happen when the one before did.
func insert(t *cassette.Turn, at int, events []trajectory.Event) {
	for i := range events {
		if at > 0 {
			events[i].At = t.Events[at-1].At
		}
	}
	t.Events = slices.Insert(t.Events, at, events...)
}

func doubleCalls(v *view, yield func(Mutant)) {
	for i := range v.taken() {
		c := &v.calls[i]
		if c.end.event < 0 {
			continue
		}
		turns := copyOf(v.Turns)
		insert(&turns[c.turn], c.end.event+1, v.eventsOf(c, c.ID+"-again"))
		yield(Mutant{Where: c.name(), What: "the agent makes " + c.name() + " twice", Turns: turns, Tool: c.tool()})
	}
}

func moveCalls(v *view, yield func(Mutant)) {
	for i := range v.taken() {
		c := &v.calls[i]
		later := slices.ContainsFunc(v.calls[i+1:], func(o call) bool { return o.turn == c.turn })
		if c.end.event < 0 || !later {
			continue
		}
		turns := copyOf(v.Turns)
		v.removeCalls(turns, func(other *call) bool { return other.index == i })
		t := &turns[c.turn]
		at := len(t.Events)
		for j := len(t.Events) - 1; j >= 0; j-- {
			if _, ok := t.Events[j].Body.(trajectory.ToolEnd); ok {
				at = j + 1
				break
			}
		}
		insert(t, at, v.eventsOf(c, c.ID))
		yield(Mutant{Where: c.name(), What: "the agent makes " + c.name() + " last", Turns: turns, Tool: c.tool()})
	}
}

func failCalls(v *view, yield func(Mutant)) {
	for i := range v.taken() {
		c := &v.calls[i]
		if c.end.event < 0 || c.last.Status == trajectory.Failed || c.last.ExitCode != nil && *c.last.ExitCode != 0 {
			continue
		}
		turns := copyOf(v.Turns)
		b := c.last
		b.Status, b.Output, b.Diffs = trajectory.Failed, "error: it failed", nil
		if b.ExitCode != nil {
			one := 1
			b.ExitCode, b.Printed = &one, "error: it failed"
		}
		var kept []trajectory.Event
		for j, e := range turns[c.turn].Events {
			if n, ok := v.owner[place{c.turn, j}]; ok && n == i {
				switch was := e.Body.(type) {
				case trajectory.ToolEnd:
					e.Body = b
				case trajectory.FileWrite:
					was.Error = "it failed"
					e.Body = was
				case trajectory.Terminal:
					one := 1
					was.ExitCode, was.Output = &one, "error: it failed"
					e.Body = was
				}
			}
			kept = append(kept, e)
		}
		turns[c.turn].Events = kept
		if v.undo(turns, c) {
			yield(Mutant{Where: c.name(), What: c.name() + " fails", Turns: turns, Tool: c.tool()})
		}
	}
}

func nearMisses(v *view, yield func(Mutant)) {
	for i := range v.taken() {
		c := &v.calls[i]
		args, ok := c.Args.(map[string]any)
		if !ok {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(args)) {
			other, ok := near(name, args[name])
			if !ok || beside(args, name) ||
				c.edits && !pathArg(name) { // what it writes is for the operators of files
				continue
			}
			turns := copyOf(v.Turns)
			changed := maps.Clone(args)
			changed[name] = other
			if !v.redirect(turns, c, name, args[name], other) {
				continue
			}
			e := &turns[c.turn].Events[c.start.event]
			b := e.Body.(trajectory.ToolStart)
			b.Args = changed
			e.Body = b
			yield(Mutant{
				Where: c.name() + ": " + name, Tool: c.tool(), Turns: turns,
				What: fmt.Sprintf("the agent gives %s another %s", c.name(), name),
			})
		}
	}
}

// beside reports whether an argument says nothing of what a call does: it differs each time or, beside a command line,
// tells people of that, repeats it, or says how long to wait for it.
func beside(args map[string]any, name string) bool {
	_, runs := args["command"]
	return args[name] == any(cassette.Placeholder) || runs &&
		slices.Contains([]string{"description", "parsed_cmd", "source", "timeout", "initial_wait"}, name)
}

// near returns a value that is almost the one of an argument.
func near(name string, v any) (any, bool) {
	switch v := v.(type) {
	case string:
		if pathArg(name) {
			return sibling(v), true
		}
		if v == "" || len(v) > maxText {
			return nil, false
		}
		return v + "x", true
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return json.Number(fmt.Sprint(n + 1)), true
		}
	case float64:
		return v + 1, true
	case bool:
		return !v, true
	case []any:
		if len(v) > 0 {
			return slices.Clone(v[:len(v)-1]), true
		}
	}
	return nil, false
}

// sibling is a path beside another.
func sibling(p string) string {
	dir, file := path.Split(p)
	return dir + "other_" + file
}

// redirect has a call's events and its work be at the path that it was given, and reports whether that is known.
func (v *view) redirect(turns []cassette.Turn, c *call, name string, was, is any) bool {
	from, text := was.(string)
	if !text || !pathArg(name) {
		return true
	}
	to := is.(string)
	p, target := local(from), local(to)
	if c.edits {
		others, own := v.editors(p, c)
		content, known := v.after[p]
		if !own || others > 0 || !known || !slices.Contains(v.changed, p) || v.touched(target) {
			return false
		}
		if _, there := v.Before[target]; there {
			return false
		}
		without(turns, p)
		add(turns, workspace.Change{Path: target, Op: workspace.Added, Kind: workspace.File, Data: []byte(content)})
	}
	move := func(at string) string {
		if local(at) == p {
			return sibling(at)
		}
		return at
	}
	for at, n := range v.owner {
		if n != c.index {
			continue
		}
		e := &turns[at.turn].Events[at.event]
		switch b := e.Body.(type) {
		case trajectory.ToolStart:
			b.Title = strings.ReplaceAll(b.Title, from, to)
			b.Locations = slices.Clone(b.Locations)
			for i := range b.Locations {
				b.Locations[i].Path = move(b.Locations[i].Path)
			}
			e.Body = b
		case trajectory.ToolEnd:
			b.Diffs = slices.Clone(b.Diffs)
			for i := range b.Diffs {
				b.Diffs[i].Path = move(b.Diffs[i].Path)
			}
			e.Body = b
		case trajectory.FileRead:
			b.Path = move(b.Path)
			e.Body = b
		case trajectory.FileWrite:
			b.Path = move(b.Path)
			e.Body = b
		}
	}
	return true
}

// times is how often what is too much is done.
const times = 10

func manyCalls(v *view, yield func(Mutant)) {
	if len(v.calls) == 0 || len(v.calls) > maxCalls {
		return
	}
	turns := copyOf(v.Turns)
	for i := len(v.calls) - 1; i >= 0; i-- { // from the end, so that indexes stay
		c := &v.calls[i]
		if c.end.event < 0 {
			continue
		}
		for n := times; n > 1; n-- {
			insert(&turns[c.turn], c.start.event, v.eventsOf(c, fmt.Sprintf("%s-%d", c.ID, n)))
		}
	}
	yield(Mutant{Where: "session", What: "the agent makes each call ten times", Turns: turns})
}

func manyTokens(v *view, yield func(Mutant)) {
	turns, found := copyOf(v.Turns), false
	more := func(n *int64) *int64 {
		if n == nil {
			return nil
		}
		found = found || *n > 0
		ten := *n * times
		return &ten
	}
	each(turns, func(_ int, b trajectory.Body) trajectory.Body {
		switch b := b.(type) {
		case trajectory.Stop:
			if u := b.Usage; u != nil {
				b.Usage = &trajectory.Usage{
					Input: more(u.Input), Output: more(u.Output), CacheRead: more(u.CacheRead),
					CacheWrite: more(u.CacheWrite), Thought: more(u.Thought), Total: more(u.Total),
				}
			}
			return b
		case trajectory.State:
			if b.Cost != nil {
				b.Cost = &trajectory.Cost{Amount: b.Cost.Amount * times, Currency: b.Cost.Currency}
			}
			return b
		}
		return b
	})
	if found {
		yield(Mutant{Where: "session", What: "the agent takes ten times the tokens", Turns: turns})
	}
}

// forbiddenCall adds a call of a tool that the session does not use, with no effect on files.
func forbiddenCall(v *view, yield func(Mutant)) {
	const tool = "WebFetch"
	if len(v.Turns) == 0 || slices.ContainsFunc(v.calls, func(c call) bool { return c.Name == tool }) {
		return
	}
	turns := copyOf(v.Turns)
	t := &turns[len(turns)-1]
	at := min(1, len(t.Events))
	insert(t, at, []trajectory.Event{
		{Turn: len(turns), Body: trajectory.ToolStart{
			ID: "mutant", Name: tool, Kind: "fetch", Title: tool, Args: map[string]any{"url": "https://example.com"},
		}},
		{Turn: len(turns), Body: trajectory.ToolEnd{ID: "mutant", Status: trajectory.Completed, Output: "Example"}},
	})
	yield(Mutant{Where: "session", What: "the agent calls " + tool + ", which nothing needs", Turns: turns, Tool: tool})
}

// cutTurns ends each turn early: with nothing done, and with half of its calls.
func cutTurns(v *view, yield func(Mutant)) {
	for t := range v.Turns {
		if len(v.Turns) > 1 && !slices.ContainsFunc(v.Turns[t+1:], dependsOn(v.Turns[t])) {
			turns := copyOf(v.Turns)
			cut(&turns[t])
			yield(Mutant{
				Where: fmt.Sprintf("turn %d", t+1), Turns: turns,
				What: fmt.Sprintf("the agent does nothing in turn %d", t+1),
			})
		}
		var own []int
		for i := range v.calls {
			if v.calls[i].turn == t {
				own = append(own, i)
			}
		}
		if len(own) < 2 {
			continue
		}
		turns, known := copyOf(v.Turns), true
		late := own[len(own)/2:]
		v.removeCalls(turns, func(c *call) bool { return slices.Contains(late, c.index) })
		for _, i := range late {
			known = known && v.undo(turns, &v.calls[i])
		}
		if !known {
			continue
		}
		turns[t].Events = slices.DeleteFunc(turns[t].Events, func(e trajectory.Event) bool {
			_, said := e.Body.(trajectory.Message)
			return said
		})
		yield(Mutant{
			Where: fmt.Sprintf("turn %d: half", t+1), Turns: turns,
			What: fmt.Sprintf("the agent stops in the middle of turn %d and says nothing", t+1),
		})
	}
}

// dependsOn returns a function that reports whether a turn changes what the other did.
func dependsOn(of cassette.Turn) func(cassette.Turn) bool {
	return func(t cassette.Turn) bool {
		return slices.ContainsFunc(t.Delta.Changes, func(c workspace.Change) bool {
			return slices.ContainsFunc(of.Delta.Changes, func(o workspace.Change) bool {
				return o.Path == c.Path || strings.HasPrefix(c.Path, o.Path+"/") ||
					strings.HasPrefix(o.Path, c.Path+"/")
			})
		})
	}
}
