package trajectory

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// Arg is an argument matcher: a condition on one argument of a tool call. It never panics. If it is malformed, for
// example a bad regular expression, the result of matching is an error.
type Arg struct {
	name  string
	param any // decoded JSON
	holds test
	// digests returns digests of an actual value. If the value matches, one of them is the digest of the parameter. It
	// is nil for matchers that have no digests.
	digests func(v any, cwd string) []uint64
	err     error
}

// test reports whether an actual argument, as decoded JSON, matches in a session that runs in cwd.
type test func(actual any, cwd string) bool

// forms are the argument matchers: the name in YAML and the function that makes a test from the parameter, which is
// decoded JSON. The functions below are the matchers in Go.
var forms = map[string]func(param any) (test, error){
	"equals":      isEqual,
	"contains":    ofText(textual(strings.Contains)),
	"contains_ci": ofText(textual(containsFold)),
	"ends_with":   ofText(textual(strings.HasSuffix)),
	"regex":       ofText(matchesRegexp),
	"glob":        ofText(matchesGlob),
	"path":        ofText(isPath),
	"glob_like":   ofText(isGlobLike),
	"one_of":      isOneOf,
	"gte":         ofNumber(func(v, n jsonvalue.Number) bool { return v.Compare(n) >= 0 }),
	"lte":         ofNumber(func(v, n jsonvalue.Number) bool { return v.Compare(n) <= 0 }),
	"near":        isNear,
	"any":         ofTrue(true),
	"absent":      ofTrue(false),
	"type":        ofText(isType),
}

// NewArg returns the argument matcher with the given name and parameter, as written in YAML: name is one of
// [ArgNames], param decoded JSON or YAML. The parameter of any and absent is true, that of one_of a list, that of
// near {"value": number, "within": number}.
func NewArg(name string, param any) (Arg, error) {
	a := newArg(name, param)
	return a, a.err
}

// ArgNames returns the names of the argument matchers, sorted.
func ArgNames() []string { return slices.Sorted(maps.Keys(forms)) }

func newArg(name string, param any) Arg {
	build, ok := forms[name]
	if !ok {
		known := strings.Join(ArgNames(), ", ")
		return Arg{name: name, err: fmt.Errorf("unknown argument matcher %q: want one of %s", name, known)}
	}
	a := Arg{name: name}
	a.param, a.err = valueOf(param)
	if a.err == nil {
		a.holds, a.err = build(a.param)
	}
	switch {
	case a.err != nil:
		a.err = fmt.Errorf("%s: %w", name, a.err)
	case name == "equals":
		a.digests = func(v any, _ string) []uint64 { return []uint64{digest(v)} }
	case name == "path":
		a.digests = digestPaths
	}
	return a
}

// Form returns the matcher's name and parameter as written in YAML; [NewArg] makes the same matcher from them.
func (a Arg) Form() (name string, param any) { return a.name, a.param }

// String returns the matcher as failure texts show it, e.g. contains_ci(todo); a value that must be equal is shown
// bare.
func (a Arg) String() string {
	switch a.name {
	case "equals":
		return show(a.param)
	case "any", "absent":
		return a.name + "()"
	case "near":
		m, _ := a.param.(map[string]any)
		return "near(" + show(m["value"]) + ", within " + show(m["within"]) + ")"
	case "one_of":
		list, _ := a.param.([]any)
		shown := make([]string, len(list))
		for i, v := range list {
			shown[i] = show(v)
		}
		return excerpt.Head("one_of("+strings.Join(shown, ", ")+")", maxValue)
	default:
		return a.name + "(" + show(a.param) + ")"
	}
}

// MarshalJSON returns an error: as a part of a value, a matcher would be compared as an empty object. See [Arg.Form].
func (a Arg) MarshalJSON() ([]byte, error) { return nil, errPart }

// absent reports whether the argument must be missing.
func (a Arg) absent() bool { return a.name == "absent" }

