package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const published = "../../testdata/schema"

func TestGenerated(t *testing.T) {
	want, err := generate(published)
	require.NoError(t, err)
	got, err := os.ReadFile("../../schema_gen.go")
	require.NoError(t, err)
	require.True(t, string(want) == string(got), "schema_gen.go is not what its sources give: run `go generate ./acp`")
}

// TestChangedSchema shows what the generator says when a newer schema has changed.
func TestChangedSchema(t *testing.T) {
	type object = map[string]any
	props := func(defs object, name string) object { return defs[name].(object)["properties"].(object) }
	tests := []struct {
		name   string
		change func(defs object)
		source string // a part of it
		err    string
	}{
		{
			name:   "new property",
			change: func(defs object) { props(defs, "TerminalExitStatus")["coreDumped"] = object{"type": "boolean"} },
			source: "CoreDumped bool `json:\"coreDumped,omitzero\"`",
		},
		{
			name: "new variant",
			change: func(defs object) {
				union := defs["SessionUpdate"].(object)
				union["oneOf"] = append(union["oneOf"].([]any), object{
					"properties": object{"sessionUpdate": object{"type": "string", "const": "cost"}},
					"allOf":      []any{object{"$ref": "#/$defs/Cost"}},
				})
			},
			source: `func (Cost) UpdateKind() string { return "cost" }`,
		},
		{
			name: "new method",
			change: func(defs object) {
				defs["PingRequest"] = object{"type": "object", "x-method": "ping", "x-side": "agent"}
			},
			err: "PingRequest has no comment: write one in comments.txt",
		},
		{
			name:   "property gone",
			change: func(defs object) { delete(props(defs, "TerminalExitStatus"), "signal") },
			err:    "notes.go or comments.txt has TerminalExitStatus.Signal, which is not in the schema or not used",
		},
		{
			name:   "definition gone",
			change: func(defs object) { delete(defs, "Cost") },
			err:    `the schema has no definition "Cost"`,
		},
		{
			name:   "unknown type",
			change: func(defs object) { props(defs, "TerminalExitStatus")["signal"] = object{"type": "tuple"} },
			err:    `no Go type for type ["tuple"]`,
		},
		{
			name: "unknown format",
			change: func(defs object) {
				props(defs, "TerminalExitStatus")["signal"] = object{"type": "integer", "format": "int8"}
			},
			err: `no Go type for an integer of format "int8"`,
		},
		{
			name: "arrays of different items",
			change: func(defs object) {
				defs["SessionConfigSelectOptions"].(object)["anyOf"] = []any{
					object{"type": "array", "items": object{"type": "string"}},
					object{"type": "array", "items": object{"type": "boolean"}},
				}
			},
			err: "SessionConfigSelectOptions is a union of []string and []bool",
		},
		{
			name:   "constant that is not a string",
			change: func(defs object) { props(defs, "TerminalExitStatus")["signal"] = object{"const": 7} },
			err:    "constant 7 is not a string",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(published)))
			path := filepath.Join(dir, "schema.json")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			var schema object
			require.NoError(t, json.Unmarshal(data, &schema))
			tt.change(schema["$defs"].(object))
			data, err = json.Marshal(schema)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data, 0o644))

			source, err := generate(dir)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Contains(t, string(source), tt.source)
		})
	}
}

func TestReadComments(t *testing.T) {
	got := readComments("A is\nlong.\n\tField is\n\t\tlong.\n\tOther is not.\n\nB is not.\n")
	require.Equal(t, map[string]string{
		"A": "A is\nlong.", "A.Field": "Field is long.", "A.Other": "Other is not.", "B": "B is not.",
	}, got)
	require.Panics(t, func() { readComments("A is a.\n\nA is b.") })
}
