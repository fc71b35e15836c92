package hostile_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

// playbook is of an agent that follows a script, and of a run step after it: both do what the hostile process does.
const playbook = `name: hostile
task: {prompt: Get out.}
variants: {a: {agent: {kind: fake-acp, args: [script.json]}}}
sandbox: {allow_commands: [sh], allow_read: [PROGRAM]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
        - run: sh step.sh
`

// TestRun has a whole run go against us: the agent from its own process, through a terminal of ours, and by what it
// leaves for a run step.
func TestRun(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		s.bait(t)
		s.target.Workspace = "."
		s.own = filepath.Join(s.target.Project, ".llman")
		escapes := slices.DeleteFunc(hostile.Escapes(), func(e hostile.Escape) bool {
			// An agent has the network, and what is to be stopped or made can be so once.
			return e.Alone || e.Property == confine.Network || properties.Kind == confine.None && e.Proof != hostile.Secret
		})
		s.writePlaybook(t, escapes)
		before := s.survey(t, escapes)
		files := s.run(t, properties.Kind)
		after := s.survey(t, escapes)
		t.Cleanup(func() { s.removeMarks(escapes, before) })
		for _, who := range []string{"agent", "terminal", "step"} {
			reports := reportsOf(t, files[who])
			for _, e := range escapes {
				t.Run(who+"/"+e.Name, func(t *testing.T) {
					r, ok := reports[e.Name]
					require.True(t, ok, "no report")
					s.judge(t, properties, e, r, s.escaped(e, r, before, after))
				})
			}
		}
		if properties.Kind != confine.None {
			s.checkSurvey(t, properties, before, after)
		}
	})
}

// writePlaybook writes the playbook and the script of its agent, which has the hostile process started by all there are.
func (s *scene) writePlaybook(t *testing.T, escapes []hostile.Escape) {
	t.Helper()
	args := hostile.Args(s.target, escapes...)
	for i, arg := range args[1:] {
		args[1+i] = "'" + arg + "'" // nothing has a quote in it
	}
	program := "./" + strings.Join(args, " ")
	line := func(who string) []string { return []string{"-c", program + " >" + who + ".reports"} }
	turn := scripted.Turn{Actions: []scripted.Action{
		{Exec: &scripted.Exec{Command: "cp", Args: []string{s.exe, hostile.Name}}},
		{Exec: &scripted.Exec{Command: "sh", Args: line("agent")}},
		{Terminal: &scripted.Terminal{Command: "sh", Args: line("terminal")}},
		{DiskWrite: &scripted.DiskWrite{Path: "step.sh", Text: program + " >step.reports; rm " + hostile.Name + "\n"}},
	}}
	script, err := json.Marshal(scripted.Script{Turns: []scripted.Turn{turn}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, "script.json"), script, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, "p.yaml"), []byte(strings.ReplaceAll(playbook, "PROGRAM", s.exe)), 0o644))
}

// run runs the playbook, and returns what the hostile processes printed by who started them.
func (s *scene) run(t *testing.T, kind confine.Kind) map[string]string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"PATH": systemPath, "HOME": s.target.Home}
	app := cli.App{
		Args: []string{"run", "--playbook", "p.yaml", "--sandbox", string(kind)}, Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string { return env[name] }, Environ: []string{"PATH=" + systemPath, "HOME=" + s.target.Home},
		Dir: s.target.Project, Now: time.Now,
	}
	require.Zero(t, app.Run(t.Context()), "%s", &stderr)
	files := make(map[string]string)
	for _, who := range []string{"agent", "terminal", "step"} {
		paths, err := filepath.Glob(filepath.Join(s.own, "sdd-eval", "runs", "*", "variants", "a", "workspace", who+".reports"))
		require.NoError(t, err)
		require.Len(t, paths, 1, "%s: %s", who, &stderr)
		data, err := os.ReadFile(paths[0])
		require.NoError(t, err)
		files[who] = string(data)
	}
	return files
}

// reportsOf returns the reports that the hostile process printed.
func reportsOf(t *testing.T, printed string) map[string]hostile.Report {
	t.Helper()
	reports := make(map[string]hostile.Report)
	for line := range strings.Lines(printed) {
		var r hostile.Report
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		reports[r.Escape] = r
	}
	return reports
}
