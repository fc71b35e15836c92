package report

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// skillVariants are arms of a skill: without it, with it, and with an older one.
func skillVariants() []rundir.Variant {
	pdf := func(digest string) []rundir.Skill {
		return []rundir.Skill{
			{Name: "style", Path: "style", Digest: "0"}, {Name: "pdf", Path: "skills/pdf", Digest: digest},
		}
	}
	return []rundir.Variant{
		{ID: "without", Kind: "claude-code-acp", Reference: true, Skills: pdf("")[:1]},
		{ID: "with", Kind: "claude-code-acp", Model: "sonnet", Skills: pdf("2")},
		{ID: "old", Kind: "claude-code-acp", Reference: true, Skills: pdf("1")},
	}
}

// skillRun returns a run that tries a skill with two cases and two trials, of which some say nothing.
func skillRun(t *testing.T) *rundir.Run {
	t.Helper()
	m := rundir.Manifest{
		Name: "pdf", Trials: 2, Need: 2, Evaluators: true, Mode: "live", Sandbox: "none", Tool: "sdd-eval 0.2.0",
		RunID: runID, CreatedAt: time.Date(2026, 3, 2, 10, 15, 0, 5, time.UTC), Variants: skillVariants(),
		Playbook: rundir.Playbook{Path: "pdf.yaml"}, Judges: make(map[string][]string),
	}
	for n := range 2 {
		c := rundir.Case{
			ID: fmt.Sprintf("eval-%d", n+1), Title: "Fill in", Prompts: []string{"Fill in the form.</script>"},
			Variants: []string{"without", "with", "old"},
		}
		m.Judges[c.ID] = []string{"text", "calls"}
		for _, v := range c.Variants {
			for trial := range m.Trials {
				m.Units = append(m.Units, fmt.Sprintf("pdf/%s/%s/%d", c.ID, v, trial+1))
			}
		}
		m.Cases = append(m.Cases, c)
	}
	run, err := rundir.Create(t.TempDir(), m, []byte("name: pdf\n"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, run.Close()) })
	for i, id := range m.Units[:len(m.Units)-1] {
		part := strings.Split(id, "/")
		u := skillUnit(part[1], part[2], i%2+1)
		switch id {
		case "pdf/eval-1/without/2":
			u.Outcome, u.Reason, u.Evaluations, u.Metrics = result.Error, "the model is overloaded", nil, nil
		case "pdf/eval-2/with/1": // it passed by its checks
			u.Outcome, u.Reason, u.Replayed = result.Fail, "it took more than 10 tool calls", true
			u.Metrics.Tokens, u.Warnings = nil, []string{"the recording is stale"}
		}
		dirs, err := run.MakeUnitDirs(u.Case, u.Variant, u.Trial)
		require.NoError(t, err)
		if u.Metrics != nil {
			did, err := json.Marshal(skillSession())
			require.NoError(t, err)
			require.NoError(t, run.WriteFile(dirs.File(rundir.Trajectory), did))
			require.NoError(t, run.WriteFile(dirs.File(rundir.Diff), []byte(sampleDiff)))
		}
		require.NoError(t, run.Append(u))
	}
	require.NoError(t, run.Finish(rundir.StateInterrupted))
	return run
}

// skillUnit is a unit that passes with the skill, and without it fails one check of four.
func skillUnit(caseID, variant string, trial int) result.Unit {
	total := int64(1000 * trial)
	check := result.Check{ID: "3f2a91bc", Text: "It names the form", Outcome: result.Pass, Evidence: `says "W-9"`}
	u := result.Unit{
		ID: fmt.Sprintf("pdf/%s/%s/%d", caseID, variant, trial), Case: caseID, Variant: variant, Trial: trial,
		Outcome: result.Pass, Started: time.Date(2026, 3, 2, 10, 15, 1, 0, time.UTC), Duration: result.Duration(9e9),
		Metrics: &result.Metrics{
			Version: 1, ToolCalls: map[string]int{"Read": 2}, Tokens: &result.Tokens{Total: &total},
		},
		Evaluations: []result.Evaluation{
			{
				Name: "text", Type: "text", Outcome: result.Pass, Score: new(1.0), Threshold: 1, Weight: 1,
				Duration: result.Duration(250 * time.Millisecond), Checks: []result.Check{check, {
					ID: "77aa00cc", Text: check.Text, Outcome: result.Pass, // another with its text
				}, {ID: "77aa00cd", Text: "calls", Outcome: result.Pass, Evidence: hostile}},
			},
			{
				Name: "calls", Type: "tool_trajectory", Outcome: result.Pass, Score: new(1.0), Threshold: 1, Weight: 1,
				Detail: "✓ Read\n✓ never Bash",
			},
		},
	}
	if variant == "without" {
		u.Outcome = result.Fail
		e := &u.Evaluations[0]
		e.Outcome, e.Score, e.Checks[0].Outcome = result.Fail, new(0.5), result.Fail
		e.Checks[0].Evidence = "not found"
	}
	return u
}

