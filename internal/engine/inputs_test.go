package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// TestInputsOfMany: however many files there are, each counts.
func TestInputsOfMany(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"from", "judges"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	for i := range 20_001 {
		write(fmt.Sprintf("from/%05d", i), "")
	}
	var judges []string
	for i := range maxNamed + 1 {
		name := fmt.Sprintf("judges/%03d.py", i)
		write(name, fmt.Sprintf("import %03d", i+1))
		judges = append(judges, filepath.Join(root, name))
	}
	inputs := func() map[string]string {
		pb := &plan.Playbook{File: filepath.Join(root, "p.yaml"), Files: judges[:1]}
		pb.Workspace.From = "from"
		r := &Runner{pb: pb, source: filepath.Join(root, "from"), cfg: Config{Root: root, Cassettes: "cassettes"}}
		all, err := r.inputs(t.Context())
		require.NoError(t, err)
		return all
	}
	before := inputs()
	require.Len(t, before, maxNamed+3, "what is imported, what is beside it, and the workspace")
	write("from/20000", "changed")
	after := inputs()
	require.NotEqual(t, before["from"], after["from"])
	write(fmt.Sprintf("judges/%03d.py", maxNamed), "changed")
	require.NotEqual(t, after["judges/**/*.py"], inputs()["judges/**/*.py"])
}
