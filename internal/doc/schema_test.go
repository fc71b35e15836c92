package doc_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

func TestSchemasOf(t *testing.T) {
	type described struct {
		ID string `yaml:"id,required" pattern:"^[a-z]+$" doc:"What it is called."`
	}
	const innerSchema = `{"type": "object", "additionalProperties": false, "required": ["needed"], "properties": {
		"needed": {"type": "string", "pattern": "\\S"},
		"weight": {"type": "number", "default": 1.5, "minimum": 0, "maximum": 9}}}`
	tests := []struct {
		name string
		of   any
		want string
	}{
		{"string", struct {
			V string `yaml:"v" min:"1" default:"x"`
		}{}, `{"type": "string", "pattern": "\\S", "default": "x"}`},
		{"enum", struct {
			V string `yaml:"v" enum:"a,b"`
		}{}, `{"type": "string", "enum": ["a", "b"]}`},
		{"what the caller checks", struct {
			V string `yaml:"v" known:"a,b"`
		}{}, `{"type": "string", "enum": ["a", "b"]}`},
		{"boolean", struct {
			V bool `yaml:"v" default:"false"`
		}{}, `{"type": "boolean", "default": false}`},
		{"integer", struct {
			V int64 `yaml:"v" min:"1" max:"3" default:"2"`
		}{}, `{"type": "integer", "minimum": 1, "maximum": 3, "default": 2}`},
		{"number above", struct {
			V *float64 `yaml:"v" above:"0"`
		}{}, `{"type": "number", "exclusiveMinimum": 0}`},
		{"list", struct {
			V []string `yaml:"v" min:"1" max:"2" enum:"a,b"`
		}{}, `{"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2}`},
		{
			"mapping",
			struct {
				V map[string]string `yaml:"v" pattern:"^[a-z]+$"`
			}{},
			`{"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": {"pattern": "^[a-z]+$"}}`,
		},
		{"list by key", struct {
			V []named `yaml:"v" min:"1"`
		}{}, `{"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties":
			{"type": "object", "additionalProperties": false, "properties": {"value": {"type": "string"}}}}`},
		{"struct", struct {
			V inner `yaml:"v"`
		}{}, innerSchema},
		{"pointer", struct {
			V *inner `yaml:"v"`
		}{}, innerSchema},
		{"descriptions", struct {
			V described `yaml:"v" doc:"All of it."`
		}{}, `{"type": "object", "description": "All of it.", "additionalProperties": false,
			"required": ["id"], "properties":
			{"id": {"type": "string", "pattern": "^[a-z]+$", "description": "What it is called."}}}`},
		{"anything", struct {
			V any `yaml:"v"`
		}{}, `{}`},
		{"node", struct {
			V *doc.Node `yaml:"v"`
		}{}, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s doc.Schemas
			got, err := json.Marshal(s.Of(reflect.TypeOf(tt.of)).Properties["v"])
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(got))
		})
	}
}

func TestSchemaKeys(t *testing.T) {
	type open struct {
		Known string    `yaml:"known,required"`
		Later struct{}  `yaml:"later,refused" reason:"not yet"`
		Rest  *doc.Node `yaml:",rest"`
	}
	var s doc.Schemas
	got := s.Of(reflect.TypeFor[open]())
	assert.Nil(t, got.AdditionalProperties, "what takes the rest of the keys leaves them open")
	assert.Contains(t, got.Properties, "known")
	assert.NotContains(t, got.Properties, "later")
}

func TestRefine(t *testing.T) {
	var s doc.Schemas
	doc.Refine[inner](&s, func(v *doc.Schema) { v.Properties["weight"].Title = "refined" })
	got := s.Of(reflect.TypeFor[everything]())
	assert.Equal(t, "refined", got.Properties["inner"].Properties["weight"].Title)
	assert.Equal(t, "refined", got.Properties["optional"].Properties["weight"].Title)
}

func TestSchemaPanics(t *testing.T) {
	var s doc.Schemas
	assert.PanicsWithValue(t, "doc: no schema for chan int", func() { s.Of(reflect.TypeFor[chan int]()) })
}

// TestDurationPattern checks that the pattern for durations matches exactly those that can be decoded.
func TestDurationPattern(t *testing.T) {
	type timed struct {
		V time.Duration `yaml:"v"`
	}
	var s doc.Schemas
	pattern := regexp.MustCompile(s.Of(reflect.TypeFor[timed]()).Properties["v"].Pattern)
	for _, text := range []string{
		"90s", "1h30m", "1.5h", ".5s", "-3ms", "100us", "3µs", "0s", "", "5", "5 m",
		"1d", "h", "1h 3m", ".s",
	} {
		_, err := decode[timed](t, "v: \""+text+"\"\n")
		assert.Equal(t, err == nil, pattern.MatchString(text), "%q: %v", text, err)
	}
}
