package trajectory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// session is a run in the form that matchers need.
type session struct {
	calls []observed
	cwd   string
	took  time.Duration // from the first event to the last
}

func newSession(run *Run) (*session, error) {
	for i, e := range run.Events {
		if !known(e.Body) {
			return nil, fmt.Errorf("event %d of the run: unknown type of body %T", i+1, e.Body)
		}
	}
	toolCalls := run.ToolCalls()
	s := &session{calls: make([]observed, len(toolCalls)), cwd: run.Cwd}
	if n := len(run.Events); n > 0 {
		s.took = run.Events[n-1].At - run.Events[0].At
	}
	for i := range toolCalls {
		if err := s.calls[i].observe(&toolCalls[i]); err != nil {
			return nil, fmt.Errorf("call %d of the run, %s: %w", i+1, label(toolCalls[i].Name), err)
		}
	}
	return s, nil
}

// known reports whether b has one of the types of events. A pointer to such a type implements [Body], too, but is not
// known.
func known(b Body) bool {
	switch b.(type) {
	case Prompt, Message, Thought, Plan, ToolStart, ToolEnd, FileRead, FileWrite, Terminal, Permission,
		MCPCall, Notice, State,
		Stop:
		return true
	default:
		return false
	}
}

// named ends matching with an error if a call has no name and could be one of these tools, of which a constraint holds
// only for that reason.
func (s *session) named(constraint string, tools []string) {
	j := slices.IndexFunc(s.calls, func(o observed) bool { return o.Name == "" })
	if j == none {
		return
	}
	for _, tool := range tools {
		if !wildcard.Match(tool, "") {
			panic(fault{fmt.Errorf("%s: call %d of the run has no name, so whether it was %s is unknown: expect its "+
				"kind, or what it does", constraint, j+1, label(tool))})
		}
	}
}

// count returns how often the tool was called.
func (s *session) count(tool string) int {
	n := 0
	for i := range s.calls {
		if wildcard.Match(tool, s.calls[i].Name) {
			n++
		}
	}
	return n
}

// groups returns the group number of each call.
func (s *session) groups() []int {
	groups := make([]int, len(s.calls))
	for j := range s.calls {
		groups[j] = s.calls[j].Group
	}
	return groups
}

// observed is a tool call of a run with its arguments as decoded JSON.
type observed struct {
	*ToolCall
	args map[string]any
	// whole is the value of the arguments if they are not an object, as with a tool that takes a string.
	whole any
	deeds []string // what the call does, nil before it is asked for
	later bool     // of several acts of one call, not the first
}

func (o *observed) observe(call *ToolCall) error {
	o.ToolCall = call
	v := call.Args
	if !jsonvalue.IsDecoded(v) {
		var err error
		if v, err = valueOf(v); err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
	}
	if m, ok := v.(map[string]any); ok {
		o.args = m
	} else {
		o.whole = v
	}
	return nil
}

// names returns the names of the arguments, sorted.
func (o *observed) names() []string { return slices.Sorted(maps.Keys(o.args)) }

// ended reports whether the call completed or failed, so that its duration is known.
func (o *observed) ended() bool { return o.Status == Completed || o.Status == Failed }

var errPart = errors.New("an argument matcher must be a whole argument, not a part of one")

// valueOf returns v as decoded JSON, which is what matchers compare.
func valueOf(v any) (any, error) {
	if args, ok := v.(Args); ok {
		v = map[string]any(args)
	}
	return jsonvalue.Of(v)
}

// numberOf returns the value of a number; false means that v is not a number.
func numberOf(v any) (jsonvalue.Number, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return jsonvalue.Number{}, false
	}
	return jsonvalue.ParseNumber(n)
}

// typeName returns the JSON type of a decoded value.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if n, ok := jsonvalue.ParseNumber(v); ok && n.IsInt() {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}
