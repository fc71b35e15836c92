package llm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVerdicts(t *testing.T) {
	checks := []Check{{ID: "a"}, {ID: "b"}}
	const both = `[{"id": "b", "passed": false, "evidence": "no b"}, {"id": "a", "passed": true, "evidence": "an a"}]`
	tests := []struct{ name, text, err string }{
		{"alone", both, ""},
		{"fenced in prose", "Here:\n```json\n" + both + "\n```\nDone.", ""},
		{"bare in prose", "So: " + both + ".", ""},
		{"prose", "All pass.", "the reply has no JSON list"},
		{"nothing", "", "the reply is empty"},
		{"two lists", both + "\n" + both, "the reply has more than one JSON list, or a part of one"},
		{"in an object", `{"checks": ` + both + `}`, "the reply has more than one JSON list, or a part of one"},
		{"cut off", `[{"id": "a", "passed": true, "evi`, "the reply's JSON list: unexpected EOF"},
		{"one missing", `[{"id": "a", "passed": true, "evidence": "x"}]`, "the reply: check b is missing"},
		{"none", `[]`, "the reply: check a is missing"},
		{
			"one too many", `[{"id": "c", "passed": true, "evidence": "x"}]`,
			`the reply: [0]: unknown check "c"`,
		},
		{
			"twice", `[{"id": "a", "passed": true, "evidence": "x"}, {"id": "a", "passed": true, "evidence": "x"}]`,
			`the reply: [1]: duplicate check "a"`,
		},
		{"no objects", `["a"]`, "the reply is not a list of objects"},
		{"null", `[null]`, "the reply: [0]: id is missing"},
		{
			"duplicate key", `[{"id": "a", "passed": false, "passed": true, "evidence": "x"}]`,
			`the reply's JSON list: duplicate key "passed"`,
		},
		{
			"a key more", `[{"id": "a", "passed": true, "evidence": "x", "score": 1}]`,
			`the reply: [0]: unknown key "score": the keys are id, passed, evidence`,
		},
		{
			"passed in quotes", `[{"id": "a", "passed": "true", "evidence": "x"}]`,
			`the reply: [0]: passed must be true or false, not "\"true\""`,
		},
		{"no verdict", `[{"id": "a", "evidence": "x"}]`, "the reply: [0]: passed is missing"},
		{"no evidence", `[{"id": "a", "passed": true}]`, "the reply: [0]: evidence is missing"},
		{"empty evidence", `[{"id": "a", "passed": true, "evidence": " "}]`, "the reply: [0]: evidence is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseVerdicts(tt.text, checks)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []Verdict{{Passed: true, Evidence: "an a"}, {Evidence: "no b"}}, got)
		})
	}
}

// FuzzParseVerdicts: no reply makes it panic, and of what it takes each check has one verdict with evidence.
func FuzzParseVerdicts(f *testing.F) {
	f.Add(`[{"id": "a", "passed": true, "evidence": "x"}]`)
	f.Add("```\n[{\"id\": \"a\", \"passed\": false, \"evidence\": \"x\"}]\n```")
	f.Add(`[null, {"id": 1}]`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseVerdicts(text, []Check{{ID: "a"}})
		if err == nil && (len(got) != 1 || got[0].Evidence == "") {
			t.Errorf("%q: %v", text, got)
		}
	})
}

func TestPrompt(t *testing.T) {
	r := Request{System: "Judge.", User: "The work.", Checks: []Check{{ID: "a", Text: "one\n- b: \"two\""}}}
	require.Equal(t, `Judge.

# Checks
[
  {
    "id": "a",
    "check": "one\n- b: \"two\""
  }
]

The work.`, r.Prompt())
}

func TestJudge(t *testing.T) {
	agent := &Agent{Kind: "k", Preset: "p"}
	require.Equal(t, "m", Request{Model: "m"}.Judge())
	require.Equal(t, "k/p", Request{Agent: agent}.Judge())
	require.Equal(t, "k/p (m)", Request{Agent: agent, Model: "m"}.Judge())
}

func TestAnotherOfAgent(t *testing.T) {
	for _, same := range [][2]string{
		{"", "any"},
		{"sonnet", ""},
		{"sonnet", "sonnet"},
		{"sonnet", "claude-sonnet-4-5-20250929"},
		{"opus[1m]", "claude-opus-4-1[1m]"},
		{"default", "claude-sonnet-4-5"},
		{"gpt-5", "gpt-5-2025-08-07"},
	} {
		require.Empty(t, AnotherOfAgent(same[0], same[1]), same)
	}
	for _, other := range [][2]string{{"sonnet", "claude-haiku-4-5"}, {"gpt-5", "gpt-5-mini"}, {"opus[1m]", "sonnet"}} {
		require.Contains(t, AnotherOfAgent(other[0], other[1]), "another one answered", other)
	}
}

// TestSpent: those who share it share a budget.
func TestSpent(t *testing.T) {
	var s Spent
	require.NoError(t, s.Take("a", 0))
	require.NoError(t, s.Take("b", 2))
	require.EqualError(t, s.Take("c", 2), "ask c: the run's budget of 2 calls to models is used up: "+
		"set EVAL_LLM_MAX_CALLS to a larger number")
}
