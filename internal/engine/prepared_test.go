package engine_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// stylePlaybook has an agent that says what git and its workspace hold.
const stylePlaybook = `name: bench
task: {prompt: Do it.}
styles: {own: {dir: styles/own}, gone: {dir: styles/gone}}
variants: {fake: {style: own, agent: {kind: fake-acp, args: [agent.json]}}}
workspace: {from: src, repository: true}
sdd_loop: {max_iterations: 2}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/sdd.prepare
        - uses: builtin:sdd-eval/acp.sdd-loop
`

// TestPrepared holds what an agent begins with, and that only what it makes of that is its own.
func TestPrepared(t *testing.T) {
	t.Parallel()
	const look = `{"repeat": true, "turns": [{"actions": [{"exec": {"command": "sh", "args": ["-c",
		"(git log --format='%an %ae %s %at'; git branch; git status --short; stat -c %y A*) >> log.txt"]}},
		{"say": {"text": "Looked."}}]}]}`
	root := project(t, map[string]string{"agent.json": look, "styles/own/AGENTS.md": "Ours: be brief\n"})
	runner, unit := newRunner(t, root, stylePlaybook, engine.Live, unconfined,
		func(c *engine.Config) { c.Keep = &engine.Keep{Below: root} })
	sunk := new(sink)
	done, err := runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	u := sunk.units[0]
	require.Equal(t, result.Completed, u.Outcome, judged(u))
	require.Equal(t, result.StopByLimit, u.Stop, "it answered as often as it was asked")
	require.Equal(t, []int{2, 0}, []int{u.Sent, u.Unsent})
	dirs := filesOf(t, root, done, unit)
	log, err := os.ReadFile(filepath.Join(dirs.Workspace, "log.txt"))
	require.NoError(t, err)
	require.Contains(t, string(log),
		"sdd-eval sdd-eval@localhost baseline 946684800\n* main\n?? AGENTS.md\n")
	require.Contains(t, string(log), ".000000000", "all files are as old as the agent's work")
	var changes result.Changes
	readJSON(t, dirs, rundir.Changes, &changes)
	require.Len(t, changes.Files, 1, "neither the style's files nor git's")
	require.Equal(t, "log.txt", changes.Files[0].Path)
	agents, err := os.ReadFile(filepath.Join(dirs.Workspace, "AGENTS.md"))
	require.NoError(t, err)
	require.Contains(t, string(agents), "Ours: be brief")

	for style, want := range map[string]string{"own": "", "gone": "bench.yaml:3: style gone: ", "sdd": "", "": ""} {
		text := strings.Replace(stylePlaybook, "style: own", "style: "+style, 1)
		if style == "" {
			text = strings.Replace(stylePlaybook, "style: own, ", "", 1)
		}
		runner, unit := newRunner(t, root, text, engine.Live, unconfined)
		u := runner.Unit(t.Context(), unit, io.Discard)
		if want == "" {
			require.Equal(t, result.Completed, u.Outcome, judged(u))
			continue
		}
		require.Equal(t, result.Error, u.Outcome)
		require.Contains(t, u.Reason, want)
	}
}

// TestEmptyRepository holds that a workspace without files is a repository with a commit, too.
func TestEmptyRepository(t *testing.T) {
	t.Parallel()
	root := project(t, nil)
	text := strings.Replace(benchPlaybook, "evaluators:\n  - {type: tool_trajectory",
		"workspace: {repository: true}\n#", 1)
	text = strings.Replace(text, "{uses: builtin:sdd-eval/acp.prompt}", "{run: git log --format=%s}", 1)
	runner, unit := newRunner(t, root, text, engine.Live, unconfined)
	require.True(t, runner.Impure(t.Context()))
	u := runner.Unit(t.Context(), unit, io.Discard)
	require.Len(t, u.Steps, 2, judged(u))
	require.Equal(t, "baseline", u.Steps[1].Output, judged(u))
}

