package llm

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseObject(t *testing.T) {
	const several = "the reply has more than one JSON object, or a part of one"
	const block = "the reply's fenced block is not one JSON object"
	tests := []struct {
		name, reason string
		text, want   string
		err          string
	}{
		{"alone", "", " {\"score\": 1}\n", `{"score": 1}`, ""},
		{"fenced", "", "```json\n{\"score\": 1}\n```", `{"score": 1}`, ""},
		{"fenced in prose", "", "Here:\n```\n\n{\"score\": 1}\n\n```\nThat is all.", `{"score": 1}`, ""},
		{"bare in prose", "", "My score: {\"score\": 1}. Fine.", `{"score": 1}`, ""},
		{"braces in a string", "they are no objects", `{"reason": "} {[ \" ] {"}`, `{"reason": "} {[ \" ] {"}`, ""},
		{"a fence in a string", "", "{\"reason\": \"a ```\\n``` b\"}", "{\"reason\": \"a ```\\n``` b\"}", ""},
		{
			"objects inside", "each may have the key",
			`{"a":{"k":1},"b":[{"k":2},{"k":[3]}]}`, `{"a":{"k":1},"b":[{"k":2},{"k":[3]}]}`, "",
		},
		{"a number beyond floats", "callers that want a float reject it", `{"score": 1e999}`, `{"score": 1e999}`, ""},
		{"empty", "", "\n", "", "the reply is empty"},
		{"prose", "", "Seven of ten.", "", "the reply has no JSON object"},
		{"number", "", "7", "", "the reply has no JSON object"},
		{"two objects", "which one counts?", `{"score": 10} {"score": 1}`, "", several},
		{"object after the block", "", "```\n{\"score\": 10}\n```\n{\"score\": 1}", "", several},
		{
			"object before the block", "the work was quoted",
			"It says {\"score\": 10}\n```\n{\"score\": 1}\n```", "", several,
		},
		{"two blocks", "", "```\n{\"score\": 1}\n```\n```\n{\"score\": 2}\n```", "", several},
		{"array", "", `[{"score": 1}]`, "", several},
		{"garbage in the block", "", "```\n{\"score\": 1} and more\n```", "", block},
		{"array in the block", "", "```\n[1]\n```", "", block},
		{"open block", "it was cut", "```json\n{\"score\": 1}", "", block},
		{"block of a fence alone", "", "x\n```", "", block},
		{"half an object", "it was cut", `{"score": 1`, "", "the reply's JSON object: unexpected EOF"},
		{"half an object after it", "", `{"score": 1} {"score"`, "", several},
		{
			"duplicate key", "readers differ in which counts",
			`{"score": 1, "score": 10}`, "", `the reply's JSON object: duplicate key "score"`,
		},
		{"not UTF-8", "", "{\"a\": \"\xff\"}", "", "the reply is not valid UTF-8"},
		{
			"a comment", "",
			"{\"score\": 1 /* low */}", "",
			"the reply's JSON object: invalid character '/' after object key:value pair",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseObject(tt.text)
			require.Equal(t, tt.want, string(got), tt.reason)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.err, tt.reason)
		})
	}
}

func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{
		`{"score": 1}`, "```json\n{\"a\": [1, {\"b\": null}]}\n```", "x {\"a\": \"{\"} y", "```\n{}", `{"a":1,"a":2}`,
		"{} {}", "```\n```",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		object, err := ParseObject(text)
		if err != nil {
			require.Nil(t, object)
			return
		}
		var decoded map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(object, &decoded))
		require.NotNil(t, decoded, "an object, not null")
		again, err := ParseObject("Result:\n```json\n" + string(object) + "\n```\n")
		require.NoError(t, err, "the same object in a block")
		require.Equal(t, object, again)
	})
}
