package agentevals

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// byMatchers judges by the matchers of package trajectory: they find the most pairs and always compare (actual,
// expected).
func (c *Case) byMatchers() (Result, error) {
	outputs, err := readMessages("outputs", c.Outputs)
	if err != nil {
		return Result{}, err
	}
	reference, err := readMessages("reference_outputs", c.Reference)
	if err != nil {
		return Result{}, err
	}
	r, err := c.rules()
	if err != nil {
		return Result{}, err
	}
	if err := r.check(callsOf(outputs), callsOf(reference)); err != nil {
		return Result{}, err
	}
	of := map[string]func(...trajectory.Call) trajectory.Matcher{
		"unordered": trajectory.Unordered, "superset": trajectory.Superset, "subset": trajectory.Subset,
	}[c.Mode]
	switch {
	case c.Mode == "superset" && len(callsOf(reference)) == 0:
		res := answered(true, 1) // package trajectory refuses to expect nothing; in AgentEvals it matches
		res.Extra = callsOf(outputs)
		return res, nil
	case of != nil:
		return r.match(of, callsOf(outputs), callsOf(reference))
	case c.Mode == "strict":
		return r.strict(outputs, reference)
	default:
		return Result{}, fmt.Errorf("unknown mode %q: want one of strict, unordered, superset, subset", c.Mode)
	}
}

// message is a message that matters: its role and its calls.
type message struct {
	role  string
	calls []Call
}

func callsOf(messages []message) []Call {
	var calls []Call
	for _, m := range messages {
		calls = append(calls, m.calls...)
	}
	return calls
}

func readMessages(side string, data json.RawMessage) ([]message, error) {
	list, err := messages(side, data)
	if err != nil {
		return nil, err
	}
	read := make([]message, len(list))
	for i, v := range list {
		if read[i], err = readMessage(v); err != nil {
			return nil, fmt.Errorf("%s: message %d: %w", side, i+1, err)
		}
	}
	return read, nil
}

func readMessage(v any) (message, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return message{}, errors.New("must be an object")
	}
	var m message
	if m.role, ok = fields["role"].(string); !ok {
		return m, errors.New("role: must be text")
	}
	calls, ok := fields["tool_calls"].([]any)
	if !ok && fields["tool_calls"] != nil {
		return m, errors.New("tool_calls: must be a list")
	}
	for i, v := range calls {
		call, err := readCall(v)
		if err != nil {
			return m, fmt.Errorf("call %d: %w", i+1, err)
		}
		m.calls = append(m.calls, call)
	}
	return m, nil
}

func readCall(v any) (Call, error) {
	fields, _ := v.(map[string]any)
	fn, _ := fields["function"].(map[string]any)
	name, ok := fn["name"].(string)
	if !ok || name == "" {
		return Call{}, errors.New("needs a function with a name")
	}
	text, ok := fn["arguments"].(string)
	if !ok {
		return Call{}, fmt.Errorf("%s: arguments: must be JSON text", name)
	}
	args, err := decode([]byte(text))
	if err != nil {
		return Call{}, fmt.Errorf("%s: arguments: %w", name, err)
	}
	return Call{Name: name, Args: args}, nil
}

// rules are how a case compares arguments.
type rules struct {
	mode      trajectory.ArgMode
	overrides map[string]rule
}

// rule is how the arguments of a tool are compared; one of its fields is set.
type rule struct {
	mode   trajectory.ArgMode
	fields []string
	holds  comparison
	name   string // of holds
}

func (c *Case) rules() (rules, error) {
	r := rules{overrides: make(map[string]rule)}
	var err error
	if r.mode, err = argMode(c.Args); err != nil {
		return r, fmt.Errorf("tool_args_match_mode: %w", err)
	}
	for tool, v := range c.Overrides {
		if r.overrides[tool], err = readRule(v); err != nil {
			return r, fmt.Errorf("overrides: %s: %w", tool, err)
		}
	}
	return r, nil
}

func argMode(name string) (trajectory.ArgMode, error) {
	mode := trajectory.ArgMode(name)
	if !slices.Contains(trajectory.ArgModes(), mode) {
		return "", fmt.Errorf("unknown argument mode %q", name)
	}
	return mode, nil
}

