package baseline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// sample returns a baseline with every field.
func sample() *Baseline {
	score, cost, tokens, seconds := 0.5, 0.01, 1200., 12.5
	return &Baseline{
		Version: 1, Run: "20260302-101500-shop-k3v9qa", Mode: "live",
		Variants: []Variant{{ID: "claude", Cases: []compare.Case{{
			ID: "shop/refund", Cluster: "shop", Digests: map[string]string{"prompts": "sha256:1"},
			Trials: []compare.Trial{{
				Outcome: result.Fail, Score: &score, CostUSD: &cost, Tokens: &tokens, Seconds: &seconds,
				Session:    "run shop/1",
				Evaluators: map[string]result.Outcome{"files": result.Fail},
				Checks: []compare.Check{
					{Evaluator: "text", ID: "3f2a91bc", Text: "It is named.", Outcome: result.Pass},
				},
			}, {Outcome: result.NotRun}},
		}}}},
	}
}

func TestWriteRead(t *testing.T) {
	root := t.TempDir()
	path, err := Write(root, "main", sample(), nil)
	require.NoError(t, err)
	require.Equal(t, filepath.Join("baselines", "main.json"), path)
	got, err := Read(filepath.Join(root, path))
	require.NoError(t, err)
	assert.Equal(t, sample(), got)
	arm, ok := got.Arm("main", "claude")
	assert.True(t, ok)
	assert.Equal(t, "main:claude", arm.Name)
	_, ok = got.Arm("main", "codex")
	assert.False(t, ok)
}

// TestWriteElsewhere: neither a name nor a link leads out of the directory of baselines.
func TestWriteElsewhere(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{"", "..", "../x", "a/b", ".hidden", "a\nb"} {
		_, err := Write(root, name, sample(), nil)
		require.ErrorIs(t, err, ErrName, name)
	}
	if err := os.Symlink(outside, filepath.Join(root, Dir)); err != nil {
		t.Skip(err) // Windows without the right
	}
	_, err := Write(root, "main", sample(), nil)
	require.ErrorContains(t, err, "symbolic link")
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestReadRefuses(t *testing.T) {
	const line = "a name is a line of text"
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":       {"", "neither a baseline nor a report in JSON"},
		"another file":  {`{"name":"x"}`, "neither a baseline nor a report in JSON"},
		"a list":        {`[1]`, "neither a baseline nor a report in JSON"},
		"no version":    {strings.Replace(withCase(""), `"baseline":1`, `"baseline":2`, 1), "version 2"},
		"a key":         {`{"baseline":1,"runs":"r"}`, `unknown key "runs"`},
		"an outcome":    {withCase(`{"case":"a","trials":[{"outcome":"green"}]}`), `unknown outcome "green"`},
		"twice":         {withCase(`{"case":"a","trials":[]},{"case":"a","trials":[]}`), `case "a": ` + line},
		"of lines":      {withCase(`{"case":"a\nbetter: all is well","trials":[]}`), line},
		"evaluator":     {withCase(`{"case":"a","trials":[{"outcome":"pass","evaluators":{"\u001b":"pass"}}]}`), line},
		"a check":       {withCheck(`"text":"a\nb","outcome":"pass"`), `check "1a" of evaluator "t": names and texts`},
		"no check":      {withCheck(`"text":"a","outcome":"error"`), `check 1a: unknown outcome "error"`},
		"report name":   {inReport(`"a\nb"`, 1), line},
		"report trials": {inReport(`"a"`, 2000000000), "2000000000 trials"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.json")
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o644))
			_, err := Read(path)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, path)
		})
	}
}

// withCase returns a baseline with cases of one variant.
func withCase(cases string) string {
	return `{"baseline":1,"run":"r","created_at":"2026-01-01T00:00:00Z","mode":"live",` +
		`"variants":[{"id":"v","cases":[` + cases + `]}]}`
}

// withCheck returns a baseline with one check.
func withCheck(keys string) string {
	return withCase(`{"case":"a","trials":[{"outcome":"pass","checks":[{"evaluator":"t","id":"1a",` + keys + `}]}]}`)
}

// TestChecksOf: checks are kept of units of which an evaluator tells of some, in a line each.
func TestChecksOf(t *testing.T) {
	files := result.Evaluation{Name: "files", Outcome: result.Pass}
	text := result.Evaluation{Name: "text", Outcome: result.Fail, Checks: []result.Check{
		{ID: "a", Text: "It is\n\x1bnamed.", Outcome: result.Pass}, {ID: "b", Outcome: result.Fail},
	}}
	said := result.Evaluation{Name: "said", Outcome: result.Reported, Checks: text.Checks}
	u := result.Unit{Outcome: result.Fail, Evaluations: []result.Evaluation{files, text, said}}
	assert.Equal(t, []compare.Check{
		{Evaluator: "files", ID: "files", Text: "files", Outcome: result.Pass},
		{Evaluator: "text", ID: "a", Text: "It is \ufffdnamed.", Outcome: result.Pass},
		{Evaluator: "text", ID: "b", Text: "b", Outcome: result.Fail},
	}, trialOf("run", u).Checks)
	u.Evaluations = u.Evaluations[:1]
	assert.Nil(t, trialOf("run", u).Checks)
}

// inReport returns a report of one unit, of a playbook with a name.
func inReport(name string, trials int) string {
	return fmt.Sprintf(`{"run":{"name":%[1]s,"trials":%d},"variants":[{"id":"v"}],"cases":[{"id":"c"}],`+
		`"units":[{"unit":%[3]q,"result":null}]}`, name, trials, strings.Trim(strings.ReplaceAll(name, `\n`, "\n"),
		`"`)+"/c/v/1")
}

// FuzzRead: what is read can be compared.
func FuzzRead(f *testing.F) {
	f.Add(withCase(`{"case":"a","trials":[{"outcome":"pass","score":0.5,"cost_usd":0}]}`))
	f.Add(withCheck(`"text":"a","outcome":"fail"`))
	f.Add(inReport(`"a"`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "x.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		b, err := Read(path)
		if err != nil {
			return
		}
		for _, id := range b.IDs() {
			arm, ok := b.Arm("x", id)
			require.True(t, ok)
			for _, scope := range []compare.Scope{compare.Suite, compare.Population} {
				compare.Rule{Scope: scope, Alpha: .05, Margin: .05}.Compare(arm, arm).Text()
			}
		}
	})
}
