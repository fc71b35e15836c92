package engine_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// TestJobError: a job whose program is not there is an error, which is kept: nothing has interrupted it.
func TestJobError(t *testing.T) {
	t.Parallel()
	root := recorded(t, 1)
	text := strings.Replace(benchPlaybook, "    eval:\n",
		"    setup: {steps: [{run: no-such-program --version}]}\n    eval:\n", 1) +
		"sandbox: {allow_commands: [no-such-program]}\n"
	runner, _ := newRunner(t, root, text, engine.Replay, unconfined, func(c *engine.Config) {
		c.Keep = &engine.Keep{Below: root}
	})
	done, err := runner.Run(t.Context(), new(sink))
	require.NoError(t, err)
	require.Len(t, done.Jobs, 1)
	require.Equal(t, result.Error, done.Jobs[0].Outcome)
	require.Contains(t, done.Jobs[0].Steps[0].Reason, "no-such-program --version: ")
	require.False(t, done.Resumable)
}

// TestNeedsOfUnit: a job with a matrix that a unit needs is a part of it. The unit waits for no other job.
func TestNeedsOfUnit(t *testing.T) {
	t.Parallel()
	root := recorded(t, 1)
	text := strings.NewReplacer("    eval:\n", "    first: {strategy: {matrix: {variant: [fake]}}, "+
		"steps: [{uses: builtin:sdd-eval/workspace.prepare}]}\n"+
		"    last: {needs: [eval], steps: [{run: git --version}]}\n    eval:\n      needs: [first]\n",
		"[{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]",
		"[{uses: builtin:sdd-eval/acp.prompt}]").Replace(benchPlaybook)
	runner, _ := newRunner(t, root, text, engine.Replay, unconfined)
	sunk := new(sink)
	_, err := runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	require.Equal(t, result.Pass, sunk.units[0].Outcome, sunk.units[0].Reason)
	require.Equal(t, result.Pass, sunk.jobs[0].Outcome, sunk.jobs[0].Reason)
}

// TestGitFails: a workspace that is no repository although it should be is an error.
func TestGitFails(t *testing.T) {
	bin := t.TempDir()
	full := []byte("#!/bin/sh\necho the disk is full\nexit 3\n")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), full, 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	text := strings.Replace(wholePlaybook, "{from: src}", "{from: src, git: true}", 1)
	runner, _ := newRunner(t, project(t, nil), text, engine.Live, unconfined)
	sunk := new(sink)
	_, err := runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	require.Equal(t, result.Error, sunk.units[0].Outcome)
	require.Contains(t, sunk.units[0].Reason, "workspace.repository: exit code 3: the disk is full")
}

// TestTracingOfRun: what is wrong with the environment of traces is said before a run has a directory, and that this
// program sends none is a warning.
func TestTracingOfRun(t *testing.T) {
	root := recorded(t, 1)
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "perhaps"}
	run := func() (*sink, error) {
		runner, _ := newRunner(t, root, benchPlaybook, engine.Replay, func(c *engine.Config) {
			c.Keep = &engine.Keep{Below: root}
			c.Getenv = func(name string) string { return env[name] }
		})
		sunk := new(sink)
		_, err := runner.Run(t.Context(), sunk)
		return sunk, err
	}
	_, err := run()
	_, input := errors.AsType[*engine.InputError](err)
	require.True(t, input, "%v", err)
	require.ErrorContains(t, err, "OTEL_SDK_DISABLED")
	require.NoDirExists(t, filepath.Join(root, ".llman"))
	delete(env, "OTEL_SDK_DISABLED")
	sunk, err := run()
	require.NoError(t, err)
	require.Contains(t, strings.Join(sunk.notes, "\n"), engine.TracingWarning)
}

// TestNoSandboxHere: where the sandbox that was asked for does not work, the error says what to do.
func TestNoSandboxHere(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	runner, _ := newRunner(t, project(t, nil), wholePlaybook, engine.Live,
		func(c *engine.Config) { c.Sandbox = string(confine.Bwrap) })
	_, err := runner.Sandbox(t.Context())
	_, unavailable := errors.AsType[*confine.UnavailableError](err)
	require.True(t, unavailable, "%v", err)
	require.NotEmpty(t, fault.Advice(err))
}

// TestCassettesOfPlaybookElsewhere: the recordings of a playbook outside the project are found by its name alone.
func TestCassettesOfPlaybookElsewhere(t *testing.T) {
	root := t.TempDir()
	pb, err := plan.Parse(filepath.Join(t.TempDir(), "shop.yaml"), []byte(benchPlaybook), kinds.All())
	require.NoError(t, err)
	runner, unit := runnerOf(t, root, pb, engine.Replay)
	require.Equal(t, filepath.Join(root, "cassettes", "shop", "task", "fake.1.jsonl"), runner.CassettePath(unit))
}

// TestFingerprintsLeaveNothing behind, and need a place for a workspace.
func TestFingerprintsLeaveNothing(t *testing.T) {
	temp := t.TempDir()
	text := strings.Replace(wholePlaybook, "{from: src}", "{from: src, git: true}", 1)
	runner, unit := newRunner(t, project(t, nil), text, engine.Replay, func(c *engine.Config) { c.TempDir = temp })
	_, err := runner.Fingerprints(t.Context(), unit)
	require.NoError(t, err)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
	runner, unit = newRunner(t, project(t, nil), text, engine.Replay,
		func(c *engine.Config) { c.TempDir = filepath.Join(temp, "none") })
	_, err = runner.Fingerprints(t.Context(), unit)
	require.Error(t, err)
}

// TestStyleIsGiven: files of a style count as they are, as those of the workspace do, and not as a step's that ran
// before the agent.
func TestStyleIsGiven(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("{fake: {agent:", "{fake: {style: sdd, agent:", "        - run: sh -c 'echo before",
		"        - uses: builtin:sdd-eval/sdd.prepare\n        - run: sh -c 'echo before").Replace(wholePlaybook) +
		"evaluators: [{type: files, expect: [{path: AGENTS.md, exists: true}]}]\n"
	runner, unit := newRunner(t, project(t, nil), text, engine.Live, unconfined)
	u := runner.Unit(t.Context(), unit, io.Discard)
	require.Equal(t, result.Pass, u.Outcome, "%s: %v", u.Reason, u.Evaluations)
}
