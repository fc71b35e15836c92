package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// TestSelect: another program selects units as `sdd-eval run` does.
func TestSelect(t *testing.T) {
	of := func(id string) plan.Unit {
		return plan.Unit{Playbook: "p", Case: plan.Case{ID: id}, Variant: plan.Variant{ID: "a"}, Trial: 1}
	}
	p := &plan.Plan{Units: []plan.Unit{of("one"), of("two")}}
	cfg := engine.Config{Keep: &engine.Keep{}}
	require.NoError(t, Select(p, &cfg, "", "", ""))
	require.Nil(t, cfg.Selected)
	require.NoError(t, Select(p, &cfg, "", "one", ""))
	require.Equal(t, "--case one", cfg.Keep.SelectedBy)
	require.True(t, cfg.Selected(of("one")))
	require.False(t, cfg.Selected(of("two")))
	require.ErrorContains(t, Select(p, &cfg, "", "three", ""), `there is no case "three"`)
}
