package agentevals

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// compat judges as npm's agentevals 0.0.7 does. Where that throws, it returns an error.
func (c *Case) compat() (Result, error) {
	outputs, err := messages("outputs", c.Outputs)
	if err != nil {
		return Result{}, err
	}
	reference, err := messages("reference_outputs", c.Reference)
	if err != nil {
		return Result{}, err
	}
	e := agentEvals{args: c.Args, overrides: c.Overrides}
	if c.Mode == "strict" {
		return e.strict(scripts(outputs), scripts(reference))
	}
	actual, err := scriptCalls(scripts(outputs))
	if err != nil {
		return Result{}, fmt.Errorf("outputs: %w", err)
	}
	expected, err := scriptCalls(scripts(reference))
	if err != nil {
		return Result{}, fmt.Errorf("reference_outputs: %w", err)
	}
	switch c.Mode {
	case "superset":
		missing, extra, err := e.firstFit(actual, expected)
		return callsAnswer(len(missing) == 0, missing, extra), err
	case "subset":
		extra, missing, err := e.firstFit(expected, actual)
		return callsAnswer(len(extra) == 0, missing, extra), err
	case "unordered":
		missing, _, err := e.firstFit(actual, expected)
		if err != nil || len(missing) > 0 {
			return callsAnswer(false, missing, nil), err
		}
		extra, _, err := e.firstFit(expected, actual)
		return callsAnswer(len(extra) == 0, missing, extra), err
	default:
		return Result{}, fmt.Errorf("unknown mode %q", c.Mode)
	}
}

// agentEvals is how a case compares arguments.
type agentEvals struct {
	args      string
	overrides map[string]any
}

func scripts(list []any) []any { return script(list).([]any) }

// scriptCall is a call as AgentEvals sees it in the modes other than strict.
type scriptCall struct{ name, args any }

func (c scriptCall) call() Call {
	name, _ := c.name.(string)
	if isNothing(c.args) {
		return Call{Name: name}
	}
	return Call{Name: name, Args: plain(c.args)}
}

func callsAnswer(score bool, missing, extra []scriptCall) Result {
	value := 0.0
	if score {
		value = 1
	}
	res := answered(score, value)
	for _, c := range missing {
		res.Missing = append(res.Missing, c.call())
	}
	for _, c := range extra {
		res.Extra = append(res.Extra, c.call())
	}
	return res
}

// scriptCalls returns the calls of all messages, of whatever role.
func scriptCalls(messages []any) ([]scriptCall, error) {
	var calls []scriptCall
	for i, m := range messages {
		list, has, err := listOfCalls(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		if !has {
			continue
		}
		for _, v := range list {
			call, err := normalised(v)
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i+1, err)
			}
			calls = append(calls, call)
		}
	}
	return calls, nil
}

// listOfCalls returns a message's list of calls, and whether it has one, even an empty one.
func listOfCalls(message any) (list []any, has bool, err error) {
	if !isObject(message) {
		return nil, false, errors.New("must be an object")
	}
	v, _ := property(message, "tool_calls")
	if isNothing(v) {
		return nil, false, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false, errors.New("tool_calls: must be a list")
	}
	return list, true, nil
}

// normalised returns the call. One whose arguments are not text is used as it is, with its own name and args.
func normalised(v any) (scriptCall, error) {
	if !isObject(v) {
		return scriptCall{}, errors.New("tool_calls: must be a list of objects")
	}
	fn, _ := property(v, "function")
	if text, ok := own(fn, "arguments").(string); ok {
		args, err := parseScript(text)
		if err != nil {
			return scriptCall{}, fmt.Errorf("arguments: %w", err)
		}
		return scriptCall{own(fn, "name"), args}, nil
	}
	return scriptCall{own(v, "name"), own(v, "args")}, nil
}

// own returns the property of a value, undefined if it has none.
func own(v any, key string) any {
	if value, ok := property(v, key); ok {
		return value
	}
	return undefined{}
}

// same is the operator === for names and roles; two objects are never equal.
func same(a, b any) bool { return !isObject(a) && !isObject(b) && a == b }

// firstFit gives each expected call the first free actual call that matches, and returns the expected and the actual
// calls that are left over. AgentEvals stops at the first expected call that is left over; this goes on.
func (e agentEvals) firstFit(actual, expected []scriptCall) (missing, extra []scriptCall, err error) {
	taken := make([]bool, len(actual))
	for _, want := range expected {
		at := -1
		for j, got := range actual {
			if taken[j] || !same(want.name, got.name) {
				continue
			}
			ok, fault := e.compare(want.name, got.args, want.args)
			if fault != nil {
				if len(missing) > 0 {
					continue // the answer is known
				}
				return nil, nil, fault
			}
			if ok {
				at = j
				break
			}
		}
		if at < 0 {
			missing = append(missing, want)
			continue
		}
		taken[at] = true
	}
	for j, got := range actual {
		if !taken[j] {
			extra = append(extra, got)
		}
	}
	return missing, extra, nil
}

