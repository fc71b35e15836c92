package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name, reason, want string
		got                string
	}{
		{
			"run in another mode", "what was given is given again",
			"sdd-eval run --playbook 'my plays/q.yaml' --mode record --cassettes alt --root .. --config-dir c --sandbox none --parallel 4 --llm-judge",
			runOptions{
				playbook: "my plays/q.yaml", mode: "replay", cassettes: "alt", root: "..", configDir: "c", sandbox: "none", parallel: 4, llmJudge: true,
			}.command(engine.Record),
		},
		{
			"run with no flags", "", "sdd-eval run --playbook q.yaml --mode live",
			runOptions{playbook: "q.yaml", mode: "replay", parallel: 0}.command(engine.Live),
		},
		{
			"resume", "the run knows its playbook, its mode and its cassettes",
			"sdd-eval run --resume id --root '$p' --sandbox none",
			runOptions{playbook: "q.yaml", mode: "replay", cassettes: "alt", root: "$p", sandbox: "none"}.resumption("id"),
		},
		{
			"overwrite a playbook", "", "sdd-eval init --name demo --force --root x --schema local",
			initOptions{name: "demo", root: "x", schema: "local"}.overwriting(),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, tt.got, tt.reason) })
	}
}

// TestResumed holds that advice in a run that goes on is about its playbook and its cassettes.
func TestResumed(t *testing.T) {
	dir := projectDir(t)
	const id = "20260131-120000-shop"
	_, err := rundir.Create(dir, rundir.Manifest{
		RunID: id, Tool: tool, Playbook: rundir.Playbook{Path: "my plays/q.yaml"}, Cassettes: "alt", Name: "shop", Mode: "replay",
		Sandbox: "none", Variants: []rundir.Variant{{ID: "a"}}, Cases: []rundir.Case{{ID: "task"}}, Trials: 1, Need: 1, Units: []string{"shop/task/a/1"},
	}, []byte(validPlaybook), new(secret.Set))
	require.NoError(t, err)
	a := &App{Dir: filepath.Join(dir, "sub"), secrets: new(secret.Set)}
	found, again, err := a.resumed(dir, runOptions{resume: id[:9], root: ".."})
	require.NoError(t, err)
	require.Equal(t, id, found)
	require.Equal(t, "sdd-eval run --playbook '"+filepath.Join(dir, "my plays", "q.yaml")+"' --mode record --cassettes alt --root ..", again.command(engine.Record))
}
