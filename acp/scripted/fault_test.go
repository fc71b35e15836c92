package scripted_test

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}` + "\n"

// writes keeps what is written and how.
type writes struct {
	text  strings.Builder
	sizes []int
}

func (w *writes) Write(p []byte) (int, error) {
	w.sizes = append(w.sizes, len(p))
	return w.text.Write(p)
}

// run lets an agent with these faults answer initialize and returns how it ended.
func run(t *testing.T, f scripted.Faults) (out *writes, stderr string, err error) {
	t.Helper()
	out = new(writes)
	var noise bytes.Buffer
	in := iotest.OneByteReader(strings.NewReader(initialize))
	err = scripted.Run(t.Context(), scripted.Script{Faults: f}, in, out, &noise)
	return out, noise.String(), err
}

func TestFaultsOfTheTransport(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":0,"result":{"agentCapabilities":{},` +
		`"agentInfo":{"name":"fake-acp","version":"1"},"authMethods":[],"protocolVersion":1}}`
	tests := []struct {
		name   string
		faults scripted.Faults
		want   string
	}{
		{"none", scripted.Faults{}, answer + "\n"},
		{"CRLF", scripted.Faults{CRLF: true}, answer + "\r\n"},
		{"blank lines", scripted.Faults{BlankLines: true}, "\n" + answer + "\n"},
		{"garbage", scripted.Faults{Garbage: "Loading…"}, "Loading…\n" + answer + "\n"},
		{
			"blank lines, garbage and CRLF",
			scripted.Faults{BlankLines: true, Garbage: "{", CRLF: true},
			"\r\n{\r\n" + answer + "\r\n",
		},
		{"version", scripted.Faults{ProtocolVersion: 2}, strings.Replace(answer, `sion":1}`, `sion":2}`, 1) + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, _, err := run(t, tt.faults)
			require.NoError(t, err)
			assert.Equal(t, tt.want, out.text.String())
			assert.Len(t, out.sizes, 1, "a line is one write")
		})
	}
}

func TestSplitWrites(t *testing.T) {
	whole, _, err := run(t, scripted.Faults{})
	require.NoError(t, err)
	out, _, err := run(t, scripted.Faults{SplitWrites: 7})
	require.NoError(t, err)
	assert.Equal(t, whole.text.String(), out.text.String())
	for _, n := range out.sizes[:len(out.sizes)-1] {
		assert.Equal(t, 7, n)
	}
}

func TestExitBeforeAnythingIsRead(t *testing.T) {
	out, _, err := run(t, scripted.Faults{Exit: new(7)})
	assert.Equal(t, &scripted.ExitError{Code: 7}, err)
	assert.Empty(t, out.sizes)
}

func TestStderrNoise(t *testing.T) {
	_, noise, err := run(t, scripted.Faults{Stderr: 100_000})
	require.NoError(t, err)
	assert.Len(t, noise, 100_001)
}

func TestFlood(t *testing.T) {
	c := open(t, turn(scripted.Action{Flood: &scripted.Flood{Updates: 3, Size: 4}}), t.TempDir())
	c.prompt()
	assert.Equal(t, []string{"0...", "1...", "2...", "end_turn"}, c.story())
}

func TestRawLines(t *testing.T) {
	c := open(t, turn(scripted.Action{Raw: " not JSON"}), t.TempDir())
	c.prompt()
	assert.Equal(t, " not JSON\n", c.line())
	assert.Equal(t, "end_turn", c.next().Result["stopReason"])
}

func TestRequestIDs(t *testing.T) {
	tests := []struct {
		ids  scripted.RequestIDs
		want []string // for two requests in each of two turns, whose prompts are 2 and 3
	}{
		{"", []string{"0", "1", "2", "3"}},
		{scripted.CountIDs, []string{"0", "1", "2", "3"}},
		{scripted.PromptIDs, []string{"2", "2", "3", "3"}},
		{scripted.StringIDs, []string{`"request-0"`, `"request-1"`, `"request-2"`, `"request-3"`}},
	}
	for _, tt := range tests {
		t.Run(string(tt.ids), func(t *testing.T) {
			read := scripted.Action{Read: &scripted.Read{Path: "x"}}
			s := turn(read, read)
			s.Repeat, s.Faults.RequestIDs = true, tt.ids
			c := open(t, s, t.TempDir())
			var got []string
			for range 2 {
				c.prompt()
				for range 2 {
					f := c.expect("fs/read_text_file")
					got = append(got, string(f.ID))
					c.answer(f, `{"content":""}`)
				}
				assert.Equal(t, strconv.Itoa(c.ids-1), string(c.next().ID))
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestExitAfterTheAnswer(t *testing.T) {
	after := []scripted.Action{{Exit: &scripted.Exit{Code: 4}}, say("not reached")}
	s := scripted.Script{Turns: []scripted.Turn{{After: after}}}
	c := open(t, s, t.TempDir())
	c.prompt()
	assert.Equal(t, "end_turn", c.next().Result["stopReason"])
	_, err := c.lines.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, &scripted.ExitError{Code: 4}, c.agent.Wait())
}

func TestExitInsideAToolCallSaysNothingMore(t *testing.T) {
	c := open(t, turn(tool(scripted.Action{Exit: &scripted.Exit{}})), t.TempDir())
	c.prompt()
	assert.Equal(t, "pending", c.next().update("status"))
	assert.Equal(t, "in_progress", c.next().update("status"))
	_, err := c.lines.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestLateUpdates(t *testing.T) {
	s := scripted.Script{Turns: []scripted.Turn{{After: []scripted.Action{say("late")}}}}
	c := open(t, s, t.TempDir())
	c.prompt()
	assert.Equal(t, "end_turn", c.next().Result["stopReason"])
	assert.Equal(t, map[string]any{"type": "text", "text": "late"}, c.next().update("content"))
}

func TestStopReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, turn(scripted.Action{StopReading: true}, say("deaf"), scripted.Action{Silence: true}), t.TempDir())
		c.prompt()
		assert.Equal(t, map[string]any{"type": "text", "text": "deaf"}, c.next().update("content"))
		wrote := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c.agent.Stdin, strings.Repeat(strings.Repeat(" ", 100_000)+"\n", 10))
			wrote <- err
		}()
		synctest.Wait()
		select {
		case err := <-wrote:
			t.Errorf("the agent took a megabyte (%v)", err)
		default:
		}
		require.NoError(t, c.agent.Stdin.Close())
		assert.ErrorIs(t, <-wrote, io.ErrClosedPipe)
	})
}
