package evaltest

import (
	"encoding/json"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tooltrajectory"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Calls are expected tool calls. In JSON they are a list of objects with the keys of a playbook's `expected`: tool or kind,
// and args, whose values are plain or matchers such as {"contains_ci": "todo"}.
type Calls []trajectory.Call

// UnmarshalJSON implements [json.Unmarshaler]. Unknown keys and malformed matchers are errors.
func (c *Calls) UnmarshalJSON(data []byte) error {
	var v any // written anew, there are no escapes that a playbook does not know
	if err := jsonvalue.DecodeStrict(data, &v, 0); err != nil {
		return err
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.parse("", plain)
}

// parse decodes the JSON of a file.
func (c *Calls) parse(file string, data []byte) error {
	d := doc.Parse(file, data)
	if d.Root != nil {
		*c = tooltrajectory.Calls(d.Root)
	}
	return d.Err()
}

// readExpected decodes a JSON file that holds what a row expects. Errors call it name.
func readExpected(path, name string, v any) error {
	data, err := disk.ReadRegular(path, maxData)
	if err != nil {
		return err
	}
	calls, ok := v.(*Calls)
	if ok {
		v = new(json.RawMessage)
	}
	if err := jsonvalue.DecodeStrict(data, v, jsonvalue.Floats); err != nil {
		return jsonvalue.In(name, err)
	}
	if ok {
		return calls.parse(name, data)
	}
	return nil
}

// maxData is how large a file with rows, or with what they expect, may be, in bytes.
const maxData = 16 << 20
