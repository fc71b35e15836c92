package plan_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/playbook"
)

func TestValid(t *testing.T) {
	for _, file := range glob(t, "testdata/valid/*.yaml", "testdata/evalfile/valid/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, err := plan.Load(file, kinds)
			require.NoError(t, err)
			_, err = p.Plan()
			require.NoError(t, err)
		})
	}
}

// TestText keeps what was decoded, whatever becomes of the file.
func TestText(t *testing.T) {
	everything, err := os.ReadFile("testdata/valid/everything.yaml")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(file, everything, 0o644))
	read, err := plan.Load(file, kinds)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("name: another\n"), 0o644))
	require.Equal(t, string(everything), string(read.Text))
	again, err := plan.Read(plan.Source{Path: file, Data: read.Text}, kinds)
	require.NoError(t, err)
	require.Equal(t, read.Name, again.Name)
	require.Equal(t, read.Variants, again.Variants, "what was given is decoded, not what is in the file by now")
	parsed, err := plan.Parse("p.yaml", []byte(text), maxCallsKinds)
	require.NoError(t, err)
	require.Equal(t, text, string(parsed.Text))
}

func at(line, column int) doc.Position {
	return doc.Position{File: "testdata/valid/everything.yaml", Line: line, Column: column}
}

// TestEverything checks each field of a playbook that has all keys.
func TestEverything(t *testing.T) {
	got, err := plan.Load("testdata/valid/everything.yaml", kinds)
	require.NoError(t, err)
	want := &plan.Playbook{
		File: "testdata/valid/everything.yaml",
		Name: "demo",
		Cases: []plan.Case{
			{
				ID: "refund", Prompt: "Fix the refund.\n", Prompts: []string{"Fix the refund.\n"},
				ExpectedOutcome: "The refund is exact.", ReferenceAnswer: "See refund.go.",
				Files: map[string]string{"refund/partial.json": `{"amount": 40}`},
				Evaluators: []plan.Evaluator{{
					Name: "partial", Type: "files", Threshold: 1, Weight: 1, Advisory: true, Position: at(12, 9),
					Config: map[string]any{"exists": []any{"refund/partial.json"}},
				}},
				Position: at(4, 5),
			},
			{ID: "dialogue", Prompts: []string{"Find the bug.", "Fix it."}, Position: at(13, 5)},
		},
		Variants: []plan.Variant{
			{
				ID: "zebra", Style: "sdd", Position: at(16, 3),
				Agent: playbook.Agent{
					Kind: "claude-code-acp", Preset: "production", Model: "opus",
					Mode: "acceptEdits",
				},
			},
			{
				ID: "ant", Style: "sdd-legacy", Position: at(19, 3),
				Agent: playbook.Agent{Kind: "acp", Command: "my-agent", Args: []string{"--acp", ""}},
			},
			{ID: "unused", Style: "sdd", Position: at(22, 3), Agent: playbook.Agent{Kind: "fake-acp"}},
		},
		Workflow: plan.Workflow{Jobs: []plan.Job{
			{
				ID: "summary", Needs: []string{"check", "setup"}, Position: at(26, 5),
				Steps: []plan.Step{{
					Run: `git log --format="%h %s"`, Args: []string{"git", "log", "--format=%h %s"}, Cwd: ".",
					Job:      "summary",
					Position: at(28, 15),
				}},
			},
			{
				ID: "check", Needs: []string{"eval"}, Position: at(29, 5),
				Strategy: &plan.Strategy{Matrix: plan.Matrix{Variant: []string{"zebra"}}},
				Steps: []plan.Step{{
					Name: "unit tests", Run: `go test -run '${{ case.id }}' "./${{matrix.variant}}"`,
					Cwd:  "sub/${{ trial }}",
					Args: []string{"go", "test", "-run", "${{ case.id }}", "./${{matrix.variant}}"}, Job: "check",
					Position: at(33, 11),
				}},
			},
			{
				ID: "eval", Needs: []string{"setup"}, Position: at(36, 5),
				Strategy: &plan.Strategy{Matrix: plan.Matrix{Variant: []string{"ant", "zebra"}}},
				Steps: []plan.Step{
					{Uses: action.Prepare, Job: "eval", Position: at(40, 11)},
					{Uses: action.Prompt, Job: "eval", Position: at(41, 11)},
				},
			},
			{
				ID: "setup", Position: at(43, 5),
				Steps: []plan.Step{
					{Run: "tofu version", Args: []string{"tofu", "version"}, Job: "setup", Position: at(44, 15)},
				},
			},
		}},
		SDDLoop: plan.SDDLoop{MaxIterations: 3},
		Styles: []plan.StyleSource{
			{Name: "openspec", Dir: "./styles/openspec", Position: at(81, 3)},
			{Name: "house", Dir: "../styles", Position: at(82, 3)},
		},
		Report: plan.Report{AIJudge: plan.AIJudge{Enabled: true, Model: "gpt-4.1"}},
		Trials: plan.Trials{Count: 3, Pass: 2},
		Limits: plan.Limits{
			Limits: playbook.Limits{
				Timeout: 90 * time.Minute, MaxToolCalls: 200, MaxTokens: 500_000, MaxCostUSD: 0.5,
				Memory: 3 << 29, CPUs: 0.5, Disk: 1 << 20, Processes: 16,
			},
			Run: plan.RunLimits{MaxCostUSD: 12.5},
		},
		Retries: 2,
		Permissions: playbook.Permissions{
			Default: playbook.DecideReject,
			Rules: []playbook.PermissionRule{
				{Tool: "Read", Decide: playbook.DecideAllow},
				{Path: "internal/**", Decide: playbook.DecideError},
			},
		},
		Evaluators: []plan.Evaluator{
			{
				Name: "finds-and-fixes", Type: "fake", Threshold: 0.5, Weight: 0, Position: at(54, 5),
				Config: fake{Mode: "in_order", Expected: []call{
					{Tool: "Grep", Position: at(60, 9)},
					{Tool: "Read", Position: at(61, 9)},
				}},
			},
			{
				Name: "tool_trajectory", Type: "tool_trajectory", Threshold: 1, Weight: 1, Config: map[string]any{},
				Position: at(62, 5),
			},
		},
		Workspace: plan.Workspace{
			From: "../fixtures/demo", Include: []string{".env.example"}, Exclude: []string{"**/*.log"},
			Git: plan.GitTracked, Repository: true, Position: at(63, 1),
		},
		Sandbox: plan.Sandbox{
			Position: at(68, 1),
			Sandbox: playbook.Sandbox{
				UnixSockets: true, AllowUserns: true, Require: []string{"files read"},
				Kind: "command", Network: "none", AllowRead: []string{"../data", "~/.cargo"},
				Command:       []string{"wrap", "--"},
				AllowCommands: []string{"tofu"},
			},
		},
		Env: playbook.Env{Pass: []string{"HTTPS_PROXY"}},
		Caches: []plan.Cache{
			{Position: at(88, 10), Preset: "cargo"},
			{Position: at(88, 17), Dir: "~/.cache/app", Env: "APP_CACHE", Copy: true},
		},
		MCP: []plan.MCPServer{{
			MCPServer: playbook.MCPServer{Name: "docs", Command: []string{"docs-server", "--stdio"}},
			Position:  at(87, 5),
		}},
		Cassette: plan.Cassette{
			Level: plan.LevelClientMCP, Normalise: []*regexp.Regexp{regexp.MustCompile(`\d+\.\d+s`)},
			MaxDelta: 32 << 20,
			Overrides: []plan.Override{
				{Override: playbook.Override{
					Tool: "terminal/create", Args: map[string]any{"command": "go"}, Nth: 2,
					Error: "no such program",
				}, Position: at(75, 7)},
				{Override: playbook.Override{
					Tool:   "mcp__docs__search",
					Output: map[string]any{"hits": json.Number("0")}, Case: "refund", Variant: "ant",
				}, Position: at(76,
					7)},
			},
			AllowUnused: []string{"fs/read_text_file", "mcp__docs__*"},
		},
		Requires: []string{"python3"},
	}
	want.Dir, err = filepath.Abs("testdata/valid")
	require.NoError(t, err)
	want.Text, err = os.ReadFile(want.File)
	require.NoError(t, err)
	diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(call{}, "Args"), noDigest,
		cmp.Comparer(func(a, b *regexp.Regexp) bool { return a.String() == b.String() }))
	if diff != "" {
		t.Errorf("playbook (-want +got):\n%s", diff)
	}

	args := got.Evaluators[0].Config.(fake).Expected[0].Args
	assert.Equal(t, map[string]any{
		"pattern": map[string]any{"contains_ci": "todo"}, "limit": json.Number("9007199254740993"),
	}, args.Value(), "numbers stay as they are written")
	assert.Equal(t, "testdata/valid/everything.yaml:60", args.Get("pattern").Position().String())
	assert.Equal(t, "evaluators[0].expected[0].args.pattern", args.Get("pattern").Path())
}