// Equals matches the same JSON value: 1 is 1.0, integers are exact however large, 1 is not "1", null is not absent.
func Equals(value any) Arg { return newArg("equals", value) }

// Contains matches a string that contains s. Like all matchers of strings, it matches an array if it matches one of its
// elements, since some agents give a command as a list of words.
func Contains(s string) Arg { return newArg("contains", s) }

// ContainsCI is [Contains], ignoring case.
func ContainsCI(s string) Arg { return newArg("contains_ci", s) }

// EndsWith matches a string that ends with s. For file names use [Path]: data.go ends with a.go.
func EndsWith(s string) Arg { return newArg("ends_with", s) }

// Regex matches a string in which the regular expression (package regexp) matches somewhere.
func Regex(expr string) Arg { return newArg("regex", expr) }

// Glob matches a path that matches the pattern, by whole components: ** stands for any number of them, {a,b} for a or
// b, the rest is as in package path. Both sides are resolved as in [Path]. A pattern without a slash is about the
// file's name alone: *.ts is **/*.ts, and ./*.ts only what lies in [Run.Cwd].
func Glob(pattern string) Arg { return newArg("glob", pattern) }

// Path matches the path of the same file: both sides are cleaned, and a relative one is below [Run.Cwd], which may be
// written as $WORKSPACE. So src/a.go is ./src/a.go and $WORKSPACE/src/a.go, but neither a.go nor src/data.go.
func Path(p string) Arg { return newArg("path", p) }

// GlobLike matches a glob pattern for the same files as this one, however deep they are: src/**/*.ts is src/*.ts, but
// not tests/**. It is for tools whose argument is a pattern; for paths see [Glob].
func GlobLike(pattern string) Arg { return newArg("glob_like", pattern) }

// OneOf matches a value that equals one of these.
func OneOf(values ...any) Arg { return newArg("one_of", values) }

// GTE matches a number of at least n, which may be any Go number or a json.Number. The comparison is exact.
func GTE(n any) Arg { return newArg("gte", n) }

// LTE matches a number of at most n, which may be any Go number or a json.Number. The comparison is exact.
func LTE(n any) Arg { return newArg("lte", n) }

// Near matches a number that differs from value by at most within; both may be any Go number or a json.Number.
func Near(value, within any) Arg {
	return newArg("near", map[string]any{"value": value, "within": within})
}

// Any matches any argument that is present, even null.
func Any() Arg { return newArg("any", true) }

// Absent matches an argument that is missing; null is not missing.
func Absent() Arg { return newArg("absent", true) }

// Type matches a value of a JSON type: string, number, integer, boolean, array, object or null.
func Type(name string) Arg { return newArg("type", name) }

// ofText reads a parameter that is a string. An empty one is an error, since it would match everything.
func ofText(build func(s string) (test, error)) func(any) (test, error) {
	return func(param any) (test, error) {
		s, ok := param.(string)
		if !ok {
			return nil, fmt.Errorf("needs a string, not %s", describe(param))
		}
		if s == "" {
			return nil, errors.New("needs a string that is not empty")
		}
		return build(s)
	}
}

func ofNumber(holds func(actual, param jsonvalue.Number) bool) func(any) (test, error) {
	return func(param any) (test, error) {
		n, ok := numberOf(param)
		if !ok {
			return nil, fmt.Errorf("needs a number, not %s", describe(param))
		}
		return compared(func(actual jsonvalue.Number) bool { return holds(actual, n) }), nil
	}
}

// ofTrue reads the parameter of a matcher without one, which is written as true in YAML.
func ofTrue(answer bool) func(any) (test, error) {
	return func(param any) (test, error) {
		if param != true {
			return nil, fmt.Errorf("the parameter must be true, not %s", describe(param))
		}
		return func(any, string) bool { return answer }, nil
	}
}