func skillSession() *trajectory.Run {
	call := func(id string, status trajectory.Status) []trajectory.Event {
		return []trajectory.Event{
			{Turn: 1, At: 3 * time.Second, Body: trajectory.ToolStart{ID: id, Name: "Read"}},
			{Turn: 1, At: 4 * time.Second, Body: trajectory.ToolEnd{ID: id, Status: status}},
		}
	}
	run := &trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, At: 2 * time.Second, Body: trajectory.Prompt{Text: "Fill in the form."}},
	}}
	run.Events = append(append(run.Events, call("a", trajectory.Completed)...), call("b", trajectory.Failed)...)
	run.Events = append(run.Events, trajectory.Event{
		Turn: 1, At: 7500 * time.Millisecond, Body: trajectory.Message{Text: "Done: " + hostile},
	}, trajectory.Event{Turn: 1, At: 7500 * time.Millisecond, Body: trajectory.Stop{Reason: "end_turn"}})
	return run
}

// TestSkillCreator holds the shape of skill-creator's files. SKILL_CREATOR names a copy of that skill, whose scripts
// then have to read them: see `make skill-creator`.
func TestSkillCreator(t *testing.T) {
	run := skillRun(t)
	dir := filepath.Join(run.Dir(), filepath.FromSlash(iteration))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "eval-9"), 0o755)) // of a selection before
	feedback := filepath.Join(dir, "feedback.json")
	require.NoError(t, os.WriteFile(feedback, []byte("{}"), 0o644))
	files, err := loaded(t, run).Write([]string{SkillCreator})
	require.NoError(t, err)
	require.Equal(t, []string{"skill-creator/iteration-1/benchmark.json"}, files)
	require.NoDirExists(t, filepath.Join(dir, "eval-9"))
	require.FileExists(t, feedback, "people's")
	require.NoError(t, os.Remove(feedback))
	var all strings.Builder
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		if filepath.Ext(path) == ".json" {
			require.True(t, json.Valid(data), path)
		}
		require.NotContains(t, strings.ToLower(string(data)), "</script", path)
		if !strings.Contains(path, "run-2") || strings.Contains(path, "without") {
			fmt.Fprintf(&all, "-- %s --\n%s", filepath.ToSlash(path), data)
		}
		return err
	}))
	golden.Equal(t, "testdata/skill-creator.txtar", all.String())
	if skill := os.Getenv("SKILL_CREATOR"); skill != "" {
		opens(t, skill, dir)
	}
}

// opens has skill-creator's script and its viewer read what is in dir.
func opens(t *testing.T, skill, dir string) {
	python := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "python3", args...)
		cmd.Dir = skill
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		t.Logf("%s", out)
	}
	read := func(file string) (b struct {
		Runs    []map[string]any
		Summary map[string]map[string]any `json:"run_summary"`
	},
	) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &b))
		return b
	}
	theirs := filepath.Join(t.TempDir(), "benchmark.json")
	python("-m", "scripts.aggregate_benchmark", dir, "-o", theirs)
	ours := read(filepath.Join(dir, "benchmark.json"))
	require.Len(t, read(theirs).Runs, len(ours.Runs), "what is an error is no run")
	for name, sum := range read(theirs).Summary {
		for _, figure := range []string{"pass_rate", "time_seconds"} {
			if name != "delta" { // its own takes the first two names of the alphabet
				require.Equal(t, ours.Summary[name][figure], sum[figure], "%s of %s", figure, name)
			}
		}
	}
	require.Equal(t, ours.Summary[withoutSkill]["tokens"], read(theirs).Summary[withoutSkill]["tokens"])
	page := filepath.Join(t.TempDir(), "page.html")
	python("eval-viewer/generate_review.py", dir, "--benchmark", filepath.Join(dir, "benchmark.json"), "--static", page)
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	dom := browse(t, data, "")
	require.NotContains(t, dom, `data-broken`, "no text is markup")
	for _, text := range []string{"Benchmark Results", "Without Skill", "It names the form", "+0.20", "is overloaded"} {
		require.Contains(t, dom, text)
	}
}

// TestNotOfSkill: a run that does not try a skill has none of the files, and hears why.
func TestNotOfSkill(t *testing.T) {
	skill := skillVariants()
	without, with, old := skill[0], skill[1], skill[2]
	other, bare := with, with
	other.ID, bare.Skills, old.Skills = "other", nil, with.Skills
	second := without
	second.ID = "none"
	for _, tt := range []struct {
		want     string
		variants []rundir.Variant
	}{
		{"no variant and a reference to compare that with", []rundir.Variant{with}},
		{"no variant and a reference to compare that with", []rundir.Variant{without}},
		{"neither of the variants with and other is a reference", []rundir.Variant{with, without, other}},
		{"its variant with has no skill, or the run is of an earlier version", []rundir.Variant{bare, without}},
		{"its reference old has the same skills as with", []rundir.Variant{with, old}},
		{"its references without and none would both be without_skill", []rundir.Variant{with, without, second}},
	} {
		s := sample(t, 1, 1, 1)
		s.manifest.Variants, s.manifest.Units, s.units = tt.variants, nil, nil
		_, err := reportOf(t, s).Write([]string{SkillCreator})
		require.ErrorContains(t, err, tt.want)
		require.ErrorIs(t, err, ErrNotOfSkill)
	}
}