// TestManyErrors holds the text of all errors of a file to a golden file.
func TestManyErrors(t *testing.T) {
	_, err := plan.Load("testdata/many-errors.yaml", kinds)
	require.Error(t, err)
	golden.Equal(t, "testdata/many-errors.golden", err.Error()+"\n")
}

// TestDefaults checks what a playbook that leaves everything out has all the same.
func TestDefaults(t *testing.T) {
	p, err := plan.Load("testdata/valid/commands-only.yaml", kinds)
	require.NoError(t, err)
	assert.Equal(t, plan.SDDLoop{MaxIterations: 6}, p.SDDLoop)
	assert.Equal(t, plan.Report{Human: plan.Human{Enabled: true}}, p.Report)
	assert.Equal(t, plan.Trials{Count: 1}, p.Trials)
	assert.Zero(t, p.Limits)
	assert.False(t, p.Workspace.Repository)
	assert.Equal(t, plan.GitUnignored, p.Workspace.Git)
	assert.Equal(t, 30*time.Minute, p.UnitTimeout())
	p.Limits.Timeout = time.Second
	assert.Equal(t, time.Second, p.UnitTimeout())
}

// TestPrompts tells the actions that speak with the agent from the others.
func TestPrompts(t *testing.T) {
	p, err := plan.Load("testdata/valid/pipeline.yaml", kinds)
	require.NoError(t, err)
	planned, err := p.Plan()
	require.NoError(t, err)
	var prompts []bool
	for _, s := range planned.Units[0].Steps {
		prompts = append(prompts, s.Prompts())
	}
	assert.Equal(t, []bool{false, false, true, false}, prompts)
	assert.True(t, plan.Step{Uses: action.Prompt}.Prompts())
	assert.False(t, plan.Step{Uses: action.Report}.Prompts())
	assert.Equal(t, "report", planned.After()[0].ID)
}

