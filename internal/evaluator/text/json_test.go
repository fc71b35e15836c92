package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

func TestJSON(t *testing.T) {
	const schema = `, schema: {type: object, required: [id], properties: {id: {type: integer, minimum: 1}}}`
	for _, test := range []struct {
		name, keys, said string
		holds            bool
		evidence         string
	}{
		{"whole", "json: whole", "[{}]\n", true, `the last message is JSON, which begins with "[{}]\n"`},
		{"a number", "json: whole", "42", true, `the last message is JSON, which begins with "42"`},
		{
			"in a fence", "json: whole", "```json\n{}\n```", false,
			"the last message is not JSON: line 1: invalid character '`' looking for beginning of value; " +
				"it begins with \"```json\\n{}\\n```\"",
		},
		{
			"text after it", "json: whole", "{} done", false,
			`the last message is not JSON: line 1: text after the JSON value; it begins with "{} done"`,
		},
		{
			"a key twice", "json: whole", `{"a": 1, "a": 2}`, false,
			`the last message is not JSON: line 1: duplicate key "a"; it begins with "{\"a\": 1, \"a\": 2}"`,
		},
		{
			"as the schema says", "json: whole" + schema, `{"id": 1.0}`, true,
			`the last message is JSON, which begins with "{\"id\": 1.0}"`,
		},
		{
			"not as the schema says", "json: whole" + schema, `{"id": 0}`, false,
			`the last message is not as the schema says: validating root: validating /properties/id: minimum: 0/1 ` +
				`is less than 1.000000; it begins with "{\"id\": 0}"`,
		},
		{
			"somewhere", "json: object", "Look {here}:\n```\n{\"id\": 7}\n```", true,
			"a JSON object is on line 3 of the last message: \"{\\\"id\\\": 7}\"",
		},
		{
			"the second is right", "json: object" + schema, `{"id": "a"} {"id": 7}`, true,
			`a JSON object is on line 1 of the last message: "{\"id\": \"a\"} {\"id\": 7}"`,
		},
		{
			"inside what is not closed", "json: object" + schema, `{"a": {"id": 7}, `, true,
			`a JSON object is on line 1 of the last message: "{\"a\": {\"id\": 7}, "`,
		},
		{
			"none is right", "json: object" + schema, `{"id": "a"} {}`, false,
			`the JSON object on line 1 of the last message: "{\"id\": \"a\"} {}" is not as the schema says: ` +
				`validating root: validating /properties/id: type: a has type "string", want "integer"`,
		},
		{
			"no object", "json: object", "[1] {a}", false,
			`no JSON object is found in the last message, which begins with "[1] {a}"`,
		},
		{"nothing was said", "json: whole", " ", false, "the agent said nothing in its last turn"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := check(t, test.keys, evaluator.Input{Run: saying(test.said)})
			assert.Equal(t, test.holds, c.Outcome == result.Pass)
			assert.Equal(t, test.evidence, c.Evidence)
		})
	}
	c := check(t, "json: object"+schema, evaluator.Input{Run: saying("{}")})
	assert.Equal(t, "the last message contains a JSON object as the schema says", c.Text)
}

// Objects in objects that are not closed do not take for ever.
func TestDeepJSON(t *testing.T) {
	c := check(t, "json: object", evaluator.Input{Run: saying(strings.Repeat(`{"":`, 1<<19))})
	assert.Equal(t, result.Fail, c.Outcome)
	assert.Contains(t, c.Evidence, "after which there is too much to read")
}

// What a schema says is checked, or refused: nothing is passed over.
func TestSchema(t *testing.T) {
	const draft7 = `$schema: "http://json-schema.org/draft-07/schema", `
	for keys, want := range map[string]string{
		`{type: string, format: email}`:                        "#/format: this keyword is not checked: write a",
		`{properties: {format: {nullable: 1}}}`:                "#/properties/format/nullable: this keyword is",
		`{items: [{type: string}]}`:                            "#/items: draft 2020-12 does not have it",
		`{` + draft7 + `items: [{typ: string}]}`:               "#/items/0/typ: this keyword is not checked",
		`{dependencies: {a: [b]}}`:                             "#/dependencies: draft 2020-12 does not have it",
		`{$schema: "http://json-schema.org/draft-04/schema#"}`: "$schema: drafts 2020-12, the default, and draft-07",
		`{$schema: 7}`:                                         "$schema: drafts 2020-12",
		`{$ref: "other.json"}`:                                 `#/$ref: "other.json" leads to no schema in this one`,
		`{$ref: "#"}`:                                          "#: it refers to itself",
		`{$defs: {a/b: {anyOf: [{$ref: "#/$defs/a~1b"}]}}}`:    "#/$defs/a~1b: it refers to itself",
		`{$ref: "#/$defs/a"}`:                                  "$defs",
		`{` + draft7 + `$ref: "#/definitions/a", minLength: 1, definitions: {a: {}}}`: "#/minLength: draft-07 passes",
		`{properties: {a: {$id: x}}}`: "#/properties/a/$id: only the schema as a whole",
		`{pattern: "a(?=b)"}`:         "pattern: error parsing regexp",
		`{type: 7}`:                   "type",
		`7`:                           "schema",
	} {
		_, err := parse("checks: [{id: a, json: whole, schema: " + keys + "}]")
		require.ErrorContains(t, err, "p.yaml:6:", keys)
		assert.ErrorContains(t, err, want, keys)
	}
	for keys, test := range map[string]struct{ right, wrong string }{
		`{$ref: "#/$defs/a", $defs: {a: {properties: {next: {$ref: "#/$defs/a"}}, required: [v]}}}`: {
			`{"v": 1, "next": {"v": 2}}`, `{"v": 1, "next": {}}`,
		},
		`{` + draft7 + `items: [{type: string}], additionalItems: false}`: {`["a"]`, `["a", 1]`},
		`{prefixItems: [{type: string}], items: false}`:                   {`["a"]`, `["a", 1]`},
		`{` + draft7 + `dependencies: {a: [b]}}`:                          {`{"a": 1, "b": 1}`, `{"a": 1}`},
		`{enum: [1, null, "x"]}`:                                          {`null`, `2`},
	} {
		right := check(t, "json: whole, schema: "+keys, evaluator.Input{Run: saying(test.right)})
		assert.Equal(t, result.Pass, right.Outcome, right.Evidence)
		wrong := check(t, "json: whole, schema: "+keys, evaluator.Input{Run: saying(test.wrong)})
		assert.Equal(t, result.Fail, wrong.Outcome, keys)
	}
	_, err := parse("checks: [{id: a, contains: [b], schema: {}}]")
	assert.ErrorContains(t, err, "schema: has no effect without `json`")
}
