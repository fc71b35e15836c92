package hostile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// TestFlood: what an agent says is bounded over all turns of its session. The turn that is too much is ended, although
// the agent would stay in it, and the unit is an error that says why. Our memory and the log are bounded, too.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for name, text := range map[string]string{
		"a.json": `{"turns": [{"actions": [{"flood": {"updates": 70, "size": 1000000}}]},
			{"actions": [{"flood": {"updates": 70, "size": 1000000}}, {"sleep": "1h"}]}]}`,
		"p.yaml": `name: flood
cases: [{id: task, prompts: [Say much., Say more.]}]
variants: {a: {agent: {kind: fake-acp, args: [a.json]}}}
limits: {timeout: 5m}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, name), []byte(text), 0o644))
	}
	begin := time.Now()
	p := s.program(t, confine.Auto, command(t))
	_ = p.Wait()
	assert.Less(t, time.Since(begin), 5*time.Minute, "the agent's time, not what it said, was the limit")
	require.Equal(t, 3, p.ProcessState.ExitCode(), p.said.String())
	assert.Contains(t, p.said.String(), "the agent sent too much in one session: more than 134217728 bytes")
	most := p.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	assert.Less(t, most, int64(12*observe.MaxSession), "bytes of memory")

	logs, err := filepath.Glob(filepath.Join(p.runs, "*", "variants", "a", "logs", "acp-session.jsonl"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	info, err := os.Stat(logs[0])
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(2*observe.MaxSession), "bytes of the log")
	t.Logf("%d MiB of memory, a log of %d MiB", most>>20, info.Size()>>20)
}
