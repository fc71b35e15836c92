// Package agentevals judges the test cases of AgentEvals, which compare trajectories of chat messages: by the matchers
// of package trajectory, or with exactly the answers of npm's agentevals 0.0.7. How a playbook asks for that belongs in
// package tooltrajectory.
package agentevals

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Case is a trajectory and the reference to compare it with. Other keys in JSON are ignored: other tools write them,
// such as their answers.
type Case struct {
	Name string `json:"name"`
	// Mode is strict, unordered, subset or superset; default: strict, as in AgentEvals.
	Mode string `json:"mode"`
	// Args is exact, ignore, subset or superset; default: exact, as in AgentEvals.
	Args string `json:"tool_args_match_mode"`
	// Overrides are by tool: a mode, a list of dotted paths, or {"func": name}.
	Overrides map[string]any `json:"overrides"`
	// Outputs and Reference are lists of messages, or objects that have one as "messages".
	Outputs   json.RawMessage `json:"outputs"`
	Reference json.RawMessage `json:"reference_outputs"`
	// ReferenceJS is Reference as npm's agentevals names it: a case has one of the two.
	ReferenceJS json.RawMessage `json:"referenceOutputs"`
}

// Judge compares the trajectories of the case. An error means that they cannot be compared.
func (c *Case) Judge(opts Options) (Result, error) {
	own := *c
	own.Mode, own.Args = cmp.Or(c.Mode, "strict"), cmp.Or(c.Args, "exact")
	of := own.byMatchers
	if opts.Compat {
		of = own.compat
	}
	res, err := of()
	res.Name = c.Name
	return res, err
}

func parseCase(line []byte) (Case, error) {
	var c Case
	if err := json.Unmarshal(line, &c); err != nil {
		return c, fmt.Errorf("not a case: %w", err)
	}
	if err := checkKeys(line); err != nil {
		return c, fmt.Errorf("not a case: %w", err)
	}
	if c.Reference != nil && c.ReferenceJS != nil {
		return c, errors.New("not a case: has both `reference_outputs` and `referenceOutputs`: leave out one")
	}
	if c.Reference == nil {
		c.Reference = c.ReferenceJS
	}
	if c.Outputs == nil || c.Reference == nil {
		return c, errors.New("not a case: needs `outputs` and `reference_outputs` or `referenceOutputs`")
	}
	return c, nil
}

// checkKeys returns an error for a key that looks like a misspelt one of a case. Others belong to other tools.
func checkKeys(line []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return err
	}
	short := []string{"name", "mode"} // other words, such as model, are too near
	long := []string{"tool_args_match_mode", "overrides", "outputs", "reference_outputs", "referenceOutputs"}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		known := func(k string) bool { return strings.EqualFold(k, key) } // as encoding/json has it
		if slices.ContainsFunc(short, known) || slices.ContainsFunc(long, known) {
			continue
		}
		if hint := doc.DidYouMean(key, long); hint != "" {
			return fmt.Errorf("unknown key %q%s", key, hint)
		}
	}
	return nil
}

// messages decodes a list of messages, or an object that has one as "messages". Numbers are json.Number.
func messages(side string, data json.RawMessage) ([]any, error) {
	v, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", side, err)
	}
	if m, ok := v.(map[string]any); ok {
		if v, ok = m["messages"]; !ok {
			return nil, fmt.Errorf("%s: an object needs `messages`, a list of messages", side)
		}
	}
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("%s: must be a list of messages", side)
	}
	return list, nil
}

// decode decodes one JSON value, with numbers as json.Number.
func decode(data []byte) (v any, err error) {
	err = jsonvalue.Decode(data, &v)
	return v, err
}

// maxLine is the length of the longest case, in bytes.
const maxLine = 64 << 20

// Options say how cases are judged.
type Options struct {
	// Compat judges as npm's agentevals 0.0.7 does: first fit, some matchers called with their sides swapped, and
	// unknown modes treated as ignore.
	Compat bool
}

// Summary counts the cases by result.
type Summary struct {
	True, False int
	// Errors are about cases that cannot be judged, and about lines that are not cases.
	Errors int
}

// Result is the result of a case.
type Result struct {
	Name string `json:"name"`
	// Score is nil if there is an Error.
	Score *bool `json:"score"`
	// Value is in 0..1, and 1 if and only if Score is true. With Compat it is 0 or 1.
	Value *float64 `json:"value,omitempty"`
	// Missing are the reference calls without an actual call of their own, Extra the actual calls without a reference
	// call. Which of the two matter depends on the mode.
	Missing []Call `json:"missing,omitempty"`
	Extra   []Call `json:"extra,omitempty"`
	// Error says why the case could not be judged, with its line.
	Error string `json:"error,omitempty"`
}

// Call is a tool call of a case.
type Call struct {
	Name string `json:"name"`
	Args any    `json:"args"`
}

// Run reads cases, a JSON object on each line, and writes a [Result] for each, a line each. A case that cannot be
// judged has an error as its result and does not stop the others. Run returns only errors of reading and writing.
func Run(r io.Reader, w io.Writer, opts Options) (Summary, error) {
	var s Summary
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		res := judge(lines.Bytes(), opts)
		switch {
		case res.Score == nil:
			s.Errors++
			res.Error = fmt.Sprintf("line %d: %s", n, res.Error)
		case *res.Score:
			s.True++
		default:
			s.False++
		}
		if err := enc.Encode(res); err != nil {
			return s, fmt.Errorf("write the result of line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return s, errors.Join(fmt.Errorf("read line %d: %w", n+1, err), out.Flush())
	}
	if err := out.Flush(); err != nil {
		return s, fmt.Errorf("write results: %w", err)
	}
	return s, nil
}

func judge(line []byte, opts Options) Result {
	c, err := parseCase(line)
	if err != nil {
		return Result{Name: c.Name, Error: err.Error()}
	}
	res, err := c.Judge(opts)
	if err != nil {
		return Result{Name: c.Name, Error: err.Error()}
	}
	return res
}

// answered returns the result of a case that was judged.
func answered(score bool, value float64) Result { return Result{Score: &score, Value: &value} }
