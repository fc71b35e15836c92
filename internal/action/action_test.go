package action_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/action"
)

// TestRows holds what must be true of every action, also of those that are added later.
func TestRows(t *testing.T) {
	for _, name := range append(action.Names(), "") {
		t.Run(name, func(t *testing.T) {
			a := action.Of(name)
			require.True(t, a.Exists(), "nothing carries it out")
			if a.InUnit == nil {
				require.False(t, a.Asks() || a.Template || a.Setup || a.Files || a.WritesStyle,
					"outside the matrix there is neither an agent nor a workspace")
			}
			if a.InRun == nil {
				require.False(t, a.Reports, "before the last unit has ended there is nothing to report on")
			}
			if a.Setup {
				require.False(t, a.StartsChild, "`cassette verify` does it, and that runs nothing")
			}
		})
	}
	require.False(t, action.Of("builtin:sdd-eval/none").Exists())
}

func TestPrompts(t *testing.T) {
	task := action.Task{Title: "Mend it", Prompts: []string{"first ", "second"}, Style: "sdd"}
	tests := []struct {
		name, uses, reason string
		iterations         int
		want               []string // what each prompt contains
	}{
		{"prompt", action.Prompt, "verbatim", 0, []string{"first ", "second"}},
		{
			"loop", action.Loop, "the last one asks for a check", 3,
			[]string{
				"# Task: Mend it\n\nfirst \n\nsecond\n\n# Constraints", "prompt 2 of 3. Go on",
				"prompt 3 of 3, the last one",
			},
		},
		{
			"loop of one", action.Loop, "it has no last one besides", 1,
			[]string{"This is prompt 1 of 1 in this session."},
		},
		{"loop of none", action.Loop, "less than one is one", 0, []string{"Workflow style: sdd."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task.Iterations = tt.iterations
			got := action.Of(tt.uses).Prompts(task)
			require.Len(t, got, len(tt.want), tt.reason)
			for i, want := range tt.want {
				require.Contains(t, got[i], want, tt.reason)
			}
		})
	}
}
