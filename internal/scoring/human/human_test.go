package human

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// work is what one unit left behind.
type work struct {
	answer, diff string
	commands     []result.Command
}

// newRun makes a run of the cases under the variants, one trial each, where every unit did the work that do returns.
func newRun(t *testing.T, variants, cases []string, do func(variant, caseID string) work) *rundir.Run {
	t.Helper()
	m := rundir.Manifest{
		Tool: "sdd-eval test", Name: "demo", Mode: "live", Trials: 1, Need: 1, RunID: "20260102-030405-demo-fixed",
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Human: true, Evaluators: true,
		Judges: make(map[string][]string),
	}
	for i, id := range variants {
		kind := []string{"claude-code-acp", "codex-acp", "gemini-acp"}[i%3]
		m.Variants = append(m.Variants, rundir.Variant{ID: id, Style: "sdd", Kind: kind, Command: kind})
	}
	for _, c := range cases {
		m.Judges[c] = []string{"builds"}
		for _, id := range variants {
			m.Units = append(m.Units, fmt.Sprintf("demo/%s/%s/1", c, id))
		}
		m.Cases = append(m.Cases, rundir.Case{
			ID: c, Variants: variants, Title: "Greet by name (" + c + ")",
			ExpectedOutcome: "The program greets whoever is named.",
			Prompts: []string{
				"Change main.go so that it greets the person who is named on the command line.\nKeep the tests green.",
			},
		})
	}
	r, err := rundir.Create(t.TempDir(), m, []byte("name: demo\n"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	if do == nil {
		return r
	}
	for _, v := range variants {
		for _, c := range cases {
			did := do(v, c)
			place, err := r.MakeUnitDirs(c, v, 1)
			require.NoError(t, err)
			require.NoError(t, r.MakeDirs(place))
			events, err := json.Marshal(&trajectory.Run{Cwd: "$WORKSPACE", Events: []trajectory.Event{
				{
					Turn: 1, Body: trajectory.Message{Text: did.answer},
				}, {Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
			}})
			require.NoError(t, err)
			for path, data := range map[string]string{
				filepath.Join(place.Artifacts, "workspace.diff"):   did.diff,
				filepath.Join(place.Artifacts, "trajectory.json"):  string(events),
				filepath.Join(place.Artifacts, "acp-metrics.json"): "{}",
				filepath.Join(place.Logs, "acp-session.jsonl"):     "{}\n",
			} {
				require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
			}
			require.NoError(t, r.Append(result.Unit{
				ID: "demo/" + c + "/" + v + "/1", Case: c, Variant: v, Trial: 1, Outcome: result.Pass,
				Reason: "outcome-reason",
				Stop:   "end_turn", Metrics: &result.Metrics{Version: 1, Commands: did.commands},
				Evaluations: []result.Evaluation{{Name: "builds", Outcome: result.Pass, Score: new(1.0)}},
			}))
		}
	}
	return r
}

func read(t *testing.T, r *rundir.Run, name string) string {
	t.Helper()
	data, err := r.ReadFile(name, 64<<20)
	require.NoError(t, err)
	return string(data)
}

func TestWrite(t *testing.T) {
	r := newRun(t, []string{"sdd-cc", "sdd-codex"}, []string{"task"}, func(variant, _ string) work {
		return work{
			answer: "I am Claude, variant " + variant, diff: "diff --git a/x b/x\n+by " + variant + " </script><b>\n",
		}
	})
	require.NoError(t, Write(r))
	require.JSONEq(t, `{
		"version": 1, "run_id": "20260102-030405-demo-fixed",
		"task": {
			"id": "task", "title": "Greet by name (task)", "expected_outcome": "The program greets whoever is named.",
			"prompts": [
				"Change main.go so that it greets the person who is named on the command line.\nKeep the tests green."
			]
		},
		"variants": [
			{"variant": "sdd-cc", "units": [{
				"unit": "demo/task/sdd-cc/1", "workspace": "variants/sdd-cc/workspace",
				"diff": "variants/sdd-cc/artifacts/workspace.diff",
				"session_log": "variants/sdd-cc/logs/acp-session.jsonl",
				"metrics": "variants/sdd-cc/artifacts/acp-metrics.json"}]},
			{"variant": "sdd-codex", "units": [{
				"unit": "demo/task/sdd-codex/1", "workspace": "variants/sdd-codex/workspace",
				"diff": "variants/sdd-codex/artifacts/workspace.diff",
				"session_log": "variants/sdd-codex/logs/acp-session.jsonl",
				"metrics": "variants/sdd-codex/artifacts/acp-metrics.json"}]}
		]
	}`, read(t, r, "human-pack.json"))
	require.JSONEq(t, `{"file": "scores.json", "variants": {
		"sdd-cc": {"score": 0, "notes": ""}, "sdd-codex": {"score": 0, "notes": ""}
	}}`, read(t, r, "human-scores.template.json"))

	page := read(t, r, "human-pack.html")
	for _, hidden := range []string{
		"sdd-cc", "sdd-codex", "claude", "Claude", "outcome-reason", "</script><b>", `"pass"`,
	} {
		require.NotContains(t, page, hidden)
	}
	require.Contains(t, page, "I am [hidden], variant [hidden]")
	require.NotContains(t, page, "{{", "every part was filled in")
	require.NotRegexp(t, `(src|href)="(http|//)`, page, "it is self-contained")

	before := []string{page, read(t, r, "human-pack.json"), read(t, r, "human-scores.template.json")}
	require.NoError(t, Write(r))
	require.Equal(t, before, []string{
		read(t, r, "human-pack.html"), read(t, r, "human-pack.json"), read(t, r, "human-scores.template.json"),
	})
}

func TestWriteBeforeAnythingRan(t *testing.T) {
	r := newRun(t, []string{"a", "b"}, []string{"one", "two"}, nil)
	require.NoError(t, Write(r))
	pack := read(t, r, "human-pack.json")
	require.Contains(t, pack, `"cases": [`)
	require.NotContains(t, pack, `"task"`)
	require.NotContains(t, pack, `"diff"`, "no path leads nowhere")
	require.Contains(t, read(t, r, "human-pack.html"), `"ended":false`)
}

func TestPageIsBounded(t *testing.T) {
	long := strings.Repeat("+a line of a generated file\n", 40_000)
	r := newRun(t, []string{"a", "b"}, []string{"task"}, func(string, string) work {
		return work{
			answer: strings.Repeat("word ", 100_000), diff: "diff --git a/x b/x\n" + long,
			commands: []result.Command{{Command: "cat x", Output: long}},
		}
	})
	require.NoError(t, Write(r))
	require.Less(t, len(read(t, r, "human-pack.html")), 2*maxUnit+200_000)
}

func TestShuffled(t *testing.T) {
	variants := []rundir.Variant{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	first := shuffled("run-1", variants)
	require.ElementsMatch(t, []string{"a", "b", "c", "d"}, first)
	require.Equal(t, first, shuffled("run-1", variants))
	orders := make(map[string]bool)
	for i := range 50 {
		orders[strings.Join(shuffled(fmt.Sprint("run-", i), variants), "")] = true
	}
	require.Greater(t, len(orders), 10, "the run's id decides")
}

func TestPageKey(t *testing.T) {
	r := newRun(t, []string{"a", "b", "c"}, []string{"task"}, nil)
	units, err := r.Units()
	require.NoError(t, err)
	data, err := newPageData(r, units)
	require.NoError(t, err)
	raw, err := base64.StdEncoding.DecodeString(data.Key)
	require.NoError(t, err)
	var ids []string
	require.NoError(t, json.Unmarshal(raw, &ids))
	require.Equal(t, shuffled(r.ID(), r.Manifest().Variants), ids)
}

const (
	goodA = `"a": {"score": 7.5, "notes": "good"}`
	goodB = `"b": {"score": 0, "notes": ""}`
)

func TestImport(t *testing.T) {
	r := newRun(t, []string{"a", "b"}, []string{"task"}, nil)
	none, err := Load(r)
	require.NoError(t, err)
	require.Empty(t, none)

	file := filepath.Join(t.TempDir(), "scores.json")
	imported := func(content string) Scores {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
		scores, err := Import(r, file)
		require.NoError(t, err)
		return scores
	}
	zoe := imported(`{"file": "scores.json", "rater": " Zoë ", "variants": {` + goodA + "," + goodB + `}}`)
	want := Scores{Rater: "Zoë", Variants: map[string]Rating{"a": {7.5, "good"}, "b": {}}}
	require.Equal(t, want, zoe)
	nobody := imported("\xef\xbb\xbf" + `{"variants": {"b": {"score": 10}, ` + goodA + `}}`)
	require.Equal(t, "anonymous", nobody.Rater, "notes and rater may be missing, and an editor may add a mark")
	anna := imported(`{"rater": "Anna", "run_id": "` + r.ID() + `", "variants": {` + goodA + "," + goodB + `}}`)

	all, err := Load(r)
	require.NoError(t, err)
	require.Equal(t, []Scores{anna, zoe, nobody}, all, "imports add up, sorted by rater")

	labels := imported(`{"rater": "Bob", "units": {
		"task/a/1": {"solved": true}, "task/b/1": {"solved": false, "notes": "no"}}}`)
	require.Equal(t, map[string]Label{"task/a/1": {Solved: true}, "task/b/1": {Notes: "no"}}, labels.Units)
	require.Empty(t, labels.Variants, "whoever labels units need not score variants")

	again := imported(`{"rater": "Anna", "variants": {"a": {"score": 1}, "b": {"score": 2}}}`)
	require.True(t, again.Replaced)
	all, err = Load(r)
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.Equal(t, labels, all[1])
	require.Equal(t, map[string]Rating{"a": {Score: 1}, "b": {Score: 2}}, all[0].Variants)
}

func TestImportRefuses(t *testing.T) {
	const all = goodA + ", " + goodB
	tests := []struct {
		name, reason, content string
		err                   string // after "import scores: ", with FILE for the file
	}{
		{"empty", "", " \n", "FILE:1: the text is empty"},
		{"not JSON", "", "{\n\"variants\": }", "FILE:2: invalid character '}' looking for beginning of value"},
		{"cut", "", `{"variants": {`, "FILE:1: the text is incomplete: unexpected EOF"},
		{"not UTF-8", "", "{\"rater\": \"\xff\"}", "FILE:1: the text is not UTF-8"},
		{"array", "", "\n[]", "FILE:2: must be an object\nFILE: variants: missing"},
		{"no variants", "", `{"rater": "x"}`, "FILE: variants: missing"},
		{"variants that are a list", "", `{"variants": []}`, "FILE:1: variants: must be an object"},
		{
			"unknown key", "", "{\n\"raters\": 1, \"variants\": {" + all + "}}",
			"FILE:2: raters: unknown key; available: file, run_id, rater, variants, units",
		},
		{
			"another run", "its variants have the same names", `{"run_id": "r9", "variants": {` + all + `}}`,
			"FILE:1: run_id: these are scores of run r9, not of 20260102-030405-demo-fixed",
		},
		{
			"unknown variant", "", `{"variants": {` + all + ", \n\"c\": {\"score\": 1}}}",
			"FILE:2: variants.c: unknown variant; available: a, b",
		},
		{"missing variant", "", `{"variants": {` + goodA + `}}`, `FILE:1: variants: variant "b" is missing`},
		{
			"variant twice", "which one counts?", `{"variants": {` + all + ", " + goodA + `}}`,
			`FILE:1: duplicate key "a"`,
		},
		{
			"score twice", "", `{"variants": {"a": {"score": 1, "score": 2}, ` + goodB + `}}`,
			`FILE:1: duplicate key "score"`,
		},
		{
			"above", "", `{"variants": {"a": {"score": 10.5}, ` + goodB + `}}`,
			"FILE:1: variants.a.score: 10.5 is outside 0..10",
		},
		{
			"below", "", `{"variants": {"a": {"score": -1}, ` + goodB + `}}`,
			"FILE:1: variants.a.score: -1 is outside 0..10",
		},
		{
			"no number", "", `{"variants": {"a": {"score": "7"}, ` + goodB + `}}`,
			`FILE:1: variants.a.score: "7" is not a number from 0 to 10`,
		},
		{
			"null", "", `{"variants": {"a": {"score": null}, ` + goodB + `}}`,
			"FILE:1: variants.a.score: null is not a number from 0 to 10",
		},
		{
			"beyond numbers", "", `{"variants": {"a": {"score": 1e999}, ` + goodB + `}}`,
			"FILE:1: variants.a.score: 1e999 is not a number from 0 to 10",
		},
		{"no score", "", `{"variants": {"a": {"notes": "x"}, ` + goodB + `}}`, "FILE:1: variants.a: score is missing"},
		{
			"a number for a variant", "", `{"variants": {"a": 7, ` + goodB + `}}`,
			"FILE:1: variants.a: must be an object",
		},
		{
			"unknown key of a variant", "", `{"variants": {"a": {"score": 1, "note": ""}, ` + goodB + `}}`,
			"FILE:1: variants.a.note: unknown key; available: score, notes",
		},
		{
			"notes that are no text", "", `{"variants": {"a": {"score": 1, "notes": 3}, ` + goodB + `}}`,
			"FILE:1: variants.a.notes: must be a string",
		},
		{
			"long notes", "",
			`{"variants": {"a": {"score": 1, "notes": "` + strings.Repeat("x", maxNotes+1) + `"}, ` + goodB + `}}`,
			"FILE:1: variants.a.notes: must not exceed 20000 bytes",
		},
		{"rater that is no text", "", `{"rater": null, "variants": {` + all + `}}`, "FILE:1: rater: must be a string"},
		{
			"rater that steers a terminal", "", `{"rater": "\u001b[2J", "variants": {` + all + `}}`,
			"FILE:1: rater: must not contain control characters",
		},
		{
			"strange key", "", `{"\u001b": 1, "variants": {` + all + `}}`,
			`FILE:1: "\x1b": unknown key; available: file, run_id, rater, variants, units`,
		},
		{
			"untouched template", "it was forgotten",
			`{"file": "scores.json", "variants": {"a": {"score": 0, "notes": ""}, ` + goodB + `}}`,
			"FILE: every score is 0 and there are no notes, as in the template; if you mean it, " +
				"say why in the notes of a variant",
		},
		{
			"several faults", "all are told", "{\"variants\": {\n\"a\": {\"score\": 11},\n\"c\": {}}}",
			"FILE:2: variants.a.score: 11 is outside 0..10\nFILE:3: variants.c: unknown variant; available: a, b\n" +
				"FILE:1: variants: variant \"b\" is missing",
		},
		{"no labels", "", `{"units": {}}`, "FILE: variants: missing"},
		{
			"unknown unit", "", `{"units": {"task/a/2": {"solved": true}}}`,
			"FILE:1: units.task/a/2: unknown unit; want case/variant/trial of one of this run",
		},
		{"no label", "", `{"units": {"task/a/1": {}}}`, "FILE:1: units.task/a/1: solved is missing"},
		{
			"a label that is neither", "", `{"units": {"task/a/1": {"solved": null}}}`,
			"FILE:1: units.task/a/1.solved: null is not true or false",
		},
		{
			"unknown key of a unit", "", `{"units": {"task/a/1": {"solved": true, "score": 3}}}`,
			"FILE:1: units.task/a/1.score: unknown key; available: solved, notes",
		},
		{"huge", "", strings.Repeat(" ", maxFile+1), "FILE: 4194305 bytes exceed the limit of 4194304"},
	}
	r := newRun(t, []string{"a", "b"}, []string{"task"}, nil)
	file := filepath.Join(t.TempDir(), "scores.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"variants": {`+all+`}}`), 0o644))
	_, err := Import(r, file)
	require.NoError(t, err)
	before := read(t, r, scoresFile)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(tt.content), 0o644))
			_, err := Import(r, file)
			require.EqualError(t, err, "import scores: "+strings.ReplaceAll(tt.err, "FILE", file), tt.reason)
			require.Equal(t, before, read(t, r, scoresFile), "nothing changed")
		})
	}
	_, err = Import(r, filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Import(r, t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
}

func TestImportsAtTheSameTime(t *testing.T) {
	r := newRun(t, []string{"a"}, []string{"task"}, nil)
	dir := t.TempDir()
	const people = 20
	var wg sync.WaitGroup
	errs := make([]error, people)
	for i := range people {
		wg.Go(func() {
			file := filepath.Join(dir, fmt.Sprint(i))
			content := fmt.Sprintf(`{"rater": "rater %02d", "variants": {"a": {"score": 5}}}`, i)
			if errs[i] = os.WriteFile(file, []byte(content), 0o644); errs[i] == nil {
				_, errs[i] = Import(r, file)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	all, err := Load(r)
	require.NoError(t, err)
	require.Len(t, all, people, "nobody's scores are lost")
	left, err := filepath.Glob(filepath.Join(r.Dir(), "*.lock"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestImportAfterOneWasKilled(t *testing.T) {
	r := newRun(t, []string{"a"}, []string{"task"}, nil)
	lock := filepath.Join(r.Dir(), ".human-scores.json.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o644))
	file := filepath.Join(t.TempDir(), "scores.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"variants": {"a": {"score": 5}}}`), 0o644))
	synctest.Test(t, func(t *testing.T) {
		_, err := Import(r, file)
		require.ErrorContains(t, err,
			"another import holds "+lock+"; if none is running, remove that file")
	})
	require.FileExists(t, lock)
}

func TestLoadRefuses(t *testing.T) {
	const anna = `{"rater":"anna","variants":{"a":{"score":1,"notes":""}}}`
	tests := []struct{ name, data, err string }{
		{"not JSON", "{", ":1: the text is incomplete: unexpected EOF"},
		{"version", `{"version":2,"raters":[]}`, ": unsupported version 2"},
		{"key twice", `{"version":1,"raters":[],"raters":[]}`, `:1: duplicate key "raters"`},
		{
			"twice", `{"version":1,"raters":[` + anna + "," + anna + `]}`,
			`: duplicate, unsorted or unnamed rater "anna"`,
		},
		{
			"variants", `{"version":1,"raters":[{"rater":"anna","variants":{}}]}`,
			`: rater "anna" scored 0 variants, but the run has 1`,
		},
		{
			"other variant", `{"version":1,"raters":[` + strings.Replace(anna, `"a":`, `"b":`, 1) + `]}`,
			`: rater "anna" did not score variant "a"`,
		},
		{
			"other unit",
			`{"version":1,"raters":[{"rater":"anna","variants":{},"units":{"task/b/1":{"solved":true}}}]}`,
			`: rater "anna" labelled the unit "task/b/1", which the run does not have`,
		},
		{
			"range", `{"version":1,"raters":[` + strings.Replace(anna, "1", "11", 1) + `]}`,
			`: rater "anna": variant "a": score 11 is outside 0..10`,
		},
	}
	r := newRun(t, []string{"a"}, []string{"task"}, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, r.WriteFile(scoresFile, []byte(tt.data)))
			_, err := Load(r)
			require.EqualError(t, err, "read "+filepath.Join(r.Dir(), scoresFile)+tt.err)
		})
	}
}

func FuzzParseScores(f *testing.F) {
	for _, seed := range []string{
		`{"rater": "x", "variants": {` + goodA + "," + goodB + `}}`,
		`{"variants": {"a": {"score": 1e1}, "b": {"score": 2, "notes": "\ud83d\ude00"}}}`,
		`{"units": {"task/a/1": {"solved": true}}}`,
		"[]", "{", `{"variants": 1}`, "\xef\xbb\xbf{}", `{"file": "", "file": ""}`,
	} {
		f.Add([]byte(seed))
	}
	m := rundir.Manifest{
		RunID: "r", Variants: []rundir.Variant{{ID: "a"}, {ID: "b"}}, Units: []string{"demo/task/a/1", "demo/task/b/1"},
	}
	position := regexp.MustCompile(`(?m)^f(:\d+)?: `)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseScores("f", data, m)
		if err != nil {
			require.Regexp(t, position, err.Error())
			return
		}
		require.True(t, len(s.Variants) == 2 || len(s.Variants) == 0 && len(s.Units) > 0)
		require.NotEmpty(t, s.Rater)
		out, err := json.Marshal(stored{Version: 1, Raters: []Scores{s}})
		require.NoError(t, err)
		var again stored
		require.NoError(t, json.Unmarshal(out, &again))
		require.NoError(t, again.check(m), "what is imported can be loaded")
	})
}

// TestWriteOfBrokenResults: nothing was written when the results could not be read, and the error does not say so.
func TestWriteOfBrokenResults(t *testing.T) {
	r := newRun(t, []string{"a", "b"}, []string{"task"}, nil)
	file := filepath.Join(r.Dir(), "results.jsonl")
	require.NoError(t, os.WriteFile(file, []byte("{\"unit\":\"demo/ta\n"), 0o644))
	require.EqualError(t, Write(r), "read the results: "+file+":1: the text is incomplete: unexpected EOF")
}
