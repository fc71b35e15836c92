package playbook

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Values are what the placeholders ${{ path }} of steps stand for, by path. [Unit.Values] and [Playbook.Values] have
// those that come from the playbook; the runner adds run.run_id and run.run_dir.
type Values map[string]string

// paths are all paths that a placeholder can have.
var paths = []string{
	"matrix.variant", "variant.style", "variant.agent.kind", "task.title", "task.prompt",
	"run.run_id", "run.run_dir", "case.id", "trial",
}

// Interpolate replaces each ${{ path }} in text with its value. There are no expressions, and values are never scanned
// for placeholders. A path without a value is an error, as are an empty and an unterminated placeholder.
func Interpolate(text string, values Values) (string, error) {
	var b strings.Builder
	err := eachPlaceholder(text, func(before, path string) error {
		b.WriteString(before)
		if path == "" {
			return nil
		}
		if err := checkPath(path); err != nil {
			return err
		}
		value, ok := values[path]
		if !ok {
			return fmt.Errorf("${{ %s }} is not available here", path)
		}
		b.WriteString(value)
		return nil
	})
	if err != nil {
		return "", err
	}
	return b.String(), nil
}

// eachPlaceholder calls f for each placeholder with the text before it, and at the end with the text that is left and
// an empty path.
func eachPlaceholder(text string, f func(before, path string) error) error {
	for {
		before, rest, ok := strings.Cut(text, "${{")
		if !ok {
			return f(text, "")
		}
		path, rest, ok := strings.Cut(rest, "}}")
		if !ok {
			return errors.New("unterminated ${{")
		}
		if path = strings.TrimSpace(path); path == "" {
			return errors.New("empty ${{ }}")
		}
		if err := f(before, path); err != nil {
			return err
		}
		text = rest
	}
}

func checkPath(path string) error {
	if slices.Contains(paths, path) {
		return nil
	}
	return fmt.Errorf("unknown path %q in ${{ }}%s", path, doc.DidYouMean(path, paths))
}

// hasPlaceholder reports whether text has to be interpolated.
func hasPlaceholder(text string) bool { return strings.Contains(text, "${{") }

// interpolateAll replaces the placeholders in each string of a decoded value, keys of mappings excepted.
func interpolateAll(v any, values Values) (any, error) {
	switch v := v.(type) {
	case string:
		return Interpolate(v, values)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = interpolateAll(item, values); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value, err := interpolateAll(v[key], values)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			m[key] = value
		}
		return m, nil
	default:
		return v, nil
	}
}

// Values returns the values that the playbook itself has for placeholders: its task.
func (p *Playbook) Values() Values { return p.Task.values() }

func (t *Task) values() Values {
	v := Values{}
	if t == nil {
		return v
	}
	v["task.prompt"] = t.Prompt
	if t.Title != "" {
		v["task.title"] = t.Title
	}
	return v
}
