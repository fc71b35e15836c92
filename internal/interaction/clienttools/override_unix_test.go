//go:build unix

package clienttools_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/interaction/clienttools"
)

var overridden = []scripted.Action{
	read("stock.txt"), read("shop/list"), read("shop/list"), write("a", "text"), write("b", "text"), run("echo one"),
	run("echo two"),
	ask("Look", map[string]any{"how": "read"}), ask("Edit", map[string]any{"how": "write"}),
}

var overrides = []interaction.Override{
	{
		Tool: acp.MethodReadTextFile, Args: map[string]any{"path": "$WORKSPACE/stock.txt"},
		Output: "tea 0, in $WORKSPACE\n",
	},
	{
		Tool: acp.MethodReadTextFile, Args: map[string]any{"path": "$WORKSPACE/shop/list"}, Nth: 2,
		Error: "the disk is gone",
	},
	{Tool: acp.MethodWriteTextFile, Nth: 1, Error: "the disk is full"},
	{Tool: acp.MethodWriteTextFile, Nth: 2, Output: ""},
	{Tool: acp.MethodCreateTerminal, Nth: 1, Output: map[string]any{"output": "one, in $WORKSPACE\n", "exit_code": 3}},
	{
		Tool: acp.MethodRequestPermission, Args: map[string]any{"input": map[string]any{"how": "write"}},
		Output: "allow_once",
	},
}

// TestOverride overrides a session that is recorded, its replay, and the replay of one that was recorded without: the
// agent sees the same.
func TestOverride(t *testing.T) {
	plain := newScene(t, workspaceFiles)
	without := kept(t, plain.play(t, plain.client(t), overridden...))

	s := newScene(t, workspaceFiles)
	o := interaction.NewOverrides(overrides)
	recorded := s.play(t, clienttools.Override(s.Config, s.client(t), o), overridden...)
	assert.Empty(t, s.diverged)
	assert.Empty(t, o.Unapplied())
	assert.Equal(t, []any{
		"tea 0, in $WORKSPACE\n", "größe\n", "do[0].read: fs/read_text_file: the disk is gone (-32603)",
		"do[0].write: fs/write_text_file: the disk is full (-32603)", nil, "one, in $WORKSPACE\n", "two\n", nil, nil,
	}, results(recorded))
	terminals := ofType[trajectory.Terminal](recorded.Events)
	assert.Equal(t, []int{3, 0}, []int{*terminals[0].ExitCode, *terminals[1].ExitCode})
	assert.Equal(t, "allow", ofType[trajectory.Permission](recorded.Events)[1].Decision)
	for _, name := range []string{"a", "b"} {
		assert.NoFileExists(t, filepath.Join(s.ws, name))
	}

	for name, turns := range map[string][]interaction.Interaction{
		"recorded with overrides": clienttools.Interactions(kept(t, recorded)),
		"recorded without":        clienttools.Interactions(without),
	} {
		t.Run(name, func(t *testing.T) {
			again := newScene(t, nil)
			o := interaction.NewOverrides(overrides)
			replayed := again.play(t, clienttools.Override(again.Config, again.replay(turns), o), overridden...)
			assert.Empty(t, again.diverged)
			assert.Equal(t, recorded.Events, replayed.Events)
			assert.Empty(t, again.recording.Unused(nil), "an overridden call uses its recording up")
			assert.Empty(t, o.Unapplied())
		})
	}
}

func ofType[T trajectory.Body](events []trajectory.Event) (all []T) {
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			all = append(all, b)
		}
	}
	return all
}

// TestOverrideOfWhatWasNotRecorded holds that an overridden call need not be in the recording.
func TestOverrideOfWhatWasNotRecorded(t *testing.T) {
	s, client := replaying(t)
	client = clienttools.Override(s.Config, client, interaction.NewOverrides([]interaction.Override{
		{Tool: acp.MethodReadTextFile, Output: "text"}, {Tool: acp.MethodCreateTerminal, Output: "one"},
	}))
	turn := s.play(t, client, read("new.txt"), run("echo"))
	assert.Equal(t, []any{"text", "one"}, results(turn))
	assert.Empty(t, s.diverged)
}

// TestOverriddenTerminal asks for everything that a terminal can be asked: of an overridden one nothing reaches the
// client, of another all does.
func TestOverriddenTerminal(t *testing.T) {
	s := newScene(t, nil)
	client := clienttools.Override(s.Config, s.client(t), interaction.NewOverrides([]interaction.Override{
		{Tool: acp.MethodCreateTerminal, Args: map[string]any{"command": "one"}, Output: "in $WORKSPACE"},
		{Tool: acp.MethodCreateTerminal, Args: map[string]any{"command": "two"}, Error: "no terminals are left"},
	}))
	own := create(t, client, acp.CreateTerminalRequest{Command: "one"})
	other := create(t, client, acp.CreateTerminalRequest{Command: "sh", Args: []string{"-c", "echo two; exit 4"}})
	assert.NotEqual(t, own, other)
	_, err := client.Terminals.Create(t.Context(), acp.CreateTerminalRequest{Command: "two"})
	assert.ErrorContains(t, err, "no terminals are left")
	for _, want := range []struct {
		id, output string
		code       int
	}{{own, "in " + s.ws, 0}, {other, "two\n", 4}} {
		ended, err := client.Terminals.WaitForExit(t.Context(), acp.WaitForTerminalExitRequest{TerminalID: want.id})
		require.NoError(t, err)
		assert.Equal(t, &want.code, ended.ExitCode)
		got, err := client.Terminals.Output(t.Context(), acp.TerminalOutputRequest{TerminalID: want.id})
		require.NoError(t, err)
		assert.Equal(t, want.output, got.Output)
		_, err = client.Terminals.Kill(t.Context(), acp.KillTerminalRequest{TerminalID: want.id})
		require.NoError(t, err)
		_, err = client.Terminals.Release(t.Context(), acp.ReleaseTerminalRequest{TerminalID: want.id})
		require.NoError(t, err)
		_, err = client.Terminals.Output(t.Context(), acp.TerminalOutputRequest{TerminalID: want.id})
		assert.Error(t, err, "it is released")
	}
}

