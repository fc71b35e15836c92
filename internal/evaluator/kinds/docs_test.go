package kinds_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// TestDocs holds the pages about evaluators and judges to what is read: their YAML loads beside the files of testdata,
// each kind has a section with an example, and each of its keys is named there. tool_trajectory has a page of its own.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/evaluators.md")
	require.NoError(t, err)
	judges, err := os.ReadFile("../../../docs/judges.md")
	require.NoError(t, err)
	page := string(data) + string(judges)
	dir, err := filepath.Abs("testdata/docs")
	require.NoError(t, err)
	const head = `task: {title: t, prompt: p}
variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}
workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
`
	shown := make(map[string]bool)
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1) {
		pb, err := plan.Read(plan.Source{
			Path: filepath.Join(dir, "docs.yaml"), Root: dir, Data: []byte(head + block[1]),
		}, kinds.All())
		if !assert.NoError(t, err, block[1]) {
			continue
		}
		for _, e := range pb.Evaluators {
			shown[e.Type] = true
		}
	}
	for name, kind := range kinds.All() {
		if name == "tool_trajectory" {
			continue
		}
		assert.True(t, shown[name], "no example of %s", name)
		_, section, _ := strings.Cut(page, "\n## "+name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for field := range reflect.TypeOf(kind.Keys).Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			assert.Contains(t, section, "`"+key, "%s has no key %s", name, key)
		}
	}
}
