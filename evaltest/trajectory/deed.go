package trajectory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/shell"
)

// Deeds returns what calls can be said to do by [Does]: read, search, edit, delete, move, fetch, execute.
func Deeds() []string { return deedNames(shell.Deeds()) }

func deedNames(deeds []shell.Deed) []string {
	names := make([]string, len(deeds))
	for i, d := range deeds {
		names[i] = string(d)
	}
	return names
}

// Does expects a call that does this, one of [Deeds], whatever its tool: a call of that kind, or a shell's command line
// that does it by the words in it. See [ToolCall.Does]. Where an agent reports no arguments of a command line, the
// title stands for the expected argument "command".
func Does(deed string) Call {
	c := Call{deed: deed}
	if !slices.Contains(Deeds(), deed) {
		c.err = fmt.Errorf("nothing does %q: want one of %s", deed, strings.Join(Deeds(), ", "))
	}
	return c
}

// AnyOf expects a call that one of these calls accepts. They are not made by AnyOf themselves and have neither a limit
// nor an actor; the call that AnyOf returns may have both, and rules, but no arguments of its own.
func AnyOf(calls ...Call) Call {
	return Call{any: slices.Clone(calls), isAny: true}
}

// readyAny returns a call of AnyOf with its alternatives ready, or an error if the call is malformed.
func (c Call) readyAny() (Call, error) {
	var errs []error
	if len(c.any) == 0 {
		errs = append(errs, errors.New("needs at least one alternative"))
	}
	if c.args != nil || c.fields != nil || c.mode != "" || c.ownProfile {
		errs = append(errs, errors.New("has no arguments of its own: each alternative has its own"))
	}
	c.any = slices.Clone(c.any)
	for i, alternative := range c.any {
		switch {
		case alternative.isAny:
			errs = append(errs, fmt.Errorf("alternative %d must not have alternatives itself", i+1))
			continue
		case alternative.limit > 0 || alternative.by != "":
			errs = append(errs, fmt.Errorf("alternative %d has a limit or an actor: set it on the whole", i+1))
		}
		var err error
		if c.any[i], err = alternative.ready(); err != nil {
			errs = append(errs, fmt.Errorf("alternative %d, %s: %w", i+1, alternative.name(), err))
		}
	}
	return c, errors.Join(errs...)
}

// alternative returns the alternative that accepts o or comes nearest, with the rules of c, too.
func (c *Call) alternative(o *observed, cwd string) *Call {
	best, fewest := 0, -1
	for i := range c.any {
		if !c.any[i].calls(o) {
			continue
		}
		n := 0
		for range c.any[i].forCall(o, cwd).differences(o, cwd) {
			n++
		}
		if fewest < 0 || n < fewest {
			best, fewest = i, n
		}
	}
	own := *c.any[best].forCall(o, cwd)
	own.rules, own.by = slices.Concat(own.rules, c.rules), c.by
	return &own
}

// hasDeed reports whether the call is expected by what it does, or may be.
func (c *Call) hasDeed() bool {
	return c.deed != "" || slices.ContainsFunc(c.any, func(a Call) bool { return a.deed != "" })
}

// Does returns what the call does, in the words of [Deeds] and in order.
//
// A call of kind read, search, edit, delete, move or fetch does that. A call of kind execute does what the commands of
// its command line do, as far as their words tell it: grep and ls search, cat and head read, sed -i, tee and > edit, rm
// deletes, mv moves, curl fetches, and what none of these is known for does "execute", such as go test. The command
// line is the argument "command" or "cmd", a text or a list of words; if the agent reports no arguments, it is the
// call's title. A line that cannot be read does "execute" only. Calls of other kinds do nothing.
func (c ToolCall) Does() []string {
	switch c.Kind {
	case "execute":
		return deedNames(deedsOf(c.Command()))
	case "read", "search", "edit", "delete", "move", "fetch":
		if deeds := c.codexDeeds(); len(deeds) > 0 {
			return deeds
		}
		if c.Kind == "read" && slices.Contains(searchTools, strings.ToLower(c.Name)) {
			return []string{string(shell.Search)}
		}
		return []string{c.Kind}
	}
	return nil
}

