package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// FuzzMarshalIndent holds our lines to those of encoding/json.
func FuzzMarshalIndent(f *testing.F) {
	for _, text := range []string{
		`null`, `{}`, `[]`, `[[]]`, `{"a":{}}`, `[{},[],""]`, `{"a":[1,-2.5e3,true],"b":{"c":"d, {e}: [f]"}}`,
		`"\\"`, `["\"","\\\"",":"]`, `{"\"":"\\"}`, `"<&\u2028"`,
	} {
		f.Add([]byte(text), "", "  ")
		f.Add([]byte(text), "> ", "")
	}
	f.Fuzz(func(t *testing.T, text []byte, prefix, indent string) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			return
		}
		line, err := jsonvalue.Marshal(v)
		require.NoError(t, err)
		var want bytes.Buffer
		require.NoError(t, json.Indent(&want, line, prefix, indent))
		if prefix == "" && indent == "" {
			want = *bytes.NewBuffer(line)
		}
		got, err := jsonvalue.MarshalIndent(v, prefix, indent)
		require.NoError(t, err)
		require.Equal(t, want.String(), string(got))
	})
}
