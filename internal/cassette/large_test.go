//go:build !race

package cassette

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// stride is how far apart the bytes are that tests damage: it is only the race detector that takes too long for all.
const stride = 1

// largeVariable names, to this test binary as a child, the cassette to play.
const largeVariable = "CASSETTE_TEST_LARGE"

// played is the report of a child process on a cassette that it played.
type played struct {
	Growth int64 // of the memory that the runtime has from the system, in bytes
	Turns  int
	Events int
}

// TestPlayLarge plays cassettes of 100 MB in a process of their own. What a session changed in the workspace is there
// for one turn at a time; what the agent did and saw is a [trajectory.Run], which is in memory.
func TestPlayLarge(t *testing.T) {
	if path := os.Getenv(largeVariable); path != "" {
		playLarge(t, path)
		return
	}
	const turns, size = 100, 1 << 20
	tests := []struct {
		name  string
		plain bool // not compressed
		build func(turn int) Turn
		limit int64
	}{
		{"files", false, func(turn int) Turn {
			return Turn{Events: largeEvents(turn, 10), Delta: workspace.Delta{Changes: []workspace.Change{
				{
					Path: fmt.Sprintf("out%d.txt", turn), Op: workspace.Added, Kind: workspace.File,
					Data: []byte(strings.Repeat("0123456789abcde\n", size/16)),
				},
			}}}
		}, 64 << 20},
		{"outputs", true, func(turn int) Turn { return Turn{Events: largeEvents(turn, size/20)} }, turns*size + 64<<20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sample()
			c.Turns = nil
			for turn := range turns {
				c.Turns = append(c.Turns, tt.build(turn+1))
			}
			path := filepath.Join(t.TempDir(), "a.1.jsonl")
			if tt.plain {
				require.NoError(t, os.WriteFile(path, encoded(t, c), 0o644))
			} else {
				require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, c))
				require.FileExists(t, path+".gz")
			}

			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPlayLarge$")
			child.Env = append(os.Environ(), largeVariable+"="+path)
			child.Stderr = os.Stderr
			out, err := child.Output()
			require.NoError(t, err)
			var p played
			require.NoError(t, json.Unmarshal(out[:strings.IndexByte(string(out), '\n')], &p))
			assert.Equal(t, turns, p.Turns)
			t.Logf("%d MB, %d events: memory grows by %d MB", turns*size>>20, p.Events, p.Growth>>20)
			assert.Less(t, p.Growth, tt.limit)
		})
	}
}

// largeEvents returns a turn of 20 tool calls with outputs of that many bytes.
func largeEvents(turn, output int) []trajectory.Event {
	events := []trajectory.Event{{Turn: turn, Body: trajectory.Prompt{Text: fmt.Sprint("Part ", turn)}}}
	for i := range 20 {
		id := fmt.Sprintf("c%d-%d", turn, i)
		events = append(events,
			trajectory.Event{Turn: turn, At: time.Second, Body: trajectory.ToolStart{ID: id, Name: "Read"}},
			trajectory.Event{Turn: turn, At: time.Second, Body: trajectory.ToolEnd{
				ID: id, Status: trajectory.Completed, Output: strings.Repeat("o", output),
			}})
	}
	return append(events, trajectory.Event{Turn: turn, At: time.Second, Body: trajectory.Stop{Reason: "end_turn"}})
}

// playLarge plays a cassette as a unit does: all turns, whose events are kept.
func playLarge(t *testing.T, path string) {
	debug.FreeOSMemory()
	before := fromSystem()
	c, err := Open(disk.Tree(filepath.Dir(path)), path)
	require.NoError(t, err)
	p := NewPlayer(c, t.TempDir())
	var run trajectory.Run
	for i := range c.Turns {
		turn, err := p.Prompt(t.Context(), fmt.Sprint("Part ", i+1))
		require.NoError(t, err)
		run.Events = append(run.Events, turn.Events...)
	}
	require.NoError(t, p.End())
	out, err := json.Marshal(played{Growth: fromSystem() - before, Turns: len(c.Turns), Events: len(run.Events)})
	require.NoError(t, err)
	fmt.Println(string(out))
	runtime.KeepAlive(run)
}

func fromSystem() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
