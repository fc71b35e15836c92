package plan_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// validate returns what is wrong with a value by the part of JSON schema that schemas of playbooks use. It panics on
// any other keyword.
func validate(root, schema map[string]any, path string, value any) []string {
	v := validation{root: root, path: path, value: value}
	for keyword, param := range schema {
		if problem := v.keyword(schema, keyword, param); problem != "" {
			v.problems = append(v.problems, fmt.Sprintf("%s: %s: %s", path, keyword, problem))
		}
	}
	return v.problems
}

type validation struct {
	root     map[string]any
	path     string
	value    any
	problems []string
}

// keyword holds the value to one keyword. It returns a problem, or appends those of values within.
func (v *validation) keyword(schema map[string]any, keyword string, param any) string {
	switch keyword {
	case "$schema", "title", "description", "default", "definitions", "then":
		return ""
	case "$ref":
		at := any(v.root)
		for key := range strings.SplitSeq(strings.TrimPrefix(param.(string), "#/"), "/") {
			at = at.(map[string]any)[key]
		}
		v.problems = append(v.problems, v.with(at)...)
		return ""
	case "allOf", "anyOf", "oneOf", "not", "if":
		return v.combine(schema, keyword, param)
	case "type", "const", "enum":
		return v.isAny(keyword, param)
	}
	switch value := v.value.(type) {
	case string:
		return v.text(value, keyword, param)
	case json.Number:
		return v.number(value, keyword, param)
	case []any:
		return v.list(value, keyword, param)
	case map[string]any:
		return v.mapping(value, schema, keyword, param)
	default:
		return passedOver(keyword)
	}
}

func (v *validation) with(schema any) []string {
	return validate(v.root, schema.(map[string]any), v.path, v.value)
}

func (v *validation) combine(schema map[string]any, keyword string, param any) string {
	switch keyword {
	case "not":
		if len(v.with(param)) == 0 {
			return "holds"
		}
		return ""
	case "if":
		if len(v.with(param)) == 0 {
			v.problems = append(v.problems, v.with(schema["then"])...)
		}
		return ""
	}
	held := 0
	for _, s := range param.([]any) {
		problems := v.with(s)
		if len(problems) == 0 {
			held++
		}
		if keyword == "allOf" {
			v.problems = append(v.problems, problems...)
		}
	}
	if keyword == "anyOf" && held == 0 || keyword == "oneOf" && held != 1 {
		return fmt.Sprintf("%d hold", held)
	}
	return ""
}

func (v *validation) isAny(keyword string, param any) string {
	switch keyword {
	case "type":
		if got := typeOf(v.value); got != param && (got != "integer" || param != "number") {
			return fmt.Sprintf("%s, not %s", got, param)
		}
	case "const":
		if v.value != param {
			return fmt.Sprintf("not %v", param)
		}
	case "enum":
		if slices.Contains(param.([]any), v.value) {
			return ""
		}
		return fmt.Sprintf("%v is none of them", v.value)
	}
	return ""
}

func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if _, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

func (v *validation) text(value, keyword string, param any) string {
	if keyword == "pattern" && !regexp.MustCompile(param.(string)).MatchString(value) {
		return fmt.Sprintf("%q does not match %s", value, param)
	}
	return passedOver(keyword)
}

func (v *validation) number(value json.Number, keyword string, param any) string {
	f, err := value.Float64()
	if err != nil {
		return err.Error()
	}
	if keyword == "minimum" && f < param.(float64) || keyword == "maximum" && f > param.(float64) ||
		keyword == "exclusiveMinimum" && f <= param.(float64) {
		return fmt.Sprintf("%v against %v", f, param)
	}
	return passedOver(keyword)
}

func (v *validation) list(value []any, keyword string, param any) string {
	switch keyword {
	case "items":
		for i, item := range value {
			path := fmt.Sprintf("%s[%d]", v.path, i)
			v.problems = append(v.problems, validate(v.root, param.(map[string]any), path, item)...)
		}
	case "minItems", "maxItems":
		return v.count(len(value), keyword, param)
	case "uniqueItems":
		for i := range value {
			for j := range i {
				if reflect.DeepEqual(value[i], value[j]) {
					return "not unique"
				}
			}
		}
	}
	return passedOver(keyword)
}

func (v *validation) count(n int, keyword string, param any) string {
	if strings.HasPrefix(keyword, "min") && float64(n) < param.(float64) ||
		strings.HasPrefix(keyword, "max") && float64(n) > param.(float64) {
		return strconv.Itoa(n)
	}
	return ""
}

func (v *validation) mapping(value, schema map[string]any, keyword string, param any) string {
	properties, _ := schema["properties"].(map[string]any)
	switch keyword {
	case "required":
		for _, key := range param.([]any) {
			if _, ok := value[key.(string)]; !ok {
				return fmt.Sprintf("%v is missing", key)
			}
		}
	case "minProperties", "maxProperties":
		return v.count(len(value), keyword, param)
	case "propertyNames":
		for key := range value {
			v.problems = append(v.problems, validate(v.root, param.(map[string]any), v.path+"."+key, key)...)
		}
	case "properties":
		for key, s := range properties {
			if child, ok := value[key]; ok {
				v.problems = append(v.problems, validate(v.root, s.(map[string]any), v.path+"."+key, child)...)
			}
		}
	case "additionalProperties":
		for key, child := range value {
			if _, own := properties[key]; own {
				continue
			}
			if param == false {
				return fmt.Sprintf("%q is unknown", key)
			}
			v.problems = append(v.problems, validate(v.root, param.(map[string]any), v.path+"."+key, child)...)
		}
	}
	return passedOver(keyword)
}

// keywords are those that concern values of one type and are passed over with others.
const keywords = " pattern minimum maximum exclusiveMinimum items minItems maxItems uniqueItems required " +
	"minProperties maxProperties propertyNames properties additionalProperties "

// passedOver returns "" for a keyword that says nothing more about the value.
func passedOver(keyword string) string {
	if !strings.Contains(keywords, " "+keyword+" ") {
		panic("no such keyword here: " + keyword)
	}
	return ""
}