func readRule(v any) (rule, error) {
	switch v := v.(type) {
	case string:
		mode, err := argMode(v)
		return rule{mode: mode}, err
	case []any:
		if len(v) == 0 {
			return rule{mode: trajectory.IgnoreArgs}, nil // as AgentEvals has it
		}
		var r rule
		for _, item := range v {
			path, ok := item.(string)
			if !ok {
				return r, errors.New("a path must be text")
			}
			r.fields = append(r.fields, path)
		}
		return r, nil
	case map[string]any:
		name, _ := v["func"].(string)
		holds, err := comparisonByName(name)
		return rule{holds: holds, name: name}, err
	default:
		return rule{}, errors.New("must be an argument mode, a list of paths or {func: name}")
	}
}

// of returns how the arguments of the tool are compared.
func (r rules) of(tool string) rule {
	if own, ok := r.overrides[tool]; ok {
		return own
	}
	return rule{mode: r.mode}
}

// check returns an error if arguments are not an object where they would be compared by key.
func (r rules) check(lists ...[]Call) error {
	for _, c := range slices.Concat(lists...) {
		of := r.of(c.Name)
		_, isObject := c.Args.(map[string]any)
		if !isObject && (of.mode == trajectory.SubsetArgs || of.mode == trajectory.SupersetArgs) {
			return fmt.Errorf("%s: arguments: must be an object in mode %s", c.Name, of.mode)
		}
	}
	return nil
}

// arguments returns the arguments by name. If they are not an object, they are one argument without a name.
func (c Call) arguments() map[string]any {
	if args, ok := c.Args.(map[string]any); ok {
		return args
	}
	return map[string]any{"": c.Args}
}

// expect returns c as an expected call.
func (r rules) expect(c Call) trajectory.Call {
	call := trajectory.Tool(c.Name).Args(c.arguments()).Profile(nil)
	switch of := r.of(c.Name); {
	case of.holds != nil:
		want := script(c.Args)
		return call.Mode(trajectory.IgnoreArgs).Where(of.name, func(actual trajectory.ToolCall) bool {
			return of.holds(script(actual.Args), want)
		})
	case of.fields != nil:
		return call.Fields(of.fields...)
	default:
		return call.Mode(of.mode)
	}
}

// match compares calls.
func (r rules) match(of func(...trajectory.Call) trajectory.Matcher, actual, expected []Call) (Result, error) {
	run := &trajectory.Run{}
	for i, c := range actual {
		run.Events = append(run.Events, trajectory.Event{
			Turn: 1, Body: trajectory.ToolStart{ID: fmt.Sprint(i), Name: c.Name, Args: c.arguments()},
		})
	}
	calls := make([]trajectory.Call, len(expected))
	for i, c := range expected {
		calls[i] = r.expect(c)
	}
	matched := of(calls...).Match(run)
	if matched.Err != nil {
		return Result{}, matched.Err
	}
	res := answered(matched.Pass, matched.Score)
	taken := make([]bool, len(actual))
	for i, j := range matched.Pairs {
		if j < 0 {
			res.Missing = append(res.Missing, expected[i])
		} else {
			taken[j] = true
		}
	}
	for j, c := range actual {
		if !taken[j] {
			res.Extra = append(res.Extra, c)
		}
	}
	return res, nil
}

// strict compares message by message. Each message without calls counts for the value, and each call.
func (r rules) strict(outputs, reference []message) (Result, error) {
	var res Result
	matched := 0
	for i := range max(len(outputs), len(reference)) {
		var got, want message
		if i < len(outputs) {
			got = outputs[i]
		}
		if i < len(reference) {
			want = reference[i]
		}
		if got.role != want.role || len(got.calls) != len(want.calls) {
			res.Missing = append(res.Missing, want.calls...)
			res.Extra = append(res.Extra, got.calls...)
			continue
		}
		part, err := r.match(trajectory.Unordered, got.calls, want.calls)
		if err != nil {
			return res, err
		}
		matched += max(1, len(want.calls)) - len(part.Missing)
		res.Missing = append(res.Missing, part.Missing...)
		res.Extra = append(res.Extra, part.Extra...)
	}
	total := max(weight(outputs), weight(reference))
	value := 1.0
	if total > 0 {
		value = float64(matched) / float64(total)
	}
	score := matched == total
	res.Score, res.Value = &score, &value
	return res, nil
}

// weight counts messages without calls and calls.
func weight(messages []message) int {
	n := 0
	for _, m := range messages {
		n += max(1, len(m.calls))
	}
	return n
}
