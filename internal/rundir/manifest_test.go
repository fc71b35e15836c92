package rundir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestManifestIsWhole: from a manifest that lacks a key, or has a value that no run has, nothing can be said to have
// passed.
func TestManifestIsWhole(t *testing.T) {
	root := t.TempDir()
	run := newRun(t, root, demo(3))
	require.NoError(t, run.Finish(StateFinished))
	require.NoError(t, run.Close())
	path := filepath.Join(run.Dir(), manifestFile)
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = Open(root, run.ID(), nil)
	require.NoError(t, err)
	change := func(t *testing.T, change func(m map[string]any)) error {
		var m map[string]any
		require.NoError(t, json.Unmarshal(written, &m))
		change(m)
		data, err := json.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data, 0o644))
		_, err = Open(root, run.ID(), nil)
		return err
	}
	var all map[string]any
	require.NoError(t, json.Unmarshal(written, &all))
	delete(all, "totals") // which runs of earlier versions lack
	for key := range all {
		t.Run("without "+key, func(t *testing.T) {
			err := change(t, func(m map[string]any) { delete(m, key) })
			if key == "version" {
				require.ErrorContains(t, err, "version 0")
				return
			}
			require.ErrorContains(t, err, `manifest.json:1: the key "`+key+`" is missing`)
		})
	}
	totals := func(outcome string, n int) map[string]any {
		return map[string]any{"outcomes": map[string]int{outcome: n}, "results_bytes": 1}
	}
	tests := []struct {
		name, key string
		value     any
		want      string
	}{
		{"need null", "need", nil, "null stands where a value must be"},
		{"need 0", "need", 0, "need is 0: want 1 to the number of trials, 3"},
		{"need below", "need", -1, "need is -1"},
		{"need above", "need", 4, "need is 4"},
		{"trials 0", "trials", 0, "trials is 0"},
		{"fewer trials than units", "trials", 2, `unit "evals/demo/one/b/3": want "evals/demo/one/a/1"`},
		{"more trials than units", "trials", 4, `unit "evals/demo/one/a/1": want "evals/demo/one/b/4"`},
		{"no units", "units", []string{}, `the unit "/one/b/1" is missing`},
		{"units null", "units", nil, `the unit "/one/b/1" is missing`},
		{"a unit less", "units", demo(3).Units[:11], `the unit "evals/demo/two/a/3" is missing`},
		{"a unit more", "units", append(demo(3).Units, "evals/demo/two/a/4"), `"evals/demo/two/a/4": want no more`},
		{"other order", "units", append(demo(3).Units[1:2:2], demo(3).Units...), "duplicate unit"},
		{"mode", "mode", "Replay", `unknown mode "Replay"`},
		{"state", "state", "green", `unknown state "green"`},
		{
			"hostile case", "cases",
			[]any{map[string]any{"id": "../x", "variants": nil, "prompts": nil}},
			`case id "../x"`,
		},
		{"no end", "finished_at", nil, `state "finished": finished_at must be there`},
		{"an end too early", "state", "interrupted", "finished_at must be there if the run is finished, and only then"},
		{"time", "created_at", "0001-01-01T00:00:00Z", "created_at is no time"},
		{"no judges", "judges", map[string]any{}, "judges: the evaluators of the case one are missing"},
		{"judges null", "judges", nil, "judges: the evaluators of the case one are missing"},
		{
			"judges of no case", "judges",
			map[string]any{"one": nil, "two": nil, "three": nil},
			`judges: the run has no case "three"`,
		},
		{"judged, and not", "evaluators", false, "the case one has evaluators, and evaluators is false"},
		{"digest", "playbook", map[string]any{"path": "x", "digest": "sha256:0"}, "the playbook's digest is"},
		{"an unknown key", "verdict", "pass", `manifest.json:1: unknown key "verdict"`},
		{"a key in another case", "Need", 0, `unknown key "Need": write "need"`},
		{"an unknown key inside", "ai_judge", map[string]any{"enabled": false, "off": true}, `unknown key "off"`},
		{"totals of too many", "totals", totals("pass", 13), "totals: 13 outcomes of 12 units"},
		{"totals of an unknown outcome", "totals", totals("passed", 1), `totals: unknown outcome "passed"`},
		{"totals below", "totals", totals("pass", -1), "totals: -1 units with the outcome pass"},
		{"totals without outcomes", "totals", map[string]any{"results_bytes": 1}, `the key "outcomes" is missing`},
		{"a selection of all", "selection", map[string]any{"by": "--units x", "of": 12}, "selection: 12 units of 12"},
		{"a selection by nothing", "selection", map[string]any{"by": "", "of": 13}, "selection: nothing says by what"},
		{"again no run", "again", "../x", `again: "../x" is not the id of a run`},
		{"no digest", "playbook", map[string]any{"path": "x"}, `the key "digest" is missing`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := change(t, func(m map[string]any) { m[tt.key] = tt.value })
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, path)
		})
	}
	t.Run("totals of a run that goes on", func(t *testing.T) {
		err := change(t, func(m map[string]any) { m["state"], m["finished_at"] = "running", nil })
		require.ErrorContains(t, err, "totals: the run has not ended")
	})
	t.Run("a case that asks fewer variants", func(t *testing.T) {
		err := change(t, func(m map[string]any) {
			m["cases"].([]any)[0].(map[string]any)["variants"] = []string{"a"}
		})
		require.ErrorContains(t, err, `unit "evals/demo/one/b/1": want "evals/demo/one/a/1"`)
	})
}