func TestDefaultName(t *testing.T) {
	text, err := os.ReadFile("testdata/valid/task.eval.yaml")
	require.NoError(t, err)
	tests := []struct{ name, file, want string }{
		{"playbook", "evals/shop.yaml", "shop"},
		{"eval file", "evals/shop.eval.yaml", "shop"},
		{"other extension", "shop.yml", "shop"},
		{"no extension", "shop", "shop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plan.Parse(tt.file, text, kinds)
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.Name)
			assert.Equal(t, tt.file, p.File)
		})
	}
}

func TestLoadErrors(t *testing.T) {
	_, err := plan.Load("testdata/nothing.yaml", kinds)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "testdata/nothing.yaml")

	assert.Equal(t, "correct the path, or let sdd-eval init write a first playbook", fault.Advice(err))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "greet.yaml"), nil, 0o600))
	_, err = plan.Load(filepath.Join(dir, "geet.yaml"), kinds)
	assert.ErrorContains(t, err, `geet.yaml: no such file or directory, did you mean "greet.yaml"?`)

	_, err = plan.Load("testdata", kinds)
	require.EqualError(t, err, "load playbook: read testdata: is a directory: name a playbook in it")
	_, err = plan.Load("testdata/*.yml", kinds)
	require.EqualError(t, err,
		"load playbook: open testdata/*.yml: no such file or directory: "+
			"the shell found no file for this pattern")

	_, err = plan.Parse("empty.yaml", nil, nil)
	assert.EqualError(t, err, "empty.yaml:1:1: the file is empty")
	_, err = plan.Parse("list.yaml", []byte("- a\n"), nil)
	assert.EqualError(t, err, "list.yaml:1:1: must be a mapping, not a list")
}

