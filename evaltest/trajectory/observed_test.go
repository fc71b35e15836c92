package trajectory

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzArg makes matchers of any name and parameter: they are errors or they answer, and a value equals itself.
func FuzzArg(f *testing.F) {
	for name := range forms {
		for _, param := range []string{
			`true`, `"a*/[b]"`, `"("`, `1e-7`,
			`{"value": 1, "within": 0.5}`, `[1, "x", null]`,
		} {
			f.Add(name, param, `{"a": [1, "a/b", null]}`, "/repo")
		}
	}
	f.Add("glob", `"**/**/a/**"`, `"b/a/a/c"`, "")
	f.Add("glob", `"{a,b/{c,}}[{]\\}*.ts"`, `"b/a.ts"`, "")
	f.Add("path", `"$WORKSPACE/../a"`, `"../a"`, "$WORKSPACE/b")
	f.Fuzz(func(t *testing.T, name, param, actual, cwd string) {
		var p, v any
		if json.Unmarshal([]byte(param), &p) != nil || json.Unmarshal([]byte(actual), &v) != nil {
			return
		}
		run := &Run{Cwd: cwd, Events: []Event{{Body: ToolStart{ID: "1", Name: "t", Args: map[string]any{"a": v}}}}}
		arg, err := NewArg(name, p)
		r := Superset(Tool("t").Args(Args{"a": arg})).Match(run)
		require.Equal(t, err != nil, r.Err != nil)
		require.NotPanics(t, func() { _ = r.String() })
		require.True(t, Exact(Tool("t").Args(Args{"a": v}).Mode(ExactArgs)).Match(run).Pass)
	})
}
