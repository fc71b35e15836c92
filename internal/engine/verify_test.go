package engine_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// TestMaxAge replays a recording that is 40 days old under playbooks that allow more and less.
func TestMaxAge(t *testing.T) {
	day := 24 * time.Hour
	recorded := time.Now().UTC().Add(-40*day - time.Hour)
	old := fmt.Sprintf("the cassette cassettes/bench/task/fake.1.jsonl is 40 days old, it was recorded on %s: ",
		recorded.Format(time.DateOnly))
	tests := []struct {
		name, limit string
		stale       engine.StaleMode
		outcome     result.Outcome
		says        string // as reason or warning
	}{
		{"young enough", "{warn: 41d, fail: 50d}", "", result.Pass, ""},
		{"warns", "{warn: 40d, fail: 41d}", "", result.Pass, old + "cassette.max_age.warn is 40d"},
		{"fails", "{warn: 1d, fail: 40d}", "", result.Error, old + "cassette.max_age.fail is 40d"},
		{"fails without a warning before", "{fail: 40d}", "", result.Error, old + "cassette.max_age.fail is 40d"},
		{
			"allowed by the environment", "{fail: 40d}", engine.StaleWarns, result.Pass,
			old + "cassette.max_age.fail is 40d",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			path := record(t, root, benchPlaybook)
			c, err := cassette.Read(path)
			require.NoError(t, err)
			c.Header.RecordedAt = recorded
			require.NoError(t, cassette.Write(disk.Tree(filepath.Dir(path)), path, c))
			runner, unit := newRunner(t, root, benchPlaybook+"cassette: {max_age: "+tt.limit+"}\n", engine.Replay,
				func(c *engine.Config) { c.Stale = tt.stale })
			require.True(t, runner.Impure(t.Context()), "tomorrow it may be too old")
			u := runner.Unit(t.Context(), unit, io.Discard)
			require.Equal(t, tt.outcome, u.Outcome, u.Reason)
			require.Equal(t, tt.says, u.Reason+strings.Join(u.Warnings, ""))
			if tt.outcome == result.Error {
				require.NotEmpty(t, u.Next)
			}
		})
	}
}

// TestVerify damages a recording in each way that is told apart.
func TestVerify(t *testing.T) {
	const cassettePath = "cassettes/bench/task/fake.1.jsonl"
	tests := []struct {
		name   string
		damage func(t *testing.T, path string)
		text   string // of the playbook; empty: as recorded
		want   []engine.Defect
	}{
		{name: "none", damage: func(*testing.T, string) {}},
		{"not there", func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }, "", []engine.Defect{
			{Kind: engine.DefectMissing, File: cassettePath, Reason: "bench/task/fake/1 was not recorded"},
		}},
		{"cut", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 3000)) }, "", []engine.Defect{
			{
				Kind: engine.DefectCorrupt, File: cassettePath,
				Reason: cassettePath + ":12: the cassette is truncated: it does not end with its totals line",
			},
		}},
		{"of another unit", func(t *testing.T, path string) {
			c, err := cassette.Read(path)
			require.NoError(t, err)
			c.Header.Unit = "bench/task/other/1"
			require.NoError(t, cassette.Write(disk.Tree(filepath.Dir(path)), path, c))
		}, "", []engine.Defect{
			{Kind: engine.DefectCorrupt, File: cassettePath, Reason: cassettePath +
				":1: the cassette was recorded for bench/task/other/1, not for bench/task/fake/1"},
		}},
		{
			"twice", func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path+".gz", nil, 0o644)) }, "",
			[]engine.Defect{
				{
					Kind: engine.DefectCorrupt, File: cassettePath,
					Reason: cassettePath + ": fake.1.jsonl.gz exists, too: delete the outdated one of the two",
				},
			},
		},
		{
			"stale", func(*testing.T, string) {},
			strings.ReplaceAll(benchPlaybook, "Do it", "Do that") + "limits: {max_tool_calls: 5}\n",
			[]engine.Defect{
				{
					Kind: engine.DefectStale, File: cassettePath,
					Reason: "prompt 1: was \"Do it.\", is \"Do that.\"\nlimit max_tool_calls: was none, is \"5\"",
				},
			},
		},
		{"judges", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(judgment.Path(path), []byte("{}\n"), 0o644))
		}, "", []engine.Defect{
			{
				Kind: engine.DefectCorrupt, File: "cassettes/bench/task/fake.1.judges.jsonl",
				Reason: "cassettes/bench/task/fake.1.judges.jsonl:1: " +
					"the recording was edited: the line must be one of header, question and end",
			},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			path := record(t, root, benchPlaybook)
			tt.damage(t, path)
			text := tt.text
			if text == "" {
				text = benchPlaybook
			}
			runner, unit := newRunner(t, root, text, engine.Replay)
			defects, warnings, err := runner.Verify(t.Context(), unit)
			require.NoError(t, err)
			require.Empty(t, warnings)
			require.Equal(t, tt.want, defects)
		})
	}
}

func TestOrphans(t *testing.T) {
	root := t.TempDir()
	path := record(t, root, benchPlaybook)
	dir := filepath.Dir(path)
	for _, name := range []string{
		"fake.1.judges.jsonl", "fake.1.jsonl.gz", "README.md", "notes.json", // of the unit, and none of ours
		"fake.2.jsonl", "fake.2.judges.jsonl", "gone.1.jsonl.gz", ".fake.1.jsonl.123", "../other/fake.1.jsonl",
		"more/fake.1.jsonl", // of the playbook bench/task
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	runner, _ := newRunner(t, root, benchPlaybook, engine.Replay)
	orphans, err := runner.Orphans()
	require.NoError(t, err)
	var got []string
	for _, o := range orphans {
		rel, err := filepath.Rel(filepath.Dir(dir), o)
		require.NoError(t, err)
		got = append(got, filepath.ToSlash(rel))
	}
	require.Equal(t, []string{
		"other/fake.1.jsonl", "task/.fake.1.jsonl.123", "task/fake.2.jsonl",
		"task/fake.2.judges.jsonl", "task/gone.1.jsonl.gz",
	}, got)
}
