package match

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Case is a trajectory and what it is compared with. Keys that a case in JSON has besides are those of other tools, such
// as their answers.
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
}

// Judge returns the answer to the case. An error means that there is none.
func (c *Case) Judge(opts Options) (Result, error) {
	own := *c
	own.Mode, own.Args = cmp.Or(c.Mode, "strict"), cmp.Or(c.Args, "exact")
	of := own.ours
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
	if c.Outputs == nil || c.Reference == nil {
		return c, errors.New("not a case: needs `outputs` and `reference_outputs`")
	}
	return c, nil
}

// checkKeys reports a key that is nearly one of a case; others are those of other tools.
func checkKeys(line []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return err
	}
	short := []string{"name", "mode"} // other words, such as model, are too near
	long := []string{"tool_args_match_mode", "overrides", "outputs", "reference_outputs"}
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
