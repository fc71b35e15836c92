package observe

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTurnTooLarge feeds what comes again and again until it is too much.
func TestTurnTooLarge(t *testing.T) {
	ask := func(method, params string) func(int) []string {
		return func(i int) []string {
			return []string{fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"sessionId":"s",%s}}`, i,
				method, params)}
		}
	}
	one := func(line string) func(int) []string { return func(int) []string { return []string{line} } }
	text := `"` + strings.Repeat("x", 2000) + `"`
	tests := []struct {
		name, reason string
		within       int // so many times it is too much; 0: never
		lines        func(i int) []string
	}{
		{"message", "", 500, one(chunk("agent_message_chunk"))},
		{"thought", "", 500, one(chunk("agent_thought_chunk"))},
		{"printed", "", 500, one(printedChunk("1"))},
		{"plans", "", 10, one(update(`"sessionUpdate":"plan","entries":[{"content":` + text +
			`,"priority":"low","status":"pending"}]`))},
		{"notices", "", 10, one(`<{"jsonrpc":"2.0","method":"_x/y","params":{"text":` + text + `}}`)},
		{"small events", "each takes its place", 500, one(`<{"jsonrpc":"2.0","method":"_x","params":1}`)},
		{"unknown updates", "", 10, one(update(`"sessionUpdate":"x","text":` + text))},
		{"calls", "", 10, func(i int) []string {
			return []string{update(fmt.Sprintf(`"sessionUpdate":"tool_call","toolCallId":"%d","rawInput":{"text":%s}`,
				i, text))}
		}},
		{"writes", "", 10, ask("fs/write_text_file", `"path":"a","content":`+text)},
		{"terminals", "", 10, ask("terminal/create", `"command":"x","args":[`+text+`]`)},
		{"reads", "", 10, func(i int) []string {
			return append(ask("fs/read_text_file", `"path":"a"`)(i),
				fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"result":{"content":%s}}`, i, text))
		}},
		{
			"input again", "the last counts", 0,
			one(update(`"sessionUpdate":"tool_call_update","toolCallId":"1","rawInput":{"text":` + text + `}`)),
		},
		{
			"output again", "the last counts", 0,
			one(update(`"sessionUpdate":"tool_call_update","toolCallId":"1","rawOutput":{"text":` + text + `}`)),
		},
		{
			"content again", "the last counts", 0,
			one(update(`"sessionUpdate":"tool_call_update","toolCallId":"1","content":[{"type":"content",` +
				`"content":{"type":"text","text":` +
				text + `}},{"type":"diff","path":"a","newText":` + text + `}]`)),
		},
		{
			"all output again", "the last counts", 0,
			one(update(`"sessionUpdate":"tool_call_update","toolCallId":"1","_meta":{"terminal_output":{"data":` +
				text + `}}`)),
		},
		{"terminal output again", "agents ask for it many times", 0, func(i int) []string {
			if i == 1 {
				return append(ask("terminal/create", `"command":"x"`)(1),
					`>{"jsonrpc":"2.0","id":1,"result":{"terminalId":"t"}}`)
			}
			return append(ask("terminal/output", `"terminalId":"t"`)(i),
				fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"result":{"output":%s,"truncated":false}}`, i, text))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Observer{limit: 20_000}
			feed(t, &o, prompt)
			for i := 1; i <= cmp.Or(tt.within, 500) && o.Err() == nil; i++ {
				feed(t, &o, tt.lines(i)...)
				if i == 2 {
					require.NoError(t, o.Err())
				}
			}
			if tt.within == 0 {
				require.NoError(t, o.Err(), tt.reason)
				return
			}
			require.ErrorIs(t, o.Err(), ErrTooLarge, tt.reason)
			size := o.size
			feed(t, &o, tt.lines(1000)...)
			assert.Equal(t, size, o.size, "nothing is added to what is too large")
			assert.NotEmpty(t, o.Turn(), "what came before is there")
			assert.ErrorIs(t, o.Err(), ErrTooLarge, "what follows is not known")
		})
	}
}

// TestSessionLimit: turns that are small each are too much together.
func TestSessionLimit(t *testing.T) {
	o := Observer{limit: 50_000}
	for i := range 4 {
		feed(t, &o, prompt,
			update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`+strings.Repeat("x",
				15_000)+`"}`), endTurn)
		o.Turn()
		require.Equal(t, i == 3, o.Err() != nil, i)
	}
	require.EqualError(t, o.Err(), "the agent sent too much in one session: more than 50000 bytes")
}