// TestNotes holds what people are told before a run.
func TestNotes(t *testing.T) {
	const nothing = "bench.yaml:10: note: workspace."
	tests := []struct {
		name, workspace string
		want            []string
	}{
		{"no patterns", "{from: src}", nil},
		{"patterns that match", "{from: src, include: [stock.txt], exclude: [dir]}", nil},
		{
			"patterns that match nothing", "{from: src, include: [none.txt], exclude: [stock.txt, gone/**]}",
			[]string{
				nothing + `include: "none.txt" matches nothing that is copied`,
				nothing + `exclude: "gone/**" leaves out nothing`,
			},
		},
		{"no source", "{from: none, exclude: [gone/**]}", nil},
		{"no preparation", "{from: src, exclude: [gone/**]}", nil},
	}
	root := project(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(benchPlaybook, "evaluators:", "workspace: "+tt.workspace+"\nevaluators:", 1)
			if tt.name == "no preparation" {
				text = strings.Replace(text, "{uses: builtin:sdd-eval/workspace.prepare}, ", "", 1)
			}
			runner, _ := newRunner(t, root, text, engine.Replay)
			require.Equal(t, tt.want, runner.Notes(t.Context()))
			sunk := new(sink)
			_, err := runner.Run(t.Context(), sunk)
			require.NoError(t, err)
			require.Subset(t, sunk.notes, tt.want)
		})
	}
}

// TestImpure holds on what a replay depends that go test does not see.
func TestImpure(t *testing.T) {
	root := project(t, nil)
	judge := "  - {name: model, type: llm_judge, model: a}\n"
	tests := []struct {
		name, more string
		change     func(*engine.Config)
		want       bool
	}{
		{"nothing", "", nil, false},
		{"an agent", "", func(c *engine.Config) { c.Mode = engine.Live }, true},
		{"an answered agent", "cassette: {level: client}\n", nil, true},
		{"a run that is kept", "", func(c *engine.Config) { c.Keep = new(engine.Keep) }, true},
		{"programs", "requires: [git]\n", nil, true},
		{"a program that judges", "  - {name: command, type: command, run: git --version}\n", nil, true},
		{"git", "workspace: {repository: true}\n", nil, true},
		{"the day", "cassette: {max_age: {warn: 1d}}\n", nil, true},
		{"files below the root", "workspace: {from: src}\n", nil, false},
		{"files elsewhere", "workspace: {from: ../elsewhere}\n", nil, true},
		{"cassettes elsewhere", "", func(c *engine.Config) { c.Cassettes = "../elsewhere" }, true},
		{"a model that is not asked", judge, nil, false},
		{"a model", judge, func(c *engine.Config) { c.LLMJudge = true }, true},
		{"a model that is asked anew", judge, func(c *engine.Config) { c.RecordJudges = true }, true},
		{"no model to ask", "", func(c *engine.Config) { c.LLMJudge = true }, false},
		{"traces", "", func(c *engine.Config) {
			c.Getenv = func(name string) string {
				return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1"}[name]
			}
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runner, _ := newRunner(t, root, benchPlaybook+tt.more, engine.Replay, func(c *engine.Config) {
				c.Getenv = func(string) string { return "" }
				if tt.change != nil {
					tt.change(c)
				}
			})
			require.Equal(t, tt.want, runner.Impure(t.Context()))
		})
	}

	repository := project(t, map[string]string{
		".git/HEAD": "", ".gitignore": "*.log\n", "module/.gitignore": "/out\n", "module/src/a.txt": "",
	})
	impure := func() bool {
		runner, _ := newRunner(t, filepath.Join(repository, "module"), benchPlaybook+"workspace: {from: src}\n",
			engine.Replay, func(c *engine.Config) { c.Getenv = func(string) string { return "" } })
		return runner.Impure(t.Context())
	}
	require.True(t, impure(), "go test does not look at rules above the module")
	require.NoError(t, os.Remove(filepath.Join(repository, ".gitignore")))
	require.False(t, impure())
	require.NoError(t, os.WriteFile(filepath.Join(repository, "module", ".gitignore"), []byte("a.txt\n"), 0o644))
	require.True(t, impure(), "git cannot say what it tracks")
}

