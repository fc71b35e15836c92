package mcpname

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNames(t *testing.T) {
	assert.Equal(t, "mcp__stock__count", Of("stock", "count"))
	assert.Equal(t, "mcp__stock__", InServer("stock"))
	assert.Equal(t, "mcp__stock", Server("stock"))
	assert.Equal(t, "Bash", WithoutClient("mcp__acp__Bash"))
	assert.Equal(t, "mcp__stock__count", WithoutClient("mcp__stock__count"))
}
