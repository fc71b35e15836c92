package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

func TestOverrideLines(t *testing.T) {
	assert.Equal(t, []string{
		`{"tool":"fs/read_text_file","args":{"path":"a"},"nth":2,"output":""}`,
		`{"tool":"terminal/create","error":"disk full"}`,
	}, overrideLines([]plan.Override{
		{
			Override: playbook.Override{
				Tool: "fs/read_text_file", Args: map[string]any{"path": "a"}, Nth: 2,
				Output: "",
			},
			Position: doc.Position{Line: 3},
		},
		{Override: playbook.Override{Tool: "terminal/create", Error: "disk full"}},
	}))
}
