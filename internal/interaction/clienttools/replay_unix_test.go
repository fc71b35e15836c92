//go:build unix

package clienttools_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/interaction/clienttools"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func allowReading(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	kind := acp.RejectOnce
	if strings.Contains(string(r.ToolCall.RawInput), "read") {
		kind = acp.AllowOnce
	}
	for _, o := range r.Options {
		if o.Kind == kind {
			return acp.Selected(o.OptionID), nil
		}
	}
	return acp.Cancelled(), nil
}

var workspaceFiles = map[string]string{
	"stock.txt": "tea 5\ncup 8\nmilk 1\n", "run.sh": "ls $HOME/shop\n",
	"shop/list": "größe\n",
}

// everything is a session with every kind of request, refused ones included.
var everything = []scripted.Action{
	read("stock.txt"),
	call(scripted.Action{Read: &scripted.Read{Path: "stock.txt", Line: 2, Limit: 1}}),
	read("shop/list"), read("run.sh"), read("nothing.txt"), read("/etc/passwd"),
	write("stock.txt", "tea 6\n"), read("stock.txt"), write("new/a.txt", "in $HOME\n"), write("/etc/passwd", "x"),
	run(`pwd; cat stock.txt; exit 3`), run(`printf 'tea 7\n' > stock.txt`), run(`kill -9 $$`), read("stock.txt"),
	call(scripted.Action{Terminal: &scripted.Terminal{
		Command: "sh", Args: []string{"-c", "pwd"}, Cwd: "shop",
		Env: map[string]string{"B": "1", "A": "2"},
	}}),
	call(scripted.Action{Terminal: &scripted.Terminal{
		Command: "sh", Args: []string{"-c", "echo 0123456789"},
		OutputByteLimit: 4,
	}}),
	call(scripted.Action{Terminal: &scripted.Terminal{Command: "curl", Args: []string{"x"}}}),
	ask("Look", map[string]any{"how": "read", "turn_id": "one"}), ask("Edit", map[string]any{"how": "write"}),
	ask("Edit", nil),
}

// TestReplay records an agent that really runs what it asks for, and starts it again, elsewhere, where nothing can run:
// it sees the same.
func TestReplay(t *testing.T) {
	first := newScene(t, workspaceFiles)
	recorded := first.play(t, first.client(t), everything...)
	require.Empty(t, first.diverged)
	turns := kept(t, recorded)

	for name, texts := range map[string]map[string]string{
		"the same workspace": workspaceFiles,
		"an empty workspace": nil,
	} {
		t.Run(name, func(t *testing.T) {
			again := newScene(t, texts)
			actions := append([]scripted.Action(nil), everything...)
			actions[17] = ask("Look", map[string]any{"how": "read", "turn_id": "two"}) // what agents make up anew
			replayed := again.play(t, again.replay(clienttools.Interactions(turns)), actions...)
			assert.Empty(t, again.diverged)
			assert.Empty(t, cmp.Diff(recorded.Events, replayed.Events), "-recorded +replayed")
			assert.Empty(t, again.recording.Unused(nil))
			assert.Empty(t, again.recording.Reordered())

			text, err := os.ReadFile(filepath.Join(again.ws, "new/a.txt"))
			require.NoError(t, err, "the agent may look for what it wrote")
			assert.Equal(t, "in $HOME\n", string(text))
			text, err = os.ReadFile(filepath.Join(again.ws, "stock.txt"))
			require.NoError(t, err)
			assert.Equal(t, "tea 6\n", string(text), "what commands did is not done again")
		})
	}
}

// TestAnswersAreOfThisRun holds what an agent sees in a replay against what it saw when it was recorded, but for where.
func TestAnswersAreOfThisRun(t *testing.T) {
	first := newScene(t, workspaceFiles)
	turns := kept(t, first.play(
		t, first.client(t), run("pwd"), read("run.sh"), run(`printf 'at %s/x, and $HOME/y' "$PWD" > made`),
		read("made"),
	))

	again := newScene(t, workspaceFiles)
	client := again.replay(clienttools.Interactions(turns))
	content := func(name string) string {
		t.Helper()
		answer, err := client.Files.ReadTextFile(t.Context(),
			acp.ReadTextFileRequest{Path: filepath.Join(again.ws, name)})
		require.NoError(t, err)
		return answer.Content
	}
	created, err := client.Terminals.Create(t.Context(),
		acp.CreateTerminalRequest{Command: "sh", Args: []string{"-c", "pwd"}})
	require.NoError(t, err)
	out, err := client.Terminals.Output(t.Context(), acp.TerminalOutputRequest{TerminalID: created.TerminalID})
	require.NoError(t, err)
	assert.Equal(t, again.ws+"\n", out.Output)
	assert.Equal(t, "ls $HOME/shop\n", content("run.sh"), "the file says so itself")
	home := filepath.Join(filepath.Dir(again.ws), "home")
	assert.Equal(t, "at "+again.ws+"/x, and "+home+"/y", content("made"),
		"there is no such file, and nothing tells the name from the directory")
}

