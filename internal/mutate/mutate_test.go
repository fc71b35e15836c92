package mutate_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/mutate"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// head is a playbook but for its evaluators: the agent adds a total to a receipt.
const head = `name: receipt
task: {prompt: Add a total.}
variants:
  a:
    agent: {kind: fake-acp}
workspace: {from: ../work}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
`

// receipt is what the agent did.
func receipt() []cassette.Turn {
	old, text := "tea 2\n", "tea 2\ntotal 2\n"
	tokens := int64(100)
	events := []trajectory.Body{
		trajectory.Prompt{Text: "Add a total."},
		trajectory.ToolStart{
			ID: "1", Name: "Edit", Kind: "edit", Title: "Edit receipt.txt",
			Args: map[string]any{"file_path": "$WORKSPACE/receipt.txt", "new_string": text},
		},
		trajectory.ToolEnd{
			ID: "1", Status: trajectory.Completed,
			Diffs: []trajectory.Diff{{Path: "$WORKSPACE/receipt.txt", Old: &old, New: text}},
		},
		trajectory.Message{Text: "The receipt has a total."},
		trajectory.Stop{Reason: "end_turn", Usage: &trajectory.Usage{Total: &tokens}},
	}
	t := cassette.Turn{Delta: workspace.Delta{Changes: []workspace.Change{
		{Path: "receipt.txt", Op: workspace.Modified, Kind: workspace.File, Data: []byte(text)},
	}}}
	for i, b := range events {
		t.Events = append(t.Events, trajectory.Event{Turn: 1, At: time.Duration(i) * time.Millisecond, Body: b})
	}
	return []cassette.Turn{t}
}

// files are what the agent begins with.
var files = map[string]string{"receipt.txt": "tea 2\n", "prices.txt": "tea 2\n"}

// record writes a playbook with a recording of each of its units, and returns what runs them.
func record(
	t testing.TB, playbook string, files map[string]string, turns []cassette.Turn,
) (*engine.Runner, *plan.Plan) {
	t.Helper()
	root := t.TempDir()
	put := func(name, text string) {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	put("evals/p.yaml", playbook)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "work"), 0o755))
	for name, text := range files {
		put("work/"+name, text)
	}
	r, planned := open(t, root, "evals/p.yaml")
	for _, u := range planned.Units {
		prints, err := r.Fingerprints(t.Context(), u)
		require.NoError(t, err)
		path := r.CassettePath(u)
		require.NoError(t, cassette.Write(disk.Tree(root), path, &cassette.Cassette{
			Header: cassette.Header{
				Unit: u.ID(), Level: cassette.LevelRun, Agent: trajectory.Agent{Kind: "fake-acp"}, Endpoint: "scripted",
				RecordedAt: time.Date(2026, 3, 2, 10, 15, 0, 0, time.UTC), Fingerprints: prints,
			},
			Turns: turns,
		}))
	}
	return r, planned
}

// open returns what runs the playbook of a project.
func open(t testing.TB, root, playbook string) (*engine.Runner, *plan.Plan) {
	t.Helper()
	pb, err := plan.Read(plan.Source{
		Path: filepath.Join(root, playbook), Name: playbook, Root: root,
	}, kinds.All())
	require.NoError(t, err)
	planned, err := pb.Plan()
	require.NoError(t, err)
	r, err := engine.New(planned, engine.Config{
		Mode: engine.Replay, Root: root, Source: root, Cassettes: "cassettes", Sandbox: "none",
		Command: func(engine.Mode, plan.Unit) string { return "sdd-eval run" },
		Getenv:  func(string) string { return "" }, Environ: os.Environ(),
	})
	require.NoError(t, err)
	return r, planned
}

// run returns what becomes of the mutants.
func run(t testing.TB, evaluators string, c mutate.Config) (mutate.Report, error) {
	t.Helper()
	r, p := record(t, head+evaluators, files, receipt())
	return mutate.Run(t.Context(), r, p, c)
}

