package skill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestPlaybooks holds that each suite of the archives is run as an untrusted playbook: the cases that are not broken,
// with all their checks.
func TestPlaybooks(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			dir := t.TempDir()
			require.NoError(t, txtar.Write(archive, dir))
			places, _, err := skill.Find(dir, true)
			require.NoError(t, err)
			for _, p := range places {
				s, err := skill.Load(t.Context(), p)
				require.NoError(t, err)
				loads(t, s)
			}
		})
	}
}

// loads generates the playbook of a suite, and compares it with the suite.
func loads(t *testing.T, s *skill.Suite) {
	t.Helper()
	o := skill.Options{By: "a test", Agent: playbook.Agent{Kind: "claude-code-acp", Preset: "login", Model: "m"}}
	arms := []string{skill.With, skill.Without}
	if s.Dir == "" || s.Installed.Files == nil {
		arms = nil
	}
	if s.Runnable() == 0 || arms == nil {
		return
	}
	file, err := s.Generate(t.Context(), o, arms)
	require.NoError(t, err)
	pb, err := plan.Read(plan.Source{Path: file, Root: s.Root, Untrusted: true}, kinds.All())
	text, readErr := os.ReadFile(file)
	require.NoError(t, readErr)
	require.NoError(t, err, string(text))
	planned, err := pb.Plan()
	require.NoError(t, err)
	require.Len(t, planned.Units, 2*s.Runnable())
	cases := make(map[string]plan.Case)
	for _, c := range pb.Cases {
		cases[c.ID] = c
	}
	for _, c := range s.Cases {
		if c.Runs() {
			got, ok := cases[c.ID]
			require.True(t, ok, c.ID)
			assert.Equal(t, c.Asked(), got.Prompt)
			assert.Equal(t, c.Expected, got.ExpectedOutcome)
			assert.Len(t, got.Workspace.Add, len(c.Inputs))
			for _, k := range c.Checks {
				assert.Contains(t, string(text), k.ID)
			}
		}
	}
	assert.Equal(t, []bool{false, true}, []bool{pb.Variants[0].Reference, pb.Variants[1].Reference})
}

func TestArmWords(t *testing.T) {
	for list, want := range map[string]string{
		"with": "", "with,without": "", "without,with,old=v1.2": "", "with,old=": "write old=REV",
		"with,old": "write old=REV", "without": "the arm with is missing", "with,with": "is there twice",
		"with,old=a,old=b": "is there twice",
		"with,on":          `"on" is no arm`, "with=a": `"with=a" is no arm`, "": "is no arm",
	} {
		_, err := skill.ArmWords(list)
		if want == "" {
			assert.NoError(t, err, list)
		} else {
			assert.ErrorContains(t, err, want, list)
		}
	}
}

// TestChecksOfCalls holds which checks the judge is shown the tool calls for.
func TestChecksOfCalls(t *testing.T) {
	for text, calls := range map[string]bool{
		"Runs scripts/build.py":                   true,
		"The agent read the file before":          true,
		"Searches the web for the price":          true,
		"uses the pdf tool":                       true,
		"The answer names the price":              false,
		"The report is ready and easy to oversee": false,
		"Each note is one sentence":               false,
	} {
		t.Run(text, func(t *testing.T) {
			dir := t.TempDir()
			evals := `[{"id": 1, "prompt": "p", "expectations": ["` + text + `"]}]`
			require.NoError(t, os.Mkdir(filepath.Join(dir, "evals"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: s\n---\n"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/evals.json"), []byte(evals), 0o600))
			places, _, err := skill.Find(dir, false)
			require.NoError(t, err)
			s, err := skill.Load(t.Context(), places[0])
			require.NoError(t, err)
			got, err := s.Playbook(skill.Options{Agent: playbook.Agent{Kind: "fake-acp"}})
			require.NoError(t, err)
			require.Equal(t, calls, strings.Contains(string(got), ", calls: true}"))
		})
	}
}