// TestOverriddenPermission holds that the agent is told the decision of an override, or its error, as if it were the
// user's.
func TestOverriddenPermission(t *testing.T) {
	override := func(o interaction.Override) (*scene, clienttools.Client) {
		s := newScene(t, nil)
		o.Tool = acp.MethodRequestPermission
		return s, clienttools.Override(s.Config, s.client(t), interaction.NewOverrides([]interaction.Override{o}))
	}
	for decision, want := range map[string]string{interaction.Cancelled: "cancelled", "allow_once": "allow"} {
		s, client := override(interaction.Override{Output: decision})
		turn, err := s.prompt(t, client, ask("Edit", map[string]any{"how": "write"}))
		if decision != interaction.Cancelled {
			require.NoError(t, err)
		}
		decided := ofType[trajectory.Permission](turn.Events)
		require.Len(t, decided, 1)
		assert.Equal(t, want, decided[0].Decision)
		assert.Empty(t, s.diverged)
	}
	s, client := override(interaction.Override{Error: "nobody is there"})
	_, err := s.prompt(t, client, ask("Edit", map[string]any{"how": "write"}))
	assert.ErrorContains(t, err, "nobody is there")

	s, client = override(interaction.Override{Output: "allow_once"})
	got, err := client.Permission(t.Context(), acp.RequestPermissionRequest{
		ToolCall: acp.ToolCallUpdate{ToolCallID: "1", Title: new("Edit")},
	})
	assert.ErrorContains(t, err, `the unknown tool call "1"`)
	assert.Equal(t, acp.Cancelled(), got)
	assert.Len(t, s.diverged, 1)
}

// TestOverrideOfAnotherWrite holds that a write that no override is about is done.
func TestOverrideOfAnotherWrite(t *testing.T) {
	s := newScene(t, nil)
	client := clienttools.Override(s.Config, s.client(t), interaction.NewOverrides([]interaction.Override{
		{Tool: acp.MethodWriteTextFile, Args: map[string]any{"path": "$WORKSPACE/a"}, Output: ""},
	}))
	s.play(t, client, write("a", "one"), write("b", "two"))
	assert.NoFileExists(t, filepath.Join(s.ws, "a"))
	text, err := os.ReadFile(filepath.Join(s.ws, "b"))
	require.NoError(t, err)
	assert.Equal(t, "two", string(text))
}

// TestInteractions holds what is compared of requests: nothing that they do not have.
func TestInteractions(t *testing.T) {
	all := clienttools.Interactions([]cassette.Turn{{Events: []trajectory.Event{
		{Body: trajectory.ToolStart{ID: "1", Name: "Edit", Title: "Edit a"}},
		{Body: trajectory.Message{Text: "no call"}},
		{Body: trajectory.Terminal{Command: "ls"}},
		{Body: trajectory.Terminal{Command: "ls", Args: []string{"-l"}, Cwd: "$WORKSPACE", Env: []string{"B", "A"}}},
		{Body: trajectory.Permission{ID: "1", Options: []trajectory.PermissionOption{{ID: "y", Kind: "allow_once"}}}},
	}}})
	args := make([]any, len(all))
	for i := range all {
		args[i] = all[i].Args
	}
	assert.Equal(t, []any{
		map[string]any{"command": "ls"},
		map[string]any{"command": "ls", "args": []string{"-l"}, "cwd": "$WORKSPACE", "env": []string{"A", "B"}},
		map[string]any{"tool": "Edit", "options": []string{"allow_once"}, "title": "Edit a"},
	}, args)
}

// TestOverrideByADecisionThatIsNotOffered holds that the agent is not answered something that it did not ask.
func TestOverrideByADecisionThatIsNotOffered(t *testing.T) {
	s := newScene(t, nil)
	client := clienttools.Override(s.Config, s.client(t), interaction.NewOverrides([]interaction.Override{
		{Tool: acp.MethodRequestPermission, Output: "reject_always"},
	}))
	_, err := s.prompt(t, client, ask("Edit", nil))
	require.Error(t, err)
	require.Len(t, s.diverged, 1)
	assert.EqualError(t, s.diverged[0],
		`an override answers session/request_permission with reject_always, `+
			`which the agent does not offer: ["allow_once" "reject_once"]`)
}

func TestOverrideKeepsWhatIsNotOffered(t *testing.T) {
	assert.Equal(t, clienttools.Client{}, clienttools.Override(clienttools.Config{}, clienttools.Client{}, nil))
}