// TestMissingFile holds that package acp is left to say that there is no file, with the data that agents look for.
func TestMissingFile(t *testing.T) {
	s, client := replaying(
		t, trajectory.FileRead{Path: "$WORKSPACE/a", Error: "Resource not found: $WORKSPACE/a"},
		trajectory.FileRead{Path: "$WORKSPACE/b", Error: "no access", ErrorCode: acp.CodeAuthRequired},
	)
	_, err := client.Files.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: s.ws + "/a"})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = client.Files.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: s.ws + "/b"})
	requireCode(t, acp.CodeAuthRequired, err)
	assert.Empty(t, s.diverged)
}

// TestDivergence shows what a person reads, and what the agent is answered, when it asks for something else.
func TestDivergence(t *testing.T) {
	first := newScene(t, workspaceFiles)
	turns := kept(t, first.play(t, first.client(t), everything...))
	tests := []struct {
		name    string
		actions []scripted.Action
	}{
		{name: "a file", actions: []scripted.Action{read("stok.txt")}},
		{
			name: "another part",
			actions: []scripted.Action{call(
				scripted.Action{Read: &scripted.Read{Path: "stock.txt", Line: 3, Limit: 1}})},
		},
		{name: "once too often", actions: []scripted.Action{read("run.sh"), read("run.sh")}},
		{name: "another text", actions: []scripted.Action{write("stock.txt", "tea 8\n")}},
		{name: "another directory", actions: []scripted.Action{call(scripted.Action{
			Terminal: &scripted.Terminal{
				Command: "sh", Args: []string{"-c", "pwd"}, Cwd: "new",
				Env: map[string]string{"A": "1", "B": "2"},
			},
		})}},
		{name: "a permission", actions: []scripted.Action{ask("Edit", map[string]any{"how": "delete"})}},
		{name: "other options", actions: []scripted.Action{{Tool: &scripted.Tool{
			Name: "Edit", Title: "Edit", Input: map[string]any{"how": "write"},
			Ask: &scripted.Ask{Options: []scripted.PermissionOption{
				{ID: "a", Kind: "allow_always"},
				{ID: "r", Kind: "reject_once"},
			}},
		}}}},
	}
	var got strings.Builder
	for _, tt := range tests {
		again := newScene(t, workspaceFiles)
		turn, err := again.prompt(t, again.replay(clienttools.Interactions(turns)), tt.actions...)
		require.Len(t, again.diverged, 1, tt.name)
		_, ok := errors.AsType[*interaction.DivergenceError](again.diverged[0])
		require.True(t, ok, tt.name)
		assert.Contains(t, fmt.Sprint(results(turn), err), again.diverged[0].Error(), "what the agent is told")
		fmt.Fprintf(&got, "-- %s --\n%v\n", tt.name, again.diverged[0])
	}
	golden.Equal(t, "testdata/divergences.golden", got.String())
}

// TestSwapped has an agent ask for the same in another order.
func TestSwapped(t *testing.T) {
	first := newScene(t, workspaceFiles)
	turns := kept(t, first.play(t, first.client(t), read("stock.txt"), read("shop/list"), read("run.sh")))
	again := newScene(t, nil)
	turn := again.play(t, again.replay(clienttools.Interactions(turns)), read("shop/list"), read("stock.txt"),
		read("run.sh"))
	assert.Empty(t, again.diverged)
	assert.Equal(t, []any{workspaceFiles["shop/list"], workspaceFiles["stock.txt"]}, results(turn)[:2])
	assert.Equal(t, []string{
		"turn 1, event 6: fs/read_text_file path=$WORKSPACE/shop/list was asked for already before turn 1, event 3",
	}, again.recording.Reordered())
}

// TestImpossibleWrite holds that a write that was recorded and cannot be made is no success.
func TestImpossibleWrite(t *testing.T) {
	first := newScene(t, nil)
	turns := kept(t, first.play(t, first.client(t), write("a/b", "text")))
	again := newScene(t, map[string]string{"a": "a file where there was to be a directory"})
	again.play(t, again.replay(clienttools.Interactions(turns)), write("a/b", "text"))
	require.Len(t, again.diverged, 1)
	assert.ErrorContains(t, again.diverged[0], "replay a recorded write: write "+again.ws+"/a/b:")
}
