package atif

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// valid has every field of the format.
func valid(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "every-field.json"))
	require.NoError(t, err)
	return data
}

// object walks to the object at a path, whose elements are keys and indices.
func object(t *testing.T, tree any, path ...any) map[string]any {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			tree = tree.(map[string]any)[p]
		case int:
			tree = tree.([]any)[p]
		}
	}
	return tree.(map[string]any)
}

// Each case breaks one rule of the specification.
func TestRules(t *testing.T) {
	step := func(i int) []any { return []any{"steps", i} }
	call := []any{"steps", 2, "tool_calls", 0}
	res := []any{"steps", 2, "observation", "results", 0}
	ref := []any{"steps", 2, "observation", "results", 1, "subagent_trajectory_ref", 0}
	sub := []any{"subagent_trajectories", 0}
	tests := []struct {
		name string
		at   []any
		key  string
		to   any // nil: the key is removed
		want string
	}{
		{
			"unknown field of the root", nil, "score", 1,
			"score: unknown field: other data belongs under extra",
		},
		{
			"unknown field of the agent",
			[]any{"agent"},
			"kind", "x",
			"agent.kind: unknown field: other data belongs under extra",
		},
		{
			"unknown field of a step", step(0), "turn", 1,
			"steps[0].turn: unknown field: other data belongs under extra",
		},
		{
			"unknown field of a call", call, "kind", "x",
			"steps[2].tool_calls[0].kind: unknown field: other data belongs under extra",
		},
		{
			"unknown field of a result", res, "status", "x",
			"steps[2].observation.results[0].status: unknown field: other data belongs under extra",
		},
		{
			"unknown field of metrics",
			[]any{"steps", 2, "metrics"},
			"tokens", 1,
			"steps[2].metrics.tokens: unknown field: other data belongs under extra",
		},
		{
			"unknown field of final metrics",
			[]any{"final_metrics"},
			"x", 1,
			"final_metrics.x: unknown field: other data belongs under extra",
		},
		{
			"unknown field of a reference", ref, "x", 1,
			"steps[2].observation.results[1].subagent_trajectory_ref[0].x: unknown field: other data belongs under " +
				"extra",
		},
		{
			"unknown field of a part",
			[]any{"steps", 1, "message", 0},
			"x", 1,
			"steps[1].message[0].x: unknown field: other data belongs under extra",
		},
		{
			"unknown field of an image",
			[]any{"steps", 1, "message", 1, "source"},
			"x", 1,
			"steps[1].message[1].source.x: unknown field: other data belongs under extra",
		},
		{
			"a name in capitals", step(0), "Message", "x",
			"steps[0].Message: unknown field: other data belongs under extra",
		},
		{"no version", nil, "schema_version", nil, "schema_version: is required"},
		{
			"a later version", nil, "schema_version", "ATIF-v1.9",
			`schema_version: "ATIF-v1.9" is not a supported version (ATIF-v1.0 to ATIF-v1.8)`,
		},
		{"no agent", nil, "agent", nil, "agent: is required"},
		{"no name", []any{"agent"}, "name", nil, "agent.name: is required"},
		{"no version of the agent", []any{"agent"}, "version", nil, "agent.version: is required"},
		{
			"tool definitions",
			[]any{"agent"},
			"tool_definitions",
			[]any{"x"},
			"agent.tool_definitions[0]: must be an object, not a string",
		},
		{"no steps", nil, "steps", nil, "steps: is required"},
		{"empty steps", nil, "steps", []any{}, "steps: must not be empty"},
		{"a gap", step(1), "step_id", 3, "steps[1].step_id: must be 2: steps are numbered from 1"},
		{"no step id", step(1), "step_id", nil, "steps[1].step_id: is required"},
		{"a timestamp", step(0), "timestamp", "yesterday", `steps[0].timestamp: "yesterday" is not a time in ISO 8601`},
		{
			"a day that is none", step(0), "timestamp", "2026-02-30T00:00:00Z",
			`steps[0].timestamp: "2026-02-30T00:00:00Z" is not a time in ISO 8601`,
		},
		{"a source", step(0), "source", "tool", `steps[0].source: must be system, user or agent, not "tool"`},
		{"no source", step(0), "source", nil, "steps[0].source: is required"},
		{"no message", step(2), "message", nil, "steps[2].message: is required"},
		{"a message", step(2), "message", 1, "steps[2].message: must be a string or an array of parts, not a number"},
		{"an effort", step(2), "reasoning_effort", true, "steps[2].reasoning_effort: must be a number, not a boolean"},
		{"model of a user", step(1), "model_name", "m", "steps[1].model_name: only steps of the agent may have it"},
		{
			"effort of a user", step(1), "reasoning_effort", "low",
			"steps[1].reasoning_effort: only steps of the agent may have it",
		},
		{
			"reasoning of a user", step(1), "reasoning_content", "hm",
			"steps[1].reasoning_content: only steps of the agent may have it",
		},
		{
			"calls of the system", step(0), "tool_calls",
			[]any{},
			"steps[0].tool_calls: only steps of the agent may have it",
		},
		{
			"metrics of the system", step(0), "metrics",
			map[string]any{},
			"steps[0].metrics: only steps of the agent may have it",
		},
		{
			"metrics without a model", step(3), "metrics",
			map[string]any{},
			"steps[3].metrics: must not be set if llm_call_count is 0",
		},
		{
			"reasoning without a model", step(3), "reasoning_content", "hm",
			"steps[3].reasoning_content: must not be set if llm_call_count is 0",
		},
		{"negative calls of the model", step(2), "llm_call_count", -1, "steps[2].llm_call_count: must not be negative"},
		{"copied", step(2), "is_copied_context", "yes", "steps[2].is_copied_context: must be a boolean, not a string"},
		{
			"no call id", call, "tool_call_id", nil,
			"steps[2].tool_calls[0].tool_call_id: is required\nsteps[2].observation.results[0].source_call_id: " +
				"\"call-1\" is not a call of this step",
		},
		{"no function", call, "function_name", nil, "steps[2].tool_calls[0].function_name: is required"},
		{"no arguments", call, "arguments", nil, "steps[2].tool_calls[0].arguments: is required"},
		{
			"arguments in text", call, "arguments", "{}",
			"steps[2].tool_calls[0].arguments: must be an object, not a string",
		},
		{
			"an id twice",
			[]any{"steps", 2, "tool_calls", 1},
			"tool_call_id", "call-1",
			"steps[2].tool_calls[1].tool_call_id: duplicate call \"call-1\"\n" +
				"steps[2].observation.results[1].source_call_id: \"call-2\" is not a call of this step",
		},
		{"no results", []any{"steps", 2, "observation"}, "results", nil, "steps[2].observation.results: is required"},
		{
			"a call of another step", res, "source_call_id", "call-9",
			`steps[2].observation.results[0].source_call_id: "call-9" is not a call of this step`,
		},
		{
			"a content", res, "content",
			map[string]any{},
			"steps[2].observation.results[0].content: must be a string or an array of parts, not an object",
		},
		{
			"half a token",
			[]any{"steps", 2, "metrics"},
			"prompt_tokens", 1.5,
			"steps[2].metrics.prompt_tokens: must be an integer, not 1.5",
		},
		{
			"a cost in text",
			[]any{"steps", 2, "metrics"},
			"cost_usd", "1",
			"steps[2].metrics.cost_usd: must be a number, not a string",
		},
		{
			"extra",
			[]any{"steps", 2, "metrics"},
			"extra",
			[]any{},
			"steps[2].metrics.extra: must be an object, not an array",
		},
		{
			"an unknown part",
			[]any{"steps", 1, "message", 0},
			"type", "video",
			"steps[1].message[0].type: must be text, image or audio",
		},
		{
			"speech",
			[]any{"steps", 1, "message", 0},
			"type", "audio",
			"steps[1].message[0].source: is required\n" +
				"steps[1].message[0].text: must not be set in a part of type audio",
		},
		{
			"speech in an image",
			[]any{"steps", 1, "message", 1, "source"},
			"media_type", "audio/wav",
			"steps[1].message[1].source.media_type: must be one of image/jpeg, image/png, image/gif, image/webp",
		},
		{
			"an image in speech",
			[]any{"steps", 1, "message", 2, "source"},
			"media_type", "image/png",
			"steps[1].message[2].source.media_type: must be one of audio/wav, audio/mpeg, audio/mp4, audio/aac, " +
				"audio/ogg, audio/flac, audio/webm, audio/aiff",
		},
		{
			"speech of less than no time",
			[]any{"steps", 1, "message", 2, "source"},
			"duration_sec", -1,
			"steps[1].message[2].source.duration_sec: must not be negative",
		},
		{"a text without text", []any{"steps", 1, "message", 0}, "text", nil, "steps[1].message[0].text: is required"},
		{
			"a text with an image",
			[]any{"steps", 1, "message", 0},
			"source",
			map[string]any{"media_type": "image/png", "path": "x"},
			"steps[1].message[0].source: must not be set in a part of type text",
		},
		{
			"an image with a text",
			[]any{"steps", 1, "message", 1},
			"text", "x",
			"steps[1].message[1].text: must not be set in a part of type image",
		},
		{
			"an image without a source",
			[]any{"steps", 1, "message", 1},
			"source", nil,
			"steps[1].message[1].source: is required",
		},
		{
			"an image's type",
			[]any{"steps", 1, "message", 1, "source"},
			"media_type", "image/bmp",
			"steps[1].message[1].source.media_type: must be one of image/jpeg, image/png, image/gif, image/webp",
		},
		{
			"an image without a path",
			[]any{"steps", 1, "message", 1, "source"},
			"path", nil,
			"steps[1].message[1].source.path: is required",
		},
		{
			"a reference by the session", ref, "trajectory_id", nil,
			"steps[2].observation.results[1].subagent_trajectory_ref[0]: needs a trajectory_id or a trajectory_path",
		},
		{
			"a reference to nothing", ref, "trajectory_id", "other",
			`steps[2].observation.results[1].subagent_trajectory_ref[0].trajectory_id: ` +
				`unknown embedded trajectory "other"`,
		},
		{
			"a subagent without an id", sub, "trajectory_id", nil,
			"subagent_trajectories[0].trajectory_id: is required in embedded trajectories\n" +
				"steps[2].observation.results[1].subagent_trajectory_ref[0].trajectory_id: " +
				"unknown embedded trajectory \"helper\"",
		},
		{
			"a step of a subagent",
			[]any{"subagent_trajectories", 0, "steps", 0},
			"step_id", 2,
			"subagent_trajectories[0].steps[0].step_id: must be 1: steps are numbered from 1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tree any
			require.NoError(t, json.Unmarshal(valid(t), &tree))
			o := object(t, tree, tt.at...)
			if o[tt.key] = tt.to; tt.to == nil {
				delete(o, tt.key)
			}
			data, err := json.Marshal(tree)
			require.NoError(t, err)
			_, err = Decode(strings.NewReader(string(data)))
			assert.EqualError(t, err, tt.want)
		})
	}
}

