package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

func TestResume(t *testing.T) {
	root := t.TempDir()
	m := demo(1)
	run := newRun(t, root, m)
	require.NoError(t, run.Append(unit(m.Units[0])))
	files := make(map[string]string) // by unit
	for _, id := range m.Units[:2] {
		c, v, trial := splitUnit(id)
		dirs, err := run.MakeUnitDirs(c, v, trial)
		require.NoError(t, err)
		require.NoError(t, run.MakeDirs(dirs))
		files[id] = filepath.Join(dirs.Workspace, "main.go")
		require.NoError(t, os.WriteFile(files[id], nil, 0o644))
	}
	require.NoError(t, run.Finish(StateInterrupted))
	_, err := Resume(root, run.ID(), nil)
	require.ErrorIs(t, err, disk.ErrLocked, "this process holds it, too")
	require.NoError(t, run.Close())

	results := filepath.Join(run.Dir(), "results.jsonl")
	whole, err := os.ReadFile(results)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(results, append(whole, `{"unit":"evals/demo/one/a/1","outc`...), 0o644))

	again, err := Resume(root, run.ID(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	require.Equal(t, StateRunning, again.Manifest().State)
	require.Len(t, again.Notes(), 1)
	require.Contains(t, again.Notes()[0], "results.jsonl:2: the last line is incomplete")
	cut, err := os.ReadFile(results)
	require.NoError(t, err)
	require.Equal(t, string(whole), string(cut), "the torn line is gone")
	require.FileExists(t, files[m.Units[0]], "it has a result")
	require.NoFileExists(t, files[m.Units[1]], "the unit is run as if for the first time")
	require.DirExists(t, filepath.Join(run.Dir(), "variants", "a", "workspace"))

	require.ErrorContains(t, again.Append(unit(m.Units[0])), "it already has a result")
	require.NoError(t, again.Append(unit(m.Units[1])))
	units, err := again.Units()
	require.NoError(t, err)
	require.Equal(t, m.Units[:2], ids(units))
}

// TestResumeClearsBaseFolders: in a run of one case and trial, a unit's directories are those of its variant.
func TestResumeClearsBaseFolders(t *testing.T) {
	root := t.TempDir()
	run := newRun(t, root, Manifest{
		Name: "x", Variants: []Variant{{ID: "a"}}, Cases: []Case{{ID: "task", Variants: []string{"a"}}}, Need: 1,
		Units: []string{"x/task/a/1"}, Judges: map[string][]string{"task": nil}, Mode: "live",
	})
	require.NoError(t, os.WriteFile(filepath.Join(run.UnitDirs("task", "a", 1).Logs, "x"), nil, 0o644))
	require.NoError(t, run.Close())
	again, err := Resume(root, run.ID(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	for _, dir := range again.UnitDirs("task", "a", 1).dirs() {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

func TestResumeRefuses(t *testing.T) {
	var mask secret.Set
	mask.Add("API_TOKEN", "demo"+"-token-0123")
	tests := []struct {
		name, file, text string
		want             string
	}{
		{"bad line", "results.jsonl", "{\"unit\": 1}\n{\"un", "results.jsonl:1: json: cannot unmarshal number"},
		{"bad job", "jobs.jsonl", "{}\n", "jobs.jsonl:1: "},
		{"another playbook", "playbook.yaml", "name: other\n", "playbook.yaml has changed since the run began"},
		{"bad manifest", "manifest.json", "{", "manifest.json:1: the text is incomplete: unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			run := newRun(t, root, demo(1))
			require.NoError(t, run.Close())
			path := filepath.Join(run.Dir(), tt.file)
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o644))
			for range 2 {
				_, err := Resume(root, run.ID(), nil)
				require.ErrorContains(t, err, tt.want)
				require.NotErrorIs(t, err, disk.ErrLocked, "the lock was given up")
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tt.text, string(data), "what cannot be resumed is left as it is")
		})
	}
	for _, dir := range []string{"variants/a", "variants/b/logs"} { // where a unit's directories should be
		root := t.TempDir()
		run := newRun(t, root, demo(1))
		require.NoError(t, run.Close())
		path := filepath.Join(run.Dir(), filepath.FromSlash(dir))
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		_, err := Resume(root, run.ID(), nil)
		require.ErrorContains(t, err, "not a directory", dir)
	}
	root := t.TempDir()
	m := demo(1)
	long := strings.Repeat("x", 300) // longer than a name may be, so that it can be neither made nor removed
	m.Cases[1].ID, m.Judges = long, map[string][]string{"one": nil, long: nil}
	for i, id := range m.Units {
		m.Units[i] = strings.Replace(id, "/two/", "/"+long+"/", 1)
	}
	unclear := newRun(t, root, m)
	_, err := unclear.MakeUnitDirs("one", "b", 1)
	require.NoError(t, err)
	require.NoError(t, unclear.Close())
	_, err = Resume(root, unclear.ID(), nil)
	require.ErrorContains(t, err, "remove what unit evals/demo/"+long+"/b/1 left: ")

	root, m = t.TempDir(), demo(1)
	m.Tool = "demo" + "-token-0123"
	run := newRun(t, root, m)
	require.NoError(t, run.Close())
	_, err = Resume(root, run.ID(), &mask)
	require.ErrorContains(t, err, "contains the value of API_TOKEN")
}

func TestBadLines(t *testing.T) {
	m := demo(1)
	m.Judges = map[string][]string{"one": {}, "two": {}}
	root := t.TempDir()
	run := newRun(t, root, m)
	u := unit(m.Units[0])
	u.Outcome, u.Evaluations = result.Completed, nil
	line, err := jsonvalue.Marshal(unitLine{u, run.ID()})
	require.NoError(t, err)
	good := string(line) + "\n"
	metrics, err := jsonvalue.Marshal(result.Metrics{Version: 1, ToolCalls: map[string]int{"Bash": 1, "bash": 2}})
	require.NoError(t, err)
	judged := func(name, outcome string) string {
		return fmt.Sprintf(`"evaluations":[{"name":%q,"type":"files","outcome":%q,"score":null,"threshold":1,`+
			`"weight":1,"duration_ms":0}]`, name, outcome)
	}
	with := func(more string) string { return strings.Replace(good, "}", ","+more+"}", 1) }
	tests := []struct{ name, text, want, note string }{
		{"empty", "", "", ""},
		{"good", good, "", ""},
		{"torn", good + `{"unit":`, "", "results.jsonl:2: the last line is incomplete"},
		{"torn before its newline", good + strings.TrimSpace(good), "", "results.jsonl:2: the last line is incomplete"},
		{"torn first", "{", "", "results.jsonl:1: the last line is incomplete"},
		{"zeros", good + "\x00\x00\x00", "", "results.jsonl:2: the last line is incomplete"},
		{"cut in the middle", `{"unit":` + "\n" + good, "results.jsonl:1: the text is incomplete: unexpected EOF", ""},
		{"cut in a text", `{"unit":"evals/de` + "\n" + good, ":1: the text is incomplete: unexpected EOF", ""},
		{"broken at the end", good + "{\"unit\":\n", "results.jsonl:2: the text is incomplete: unexpected EOF", ""},
		{"blank", good + "\n" + good, "results.jsonl:2: empty line: remove it", ""},
		{
			"duplicate", good + good,
			`results.jsonl:2: duplicate result of "evals/demo/one/b/1", first on line 1`, "",
		},
		{"null", "null\n", `results.jsonl:1: "" is not in the run`, ""},
		{"null for a number", strings.Replace(good, `"trial":1`, `"trial":null`, 1), `:1: null stands where`, ""},
		{"key missing", strings.Replace(good, `"metrics":null,`, "", 1), `:1: the key "metrics" is missing`, ""},
		{"key of a verdict missing", with(`"evaluations":[{"name":"x"}]`), `:1: the key "duration_ms" is missing`, ""},
		{
			"of another run", strings.Replace(good, run.ID(), "20260302-101500-demo-other", 1),
			`:1: the result is one of the run "20260302-101500-demo-other"`, "",
		},
		{"of no run", strings.Replace(good, `,"run_id":"`+run.ID()+`"`, "", 1), `:1: the key "run_id" is missing`, ""},
		{
			"negative time", strings.Replace(good, `"duration_ms":0`, `"duration_ms":-1`, 1),
			":1: it took -1ms", "",
		},
		{"unknown", strings.Replace(good, "b/1", "b/2", 1), `"evals/demo/one/b/2" is not in the run`, ""},
		{"hostile case", strings.Replace(good, `"one"`, `"../.."`, 1), `:1: unit "evals/demo/one/b/1" has case`, ""},
		{"no outcome", strings.Replace(good, "completed", "", 1), `results.jsonl:1: unknown outcome ""`, ""},
		{"made up outcome", strings.Replace(good, "completed", "green", 1), `:1: unknown outcome "green"`, ""},
		{"key twice", with(`"outcome":"fail"`), `results.jsonl:1: duplicate key "outcome"`, ""},
		{"key in capitals", with(`"Outcome":"completed"`), `:1: unknown key "Outcome": write "outcome"`, ""},
		{"unknown key", with(`"verdict":"pass"`), `:1: unknown key "verdict"`, ""},
		{"tools that differ in case", strings.Replace(good, "null", string(metrics), 1), "", ""},
		{
			"passed without a judge", strings.Replace(good, "completed", "pass", 1),
			`:1: the outcome is "pass", but by its evaluations`, "",
		},
		{
			"judged by another", with(judged("x", "reported")),
			`it was judged by ["x"], but the evaluators of its case are []`, "",
		},
		{"no verdict", with(judged("x", "")), `:1: evaluator "x" cannot have the outcome ""`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(run.Dir(), "results.jsonl"), []byte(tt.text), 0o644))
			opened, err := Open(root, run.ID(), nil)
			require.NoError(t, err)
			units, err := opened.Units()
			if tt.want != "" {
				require.ErrorContains(t, err, tt.want)
				require.ErrorContains(t, err, run.Dir(), "the file is named")
				return
			}
			require.NoError(t, err)
			require.Len(t, units, strings.Count(tt.text, "\n"))
			if tt.note == "" {
				require.Empty(t, opened.Notes())
				return
			}
			_, err = opened.Units()
			require.NoError(t, err)
			require.Len(t, opened.Notes(), 1, "noted once, however often it is read")
			require.Contains(t, opened.Notes()[0], tt.note)
		})
	}
	require.NoError(t, os.Remove(filepath.Join(run.Dir(), "results.jsonl")))
	_, err = run.Units()
	require.ErrorIs(t, err, os.ErrNotExist, "a missing file is not an empty one")
}

