//go:build unix

package clienttools_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction/clienttools"
)

// replaying returns a client that answers from events.
func replaying(t testing.TB, events ...trajectory.Body) (*scene, clienttools.Client) {
	t.Helper()
	var turn cassette.Turn
	for _, b := range events {
		turn.Events = append(turn.Events, trajectory.Event{Turn: 1, Body: b})
	}
	s := newScene(t, nil)
	return s, s.replay(clienttools.Interactions([]cassette.Turn{turn}))
}

func create(t testing.TB, client clienttools.Client, r acp.CreateTerminalRequest) (id string) {
	t.Helper()
	created, err := client.Terminals.Create(t.Context(), r)
	require.NoError(t, err)
	return created.TerminalID
}

func TestTerminalOutput(t *testing.T) {
	limit := func(n int64) *int64 { return &n }
	tests := []struct {
		name, reason string
		recorded     trajectory.Terminal
		limit        *int64
		want         acp.TerminalOutputResponse
	}{
		{
			name: "exit code", recorded: trajectory.Terminal{Output: "a", ExitCode: new(3)},
			want: acp.TerminalOutputResponse{Output: "a", ExitStatus: &acp.TerminalExitStatus{ExitCode: new(3)}},
		},
		{
			name: "signal", recorded: trajectory.Terminal{Truncated: true, Signal: "SIGKILL"},
			want: acp.TerminalOutputResponse{Truncated: true, ExitStatus: &acp.TerminalExitStatus{Signal: "SIGKILL"}},
		},
		{
			name: "never ended", recorded: trajectory.Terminal{Output: "a"},
			want: acp.TerminalOutputResponse{Output: "a"},
		},
		{
			name: "within the limit", reason: "it was cut when it was recorded",
			recorded: trajectory.Terminal{Output: "6789", Truncated: true},
			limit:    limit(4), want: acp.TerminalOutputResponse{Output: "6789", Truncated: true},
		},
		{
			name: "over the limit", reason: "the limit is not recorded, and may be another",
			recorded: trajectory.Terminal{Output: "aé6789"},
			limit:    limit(5), want: acp.TerminalOutputResponse{Output: "6789", Truncated: true},
		},
		{
			name: "a limit of nothing", recorded: trajectory.Terminal{Output: "a"}, limit: limit(0),
			want: acp.TerminalOutputResponse{Truncated: true},
		},
		{
			name: "no limit", reason: "as it makes no sense",
			recorded: trajectory.Terminal{Output: "a"}, limit: limit(-1),
			want: acp.TerminalOutputResponse{Output: "a"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.recorded.Command = "go"
			_, client := replaying(t, tt.recorded)
			id := create(t, client, acp.CreateTerminalRequest{Command: "go", OutputByteLimit: tt.limit})
			got, err := client.Terminals.Output(t.Context(), acp.TerminalOutputRequest{TerminalID: id})
			require.NoError(t, err)
			assert.Equal(t, tt.want, got, tt.reason)
		})
	}
}

// TestTerminalVariables holds that variables are known by their names, in any order: values are not recorded.
func TestTerminalVariables(t *testing.T) {
	s, client := replaying(t, trajectory.Terminal{Command: "go", Env: []string{"B", "A"}})
	create(t, client, acp.CreateTerminalRequest{
		Command: "go",
		Env:     []acp.EnvVariable{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
	})
	_, err := client.Terminals.Create(t.Context(),
		acp.CreateTerminalRequest{Command: "go", Env: []acp.EnvVariable{{Name: "A"}}})
	require.ErrorContains(t, err, `first difference: env[1]: recorded "B", asked nothing`)
	assert.Len(t, s.diverged, 1)
}

// TestTerminalThatNeverEnded holds that a command runs until it is killed, or released, if its end was not recorded.
func TestTerminalThatNeverEnded(t *testing.T) {
	_, client := replaying(t, trajectory.Terminal{Command: "serve"}, trajectory.Terminal{Command: "serve"})
	waiting := func(ctx context.Context, id string, want acp.WaitForTerminalExitResponse, wantErr error) (wait func()) {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				got, err := client.Terminals.WaitForExit(ctx, acp.WaitForTerminalExitRequest{TerminalID: id})
				assert.Equal(t, want, got)
				assert.ErrorIs(t, err, wantErr)
			})
		}
		return all.Wait
	}
	killed := acp.WaitForTerminalExitResponse{Signal: "SIGTERM"}
	id := create(t, client, acp.CreateTerminalRequest{Command: "serve"})
	ctx, cancel := context.WithCancel(t.Context())
	wait := waiting(ctx, id, acp.WaitForTerminalExitResponse{}, context.Canceled)
	cancel()
	wait()
	wait = waiting(t.Context(), id, killed, nil)
	_, err := client.Terminals.Kill(t.Context(), acp.KillTerminalRequest{TerminalID: id})
	require.NoError(t, err)
	wait()
	out, err := client.Terminals.Output(t.Context(), acp.TerminalOutputRequest{TerminalID: id})
	require.NoError(t, err)
	assert.Equal(t, "SIGTERM", out.ExitStatus.Signal)

	id = create(t, client, acp.CreateTerminalRequest{Command: "serve"})
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, err := client.Terminals.WaitForExit(t.Context(), acp.WaitForTerminalExitRequest{TerminalID: id})
		if err != nil { // it was released before
			requireCode(t, acp.CodeResourceNotFound, err)
		}
	}()
	_, err = client.Terminals.Release(t.Context(), acp.ReleaseTerminalRequest{TerminalID: id})
	require.NoError(t, err)
	<-shown
}

func TestNoSuchTerminal(t *testing.T) {
	_, client := replaying(t, trajectory.Terminal{Command: "go", ExitCode: new(0)})
	id := create(t, client, acp.CreateTerminalRequest{Command: "go"})
	_, err := client.Terminals.Release(t.Context(), acp.ReleaseTerminalRequest{TerminalID: id})
	require.NoError(t, err)
	for _, id := range []string{id, "terminal-9", ""} {
		_, err := client.Terminals.Output(t.Context(), acp.TerminalOutputRequest{TerminalID: id})
		requireCode(t, acp.CodeResourceNotFound, err)
		_, err = client.Terminals.WaitForExit(t.Context(), acp.WaitForTerminalExitRequest{TerminalID: id})
		requireCode(t, acp.CodeResourceNotFound, err)
		_, err = client.Terminals.Kill(t.Context(), acp.KillTerminalRequest{TerminalID: id})
		requireCode(t, acp.CodeResourceNotFound, err)
		_, err = client.Terminals.Release(t.Context(), acp.ReleaseTerminalRequest{TerminalID: id})
		requireCode(t, acp.CodeResourceNotFound, err)
	}
}

func requireCode(t testing.TB, code int, err error) {
	t.Helper()
	var e *acp.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.Code, e.Message)
}