// example returns an example of docs/mutate.md by what stands behind its fence.
func example(t *testing.T, mark string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/mutate.md")
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)\n```" + mark + "\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, m, mark)
	return string(m[1])
}

// TestMutatePage does what docs/mutate.md says: the weak eval has the survivor, the strong one notices all.
func TestMutatePage(t *testing.T) {
	weak, err := run(t, example(t, "yaml weak"), mutate.Config{})
	require.NoError(t, err)
	assert.Contains(t, mutate.Text([]mutate.Report{weak}, false), strings.TrimSpace(example(t, "text weak")))

	strong, err := run(t, example(t, "yaml strong"), mutate.Config{})
	require.NoError(t, err)
	for _, u := range strong.Units {
		for _, f := range u.Findings {
			assert.Equal(t, mutate.Killed, f.Status, "%s %s", f.Operator, f.Where)
		}
	}

	page, err := os.ReadFile("../../docs/mutate.md")
	require.NoError(t, err)
	for _, op := range mutate.Operators() {
		assert.Contains(t, string(page), fmt.Sprintf("| `%s` | %s |", op.ID, op.Doc))
	}
}

func TestMutationFormats(t *testing.T) {
	report, err := run(t, example(t, "yaml weak")+
		"mutate:\n  accept:\n    - {operator: many-tokens, where: 'task/a: *', why: nobody counts}\n", mutate.Config{})
	require.NoError(t, err)
	all := []mutate.Report{report}
	golden.Equal(t, "testdata/report.txt.golden", mutate.Text(all, false))
	data, err := mutate.JSON(all, true)
	require.NoError(t, err)
	assert.True(t, json.Valid(data))
	golden.Equal(t, "testdata/report.json.golden", data)
	golden.Equal(t, "testdata/report.md.golden", []byte(mutate.Markdown(all, false)))
	var b bytes.Buffer
	require.NoError(t, mutate.JUnit(&b, all))
	require.NoError(t, xml.Unmarshal(b.Bytes(), new(struct{})))
	golden.Equal(t, "testdata/report.xml.golden", b.Bytes())
}

func TestAccept(t *testing.T) {
	accept := func(where string) string {
		return "evaluators:\n  - {type: text, checks: [{id: a, contains: [total]}]}\n" + "mutate:\n  accept:\n" +
			"    - {operator: drop-file, where: '" + where + "', why: it is}\n"
	}
	report, err := run(t, accept("task/a: receipt.txt"), mutate.Config{})
	require.NoError(t, err)
	c := report.Count()
	assert.Equal(t, 1, c.Accepted)
	plain, _ := c.Score(false)
	strict, _ := c.Score(true)
	assert.Less(t, strict, plain)

	_, err = run(t, accept("task/a: other.txt"), mutate.Config{})
	assert.ErrorContains(t, err, `evals/p.yaml:18`)
	assert.ErrorContains(t, err, `no mutant of drop-file survives at "task/a: other.txt"`)
}

func TestSample(t *testing.T) {
	weak := example(t, "yaml weak")
	one, err := run(t, weak, mutate.Config{Sample: 4, Seed: 7})
	require.NoError(t, err)
	again, err := run(t, weak, mutate.Config{Sample: 4, Seed: 7})
	require.NoError(t, err)
	assert.Len(t, one.Units[0].Findings, 4)
	assert.Equal(t, mutate.Text([]mutate.Report{again}, false), mutate.Text([]mutate.Report{one}, false))
}

// TestNotPassing: what does not pass as it was recorded has no score.
func TestNotPassing(t *testing.T) {
	_, err := run(t, "evaluators:\n  - {type: files, expect: [{path: receipt.txt, contains: coffee}]}\n",
		mutate.Config{})
	assert.ErrorContains(t, err, "receipt/task/a/1 does not pass as it was recorded, so that it has no score")
}

// TestKiller: only what an evaluator looks at is killed.
func TestKiller(t *testing.T) {
	report, err := run(t, "evaluators:\n  - {type: metrics, max_tokens: 100}\n", mutate.Config{})
	require.NoError(t, err)
	for _, f := range report.Units[0].Findings {
		if f.Operator == "many-tokens" {
			assert.Equal(t, mutate.Killed, f.Status)
		} else {
			assert.NotEqual(t, mutate.Killed, f.Status, "%s %s", f.Operator, f.Where)
		}
	}
}

// TestUnknown: what cannot be judged is told, and never counts as noticed; evaluators that decide nothing hide nothing.
func TestUnknown(t *testing.T) {
	const files = "evaluators:\n  - {type: files, expect: [{path: receipt.txt, contains: total}]}\n"
	const judge = "  - {type: llm_judge, model: m, rubrics: [{id: a, text: It is good.}]"
	plain, err := run(t, files, mutate.Config{})
	require.NoError(t, err)
	advisory, err := run(t, files+judge+", required: false}\n", mutate.Config{})
	require.NoError(t, err)
	assert.Equal(t, plain.Count(), advisory.Count())
	assert.NotContains(t, mutate.Text([]mutate.Report{advisory}, false), "NOT ALL IS KNOWN")

	report, err := run(t, files+judge+"}\n", mutate.Config{})
	require.NoError(t, err)
	c := report.Count()
	assert.Positive(t, c.Killed)
	assert.Positive(t, c.Unknown)
	assert.Zero(t, c.Survived)
	score, known := c.Score(false)
	assert.True(t, known)
	assert.InDelta(t, 1, score, 0)
	low, err := c.Gate(0.9, false)
	assert.False(t, low)
	assert.ErrorContains(t, err, fmt.Sprintf("and at least 90.0 %% is wanted: %d could not be judged", c.Unknown))
	all := []mutate.Report{report}
	for _, text := range []string{mutate.Text(all, false), mutate.Markdown(all, false)} {
		assert.Contains(t, text, fmt.Sprintf("NOT ALL IS KNOWN: %d of %d mutants could not be judged",
			c.Unknown, c.Killed+c.Unknown))
	}
}

// TestForbidden: what permissions forbid is noticed, by them, although such a run ends in an error.
func TestForbidden(t *testing.T) {
	report, err := run(t, "permissions: {default: reject, rules: [{tool: Edit, decide: allow}]}\n"+
		"evaluators:\n  - {type: files, expect: [{path: receipt.txt, contains: total}]}\n", mutate.Config{})
	require.NoError(t, err)
	for _, f := range report.Units[0].Findings {
		if f.Operator == "touch-file" || f.Operator == "write-secret" && f.Path != "receipt.txt" {
			assert.Equal(t, mutate.Killed, f.Status, "%s %s: %s", f.Operator, f.Where, f.Reason)
			assert.Equal(t, []string{"permissions"}, f.By)
		}
	}
	assert.Zero(t, report.Count().Unknown)
	assert.Contains(t, mutate.Text([]mutate.Report{report}, false), "permissions killed")
}

// TestNearMiss: arguments that say nothing of what a command does have no near miss; docs/mutate.md names them.
func TestNearMiss(t *testing.T) {
	turns := receipt()
	page, err := os.ReadFile("../../docs/mutate.md")
	require.NoError(t, err)
	args := map[string]any{"command": "ls", "id": cassette.Placeholder}
	other := map[string]any{"id": cassette.Placeholder}
	for _, name := range []string{"description", "parsed_cmd", "source", "timeout", "initial_wait"} {
		args[name] = "a"
		other[name] = "a"
		assert.Contains(t, string(page), "`"+name+"`")
	}
	call := []trajectory.Event{
		{Turn: 1, Body: trajectory.ToolStart{ID: "2", Name: "Bash", Kind: "execute", Args: args}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "2", Status: trajectory.Completed}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "3", Name: "create_issue", Kind: "other", Args: other}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "3", Status: trajectory.Completed}},
	}
	turns[0].Events = slices.Insert(turns[0].Events, 3, call...)
	var misses []string
	for _, m := range mutate.Derive(&mutate.Session{Turns: turns}) {
		if m.Operator == "near-miss" && m.Tool != "Edit" {
			misses = append(misses, m.Where)
		}
	}
	assert.Equal(t, []string{
		"call 2 Bash: command", "call 3 create_issue: description", "call 3 create_issue: initial_wait",
		"call 3 create_issue: parsed_cmd", "call 3 create_issue: source", "call 3 create_issue: timeout",
	}, misses)
}

func TestGate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		count mutate.Count
		share float64
		low   bool
		want  string
	}{
		{"met", mutate.Count{Killed: 9, Survived: 1}, 0.9, false, ""},
		{"met, whatever is unknown", mutate.Count{Killed: 9, Unknown: 1}, 0.9, false, ""},
		{"low", mutate.Count{Killed: 8, Survived: 2}, 0.9, true, "notices 80.0 % of"},
		{"low, whatever is unknown", mutate.Count{Killed: 4, Survived: 2, Unknown: 4}, 0.9, true, "at most 80.0 % of"},
		{"not known", mutate.Count{Killed: 8, Unknown: 2}, 0.9, false, "between 80.0 % and 100.0 %"},
		{"nothing judged", mutate.Count{Equivalent: 2, Unknown: 3}, 0, false, "no mutant could be judged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			low, err := tt.count.Gate(tt.share, false)
			assert.Equal(t, tt.low, low)
			if tt.want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tt.want)
			}
		})
	}
}

// TestThousands: more than 10,000 mutants without steps are judged; docs/mutate.md has how long that takes.
func TestThousands(t *testing.T) {
	turns := receipt()
	events := turns[0].Events[:3:3]
	for i := range 12 {
		id := fmt.Sprintf("read-%d", i)
		events = append(events,
			trajectory.Event{Turn: 1, At: 2 * time.Millisecond, Body: trajectory.ToolStart{
				ID: id, Name: "Grep", Kind: "search", Args: map[string]any{"pattern": id, "limit": json.Number("3")},
			}},
			trajectory.Event{Turn: 1, At: 2 * time.Millisecond, Body: trajectory.ToolEnd{
				ID: id, Status: trajectory.Completed,
			}})
	}
	turns[0].Events = append(events, turns[0].Events[3:]...)
	trials := 120
	if soak.Raced() {
		trials /= 10
	}
	r, p := record(t, head+fmt.Sprintf("trials: {count: %d}\n", trials)+example(t, "yaml weak")+
		"  - {type: text, checks: [{id: a, contains: [total]}]}\n  - {type: metrics, max_tool_calls: 20}\n"+
		"  - {type: tool_trajectory, never: [WebFetch]}\n", files, turns)
	report, err := mutate.Run(t.Context(), r, p, mutate.Config{})
	require.NoError(t, err)
	c := report.Count()
	assert.Equal(t, 91*trials, c.Killed+c.Survived)
	assert.Zero(t, c.Unknown)
}

// TestHostile: what recordings may hold makes no operator panic, and each mutant can still be applied.
func TestHostile(t *testing.T) {
	change := func(p string, op workspace.Op, kind workspace.Kind, data, target string) workspace.Change {
		c := workspace.Change{Path: p, Op: op, Kind: kind, Target: target}
		if kind == workspace.File && op != workspace.Deleted {
			c.Data = []byte(data)
		}
		return c
	}
	for _, tt := range []struct {
		name    string
		before  map[string]string
		changes []workspace.Change
	}{
		{"binary", files, []workspace.Change{change("b.bin", workspace.Added, workspace.File, "\x00\xff", "")}},
		{"link", files, []workspace.Change{change("l", workspace.Added, workspace.Symlink, "", "prices.txt")}},
		{"link for a file", files, []workspace.Change{
			change("receipt.txt", workspace.Modified, workspace.Symlink, "", "prices.txt"),
		}},
		{"directory for a file", files, []workspace.Change{
			change("receipt.txt", workspace.Deleted, workspace.File, "", ""),
			change("receipt.txt2/x", workspace.Added, workspace.File, "x", ""),
		}},
		{"directory deleted", map[string]string{"d/x_test.go": "package d\n", "d/y": "y\n"}, []workspace.Change{
			change("d", workspace.Deleted, workspace.Dir, "", ""),
			change("d/x_test.go", workspace.Deleted, workspace.File, "", ""),
			change("d/y", workspace.Deleted, workspace.File, "", ""),
		}},
		{"huge", files, []workspace.Change{
			change("receipt.txt", workspace.Modified, workspace.File, strings.Repeat("a\nb\n", 60_000), ""),
		}},
		{"line ends", files, []workspace.Change{
			change("receipt.txt", workspace.Modified, workspace.File, "\r\n\x1b[2J", ""),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turns := receipt()
			turns[0].Delta.Changes = tt.changes
			r, p := record(t, head+"evaluators:\n  - {type: files, expect: [{path: nothing, absent: true}]}\n"+
				"  - {type: text, checks: [{id: a, contains: [total]}]}\n", tt.before, turns)
			report, err := mutate.Run(t.Context(), r, p, mutate.Config{})
			require.NoError(t, err)
			for _, f := range report.Units[0].Findings {
				assert.NotEqual(t, mutate.Unknown, f.Status, "%s %s: %s", f.Operator, f.Where, f.Reason)
			}
			assert.NotContains(t, mutate.Text([]mutate.Report{report}, false), "\x1b")
		})
	}
}

// TestAgree: files and events of mutants agree: whoever leaves out the edit leaves the file as it was.
func TestAgree(t *testing.T) {
	s := &mutate.Session{Turns: receipt(), Before: files}
	for _, m := range mutate.Derive(s) {
		edits, changes := 0, 0
		for _, e := range m.Turns[0].Events {
			if end, ok := e.Body.(trajectory.ToolEnd); ok && end.ID == "1" && end.Status == trajectory.Completed {
				edits++
			}
		}
		for _, c := range m.Turns[0].Delta.Changes {
			if c.Path == "receipt.txt" || c.Path == "other_receipt.txt" {
				changes++
			}
		}
		assert.Equal(t, edits, changes, "%s %s", m.Operator, m.Where)
	}
	assert.Equal(t, receipt(), s.Turns, "the recording is never changed")

	// The opposite in all places is in the events of all files, also where these show a part of the text.
	s.Before = map[string]string{"receipt.txt": "tea 2\n", "prices.txt": "tea 2\n\nmilk 1\n"}
	old := "tea 2"
	s.Turns[0].Events = slices.Insert(s.Turns[0].Events, 3,
		trajectory.Event{Turn: 1, Body: trajectory.ToolStart{
			ID: "2", Name: "Edit", Kind: "edit",
			Args: map[string]any{"file_path": "$WORKSPACE/prices.txt", "old_string": old, "new_string": "tea 3"},
		}},
		trajectory.Event{Turn: 1, Body: trajectory.ToolEnd{
			ID: "2", Status: trajectory.Completed,
			Diffs: []trajectory.Diff{{Path: "$WORKSPACE/prices.txt", Old: &old, New: "tea 3"}},
		}})
	s.Turns[0].Delta.Changes = slices.Insert(s.Turns[0].Delta.Changes, 0, workspace.Change{
		Path: "prices.txt", Op: workspace.Modified, Kind: workspace.File, Data: []byte("tea 3\n\nmilk 1\n"),
	})
	i := slices.IndexFunc(mutate.Derive(s), func(m mutate.Mutant) bool { return m.Operator == "invert-fix" })
	require.GreaterOrEqual(t, i, 0)
	all := mutate.Derive(s)[i].Turns[0]
	events, err := json.Marshal(all.Events)
	require.NoError(t, err)
	assert.NotContains(t, string(events), "tea 3")
	assert.NotContains(t, string(events), `"tea 2\ntotal 2`)
	assert.Equal(t, 2, strings.Count(string(events), "tea 13"))
	assert.Equal(t, "tea 13\n\nmilk 1\n", string(all.Delta.Changes[0].Data))
}