// TestMissingVerdicts: a unit without the verdicts of its case's evaluators cannot have passed or completed.
func TestMissingVerdicts(t *testing.T) {
	m := demo(1)
	m.Judges = map[string][]string{"one": {"tests-pass", "small"}, "two": nil}
	pass := func(names ...string) (all []result.Evaluation) {
		for _, n := range names {
			all = append(all, result.Evaluation{Name: n, Outcome: result.Pass, Score: new(1.0)})
		}
		return all
	}
	tests := []struct {
		name        string
		outcome     result.Outcome
		reason      string
		evaluations []result.Evaluation
		want        string
	}{
		{"judged", result.Pass, "", pass("tests-pass", "small"), ""},
		{
			"not judged", result.Completed, "", nil,
			`it was judged by [], but the evaluators of its case are ["tests-pass" "small"]`,
		},
		{"judged in part", result.Pass, "", pass("tests-pass"), `it was judged by ["tests-pass"], but`},
		{
			"judged by one more", result.Pass, "", pass("tests-pass", "small", "x"),
			`it was judged by ["tests-pass" "small" "x"]`,
		},
		{"error before it was judged", result.Error, "no agent", nil, ""},
		{"skipped", result.Skip, "docker is missing", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			run := newRun(t, root, m)
			u := unit(m.Units[0])
			u.Outcome, u.Reason, u.Evaluations = tt.outcome, tt.reason, tt.evaluations
			err := run.Append(u)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
			line, err := json.Marshal(unitLine{u, run.ID()})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(run.Dir(), "results.jsonl"), append(line, '\n'), 0o644))
			require.NoError(t, run.Close())
			_, err = Resume(root, run.ID(), nil)
			require.ErrorContains(t, err, tt.want)
			bad, ok := errors.AsType[*LineError](err)
			require.True(t, ok)
			require.Equal(t, LineError{root, run.ID(), filepath.Join(run.Dir(), "results.jsonl"), 1, bad.Err}, *bad)
		})
	}
}

