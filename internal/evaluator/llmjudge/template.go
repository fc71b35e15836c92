package llmjudge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// template is a text with variables. It is filled in one pass: values are never scanned.
type template struct {
	parts []part
}

// part is a text, or the variable whose value stands there.
type part struct {
	text     string
	variable string
}

// variables are what a template may use, besides the keys of its configuration.
var variables = map[string]func(judge.Input) string{
	"question":          func(in judge.Input) string { return in.Question },
	"candidate_answer":  func(in judge.Input) string { return in.CandidateAnswer },
	"reference_answer":  func(in judge.Input) string { return in.ReferenceAnswer },
	"expected_outcome":  func(in judge.Input) string { return in.ExpectedOutcome },
	"input_messages":    func(in judge.Input) string { return asJSON(in.InputMessages) },
	"output_messages":   func(in judge.Input) string { return asJSON(in.OutputMessages) },
	"expected_messages": func(in judge.Input) string { return asJSON(in.ExpectedMessages) },
	"file_changes":      func(in judge.Input) string { return in.FileChanges },
	"tool_calls":        func(in judge.Input) string { return asJSON(toolCalls(in)) },
}

// work are the variables that show what the agent did.
var work = []string{"candidate_answer", "output_messages", "file_changes"}

const configPrefix = "config."

// parseTemplate reads a template that has a configuration. Errors begin with the line.
func parseTemplate(text string, config any) (*template, error) {
	t := new(template)
	line := 1
	for {
		before, rest, ok := strings.Cut(text, "{{")
		line += strings.Count(before, "\n")
		if before != "" {
			t.parts = append(t.parts, part{text: before})
		}
		if !ok {
			return t, nil
		}
		inside, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return nil, fmt.Errorf("line %d: {{ without }}", line)
		}
		p, err := variable(strings.TrimSpace(inside), config)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		t.parts = append(t.parts, p)
		line += strings.Count(inside, "\n")
		text = after
	}
}

// variable returns the part that replaces a variable. The configuration is known, so its values are texts.
func variable(name string, config any) (part, error) {
	key, ok := strings.CutPrefix(name, configPrefix)
	if !ok {
		if _, known := variables[name]; !known {
			names := append(slices.Sorted(maps.Keys(variables)), configPrefix+"KEY")
			return part{}, fmt.Errorf("unknown variable {{%s}}: there are %s", name, strings.Join(names, ", "))
		}
		return part{variable: name}, nil
	}
	values, _ := config.(map[string]any)
	value, ok := values[key]
	if !ok {
		return part{}, fmt.Errorf("unknown variable {{%s}}: the evaluator's config has no key %q", name, key)
	}
	if text, ok := value.(string); ok {
		return part{text: text}, nil
	}
	return part{text: asJSON(value)}, nil
}

// uses reports whether the template has one of these variables.
func (t *template) uses(names ...string) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return slices.Contains(names, p.variable) })
}

func (t *template) fill(in judge.Input) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.variable == "" {
			b.WriteString(p.text)
			continue
		}
		b.WriteString(variables[p.variable](in))
	}
	return b.String()
}

func toolCalls(in judge.Input) []judge.ToolCall {
	var calls []judge.ToolCall
	for _, m := range in.OutputMessages {
		calls = append(calls, m.ToolCalls...)
	}
	return calls
}

// asJSON returns a value as indented JSON, with an empty list for none.
func asJSON(v any) string {
	data, err := jsonvalue.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("llmjudge: %v", err)) // it came from JSON
	}
	if string(data) == "null" {
		return "[]"
	}
	return string(data)
}
