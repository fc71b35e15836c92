package agentevals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// answers are the results of other tools for a case.
type answers struct {
	Name       string
	AgentEvals *bool  `json:"agentevals_score"`
	Default    *bool  `json:"default_score"`
	NPMError   string `json:"npm_error"`
}

// oracle returns the known results of a file and the actual ones, case by case.
func oracle(t *testing.T, file string, opts Options) ([]answers, []Result) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	var out bytes.Buffer
	_, err = Run(bytes.NewReader(data), &out, opts)
	require.NoError(t, err)
	return decodeLines[answers](t, string(data)), decodeLines[Result](t, out.String())
}

func decodeLines[T any](t *testing.T, text string) []T {
	t.Helper()
	var all []T
	for line := range strings.Lines(text) {
		var v T
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		all = append(all, v)
	}
	return all
}

func TestRandomCases(t *testing.T) {
	for _, compat := range []bool{true, false} {
		known, got := oracle(t, "random_cases.jsonl", Options{Compat: compat})
		require.Len(t, known, 404)
		require.Len(t, got, 404)
		for i, k := range known {
			want := k.Default
			if compat {
				want = k.AgentEvals
			}
			assert.Equal(t, want, got[i].Score, "compat %v: %s: %s", compat, k.Name, got[i].Error)
		}
	}
}

func TestEdgeCasesAsNPM(t *testing.T) {
	known, got := oracle(t, "quirk_cases.jsonl", Options{Compat: true})
	require.Len(t, known, 136)
	require.Len(t, got, 136)
	for i, k := range known {
		if k.NPMError != "" {
			assert.NotEmpty(t, got[i].Error, k.Name)
		}
		assert.Equal(t, k.AgentEvals, got[i].Score, "%s: %s", k.Name, got[i].Error)
	}
}

// The results of edge cases that differ from those of npm's agentevals, in one file.
func TestEdgeCasesOurs(t *testing.T) {
	known, got := oracle(t, "quirk_cases.jsonl", Options{})
	require.Len(t, got, 136)
	var text strings.Builder
	for i, k := range known {
		r := got[i]
		switch {
		case r.Score == nil:
			fmt.Fprintf(&text, "%s: error: %s\n", k.Name, r.Error)
		case k.AgentEvals == nil || *k.AgentEvals != *r.Score:
			fmt.Fprintf(&text, "%s: %v\n", k.Name, *r.Score)
		}
		if k.NPMError != "" {
			assert.NotEmpty(t, r.Error, k.Name)
		}
	}
	golden.Equal(t, "testdata/edge_cases.golden", text.String())
}