// strict compares message by message. It reads arguments only of calls that are compared.
func (e agentEvals) strict(outputs, reference []any) (Result, error) {
	no := answered(false, 0)
	if len(outputs) != len(reference) {
		return no, nil
	}
	for i := range outputs {
		got, hasGot, err := listOfCalls(outputs[i])
		if err != nil {
			return no, fmt.Errorf("outputs: message %d: %w", i+1, err)
		}
		want, hasWant, err := listOfCalls(reference[i])
		if err != nil {
			return no, fmt.Errorf("reference_outputs: message %d: %w", i+1, err)
		}
		if !same(own(outputs[i], "role"), own(reference[i], "role")) || hasGot != hasWant || len(got) != len(want) {
			return no, nil
		}
		if ok, err := e.strictCalls(got, want); err != nil || !ok {
			return no, err
		}
	}
	return answered(true, 1), nil
}

// strictCalls gives each actual call of a message the first expected one that is free and matches.
func (e agentEvals) strictCalls(actual, expected []any) (bool, error) {
	taken := make([]bool, len(expected))
	for _, got := range actual {
		found := false
		for k, want := range expected {
			if got == nil || want == nil {
				return false, errors.New("tool_calls: must be a list of objects")
			}
			fn, other := own(got, "function"), own(want, "function")
			if taken[k] || !same(own(fn, "name"), own(other, "name")) {
				continue
			}
			a, err := strictArgs(fn)
			if err != nil {
				return false, err
			}
			b, err := strictArgs(other)
			if err != nil {
				return false, err
			}
			name := own(fn, "name")
			if isNothing(name) {
				name = ""
			}
			if found, err = e.compare(name, a, b); err != nil {
				return false, err
			}
			if found {
				taken[k] = true
				break
			}
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}

// strictArgs parses the arguments of a function, none if it has none.
func strictArgs(fn any) (any, error) {
	switch v := own(fn, "arguments").(type) {
	case nil, undefined:
		return map[string]any{}, nil
	case string:
		args, err := parseScript(v)
		if err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		return args, nil
	case bool, float64:
		return v, nil
	default:
		return nil, errors.New("arguments: must be JSON text")
	}
}

// compare compares the arguments of two calls of a tool.
func (e agentEvals) compare(tool, a, b any) (bool, error) {
	if e.overrides == nil {
		return compareBy(e.args, a, b)
	}
	name := nameOf(tool)
	override, ok := e.overrides[name]
	if !ok {
		if slices.Contains(methods, name) {
			return callMethod(name)
		}
		return compareBy(e.args, a, b)
	}
	switch override := override.(type) {
	case string:
		return compareBy(override, a, b)
	case []any:
		return comparePaths(override, a, b)
	case map[string]any:
		if fn, ok := override["func"].(string); ok {
			holds, err := comparisonByName(fn)
			return err == nil && holds(a, b), err
		}
	}
	return compareBy(e.args, a, b)
}

func compareBy(mode string, a, b any) (bool, error) {
	switch mode {
	case "exact":
		return deepEqual(a, b), nil
	case "subset":
		return contains(b, a)
	case "superset":
		return contains(a, b)
	default: // ignore and unknown modes
		return true, nil
	}
}

func comparePaths(paths []any, a, b any) (bool, error) {
	for _, p := range paths {
		path, ok := p.(string)
		if !ok {
			return false, errors.New("overrides: a path must be text")
		}
		parts := strings.Split(path, ".")
		if !deepEqual(nested(a, parts), nested(b, parts)) {
			return false, nil
		}
	}
	return true, nil
}

// nameOf returns the property name for a tool's name.
func nameOf(tool any) string {
	switch tool := tool.(type) {
	case string:
		return tool
	case float64:
		return strconv.FormatFloat(tool, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(tool)
	case nil:
		return "null"
	default:
		return "undefined"
	}
}

// callMethod returns the result for a tool whose name is that of a method of all JavaScript objects: AgentEvals finds
// the method in the overrides and calls it without an object.
func callMethod(name string) (bool, error) {
	if name == "toString" || name == "constructor" {
		return true, nil
	}
	return false, fmt.Errorf("overrides: AgentEvals mistakes a tool named %s for a method", name)
}
