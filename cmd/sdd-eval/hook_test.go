//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/capture"
)

// hookPayload is a payload of 20 KB.
func hookPayload(tb testing.TB, id string) []byte {
	tb.Helper()
	data, err := json.Marshal(map[string]any{
		"session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/work",
		"prompt_id": "p", "permission_mode": "default",
		"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_use_id": id,
		"tool_input": map[string]any{
			"file_path": "/work/a.go", "content": strings.Repeat("\tif a < b { // a line\n", 860),
		},
	})
	require.NoError(tb, err)
	return data
}

func hookCommand(file string, payload []byte) *exec.Cmd {
	c := exec.Command(filepath.Join(bin, "sdd-eval"), "hook", "pre")
	c.Env = append(os.Environ(), "EVALTEST_CAPTURE="+file)
	c.Stdin = bytes.NewReader(payload)
	return c
}

// TestHooksAtOnce runs hooks of eight agents at the same time.
func TestHooksAtOnce(t *testing.T) {
	const agents, each = 8, 10
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	var wg sync.WaitGroup
	for agent := range agents {
		wg.Go(func() {
			for i := range each {
				out, err := hookCommand(file, hookPayload(t, fmt.Sprintf("%d-%d", agent, i))).CombinedOutput()
				if err != nil || len(out) > 0 {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
	}
	wg.Wait()
	c, err := capture.Read(file)
	require.NoError(t, err)
	require.Empty(t, c.Notes)
	require.Len(t, c.Calls, agents*each)
}

// BenchmarkHook runs a hook that captures a call of 20 KB, and beside it /bin/cat, which reads the same and does
// nothing else: an operation is one run of each. The medians are what an agent waits for.
func BenchmarkHook(b *testing.B) {
	file := filepath.Join(b.TempDir(), "calls.jsonl")
	payload := hookPayload(b, "t")
	times := map[string][]time.Duration{}
	measure := func(name string, c *exec.Cmd) {
		began := time.Now()
		require.NoError(b, c.Run())
		times[name] = append(times[name], time.Since(began))
	}
	for b.Loop() {
		cat := exec.Command("/bin/cat")
		cat.Stdin = bytes.NewReader(payload)
		measure("cat", cat)
		measure("hook", hookCommand(file, payload))
	}
	for name, all := range times {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, name+"-ms/median")
	}
}