func TestRun(t *testing.T) {
	const head = `"mode":"superset","tool_args_match_mode":"superset"`
	calls := func(all ...string) string {
		return `[{"role":"assistant","tool_calls":[` + strings.Join(all, ",") + `]}]`
	}
	call := func(name, args string) string {
		text, err := json.Marshal(args)
		require.NoError(t, err)
		return `{"function":{"name":"` + name + `","arguments":` + string(text) + `}}`
	}
	read, grep := call("Read", `{"file_path":"a.go","limit":9007199254740993}`), call("Grep", `{}`)
	tests := []struct {
		name, line, want string
		compat           bool
		summary          Summary
	}{
		{
			name: "missing and extra", summary: Summary{False: 1},
			line: `{"name":"n",` + head + `,"outputs":` + calls(read, read) + `,"reference_outputs":` +
				calls(read, grep) + `}`,
			want: `{"name":"n","score":false,"value":0.5,"missing":[{"name":"Grep","args":{}}],` +
				`"extra":[{"name":"Read","args":{"file_path":"a.go","limit":9007199254740993}}]}`,
		},
		{
			name: "compat", compat: true, summary: Summary{False: 1},
			line: `{"name":"n",` + head + `,"outputs":` + calls(read) + `,"reference_outputs":` + calls(grep) + `}`,
			want: `{"name":"n","score":false,"value":0,"missing":[{"name":"Grep","args":{}}],` +
				`"extra":[{"name":"Read","args":{"file_path":"a.go","limit":9007199254740992}}]}`,
		},
		{
			name: "compat, number out of range", compat: true, summary: Summary{False: 1},
			line: `{"name":"n",` + head + `,"outputs":` + calls(call("Read", `{"n":[-1e999,{"m":1}]}`)) +
				`,"reference_outputs":` + calls(grep) + `}`,
			want: `{"name":"n","score":false,"value":0,"missing":[{"name":"Grep","args":{}}],` +
				`"extra":[{"name":"Read","args":{"n":[null,{"m":1}]}}]}`,
		},
		{
			name: "messages in an object", summary: Summary{True: 1},
			line: `{"name":"n","outputs":{"messages":` + calls(read) + `},"reference_outputs":` + calls(read) + `}`,
			want: `{"name":"n","score":true,"value":1}`,
		},
		{
			name: "strict counts messages without calls", summary: Summary{False: 1},
			line: `{"name":"n","outputs":[{"role":"user"},{"role":"assistant"}],"reference_outputs":[{"role":"user"},` +
				`{"role":"tool"},{"role":"user"}]}`,
			want: `{"name":"n","score":false,"value":0.3333333333333333}`,
		},
		{
			name: "not JSON", line: `{"name":"n"`, summary: Summary{Errors: 1},
			want: `{"name":"","score":null,"error":"line 1: not a case: unexpected end of JSON input"}`,
		},
		{
			name: "no case", line: `{"name":"n","outputs":[]}`, summary: Summary{Errors: 1},
			want: "{\"name\":\"n\",\"score\":null,\"error\":\"line 1: not a case: " +
				"needs `outputs` and `reference_outputs` or `referenceOutputs`\"}",
		},
		{
			name: "unknown mode", line: `{"name":"n","mode":"sorted","outputs":[],"reference_outputs":[]}`,
			summary: Summary{Errors: 1},
			want: `{"name":"n","score":null,"error":"line 1: unknown mode \"sorted\": want one of strict, ` +
				`unordered, superset, subset"}`,
		},
		{
			name: "unknown mode as npm", compat: true, summary: Summary{Errors: 1},
			line: `{"name":"n","mode":"sorted","outputs":[],"reference_outputs":[]}`,
			want: `{"name":"n","score":null,"error":"line 1: unknown mode \"sorted\""}`,
		},
		{
			name: "unknown function", summary: Summary{Errors: 1},
			line: `{"name":"n","overrides":{"Read":{"func":"near:x"}},"outputs":[],"reference_outputs":[]}`,
			want: `{"name":"n","score":null,"error":"line 1: overrides: Read: unknown function \"near:x\""}`,
		},
		{
			name: "no messages", summary: Summary{Errors: 1},
			line: `{"name":"n","outputs":5,"reference_outputs":[]}`,
			want: `{"name":"n","score":null,"error":"line 1: outputs: must be a list of messages"}`,
		},
		{
			name: "an object without messages", summary: Summary{Errors: 1},
			line: `{"name":"n","outputs":{"mesages":[{"role":"user"}]},"reference_outputs":[]}`,
			want: "{\"name\":\"n\",\"score\":null,\"error\":\"line 1: outputs: an object needs `messages`, " +
				"a list of messages\"}",
		},
		{
			name: "a key that is misspelt", summary: Summary{Errors: 1},
			line: `{"name":"n","tool_args_match_mod":"ignore","outputs":[],"reference_outputs":[]}`,
			want: `{"name":"n","score":null,"error":"line 1: not a case: unknown key \"tool_args_match_mod\", ` +
				`did you mean \"tool_args_match_mode\"?"}`,
		},
		{
			name: "a key of another tool", summary: Summary{True: 1},
			line: `{"name":"n","default_score":false,"model":"m","Mode":"strict","outputs":[],"reference_outputs":[]}`,
			want: `{"name":"n","score":true,"value":1}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			s, err := Run(strings.NewReader(test.line+"\n\n"), &out, Options{Compat: test.compat})
			require.NoError(t, err)
			assert.Equal(t, test.summary, s)
			assert.Equal(t, test.want+"\n", out.String())
		})
	}
}

func TestRunErrors(t *testing.T) {
	_, err := Run(iotest.ErrReader(errors.New("gone")), io.Discard, Options{})
	require.EqualError(t, err, "read line 1: gone")
	line := `{"name":"n","outputs":[],"reference_outputs":[]}` + "\n"
	_, err = Run(strings.NewReader(line), failing{}, Options{})
	require.EqualError(t, err, "write results: full")
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

// FuzzRun holds that a line gives a result or an error, and that without Compat it passes if and only if the value is
// 1.
func FuzzRun(f *testing.F) {
	for _, file := range []string{"random_cases.jsonl", "quirk_cases.jsonl"} {
		data, err := os.ReadFile("testdata/" + file)
		require.NoError(f, err)
		n := 0
		for line := range strings.Lines(string(data)) {
			if n++; n%20 == 0 {
				f.Add(line)
			}
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, compat := range []bool{false, true} {
			r := judge([]byte(line), Options{Compat: compat})
			require.Equal(t, r.Score == nil, r.Error != "")
			if r.Score != nil {
				require.Equal(t, *r.Score, *r.Value == 1)
			}
		}
	})
}
