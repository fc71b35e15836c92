// Package fieldaccuracy is the evaluator kind field_accuracy: it compares fields of a JSON document with expected
// values. The document is the agent's answer or a file in its workspace; other expectations on files belong in package
// files.
package fieldaccuracy

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// accuracy implements [evaluator.Evaluator].
type accuracy struct {
	file   string // clean, below the workspace; empty: the answer is the document
	fields []field
}

func (a accuracy) Needs() evaluator.Needs {
	if a.file == "" {
		return 0
	}
	return evaluator.NeedsWorkspace
}

// Evaluate compares the fields. If the agent left no JSON document, it has failed; a file that cannot be read is an
// error.
func (a accuracy) Evaluate(_ context.Context, in evaluator.Input) evaluator.Verdict {
	document, problem, err := a.document(in)
	switch {
	case err != nil:
		return evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
	case problem != "":
		none := 0.0
		return evaluator.Verdict{Outcome: result.Fail, Score: &none, Reason: problem}
	}
	var t expect.Tally
	required := ""
	for _, f := range a.fields {
		problem := f.problem(document)
		if problem == "" {
			t.Hold(f.weight, f.String())
			continue
		}
		t.Miss(f.weight, f.String(), problem)
		if f.required && required == "" {
			required = f.String() + ": " + problem
		}
	}
	v := t.Verdict()
	if required != "" {
		v.Detail += "\na required field is wrong: the score is 0 instead of " + result.FormatScore(*v.Score)
		v.Outcome, *v.Score, v.Reason = result.Fail, 0, required
	}
	return v
}

// document returns the document, or why the agent left none.
func (a accuracy) document(in evaluator.Input) (document any, problem string, err error) {
	if a.file == "" {
		answer := in.Run.Answer()
		object, err := llm.ParseObject(answer)
		if err == nil {
			err = jsonvalue.DecodeStrict(object, &document, 0)
		}
		if err != nil {
			return nil, fmt.Sprintf("the answer %s is not a JSON document: %v", expect.ShowJSON(answer), err), nil
		}
		return document, "", nil
	}
	left, err := expect.OpenTree(in)
	if err != nil {
		return nil, "", err
	}
	data, missing, err := left.Read(a.file)
	switch {
	case err != nil:
		return nil, "", err
	case missing != "":
		return nil, a.file + ": " + missing, nil
	}
	if err := jsonvalue.DecodeStrict(data, &document, 0); err != nil {
		return nil, fmt.Sprintf("%s is not a JSON document: %v", a.file, err), nil
	}
	return document, "", nil
}

// keys are the evaluator's own keys in a playbook.
type keys struct {
	File   string     `yaml:"file" min:"1" doc:"JSON file in the workspace; default: the object in the last message."`
	Fields []fieldKey `yaml:"fields,required" doc:"What the fields should be."`
}

// fieldKey is what one field should be: exactly one of equals, number, date and text.
type fieldKey struct {
	Path      string    `yaml:"path,required" doc:"Where the field stands: keys and indexes, e.g. lines[0].price."`
	Equals    *doc.Node `yaml:"equals" doc:"The value, of any type. Numbers are compared by value."`
	Number    *float64  `yaml:"number" doc:"A number that is met within a tolerance."`
	Tolerance *float64  `yaml:"tolerance" min:"0" doc:"The largest difference from the number."`
	Relative  *float64  `yaml:"relative" min:"0" doc:"The tolerance as a share of the number: 0.01 is one percent."`
	Date      *string   `yaml:"date" min:"1" doc:"A day, e.g. 2025-01-15, however the field writes it."`
	Formats   []string  `yaml:"formats" min:"1" doc:"Accepted formats, e.g. DD.MM.YYYY; default: all unambiguous ones."`
	Text      *string   `yaml:"text" min:"1" doc:"A text; the case of letters and the space around it do not matter."`
	Weight    float64   `yaml:"weight" default:"1" min:"0" doc:"Part in the score."`
	Required  bool      `yaml:"required" doc:"Whether the score is 0 unless this field is right."`
}

