package main

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAgree(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type": "object", "properties": {"checks": {"type": "array", "items": {"anyOf": [
			{"type": "object", "properties": {"id": {"type": "string", "enum": ["a", "b"]},
				"score": {"type": "integer", "maximum": 10}}},
			{"type": "object", "properties": {"id": {"enum": ["c"]}, "pass": {"type": "boolean"}}}
		]}}, "reason": {"type": "string"}}}`: `{"checks":[{"id":"a","score":10},{"id":"b","score":10},` +
			`{"id":"c","pass":true}],"reason":"scripted"}`,
		`{"type": "array", "items": {"properties": {"id": {"enum": ["a"]}}, "type": "object"}}`: `[{"id":"a"}]`,
		`null`: `"pass":true,"reason":"scripted","reasoning":"scripted","score":1}`,
	} {
		w := httptest.NewRecorder()
		agree(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(
			`{"model": "m", "response_format": {"json_schema": {"schema": `+schema+`}}}`)))
		reply, err := io.ReadAll(w.Result().Body)
		assert.NoError(t, err)
		assert.Contains(t, strings.ReplaceAll(string(reply), `\"`, `"`), want)
	}
}

// What AgentV could not judge is no verdict, though it counts as a failure there.
func TestVerdicts(t *testing.T) {
	ended, why, err := verdicts([]byte(`{"test_id": "a/b", "scores": [{"pass": true}, {"pass": false, "reason": "no"}]}
{"test_id": "c", "scores": [{"pass": true}]}
`))
	assert.NoError(t, err)
	assert.Empty(t, why)
	assert.Equal(t, map[string]string{"a-b": "fail", "c": "pass"}, ended)
	for row, want := range map[string]string{
		`{"test_id": "a", "scores": []}`:                                "a:",
		`{"test_id": "a", "scores": [{"pass": true}], "error": "late"}`: "a: late",
		`{"test_id": "a", "scores": [{"name": "j", "reason": "Script evaluator failed: exit 1"}]}`: "a: j: Script " +
			"evaluator failed: exit 1",
	} {
		ended, why, err := verdicts([]byte(row))
		assert.NoError(t, err)
		assert.Empty(t, ended)
		assert.Equal(t, want, strings.TrimSpace(why))
	}
	_, _, err = verdicts([]byte("{"))
	assert.Error(t, err)
}

func TestJoin(t *testing.T) {
	theirs := map[string]string{"greet": "fail", "greet-all": "pass"}
	ours, more := join(map[string]string{
		"greet-warm": "pass", "greet-cold": "fail", "greet-all": "pass", "other": "fail",
	}, theirs)
	assert.Equal(t, theirs, ours)
	assert.Equal(t, 1, more)
	assert.Equal(t, `a: "pass", here ""`, differences(map[string]string{"a": "pass", "b": "fail"},
		map[string]string{"b": "fail"}))
}

func TestInWords(t *testing.T) {
	for question, want := range map[string]string{
		`- [a] (required)\n- [a]\n{ \"satisfied\": true }`: `[{"id":"a","reasoning":"scripted","satisfied":true}]`,
		`score ranges ### Criterion: b\nScores:`:           `[{"id":"b","reasoning":"scripted","score":10}]`,
		`anything`:                                         `[]`,
	} {
		assert.Contains(t, inWords(question), `"checks":`+want)
	}
}