// Command returns the command that the call gives to a shell, as a line, or starts, as a program and its arguments.
// Both are empty if the call is not known to run a command. It is the argument "command" or "cmd", a text or a list of
// words; of a call of kind execute without arguments, it is the title.
func (c ToolCall) Command() (line string, argv []string) {
	args, err := valueOf(c.Args)
	switch {
	case err != nil:
		return "", nil
	case !isNothing(args):
		return commandIn(args)
	case c.Kind == "execute":
		return c.titleLine(), nil
	}
	return "", nil
}

// deedsOf returns what a command does; of an unknown one, nobody knows more than that it is executed.
func deedsOf(line string, argv []string) []shell.Deed {
	if argv != nil {
		return shell.Words(argv)
	}
	return shell.Line(line)
}

// searchTools are tools that search, which Copilot says to be of kind read.
var searchTools = []string{"grep", "glob"}

// codexDeeds returns what a call does that Codex gives another kind than execute, although a shell does it. The kind
// may say less than the words, and something else: of ls it says that it reads, as codex-acp 2 does by a title.
func (c ToolCall) codexDeeds() []string {
	args, err := valueOf(c.Args)
	if err != nil {
		return nil
	}
	if c.Kind == "read" && isNothing(args) && strings.HasPrefix(c.Title, "List files") {
		return []string{string(shell.Search)}
	}
	if _, isList := object(args)["command"].([]any); !isList {
		return nil
	}
	deeds := deedNames(deedsOf(commandIn(args)))
	return slices.DeleteFunc(deeds, func(d string) bool { return d == string(shell.Execute) })
}

// titleLine returns the command line that the title is, for agents that report no arguments.
func (c ToolCall) titleLine() string { return strings.Trim(c.Title, "`") }

// titleLine returns the command line that the title is, if it is the call's command line.
func (o *observed) titleLine() (any, bool) {
	if o.Kind != "execute" || o.whole != nil || len(o.args) > 0 {
		return nil, false
	}
	return o.ToolCall.titleLine(), true
}

// isNothing reports whether there are no arguments.
func isNothing(args any) bool {
	fields, isObject := args.(map[string]any)
	return args == nil || isObject && len(fields) == 0
}

func object(args any) map[string]any {
	m, _ := args.(map[string]any)
	return m
}

// commandIn returns the command in the arguments, empty if there is none.
func commandIn(args any) (line string, argv []string) {
	if line, ok := args.(string); ok {
		return line, nil
	}
	for _, name := range []string{"command", "cmd"} {
		switch command := object(args)[name].(type) {
		case string:
			if operands, ok := texts(object(args)["args"]); ok && len(operands) > 0 {
				return "", append([]string{command}, operands...)
			}
			return command, nil
		case []any:
			if words, ok := texts(command); ok && len(words) > 0 {
				return "", words
			}
		}
	}
	return "", nil
}

// texts returns a decoded list of texts, and whether it is one.
func texts(v any) ([]string, bool) {
	list, ok := v.([]any)
	words := make([]string, len(list))
	for i, element := range list {
		if words[i], ok = element.(string); !ok {
			return nil, false
		}
	}
	return words, ok
}

// does returns what the call does.
func (o *observed) does() []string {
	if o.deeds == nil {
		o.deeds = o.Does()
		if o.deeds == nil {
			o.deeds = []string{}
		}
	}
	return o.deeds
}

// acts returns the run with as many calls for each of its calls as that does things, and for each of them the index of
// the call it is of. The first stands for the call as a whole, too. If no call does more than one thing, the run is the
// same and there are no indexes.
func (s *session) acts() (acts *session, of []int) {
	acts = &session{cwd: s.cwd, took: s.took}
	for j := range s.calls {
		deeds := s.calls[j].does()
		for k := range max(1, len(deeds)) {
			act := s.calls[j]
			act.deeds, act.later = deeds[min(k, len(deeds)):min(k+1, len(deeds))], k > 0
			acts.calls = append(acts.calls, act)
			of = append(of, j)
		}
	}
	if len(of) == len(s.calls) {
		return s, nil
	}
	return acts, of
}
