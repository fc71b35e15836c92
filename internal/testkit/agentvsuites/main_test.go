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
		`null`: `{"score": 1, "reasoning": "scripted"}`,
	} {
		w := httptest.NewRecorder()
		agree(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(
			`{"model": "m", "response_format": {"json_schema": {"schema": `+schema+`}}}`)))
		reply, err := io.ReadAll(w.Result().Body)
		assert.NoError(t, err)
		assert.Contains(t, strings.ReplaceAll(string(reply), `\"`, `"`), want)
	}
}