// TestLoadTemplate holds what of a project an agent does not see.
func TestLoadTemplate(t *testing.T) {
	const other = "workflow: {}\nvariants: {}\n"
	root := project(t, map[string]string{
		"evals/p.yaml": other, "evals/a/q.yml": other, "evals/a/q_test.go": "", "half.yaml": "workflow: {}\n",
		"text.txt": other, "questions.yaml": "evalcases: []\n", "[x]/own": "", "x/own": "", "evals/judge.py": "",
		"evals/agent/run.sh": "", "evals/agent/lib.py": "", "evals/style/AGENTS.md": "", "cassettes/c.jsonl": "",
		"evals/shop_test.go": "", "dist/a.js": "", ".env": "", ".git/HEAD": "", "only/.env": "", "only/README": "",
		"alone/p.yaml": other, "alone/q.yaml": other, "src/judge.py": "", "src/p.yaml": other,
	})
	beside := func(dir string) func(string) string {
		return func(path string) string { return filepath.Join(root, dir, path) }
	}
	load := func(dir string, pb *plan.Playbook, besides string) (seen, notes []string, err error) {
		ours := []string{filepath.Join(root, "[x]"), filepath.Dir(root), filepath.Join(root, "cassettes")}
		tmpl, err := engine.LoadTemplate(t.Context(), pb, dir, beside(besides), ours, nil)
		if err != nil {
			return nil, nil, err
		}
		require.NoError(t, tmpl.Read(t.Context(), func(path string, _ func(int64) ([]byte, int64, error)) error {
			seen = append(seen, path)
			return nil
		}))
		return seen, engine.TemplateNotes(t.Context(), pb, tmpl), nil
	}
	project := &plan.Playbook{
		File:     "evals/p.yaml",
		Files:    []string{filepath.Join(root, "evals", "judge.py")},
		Variants: []plan.Variant{{Agent: playbook.Agent{Command: "agent/run.sh", Args: []string{"--fast"}}}},
		MCP:      []plan.MCPServer{{MCPServer: playbook.MCPServer{Command: []string{"node", "agent/lib.py"}}}},
		Styles:   []plan.StyleSource{{Name: "own", Dir: "style"}},
		Cases:    []plan.Case{{Position: doc.Position{File: "evals/shop_test.go", Line: 3}}},
	}
	project.Workspace.Exclude = []string{"src", "only", "alone"}
	want := []string{
		"agent.json", "evals/a/q_test.go", "half.yaml", "text.txt", "x/own",
	}
	const left = "workspace: the agent does not get .env (looks like a secret by its name); " +
		"dist (not copied by default); evals/a/q.yml, questions.yaml (another playbook)"
	seen, notes, err := load(root, project, "evals")
	require.NoError(t, err)
	require.Equal(t, want, seen)
	require.Equal(t, []string{"evals/p.yaml: note: " + left}, notes)
	project.Workspace.From, project.Workspace.Position = "..", doc.Position{File: "evals/p.yaml", Line: 7}
	seen, notes, err = load(root, project, "evals")
	require.NoError(t, err)
	require.Equal(t, want, seen)
	require.Equal(t, []string{"evals/p.yaml:7: note: " + left}, notes)

	fixture := &plan.Playbook{File: "evals/p.yaml", Files: []string{filepath.Join(root, "src", "judge.py")}}
	fixture.Workspace.From = "../src"
	seen, notes, err = load(filepath.Join(root, "src"), fixture, "evals")
	require.NoError(t, err)
	require.Contains(t, seen, "judge.py", "its author chose what is in it")
	require.Contains(t, seen, "p.yaml")
	require.Empty(t, notes)

	alone := &plan.Playbook{File: "alone/p.yaml"}
	seen, _, err = load(filepath.Join(root, "alone"), alone, "alone")
	require.NoError(t, err, "there is nothing but playbooks")
	require.Empty(t, seen)

	fixture.Workspace.Exclude = []string{"README"}
	_, _, err = load(filepath.Join(root, "only"), fixture, "evals")
	require.ErrorContains(t, err, "evals/p.yaml: workspace: nothing of "+filepath.Join(root, "only")+
		" is left for the agent: .env (looks like a secret by its name)")
	require.Contains(t, fault.Advice(err), "workspace.include")
	fixture.Workspace.Exclude = []string{"**"}
	_, notes, err = load(filepath.Join(root, "only"), fixture, "evals")
	require.NoError(t, err, "its author said so")
	require.Equal(t, []string{"evals/p.yaml: note: workspace.exclude leaves nothing for the agent"}, notes)
}

