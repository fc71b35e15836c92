package files

import (
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/jsonpath"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// value is what is expected of one value in a JSON file.
type value struct {
	At     string    `yaml:"at,required" doc:"Where the value stands: keys and indexes, e.g. lines[0].price."`
	Equals *doc.Node `yaml:"equals" doc:"The value, of any type. Either equals or exists."`
	Exists *bool     `yaml:"exists" doc:"Whether there is a value, be it null. Either equals or exists."`
}

func (v value) compile(item *doc.Node) check {
	path, err := jsonpath.Parse(v.At)
	if err != nil && v.At != "" {
		item.Errorf("at", "%v", err)
	}
	if (item.Get("equals") != nil) == (item.Get("exists") != nil) {
		item.Errorf("", "exactly one of `equals` and `exists` is required")
	}
	switch {
	case v.Exists == nil:
		return hasValue(path, item.Get("equals").Value())
	case *v.Exists:
		return has(path)
	default:
		return hasNot(path)
	}
}

func hasValue(path jsonpath.Path, want any) check {
	return ofJSON("has "+path.String()+" = "+jsonpath.Show(want), func(document any) string {
		got, missing := path.Find(document)
		if missing == "" && !jsonvalue.Equal(want, got) {
			return "it is " + jsonpath.Show(got)
		}
		return missing
	})
}

func has(path jsonpath.Path) check {
	return ofJSON("has "+path.String(), func(document any) string {
		_, missing := path.Find(document)
		return missing
	})
}

func hasNot(path jsonpath.Path) check {
	return ofJSON("has no "+path.String(), func(document any) string {
		got, missing := path.Find(document)
		if missing != "" {
			return ""
		}
		return "it is " + jsonpath.Show(got)
	})
}

// ofJSON is a check of a file that must be JSON.
func ofJSON(what string, problem func(document any) string) check {
	return check{what, func(c content) string {
		document, err := c.json()
		if err != nil {
			return "the file is no JSON: " + err.Error() + "\n" + beginning(c.data)
		}
		return problem(document)
	}}
}
