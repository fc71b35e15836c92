package trajectory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNumberOrder(t *testing.T) {
	ascending := []string{
		"-1e400", "-9007199254740993", "-9007199254740992", "-10", "-9", "-1.5", "-1", "-0.1", "-1e-400", "0", "1e-400", "0.01",
		"0.1", "0.11", "0.9", "1", "1.5", "9", "10", "9007199254740992", "9007199254740993", "1e17", "1e400",
	}
	for i, a := range ascending {
		for j, b := range ascending {
			x, errX := parseNumber(a)
			y, errY := parseNumber(b)
			require.NoError(t, errX)
			require.NoError(t, errY)
			assert.Equal(t, cmp.Compare(i, j), x.compare(y), fmt.Sprintf("%s and %s", a, b))
		}
	}
}

// FuzzNumber holds the order of numbers against math/big.
func FuzzNumber(f *testing.F) {
	f.Add("1", "1.0")
	f.Add("-0.00", "0e5")
	f.Add("9007199254740993", "9007199254740992")
	f.Add("1.5E+3", "1500")
	f.Add("01", "0x1")
	f.Add("0", "0 ")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := parseNumber(a)
		y, errY := parseNumber(b)
		if errX != nil || errY != nil || max(x.exp, y.exp) > 1000 || min(x.exp, y.exp) < -1000 {
			return
		}
		p, _ := new(big.Rat).SetString(a)
		q, _ := new(big.Rat).SetString(b)
		require.Equal(t, p.Cmp(q), x.compare(y))
		require.Equal(t, p.Cmp(q) == 0, x.Equal(y))
		require.Equal(t, p.IsInt(), typeName(x) == "integer")
	})
}

// FuzzArg makes matchers of any name and parameter: they are errors or they answer, and a value equals itself.
func FuzzArg(f *testing.F) {
	for name := range forms {
		for _, param := range []string{`true`, `"a*/[b]"`, `"("`, `1e-7`, `{"value": 1, "within": 0.5}`, `[1, "x", null]`} {
			f.Add(name, param, `{"a": [1, "a/b", null]}`, "/repo")
		}
	}
	f.Add("glob", `"**/**/a/**"`, `"b/a/a/c"`, "")
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
