package script_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/script"
)

// An error of an SDK of judges, written as JSON, is told by its reason, not by the bracket that begins it.
func TestBriefReason(t *testing.T) {
	for out, want := range map[string]string{
		"{\n\"pass\": false,\n\"reason\": \"failed: x\\nis undefined\"}\n": "failed: x is undefined",
		"{\n\"pass\": false\n}\n": "{",
		"one\ntwo\n":              "one",
	} {
		e := &script.Error{Script: "bun check.ts", Err: errors.New("exit code 1"), Stdout: out}
		assert.Equal(t, "script bun check.ts: exit code 1: "+want, e.Brief())
	}
}