func TestNeed(t *testing.T) {
	tests := []struct {
		name   string
		trials plan.Trials
		want   int
	}{
		{"zero value", plan.Trials{}, 1},
		{"all by default", plan.Trials{Count: 5}, 5},
		{"pass", plan.Trials{Count: 5, Pass: 4}, 4},
		{"rate", plan.Trials{Count: 5, PassRate: 0.8}, 4},
		{"rate is rounded up", plan.Trials{Count: 3, PassRate: 0.5}, 2},
		{"rate with an inexact product", plan.Trials{Count: 25, PassRate: 0.28}, 7},
		{"tiny rate", plan.Trials{Count: 3, PassRate: 1e-12}, 1},
		{"full rate", plan.Trials{Count: 3, PassRate: 1}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.trials.Need())
		})
	}
}

func TestDecide(t *testing.T) {
	p := &plan.Playbook{Permissions: playbook.Permissions{
		Default: playbook.DecideReject,
		Rules: []playbook.PermissionRule{
			{Tool: "Bash", Decide: playbook.DecideError},
			{Path: "secret/**", Decide: playbook.DecideReject},
			{Tool: "Edit", Path: "**/*.go", Decide: playbook.DecideAllow},
			{Tool: "Read", Decide: playbook.DecideAllow},
			{Tool: "mcp__stock__*", Decide: playbook.DecideError},
		},
	}}
	tests := []struct {
		name, tool string
		files      []string
		want       playbook.Decision
	}{
		{"by tool", "Bash", nil, playbook.DecideError},
		{"by path", "Read", []string{"secret/a/b"}, playbook.DecideReject},
		{"one path of several is refused", "Read", []string{"a.go", "secret/key"}, playbook.DecideReject},
		{"tool and path", "Edit", []string{"a.go", "x/b.go"}, playbook.DecideAllow},
		{"not all paths are allowed", "Edit", []string{"a.go", "go.mod"}, playbook.DecideReject},
		{"no path is no match", "Edit", nil, playbook.DecideReject},
		{"first rule that matches", "Read", []string{"a.go"}, playbook.DecideAllow},
		{"by a pattern", "mcp__stock__count", nil, playbook.DecideError},
		{"not by a pattern", "mcp__stocks__count", nil, playbook.DecideReject},
		{"default", "WebFetch", nil, playbook.DecideReject},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, p.Decide(tt.tool, tt.files))
		})
	}
	assert.Equal(t, playbook.DecideAllow, new(plan.Playbook).Decide("Bash", nil), "the zero value allows")
}

func TestForbids(t *testing.T) {
	reject := []playbook.PermissionRule{{Tool: "Read", Decide: playbook.DecideAllow}, {Decide: playbook.DecideReject}}
	for _, tt := range []struct {
		permissions playbook.Permissions
		want        bool
	}{
		{playbook.Permissions{}, false},
		{playbook.Permissions{Default: playbook.DecideAllow, Rules: reject[:1]}, false},
		{playbook.Permissions{Default: playbook.DecideReject}, true},
		{playbook.Permissions{Default: playbook.DecideError}, true},
		{playbook.Permissions{Rules: reject}, true},
		{playbook.Permissions{Default: playbook.DecideReject, Rules: reject, AllowUnasked: true}, false},
	} {
		p := &plan.Playbook{Permissions: tt.permissions}
		assert.Equal(t, tt.want, p.Forbids(), "%+v", tt.permissions)
	}
}

