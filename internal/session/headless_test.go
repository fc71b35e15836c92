package session

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/mock"
	"github.com/sdd-eval/sdd-eval/internal/mock/mockdir"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// TestHeadless holds sessions with a program that is started for each prompt.
func TestHeadless(t *testing.T) {
	const (
		begin  = `{"type":"system","subtype":"init","session_id":"s1","claude_code_version":"1.2.3"}` + "\n"
		finish = `{"type":"result","subtype":"success","stop_reason":"end_turn",` +
			`"usage":{"input_tokens":100,"output_tokens":10}}` + "\n"
		denied = `{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t1"}` + "\n"
	)
	failed := func(status, text string) string {
		return begin + `{"type":"result","subtype":"success","is_error":true` + status + `,"result":"` + text + `"}` +
			"\n"
	}
	tests := []struct {
		name, reason string
		more         string
		prints       []string // to each prompt
		code         int
		stops        string
		err          string
		transient    bool
	}{
		{name: "two prompts", prints: []string{begin + finish, begin + finish}, stops: "end_turn end_turn"},
		{
			name: "tokens", reason: "turns add up", more: "limits: {max_tokens: 150}",
			prints: []string{begin + finish, begin + finish}, stops: "end_turn token_limit",
		},
		{
			name: "model refused", reason: "it will again",
			prints: []string{failed(`,"api_error_status":400`, "Bad request")},
			err:    "the model could not be asked: Bad request",
		},
		{
			name: "model overloaded", reason: "it may be had later",
			prints: []string{failed(`,"api_error_status":529`, "Overloaded")}, err: "Overloaded", transient: true,
		},
		{
			name: "model gone", reason: "there was no status", prints: []string{failed("", "API Error: 503")},
			err:       "503",
			transient: true,
		},
		{
			name: "no session", reason: "it did not begin", prints: []string{""}, code: 3,
			err: "the agent ended without a result: exit code 3", transient: true,
		},
		{
			name: "no result", reason: "it had begun", prints: []string{begin}, code: 4,
			err: "the agent ended without a result: exit code 4",
		},
		{name: "no JSON", prints: []string{begin + "Hello\n"}, err: "read a line of the agent's output"},
		{
			name: "denied", reason: "the playbook expects no question", more: "permissions: {default: error}",
			prints: []string{begin + denied + finish},
			err:    errPermission.Error() + ": Bash",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config(t, tt.more, scripted.Script{})
			c.Profile = agent.Profile{Kind: "test", Headless: &agent.Headless{UnaskedMode: "unasked"}}
			prints := tt.prints
			c.startChild = func(context.Context, supervise.Command, confine.Policy) (child, error) {
				ended := &played{done: make(chan struct{}), cancel: func() {}, err: &scripted.ExitError{Code: tt.code}}
				close(ended.done)
				said := prints[0]
				prints = prints[1:]
				return child{ended, nil, strings.NewReader(said)}, nil
			}
			o := hold(t.Context(), c, "one", "two")
			if tt.err != "" {
				require.ErrorContains(t, o.err, tt.err, tt.reason)
				require.Equal(t, tt.transient, fault.IsTransient(o.err), tt.reason)
				return
			}
			require.NoError(t, o.err)
			require.Equal(t, tt.stops, o.stops(), tt.reason)
		})
	}
}

// TestInstallHooks: hooks that cannot be installed are an error, since nobody would see what the agent does.
func TestInstallHooks(t *testing.T) {
	made := func(change func(*Config)) error {
		c := config(t, "", script())
		c.TempDir, c.Getenv = t.TempDir(), func(string) string { return "" }
		change(&c)
		h, err := installHooks(&c)
		require.NoError(t, h.remove())
		return err
	}
	require.NoError(t, made(func(*Config) {}))
	require.Error(t, made(func(c *Config) { c.TempDir = filepath.Join(c.TempDir, "none") }))
	require.Error(t, made(func(c *Config) { c.Getenv = func(string) string { return "../no id" } }))
	require.ErrorIs(t, made(func(c *Config) {
		require.NoError(t, os.Mkdir(filepath.Join(c.Dirs.Base, "hooks"), 0o700))
	}), os.ErrExist)
}

// TestHeadlessMock: what the program asks of a server that is played is of the turn, where it was asked.
func TestHeadlessMock(t *testing.T) {
	const begin = `{"type":"system","subtype":"init","session_id":"s1","claude_code_version":"1.2.3"}` + "\n"
	c := config(t, "mcp: [{name: shop, mock: [shop]}]", scripted.Script{})
	c.Profile = agent.Profile{Kind: "test", Headless: &agent.Headless{UnaskedMode: "unasked"}}
	c.Mocks = mockdir.Set{{Name: "shop", Tools: map[string]mock.Tool{"sell": {Body: "sold"}}}}
	c.startChild = func(context.Context, supervise.Command, confine.Policy) (child, error) {
		relay, err := helper.Find()
		require.NoError(t, err)
		argv := relay.Command(helper.Relay, filepath.Join(c.Dirs.Base, "mcp", "0.sock"))
		asks := exec.Command(argv[0], argv[1:]...)
		in, err := asks.StdinPipe()
		require.NoError(t, err)
		out, err := asks.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, asks.Start())
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n"+
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sell","arguments":{"sku":7}}}`+"\n")
		require.NoError(t, err)
		answers := bufio.NewScanner(out)
		require.True(t, answers.Scan())
		require.True(t, answers.Scan())
		require.Contains(t, answers.Text(), `"text":"sold"`)
		require.NoError(t, in.Close())
		require.NoError(t, asks.Wait())
		ended := &played{done: make(chan struct{}), cancel: func() {}, err: &scripted.ExitError{}}
		close(ended.done)
		return child{ended, nil, strings.NewReader(
			begin + `{"type":"result","subtype":"success","stop_reason":"end_turn"}` + "\n")}, nil
	}
	o := hold(t.Context(), c, "one")
	require.NoError(t, o.err)
	var seen []trajectory.Body
	for _, e := range o.session.Run().Events {
		seen = append(seen, e.Body)
	}
	require.Equal(t, trajectory.Body(trajectory.MCPCall{
		Server: "shop", Method: "tools/call", Tool: "sell", Params: map[string]any{"sku": json.Number("7")},
		Result: map[string]any{"content": []any{map[string]any{"type": "text", "text": "sold"}}},
	}), seen[1])
	require.IsType(t, trajectory.Stop{}, seen[len(seen)-1])
}

func TestContinues(t *testing.T) {
	for _, arg := range []string{"--resume", "--resume=FILE", "-r", "--continue", "-c", "-pc", "-rID", "-prID"} {
		assert.True(t, continues.MatchString(arg), arg)
	}
	for _, arg := range []string{"-p", "-dc", "--resume-not", "FILE", "--model=-c"} {
		assert.False(t, continues.MatchString(arg), arg)
	}
}
