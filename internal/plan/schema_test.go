package plan_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	evaluators "github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestSchema holds schema.json, which editors read, to the types that are decoded into.
func TestSchema(t *testing.T) {
	golden.Equal(t, "../../playbook/schema.json", plan.Schema(evaluators.All()))
}

// TestSchemaOffers checks what editors are to offer.
func TestSchemaOffers(t *testing.T) {
	text := string(plan.Schema(evaluators.All()))
	for _, kind := range agent.Kinds() {
		assert.Contains(t, text, `"`+kind+`"`)
	}
	for _, action := range []string{
		action.Prepare, action.Style, action.Loop, action.Prompt, action.Report,
	} {
		assert.Contains(t, text, `"`+action+`"`)
	}
	for kind := range evaluators.All() {
		assert.Contains(t, text, `"`+kind+`"`)
	}
	for _, style := range []string{"sdd", "sdd-legacy"} {
		assert.Contains(t, text, `"`+style+`"`)
	}
}

// schemaOf returns a schema as JSON has it.
func schemaOf(t testing.TB, kinds plan.Kinds) map[string]any {
	t.Helper()
	var schema map[string]any
	require.NoError(t, json.Unmarshal(plan.Schema(kinds), &schema))
	return schema
}

// read returns the value that a playbook's text stands for, false if it stands for none that JSON could have, too.
func read(t testing.TB, file string) (any, bool) {
	t.Helper()
	d, err := doc.Load(file, file)
	require.NoError(t, err)
	return d.Root.Value(), d.Err() == nil
}

func TestSchemaAcceptsValid(t *testing.T) {
	schema := schemaOf(t, kinds)
	for _, file := range glob(t, "testdata/valid/*.yaml", "testdata/evalfile/valid/*.yaml") {
		value, ok := read(t, file)
		require.True(t, ok, file)
		assert.Empty(t, validate(schema, schema, "", value), file)
	}

	schema = schemaOf(t, evaluators.All())
	for _, file := range glob(t, "../../evals/*/*.yaml") {
		value, ok := read(t, file)
		require.True(t, ok, file)
		assert.Empty(t, validate(schema, schema, "", value), file)
	}
}

// beyondSchema are the invalid playbooks that the schema accepts, each with what it cannot say.
var beyondSchema = map[string]string{
	"1":                         "a name made from the file's",
	"ablate_nothing":            "what a variant has",
	"ablate_of_nothing":         "what a variant has",
	"cases_without_agent":       "what the jobs come to",
	"cases_without_prompt_step": "what the jobs come to",
	"evalfile_advisory":         "what the evaluators of a case come to",
	"evalfile_files":            "that one key needs another",
	"evaluator_names_per_unit":  "names that are unique",
	"evaluators_advisory":       "what the evaluators of a case come to",
	"evaluators_without_agent":  "what the jobs come to",
	"evaluators_without_matrix": "what the jobs come to",
	"expect_stop_of_nothing":    "what the jobs come to",
	"interpolation_cases":       "what a placeholder stands for",
	"limits_timeout":            "how long a duration is",
	"max_age":                   "that one number is less than another",
	"max_age_same":              "that one number is less than another",
	"needs_cycle":               "the order of jobs",
	"cassette_level_client":     "which tools a level has",
	"cassette_level_mcp":        "that one key needs another",
	"cassette_overrides_output": "what a tool can answer",
	"cassette_overrides_unit":   "what the jobs come to",
	"limits_until":              "which evaluators know early",
	"needs_through_matrix":      "the order of jobs",
	"report_before_units":       "the order of jobs",
	"sandbox_command_missing":   "that one key needs another",
	"sandbox_command_unused":    "that one key needs another",
	"step_run":                  "the words of a command",
	"style_missing":             "what a variant has for a step",
	"trials_multiply":           "a product",
	"trials_pass":               "that one number is at most another",
	"variant_ids":               "that two keys differ in case alone",
}

func TestSchemaRefusesInvalid(t *testing.T) {
	schema := schemaOf(t, kinds)
	for _, file := range glob(t, "testdata/invalid/*.yaml", "testdata/evalfile/invalid/*.yaml") {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		value, ok := read(t, file)
		if !ok {
			continue // it is no JSON
		}
		problems := validate(schema, schema, "", value)
		if reason, beyond := beyondSchema[name]; beyond {
			assert.Empty(t, problems, "%s is refused after all: the schema can say %s", file, reason)
			continue
		}
		assert.NotEmpty(t, problems, file)
	}
}

// TestSchemaOfAnyEvaluator lets an evaluator have any keys if its kind does not say which.
func TestSchemaOfAnyEvaluator(t *testing.T) {
	schema := schemaOf(t, kinds)
	tests := []struct {
		name, evaluator string
		valid           bool
	}{
		{"own keys", "{type: fake, mode: exact}", true},
		{"a key of another kind", "{type: fake, exists: [a]}", false},
		{"bad value of an own key", "{type: fake, mode: strict}", false},
		{"any keys", "{type: files, exists: [a], more: {}}", true},
		{"bad value of a common key", "{type: files, threshold: 0}", false},
		{"unknown type", "{type: file}", false},
		{"no type", "{mode: exact}", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := doc.Parse("e.yaml", []byte(tt.evaluator))
			require.NoError(t, d.Err())
			ref := map[string]any{"$ref": "#/definitions/evaluator"}
			problems := validate(schema, ref, "", d.Root.Value())
			assert.Equal(t, tt.valid, len(problems) == 0, problems)
		})
	}
}
