package llm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/llm"
)

func TestAnother(t *testing.T) {
	for _, same := range [][2]string{
		{"gpt-4o", "gpt-4o"},
		{"gpt-4o", ""},
		{"gpt-4o", "gpt-4o-2024-08-06"},
		{"gpt-4o-2024-08-06", "gpt-4o"},
		{"gpt-4", "gpt-4-0613"},
		{"openai/gpt-4o", "gpt-4o-2024-08-06"},
		{"gemini-2.0-flash", "models/gemini-2.0-flash-001"},
		{"gemini-2.5-pro-preview", "gemini-2.5-pro-preview-05-06"},
		{"claude-sonnet-4", "claude-sonnet-4@20250514"},
		{"claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"},
		{"llama3", "llama3:latest"},
		{"meta/Llama-3", "llama-3"},
	} {
		assert.Empty(t, llm.Another(same[0], same[1]), "%s answered for %s", same[1], same[0])
	}
	for _, other := range [][2]string{
		{"gpt-4o", "gpt-4o-mini"},
		{"gpt-4o", "gpt-4o-mini-2024-07-18"},
		{"gpt-4o-mini", "gpt-4o"},
		{"gpt-4o-2024-05-13", "gpt-4o-2024-08-06"},
		{"gpt-4", "gpt-4-32k"},
		{"gpt-4o", "claude-3-haiku"},
		{"claude-3-5-sonnet-latest", "claude-3-opus-20240229"},
		{"claude-3", "claude-3-5"},
		{"judge", "gpt-4o"},
		{"", "gpt-4o"},
	} {
		assert.NotEmpty(t, llm.Another(other[0], other[1]), "%s answered for %s", other[1], other[0])
	}
	assert.Equal(t,
		`the model "a" was asked to judge, and by the server's word another one answered: "b\x1b[31m"`,
		llm.Another("a", "b\x1b[31m"))
}
