//go:build unix

package clienttools_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
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
