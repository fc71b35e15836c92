package scripted_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// everyAction has each action once, with all of its fields.
var everyAction = []scripted.Action{
	{Say: &scripted.Say{Text: "hello", Chunks: 2}},
	{Think: &scripted.Think{Text: "hm", Chunks: 2}},
	{Plan: scripted.Plan{{Content: "look", Priority: "high", Status: "completed"}}},
	{Tool: &scripted.Tool{
		ID: "t1", Name: "Edit", Title: "Edit a.go", Kind: "edit",
		Input:     map[string]any{"n": json.Number("9007199254740993")},
		Locations: []scripted.Location{{Path: "a.go", Line: 3}},
		Diff:      &scripted.Diff{Path: "a.go", Old: new("a"), New: "b"},
		Ask: &scripted.Ask{
			Options: []scripted.PermissionOption{{ID: "y", Name: "Yes", Kind: "allow_always"}}, First: true,
			Denied: []scripted.Action{say("pity")},
		},
		Do:     []scripted.Action{{Write: &scripted.Write{Path: "a.go", Text: "b"}}},
		Output: "written", Status: "failed",
	}},
	{Usage: &scripted.Usage{Used: 10, Size: 200, CostUSD: 0.25}},
	{Update: scripted.Update{"sessionUpdate": "notice", "title": "careful"}},
	{Read: &scripted.Read{Path: "a", Line: 2, Limit: 3, Optional: true}},
	{Terminal: &scripted.Terminal{
		Command: "go", Args: []string{"test"}, Cwd: "sub", Env: map[string]string{"A": "b"}, OutputByteLimit: 100,
	}},
	{Request: &scripted.Request{Method: "x/y", Params: map[string]any{"a": true}}},
	{DiskWrite: &scripted.DiskWrite{Path: "run.sh", Text: "#!/bin/sh\n", Executable: true}},
	{Exec: &scripted.Exec{Command: "sh", Args: []string{"run.sh"}}},
	{Sleep: scripted.Sleep(1500 * time.Millisecond)},
	{Raw: "not JSON"},
	{Flood: &scripted.Flood{Updates: 3, Size: 10}},
	{StopReading: true},
	{Silence: true},
	{Exit: &scripted.Exit{Code: 3}},
}

func TestScriptSurvivesAFile(t *testing.T) {
	choices := []scripted.Choice{{ID: "a", Name: "A", Description: "first"}, {ID: "b"}}
	s := scripted.Script{
		Name: "x", Version: "2", Auth: []string{"key"},
		Session: scripted.Session{
			Modes:   &scripted.Offer{Current: "a", Choices: choices},
			Models:  &scripted.Offer{Current: "b", Choices: choices},
			Options: []scripted.Option{{ID: "o", Name: "O", Category: "c", Current: "a", Choices: choices}},
			Before:  []scripted.Action{say("early")}, After: []scripted.Action{say("ready")},
		},
		Turns: []scripted.Turn{
			{Actions: everyAction, Stop: "refusal", Tokens: &scripted.Tokens{
				Input: 1, Output: 2, Total: 3, Thought: 4, CachedRead: 5, CachedWrite: 6,
			}},
			{
				Error: &scripted.Error{Code: 429, Message: "slow down", Data: "later"}, IgnoreCancel: true,
				OnCancel: []scripted.Action{say("bye")}, After: []scripted.Action{say("late")},
			},
		},
		Repeat: true,
		Faults: scripted.Faults{
			Exit: new(3), Stderr: 10, ProtocolVersion: 2, SplitWrites: 1, CRLF: true, BlankLines: true, Garbage: "!",
			RequestIDs: scripted.StringIDs, IgnoreEOF: true, IgnoreSIGTERM: true,
		},
	}
	require.NoError(t, s.Validate())
	data, err := json.MarshalIndent(s, "", "  ")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "script.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	got, err := scripted.Load(file)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(s, got))
}

func TestLoadTellsWhatCannotBeRead(t *testing.T) {
	_, err := scripted.Load(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)

	large := filepath.Join(t.TempDir(), "large.json")
	require.NoError(t, os.WriteFile(large, make([]byte, 16<<20+1), 0o600))
	_, err = scripted.Load(large)
	assert.ErrorContains(t, err, "large.json exceeds the 16 MiB limit")
}

func TestDefaultIsValid(t *testing.T) {
	assert.NoError(t, scripted.Default().Validate())
}

// TestParseErrors holds the texts that authors of scripts see against testdata/errors.txt. Each case there is a script
// and, after an arrow, its errors.
func TestParseErrors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "errors.txt"))
	require.NoError(t, err)
	var got strings.Builder
	for section := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n\n"), "\n\n") {
		script, _, _ := strings.Cut(section, "\n=> ")
		_, err := scripted.Parse("s.json", []byte(script))
		require.Error(t, err, script)
		got.WriteString(script + "\n=> " + strings.ReplaceAll(err.Error(), "\n", "\n=> ") + "\n\n")
	}
	golden.Equal(t, "testdata/errors.txt", got.String())
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"turns":[{"actions":[{"say":{"text":"hi"}},{"sleep":"1s"}]}]}`))
	f.Add([]byte(`{"turns":[{"actions":[{"tool":{"title":"x","input":[1,{"a":null}]}}]}]}`))
	f.Add([]byte(`{"faults":{"exit":0},"session":{"modes":{"current":"a","choices":[{"id":"a"}]}}}`))
	f.Add([]byte(`{"turns":[{},{},`))
	f.Add([]byte("{\"a\":1e999,\"\xff\":[[]]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scripted.Parse("s.json", data)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "s.json:") {
					t.Fatalf("an error without position: %q", line)
				}
			}
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scripted.Parse("s.json", again); err != nil {
			t.Fatalf("what was read cannot be read again: %v\n%s", err, again)
		}
	})
}
