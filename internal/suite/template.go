package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// maxNesting is how deep values of templates may name others.
const maxNesting = 8

// maxRendered is how many bytes a text with its values may have.
const maxRendered = 1 << 20

var (
	expressionIn = lazyregexp.New(`(?s)\{#.*?#\}|\{%.*?(?:%\}|\z)|\{\{.*?(?:\}\}|\z)`)
	reference    = lazyregexp.New(`^([A-Za-z_$][\w$]*)((?:\.[\w$-]+|\[\s*(?:\d+|'[^']*'|"[^"]*")\s*\])*)$`)
	referenceKey = lazyregexp.New(`\.([\w$-]+)|\[\s*(?:(\d+)|'([^']*)'|"([^"]*)")\s*\]`)
)

// noValueError is the error of a name without value: the filter default has one.
type noValueError string

func (e noValueError) Error() string { return string(e) }

// lookup is a value that has the values of names, such as those of the environment.
type lookup func(name string) (string, error)

// defaultIn is the filter default, with a text.
var defaultIn = lazyregexp.New(`^default\(\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\)$`)

// filters are those of Nunjucks that are known.
var filters = map[string]func(v any) (string, error){
	"trim":  func(v any) (string, error) { return strings.TrimSpace(written(v)), nil },
	"upper": func(v any) (string, error) { return strings.ToUpper(written(v)), nil },
	"lower": func(v any) (string, error) { return strings.ToLower(written(v)), nil },
	"safe":  func(v any) (string, error) { return written(v), nil },
	"dump": func(v any) (string, error) {
		text, err := jsonvalue.Marshal(v)
		return string(text), err
	},
}

// render fills values into a template of Nunjucks that has no statements. Texts among the values are templates, too.
func render(template string, values map[string]any) (string, error) {
	r := renderer{values: values, left: maxRendered}
	return r.render(template, 0)
}

// renderer fills in values.
type renderer struct {
	values map[string]any
	left   int // bytes that may still be filled in, of all values together; each counts as one more
}

func (r *renderer) render(template string, depth int) (string, error) {
	if depth > maxNesting {
		return "", errors.New("values name each other too deeply")
	}
	var failed error
	text := expressionIn.ReplaceAllStringFunc(template, func(part string) string {
		if failed != nil || strings.HasPrefix(part, "{#") {
			return ""
		}
		var value string
		value, failed = r.fill(part, depth)
		if r.left -= len(value) + 1; r.left < 0 && failed == nil {
			failed = fmt.Errorf("the values of a text have more than %d bytes", maxRendered)
		}
		return value
	})
	return text, failed
}

// fill returns the value of one expression.
func (r *renderer) fill(part string, depth int) (string, error) {
	inner, ok := strings.CutPrefix(part, "{{")
	inner, closed := strings.CutSuffix(inner, "}}")
	if !ok || !closed {
		return "", fmt.Errorf("the template %s is more than a value: write out what it makes", excerpt.Quote(part, 80))
	}
	words := strings.Split(strings.Trim(inner, "- \t\r\n"), "|")
	v, err := lookUp(strings.TrimSpace(words[0]), r.values)
	if len(words) > 1 {
		if m := defaultIn.FindStringSubmatch(strings.TrimSpace(words[1])); m != nil {
			if _, none := errors.AsType[noValueError](err); none {
				v, err = m[1]+m[2], nil
			}
			words = words[1:]
		}
	}
	if err != nil {
		return "", err
	}
	if text, ok := v.(string); ok {
		if v, err = r.render(text, depth+1); err != nil {
			return "", err
		}
	}
	for _, word := range words[1:] {
		filter := filters[strings.TrimSpace(word)]
		if filter == nil {
			return "", fmt.Errorf("the filter of {{%s}} is not known: write out what it makes", excerpt.Line(inner, 80))
		}
		if v, err = filter(v); err != nil {
			return "", err
		}
	}
	return written(v), nil
}

// lookUp returns the value that an expression names.
func lookUp(expression string, values map[string]any) (any, error) {
	m := reference.FindStringSubmatch(expression)
	if m == nil {
		return nil, fmt.Errorf("{{%s}} is more than the name of a value: write out what it makes",
			excerpt.Line(expression, 80))
	}
	none := noValueError(fmt.Sprintf("{{%s}} has no value", expression))
	v, ok := values[m[1]]
	if !ok {
		return nil, none
	}
	for _, key := range referenceKey.FindAllStringSubmatch(m[2], -1) {
		ok = false
		switch in := v.(type) {
		case lookup:
			text, err := in(key[1] + key[3] + key[4])
			if err != nil {
				return nil, err
			}
			v, ok = text, true
		case map[string]any:
			v, ok = in[key[1]+key[2]+key[3]+key[4]]
		case []any:
			if i, err := strconv.Atoi(key[2]); err == nil && i < len(in) {
				v, ok = in[i], true
			}
		}
		if !ok {
			return nil, none
		}
	}
	if _, all := v.(lookup); all {
		return nil, fmt.Errorf("{{%s}}: name the value that is meant", expression)
	}
	return v, nil
}

// written returns a value as a template shows it.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	default:
		return jsonvalue.Compact(v)
	}
}