// FuzzParse checks that no text makes Parse panic, that every error has a position in the file, and that what is
// accepted has a plan and passes the schema.
func FuzzParse(f *testing.F) {
	for _, file := range glob(f, "testdata/*.yaml", "testdata/*/*.yaml", "testdata/evalfile/*/*.yaml") {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	schema := schemaOf(f, kinds)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := plan.Parse("fuzz.yaml", data, kinds)
		if err != nil {
			var errs doc.Problems
			require.ErrorAs(t, err, &errs)
			require.NotEmpty(t, errs)
			for _, e := range errs {
				require.Equal(t, "fuzz.yaml", e.Position.File)
				require.Positive(t, e.Position.Line)
				require.Positive(t, e.Position.Column)
				require.NotEmpty(t, e.Reason)
			}
			return
		}
		require.Empty(t, validate(schema, schema, "", doc.Parse("fuzz.yaml", data).Root.Value()))
		planned, err := p.Plan()
		require.NoError(t, err)
		require.Len(t, planned.Jobs, len(p.Workflow.Jobs))
		for _, u := range planned.Units[:min(len(planned.Units), 10)] {
			values := u.Values()
			values["run.run_id"], values["run.run_dir"] = "id", "dir"
			for _, s := range u.Steps {
				_, err := p.Resolve(s, values)
				if err != nil && !strings.Contains(s.Run+s.Cwd, "${{") {
					t.Errorf("a step without placeholders was accepted and cannot be resolved: %v", err)
				}
			}
		}
	})
}

// A file that the playbook names stands beside it, or above it up to the project's root, and nowhere else.
func TestFile(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{
		"outside.sh", "project/top.sh", "project/evals/up.sh", "project/evals/a/beside.sh",
		"project/evals/a/up.sh",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(root, "project", "evals", "a", "dir"), 0o755))
	project := filepath.Join(root, "project")
	tests := []struct {
		name string // the path
		want string // below the root, empty: an error
		why  string
	}{
		{"beside.sh", "project/evals/a/beside.sh", "beside the playbook"},
		{"up.sh", "project/evals/a/up.sh", "the nearest one"},
		{"../up.sh", "project/evals/up.sh", "relative to the playbook"},
		{"top.sh", "project/top.sh", "in the project's root"},
		{"evals/up.sh", "project/evals/up.sh", "relative to the project's root"},
		{"outside.sh", "", "above the project"},
		{"dir", "", "a directory"},
		{"nowhere.sh", "", "not there"},
		{filepath.Join(project, "top.sh"), "project/top.sh", "an absolute path"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			kinds := plan.Kinds{"k": {Decode: func(n *doc.Node) any {
				path, err := plan.File(n, test.name)
				if err != nil {
					return err
				}
				return path
			}}}
			pb, err := plan.Read(plan.Source{
				Path: filepath.Join(project, "evals", "a", "p.yaml"), Root: project,
				Data: []byte(`task: {title: t, prompt: p}
variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}
workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
evaluators: [{type: k}]`),
			}, kinds)
			require.NoError(t, err)
			if test.want == "" {
				require.Implements(t, (*error)(nil), pb.Evaluators[0].Config, test.why)
				return
			}
			require.Equal(t, filepath.Join(root, filepath.FromSlash(test.want)), pb.Evaluators[0].Config, test.why)
		})
	}
}

// noDigest leaves the digests of evaluators' texts to TestDigest.
var noDigest = cmpopts.IgnoreFields(plan.Evaluator{}, "Digest")

// TestDigest: an evaluator's digest is that of what its entry says, however it is written.
func TestDigest(t *testing.T) {
	digest := func(entry string) string {
		p, err := plan.Parse("p.yaml", []byte("name: p\ntask: {prompt: x}\nvariants: {a: {agent: {kind: fake-acp}}}\n"+
			"workflow: {jobs: {e: {strategy: {matrix: {variant: [a]}}, steps: "+
			"[{uses: builtin:sdd-eval/acp.prompt}]}}}\nevaluators:\n  - "+entry+"\n"), kinds)
		require.NoError(t, err)
		require.NotEmpty(t, p.Evaluators[0].Digest)
		return p.Evaluators[0].Digest
	}
	one := digest("{type: fake, mode: in_order, threshold: 0.5}")
	require.Equal(t, one, digest("type: fake\n    threshold: 0.5 # of one\n    mode: in_order"))
	require.NotEqual(t, one, digest("{type: fake, mode: in_order, threshold: 0.6}"))
	require.NotEqual(t, one, digest("{type: fake, mode: exact, threshold: 0.5}"))
}