// Kind returns the kind of evaluator.
func Kind() plan.Kind { return plan.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	n.Decode(&k)
	var a accuracy
	if k.File != "" {
		var err error
		if a.file, err = expect.CleanPath(k.File); err != nil {
			n.Errorf("file", "%v", err)
		}
	}
	items := n.Get("fields").Items()
	seen := make(map[string]int)
	weight := 0.0
	for i, f := range k.Fields {
		if line, twice := seen[f.Path]; twice && f.Path != "" {
			items[i].Errorf("path", "duplicate path %q, first on line %d", f.Path, line)
		} else {
			seen[f.Path] = items[i].Position().Line
		}
		a.fields = append(a.fields, f.compile(items[i]))
		weight += f.Weight
	}
	if len(k.Fields) > 0 && (weight == 0 || math.IsInf(weight, 0)) {
		n.Errorf("fields", "the weights must add up to more than 0 and be finite")
	}
	return a
}

// compile returns the field, and reports what is wrong with it.
func (f fieldKey) compile(item *doc.Node) field {
	path, err := expect.ParseJSONPath(f.Path)
	if err != nil && f.Path != "" {
		item.Errorf("path", "%v", err)
	}
	matchers := 0
	for _, key := range []string{"equals", "number", "date", "text"} {
		if item.Get(key) != nil {
			matchers++
		}
	}
	if matchers != 1 {
		item.Errorf("", "exactly one of `equals`, `number`, `date` and `text` is required")
	}
	for _, pair := range [][2]string{{"tolerance", "number"}, {"relative", "number"}, {"formats", "date"}} {
		if item.Get(pair[0]) != nil && item.Get(pair[1]) == nil {
			item.Errorf(pair[0], "has no effect without `%s`", pair[1])
		}
	}
	c := field{path: path, weight: f.Weight, required: f.Required}
	switch {
	case item.Get("equals") != nil:
		c.want = equals{item.Get("equals").Value()}
	case f.Number != nil:
		c.want = f.near(item)
	case f.Date != nil:
		c.want = f.day(item)
	case f.Text != nil:
		c.want = text(*f.Text)
	}
	return c
}

func (f fieldKey) near(item *doc.Node) matcher {
	number, inRange := exact(item.Get("number").Value().(json.Number))
	if !inRange {
		item.Errorf("number", "is out of range")
		return nil
	}
	if (item.Get("tolerance") == nil) == (item.Get("relative") == nil) {
		item.Errorf("number", "needs exactly one of `tolerance` and `relative`; for an exact value use `equals`")
		return nil
	}
	if f.Tolerance == nil && f.Relative == nil {
		return nil // reported
	}
	key := "tolerance"
	if f.Relative != nil {
		key = "relative"
		if number.Sign() == 0 {
			item.Errorf(key, "a share of 0 is always 0: use `tolerance`")
		}
	}
	within, inRange := exact(item.Get(key).Value().(json.Number))
	if !inRange {
		item.Errorf(key, "is out of range")
		return nil
	}
	return near{
		want: number, within: within, relative: f.Relative != nil,
		number: item.Get("number").Value().(json.Number), tolerance: item.Get(key).Value().(json.Number),
	}
}

func (f fieldKey) day(item *doc.Node) matcher {
	want, err := parseDay(*f.Date, []string{iso})
	if err != nil {
		item.Errorf("date", "must be a day like 2025-01-15, not %q", *f.Date)
	}
	d := day{want: want, layouts: layouts}
	if f.Formats != nil {
		d.layouts = nil
	}
	formats := item.Get("formats").Items()
	for i, format := range f.Formats {
		layout, err := layoutOf(format)
		if err != nil {
			formats[i].Errorf("", "%v", err)
		}
		d.layouts = append(d.layouts, layout)
	}
	return d
}
