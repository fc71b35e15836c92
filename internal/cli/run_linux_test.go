package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
)

// TestRunDirectoryDenied: a run directory that cannot be created is an error of the environment, with the next command.
func TestRunDirectoryDenied(t *testing.T) {
	dir := projectDir(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(validPlaybook), 0o644))
	const root = "/sys" // where nobody makes a directory
	got := call(t, dir, "run", "--playbook", "p.yaml", "--root", root, "--sandbox", "none")
	require.Equal(t, exitUsage, got.code, got.stderr)
	require.Empty(t, got.stdout)
	require.Regexp(t, `(?s)^sdd-eval: create the run directory: .*
next: make the directory writable for you, then: `+
		`sdd-eval run --playbook p.yaml --mode live --root /sys --sandbox none\n$`, got.stderr)
}

func TestRunOnFullDisk(t *testing.T) {
	full := fmt.Errorf("create the run directory: %w", &os.PathError{Op: "mkdir", Path: "/full", Err: syscall.ENOSPC})
	tests := []struct {
		name string
		o    runOptions
		next string
	}{
		{
			"new",
			runOptions{playbook: "p.yaml", mode: "record"},
			"make room, for example with `sdd-eval clean --keep 20`, then: " +
				"sdd-eval run --playbook p.yaml --mode record",
		},
		{
			"resumed",
			runOptions{resume: "20260131-x", root: "r"},
			"make room, for example with `sdd-eval clean --keep 20 --root r`, then: " +
				"sdd-eval run --resume 20260131-x --root r",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, &exitError{exitUsage, full, tt.next},
				tt.o.failed(context.Background(), full, engine.Finished{}))
		})
	}
}
