package atif

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// maxProblems is how many problems of a trajectory an error lists.
const maxProblems = 20

// maxDepth is how deep subagents may be nested.
const maxDepth = 32

// Check returns an error if the JSON is not a valid trajectory. It alone knows the format's rules; null stands for a
// field that is left out.
func Check(data []byte) error {
	var tree any
	if err := jsonvalue.DecodeStrict(data, &tree, 0); err != nil {
		if e, ok := errors.AsType[*jsonvalue.Error](err); ok {
			err = fmt.Errorf("line %d: %w", e.Line, err)
		}
		return err
	}
	var c checker
	c.trajectory("", tree, 0)
	return c.err()
}

// checker collects problems.
type checker struct {
	problems []string
	more     int
}

func (c *checker) addf(path, format string, args ...any) {
	if len(c.problems) == maxProblems {
		c.more++
		return
	}
	if path == "" {
		path = "the trajectory"
	}
	c.problems = append(c.problems, path+": "+fmt.Sprintf(format, args...))
}

func (c *checker) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	text := strings.Join(c.problems, "\n")
	if c.more > 0 {
		text += fmt.Sprintf("\nand %d more", c.more)
	}
	return errors.New(text)
}

// shape maps the fields that an object may have to their checks. A field whose name begins with "!" is required.
type shape map[string]func(c *checker, path string, v any)

// object checks an object against its shape and returns its fields without nulls, nil if it is not an object.
func (c *checker) object(path string, v any, s shape) map[string]any {
	o, ok := v.(map[string]any)
	if !ok {
		c.addf(path, "must be an object, not %s", jsonvalue.Type(v))
		return nil
	}
	fields := make(map[string]any, len(o))
	for _, name := range slices.Sorted(maps.Keys(o)) {
		check, known := s[name]
		required := false
		if !known {
			check, required = s["!"+name]
		}
		switch value := o[name]; {
		case !known && !required:
			c.addf(join(path, name), "unknown field: other data belongs under extra")
		case value != nil:
			fields[name] = value
			check(c, join(path, name), value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if name, required := strings.CutPrefix(name, "!"); required && fields[name] == nil {
			c.addf(join(path, name), "is required")
		}
	}
	return fields
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// list checks each element of an array.
func (c *checker) list(path string, v any, check func(path string, v any)) {
	a, ok := v.([]any)
	if !ok {
		c.addf(path, "must be an array, not %s", jsonvalue.Type(v))
		return
	}
	for i, e := range a {
		check(fmt.Sprintf("%s[%d]", path, i), e)
	}
}

// shown returns a value for people, cut if it is long.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%.60q", v)
	case json.Number:
		return fmt.Sprintf("%.40s", v)
	}
	return jsonvalue.Type(v)
}

var isText, isBool, isObject = is[string]("a string"), is[bool]("a boolean"), is[map[string]any]("an object")

// is checks that a value has a type, which is called what.
func is[T any](what string) func(c *checker, path string, v any) {
	return func(c *checker, path string, v any) {
		if _, ok := v.(T); !ok {
			c.addf(path, "must be %s, not %s", what, jsonvalue.Type(v))
		}
	}
}

func isInteger(c *checker, path string, v any) {
	n, ok := v.(json.Number)
	if !ok {
		c.addf(path, "must be an integer, not %s", jsonvalue.Type(v))
		return
	}
	if _, err := n.Int64(); err != nil {
		c.addf(path, "must be an integer, not %s", shown(v))
	}
}

func isNumber(c *checker, path string, v any) {
	n, ok := v.(json.Number)
	if !ok {
		c.addf(path, "must be a number, not %s", jsonvalue.Type(v))
		return
	}
	if _, err := n.Float64(); err != nil {
		c.addf(path, "%s is too large", shown(v))
	}
}

func isEffort(c *checker, path string, v any) {
	if _, ok := v.(string); !ok {
		isNumber(c, path, v)
	}
}

func each(check func(c *checker, path string, v any)) func(*checker, string, any) {
	return func(c *checker, path string, v any) {
		c.list(path, v, func(path string, v any) { check(c, path, v) })
	}
}

// later is the check of fields that are checked together with others.
func later(*checker, string, any) {}

// iso8601 matches a date, or a date and a time with or without a zone, as the reference implementation accepts them.
var iso8601 = lazyregexp.New(`^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?$`)

func isTimestamp(c *checker, path string, v any) {
	text, ok := v.(string)
	if !ok {
		c.addf(path, "must be a string, not %s", jsonvalue.Type(v))
		return
	}
	if _, err := Time(text); err != nil {
		c.addf(path, "%v", err)
	}
}

// Time parses a timestamp. Without a zone it is UTC.
func Time(timestamp string) (time.Time, error) {
	bad := fmt.Errorf("%s is not a time in ISO 8601", shown(timestamp))
	if !iso8601.MatchString(timestamp) {
		return time.Time{}, bad
	}
	s := strings.Replace(strings.Replace(timestamp, " ", "T", 1), ",", ".", 1)
	for _, layout := range []string{
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04:05",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700", "2006-01-02T15:04Z07", "2006-01-02T15:04", "2006-01-02",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, bad
}