// textIn returns a test of strings that also holds for an array if it holds for one of its elements.
func textIn(holds func(s, cwd string) bool) test {
	return func(actual any, cwd string) bool {
		switch actual := actual.(type) {
		case string:
			return holds(actual, cwd)
		case []any:
			return slices.ContainsFunc(actual, func(v any) bool {
				s, ok := v.(string)
				return ok && holds(s, cwd)
			})
		default:
			return false
		}
	}
}

func textual(holds func(actual, param string) bool) func(param string) (test, error) {
	return func(param string) (test, error) {
		return textIn(func(s, _ string) bool { return holds(s, param) }), nil
	}
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

func compared(holds func(n jsonvalue.Number) bool) test {
	return func(actual any, _ string) bool {
		n, ok := numberOf(actual)
		return ok && holds(n)
	}
}

func matchesRegexp(expr string) (test, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	part := lazyregexp.Literal(expr) // searching for it is much quicker
	return textIn(func(s, _ string) bool { return strings.Contains(s, part) && re.MatchString(s) }), nil
}

func matchesGlob(pattern string) (test, error) {
	globs, err := parseGlobs(pattern)
	return textIn(func(p, cwd string) bool {
		return slices.ContainsFunc(globs, func(g glob) bool { return g.match(p, cwd) })
	}), err
}

func isEqual(want any) (test, error) {
	return func(actual any, _ string) bool { return jsonvalue.Equal(actual, want) }, nil
}

func isPath(want string) (test, error) {
	return textIn(func(p, cwd string) bool {
		// An empty path would resolve to the session's directory.
		return p != "" && resolve(p, cwd) == resolve(want, cwd)
	}), nil
}

// digestPaths returns the digests of the paths in a value.
func digestPaths(v any, cwd string) []uint64 {
	switch v := v.(type) {
	case string:
		return []uint64{digest(resolve(v, cwd))}
	case []any:
		var all []uint64
		for _, element := range v {
			if p, ok := element.(string); ok {
				all = append(all, digest(resolve(p, cwd)))
			}
		}
		return all
	default:
		return nil
	}
}

func isGlobLike(want string) (test, error) {
	return textIn(func(p, _ string) bool { return slices.Equal(essence(p), essence(want)) }), nil
}

func isOneOf(param any) (test, error) {
	list, ok := param.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("needs a list of values that is not empty, not %s", describe(param))
	}
	return func(actual any, _ string) bool {
		return slices.ContainsFunc(list, func(v any) bool { return jsonvalue.Equal(actual, v) })
	}, nil
}

func isNear(param any) (test, error) {
	m, _ := param.(map[string]any)
	value, okValue := numberOf(m["value"])
	within, okWithin := numberOf(m["within"])
	if len(m) != 2 || !okValue || !okWithin || within.Compare(jsonvalue.Number{}) < 0 {
		return nil, fmt.Errorf("needs a value and a distance, such as {value: 40, within: 0.5}, not %s",
			describe(param))
	}
	middle, inRange := value.Rat()
	if !inRange {
		return nil, fmt.Errorf("number %s is out of range", show(m["value"]))
	}
	most, inRange := within.Rat()
	if !inRange {
		return nil, fmt.Errorf("number %s is out of range", show(m["within"]))
	}
	return compared(func(n jsonvalue.Number) bool {
		off, inRange := n.Rat()
		return inRange && off.Abs(off.Sub(off, middle)).Cmp(most) <= 0
	}), nil
}

func isType(name string) (test, error) {
	types := []string{"string", "number", "integer", "boolean", "array", "object", "null"}
	if !slices.Contains(types, name) {
		return nil, fmt.Errorf("unknown type %q: want one of %s", name, strings.Join(types, ", "))
	}
	return func(actual any, _ string) bool {
		got := typeName(actual)
		return got == name || got == "integer" && name == "number"
	}, nil
}

// describe shows a parameter, with its type, in an error.
func describe(param any) string {
	if param == nil {
		return "null"
	}
	return show(param) + " (" + typeName(param) + ")"
}