// BenchmarkUnits reads a thousand results as they are written, and with spaces of a person or another program.
func BenchmarkUnits(b *testing.B) {
	m := demo(500)
	run := newRun(b, b.TempDir(), m)
	path := filepath.Join(run.Dir(), "results.jsonl")
	var written, spaced bytes.Buffer
	for _, id := range m.Units {
		u := unit(id)
		u.Metrics = &result.Metrics{Version: 1, ToolCalls: map[string]int{"Bash": 3, "Read": 9, "Edit": 2}}
		for i := range 12 {
			u.Metrics.Commands = append(u.Metrics.Commands, result.Command{
				Command: fmt.Sprint("go test ", i), Output: strings.Repeat("ok\n", 30),
			})
		}
		line, err := jsonvalue.Marshal(unitLine{u, run.ID()})
		require.NoError(b, err)
		written.Write(append(line, '\n'))
		spaced.Write(append(bytes.Replace(line, []byte(":"), []byte(": "), 1), '\n'))
	}
	for _, bb := range []struct {
		name string
		data []byte
	}{{"written", written.Bytes()}, {"spaced", spaced.Bytes()}} {
		b.Run(bb.name, func(b *testing.B) {
			require.NoError(b, os.WriteFile(path, bb.data, 0o644))
			b.SetBytes(int64(len(bb.data)))
			for b.Loop() {
				if _, err := run.Units(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzUnits(f *testing.F) {
	m := demo(1)
	run := &Run{manifest: m, dir: "runs/20260302-101500-demo-fuzz"}
	line, err := jsonvalue.Marshal(unitLine{unit(m.Units[0]), run.ID()})
	require.NoError(f, err)
	good := string(line) + "\n"
	for _, seed := range []string{
		"", good, good + good, good + "{", "\n", "null\n", "{}\n", "\x00",
		strings.Replace(good, "{", `{"metrics":{"tool_calls":{"a":1,"a":2},"cost":null},"steps":[{}],`, 1),
	} {
		f.Add(seed)
	}
	read := func(text string) ([]string, int, error) {
		lines, torn, err := decodeRecords(strings.NewReader(text), m.Units, run.checkUnit(),
			func(l unitLine) string { return l.ID })
		var found []string
		for _, l := range lines {
			found = append(found, l.ID)
		}
		return found, torn, err
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, torn, err := read(text)
		if err != nil {
			return
		}
		require.Subset(t, m.Units, found)
		require.Len(t, found, strings.Count(text, "\n"), "no line is lost")
		require.Equal(t, text != "" && !strings.HasSuffix(text, "\n"), torn > 0)
		cut, tornAgain, err := read(text[:strings.LastIndexByte(text, '\n')+1])
		require.NoError(t, err)
		require.Zero(t, tornAgain)
		require.Equal(t, found, cut, "a torn line changes nothing")
	})
}

// A run that somebody has committed may have links: what they lead to is not removed.
func TestResumeFollowsNoLink(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	run := newRun(t, root, demo(1))
	require.NoError(t, run.Close())
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "workspace", "theirs"), 0o755))
	variant := filepath.Join(run.Dir(), "variants", "a")
	require.NoError(t, os.RemoveAll(variant))
	require.NoError(t, os.Symlink(outside, variant))
	_, err := Resume(root, run.ID(), nil)
	require.ErrorContains(t, err, "is a symbolic link")
	require.DirExists(t, filepath.Join(outside, "workspace", "theirs"))

	locks := filepath.Join(root, runsDir, locksDir)
	require.NoError(t, os.RemoveAll(locks))
	require.NoError(t, os.Symlink(outside, locks))
	_, err = Resume(root, run.ID(), nil)
	require.ErrorContains(t, err, "is a symbolic link")
	_, err = Clean(root, 0)
	require.ErrorContains(t, err, "is a symbolic link")
	require.NoFileExists(t, filepath.Join(outside, run.ID()))
}
