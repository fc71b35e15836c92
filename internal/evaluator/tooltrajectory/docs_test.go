package tooltrajectory_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tooltrajectory"
)

// TestDocs holds the page about trajectories to what is read: its YAML loads, and it has every key and every matcher.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/trajectories.md")
	require.NoError(t, err)
	page := string(data)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		keys := block[1]
		if _, list, ok := strings.Cut(keys, "type: tool_trajectory\n"); ok {
			keys = strings.ReplaceAll(list, "\n    ", "\n")
		}
		_, err := parse(keys)
		assert.NoError(t, err, block[1])
	}
	kind := reflect.TypeOf(tooltrajectory.Kind().Keys)
	for field := range kind.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		assert.Regexp(t, "`[^`]*\\b"+key+"\\b", page, "key %s", key)
	}
	for _, mode := range trajectory.ArgModes() {
		assert.Contains(t, page, "`"+string(mode)+"`")
	}
}
