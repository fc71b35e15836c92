package engine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// TestDoubt ends a run in which nothing fires, keeps what has run, and goes on when it is resumed. A replay, which
// costs nothing, does not end.
func TestDoubt(t *testing.T) {
	const text = `name: bench
cases:
  - {id: a, prompt: p, files: &f {.agents/skills/pdf/SKILL.md: "Fill it."}, fires: [pdf]}
  - {id: b, prompt: p, files: *f, silent: [pdf]}
  - {id: c, prompt: p, files: *f, fires: [pdf]}
  - {id: d, prompt: p, files: *f, fires: [pdf]}
variants: {fake: {agent: {kind: fake-acp}}}
trials: {count: 2, pass: 1}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`
	root := t.TempDir()
	run := func(mode engine.Mode, keep *engine.Keep) (engine.Finished, error) {
		runner, _ := newRunner(t, root, text, mode, func(c *engine.Config) {
			c.Sandbox, c.Parallel, c.Doubt, c.Keep = "none", 1, 2, keep
		})
		return runner.Run(t.Context(), new(sink))
	}
	done, err := run(engine.Record, &engine.Keep{Below: root})
	suspect, ok := errors.AsType[*engine.SuspectError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, &engine.SuspectError{Cases: 2, Trials: 4, NotRun: 2}, suspect)
	require.Len(t, done.Units, 6)
	require.True(t, done.Resumable)

	resumed, err := rundir.Resume(root, done.ID, new(secret.Set))
	require.NoError(t, err)
	done, err = run(engine.Record, &engine.Keep{Resumed: resumed})
	require.NoError(t, err)
	require.Len(t, done.Units, 8)
	require.False(t, done.Resumable)

	done, err = run(engine.Replay, &engine.Keep{Below: root})
	require.NoError(t, err)
	require.Len(t, done.Units, 8)
}