func TestSubagentTwice(t *testing.T) {
	var tree map[string]any
	require.NoError(t, json.Unmarshal(valid(t), &tree))
	subs := tree["subagent_trajectories"].([]any)
	tree["subagent_trajectories"] = append(subs, subs[0])
	data, err := json.Marshal(tree)
	require.NoError(t, err)
	assert.EqualError(t, Check(data),
		`subagent_trajectories[1].trajectory_id: duplicate trajectory "helper"`)
}

func TestNoJSON(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"empty", " \n", "line 1: the text is empty"},
		{"cut", "{\n\"agent\": {", "line 2: the text is incomplete: unexpected EOF"},
		{"broken", "{\n\"agent\": }\n}", "line 2: invalid character '}' looking for beginning of value"},
		{"two values", "{}\n{}", "line 2: text after the JSON value"},
		{"another value", "[]", "the trajectory: must be an object, not an array"},
		{"a key twice", `{"agent":{"name":"a","name":"b"}}`, `line 1: duplicate key "name"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(tt.data))
			assert.EqualError(t, err, tt.want)
		})
	}
}

// An error lists only the first of a thousand problems.
func TestManyProblems(t *testing.T) {
	data := `{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},"steps":[` +
		strings.Repeat(`1,`, 999) + `1]}`
	err := Check([]byte(data))
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	assert.Len(t, lines, maxProblems+1)
	assert.Equal(t, "and 980 more", lines[maxProblems])
}

func TestRoundTrip(t *testing.T) {
	read, err := Decode(strings.NewReader(string(valid(t))))
	require.NoError(t, err)
	written, err := Encode(read)
	require.NoError(t, err)
	assert.JSONEq(t, string(valid(t)), string(written), "a field got lost")
}

func TestEncodeRefuses(t *testing.T) {
	_, err := Encode(&Trajectory{SchemaVersion: Version, Agent: Agent{Name: "a", Version: "1"}})
	assert.EqualError(t, err, "encode trajectory: it is not valid: steps: is required")
}

func TestTime(t *testing.T) {
	for _, s := range []string{
		"2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "2026-01-02T03:04:05.000000+00:00", "2026-01-02T03:04:05,000Z",
		"2026-01-02T04:04:05+0100", "2026-01-02T04:04:05+01",
	} {
		at, err := Time(s)
		require.NoError(t, err, s)
		assert.Equal(t, int64(1767323045), at.Unix(), s)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(valid(f))
	f.Add([]byte(`{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,` +
		`"source":"user","message":[]}]}`))
	f.Add([]byte(`{"schema_version":"ATIF-v1.0","agent":{"name":"a","version":"1","extra":{}},"steps":[{"step_id":1,` +
		`"source":"agent","message":"","observation":{"results":[]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := Decode(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		written, err := Encode(read)
		require.NoError(t, err)
		again, err := Decode(strings.NewReader(string(written)))
		require.NoError(t, err)
		twice, err := Encode(again)
		require.NoError(t, err)
		if d := cmp.Diff(string(written), string(twice)); d != "" {
			t.Fatal(d)
		}
	})
}