// TestStaleInputs holds which changes of a playbook make a recording stale, by what they are called.
func TestStaleInputs(t *testing.T) {
	root := recorded(t, 1)
	tests := []struct{ name, old, new, want string }{
		{
			"servers", "evaluators:", "mcp: [{name: docs, command: [docs-server, -v]}]\nevaluators:",
			"docs: docs-server -v",
		},
		{
			"a step before", "{uses: builtin:sdd-eval/acp.prompt}", "{run: git init, cwd: .}, " +
				"{uses: builtin:sdd-eval/acp.prompt}",
			"git init (in .)",
		},
		{
			"permissions", "evaluators:",
			"permissions: {default: allow, rules: [{tool: Bash, decide: reject}]}\nevaluators:",
			"tool Bash, path any: reject",
		},
		{
			"permissions for paths", "evaluators:",
			"permissions: {rules: [{path: src/**, decide: reject}]}\nevaluators:", "tool any, path src/**: reject",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(benchPlaybook, tt.old, tt.new, 1)
			u := replayed(t, root, text)()
			require.Equal(t, result.Error, u.Outcome)
			require.Contains(t, u.Reason, tt.want)
			require.Equal(t, "record bench/task/fake/1", u.Next)
			u = replayed(t, root, text, func(c *engine.Config) { c.Stale = engine.StaleWarns })()
			require.Contains(t, strings.Join(u.Warnings, "\n"), tt.want)
		})
	}
	after := strings.Replace(benchPlaybook, "{uses: builtin:sdd-eval/acp.prompt}",
		"{uses: builtin:sdd-eval/acp.prompt}, {run: git --version}", 1)
	require.Equal(t, result.Pass, replayed(t, root, after)().Outcome, "the agent does not see what it leaves")
}

// TestStaleWorkspace holds that what an agent began with counts, also where nobody looks at its files.
func TestStaleWorkspace(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, filepath.Join(root, "src"))
	text := benchPlaybook + "workspace: {from: src}\n"
	record(t, root, text)
	require.Equal(t, result.Pass, replayed(t, root, text)().Outcome)
	require.NoError(t, os.WriteFile(filepath.Join(root, "src", "dir0", "file0.go"), []byte("package q\n"), 0o644))
	u := replayed(t, root, text)()
	require.Equal(t, result.Error, u.Outcome)
	require.Contains(t, u.Reason, "workspace file dir0/file0.go: was")
}

// TestMigrate holds which cassettes are written anew.
func TestMigrate(t *testing.T) {
	root := recorded(t, 1)
	runner, unit := newRunner(t, root, benchPlaybook, engine.Replay)
	path := runner.CassettePath(unit)
	c, err := cassette.Read(path)
	require.NoError(t, err)
	for dry, want := range map[bool]bool{true: false, false: false} {
		changed, err := runner.Migrate(unit, dry)
		require.NoError(t, err)
		require.Equal(t, want, changed)
	}
	c.Header.Unit = "bench/task/other/1"
	require.NoError(t, cassette.Write(disk.Tree(filepath.Dir(path)), path, c))
	_, err = runner.Migrate(unit, true)
	require.ErrorContains(t, err, runnerCassette+":1: the cassette was recorded for bench/task/other/1")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	_, err = runner.Migrate(unit, true)
	require.ErrorContains(t, err, runnerCassette+":1")
	require.NotContains(t, err.Error(), root)
	require.NoError(t, os.Remove(path))
	changed, err := runner.Migrate(unit, false)
	require.NoError(t, err)
	require.False(t, changed)
	unit.Variant.Agent.Kind = "nobody"
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	_, err = runner.Migrate(unit, true)
	require.EqualError(t, err, `bench/task/fake/1: unknown agent kind "nobody"`)
}

// TestLeakOfATurn holds that a recording does not show what a later turn has removed.
func TestLeakOfATurn(t *testing.T) {
	t.Parallel()
	const token = "a-value-that-nobody-may-see"
	for _, file := range []string{`"path": "t", "text": "` + token + `"`, `"path": "` + token + `", "text": "t"`} {
		script := fmt.Sprintf(`{"turns": [{"actions": [{"disk_write": {%s}}]},
			{"actions": [{"exec": {"command": "sh", "args": ["-c", "rm -f t a-value*"]}}]}]}`, file)
		root := project(t, map[string]string{"agent.json": script})
		text := strings.Replace(wholePlaybook, "prompt: Do it.,", "prompts: [Do it., Undo it.],", 1)
		text = strings.Replace(text, "rm late.txt", "rm -f late.txt", 1)
		runner, unit := newRunner(t, root, text, engine.Record, unconfined, func(c *engine.Config) {
			c.Secrets = new(secret.Set)
			c.Secrets.Mark("TOKEN", token)
		})
		u := runner.Unit(t.Context(), unit, io.Discard)
		require.Equal(t, result.Error, u.Outcome)
		require.Equal(t, "leak: the session shows the value of TOKEN; no cassette was written", u.Reason)
		require.False(t, cassette.Exists(runner.CassettePath(unit)))
	}
}
