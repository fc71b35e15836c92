package convert

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// claudeFile writes a transcript: each line is "parent>uuid type", then what it says. The lines are a second apart.
type claudeFile struct {
	lines []string
}

func (c *claudeFile) line(id, parent, kind, rest string) *claudeFile {
	at := fmt.Sprintf("2026-01-02T03:04:%02dZ", len(c.lines))
	c.lines = append(c.lines,
		fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%q,"timestamp":%q,"version":"2.1.0","cwd":"/w",%s}`, kind, id,
			parent, at, rest))
	return c
}

func (c *claudeFile) user(id, parent, text string) *claudeFile {
	return c.line(id, parent, "user", fmt.Sprintf(`"message":{"content":%q}`, text))
}

func (c *claudeFile) says(id, parent, text string) *claudeFile {
	return c.line(id, parent, "assistant",
		fmt.Sprintf(`"message":{"id":%q,"stop_reason":"end_turn","content":[{"type":"text","text":%q}]}`, id, text))
}

func (c *claudeFile) calls(id, parent, call, tool string) *claudeFile {
	return c.line(id, parent, "assistant",
		fmt.Sprintf(`"message":{"id":%q,"stop_reason":"tool_use","content":[{"type":"tool_use","id":%q,"name":%q,`+
			`"input":{}}]}`, id, call, tool))
}

func (c *claudeFile) gets(id, parent, call, text string) *claudeFile {
	return c.line(id, parent, "user",
		fmt.Sprintf(`"message":{"content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, call, text))
}

func (c *claudeFile) raw(line string) *claudeFile {
	c.lines = append(c.lines, line)
	return c
}

// write returns the file.
func (c *claudeFile) write(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(c.lines, "\n")+"\n"), 0o644))
	return file
}

// short returns a session as text, a word for each event.
func short(s *Session) string {
	var words []string
	for _, events := range s.Turns {
		for _, e := range events {
			switch b := e.Body.(type) {
			case trajectory.Prompt:
				words = append(words, "prompt:"+b.Text)
			case trajectory.Message:
				words = append(words, "says:"+b.Text)
			case trajectory.ToolStart:
				words = append(words, "calls:"+b.Name)
			case trajectory.ToolEnd:
				words = append(words, string(b.Status))
			case trajectory.Notice:
				words = append(words, b.Name)
			case trajectory.Stop:
				words = append(words, "stop:"+b.Reason)
			default:
				words = append(words, b.EventName())
			}
		}
	}
	return strings.Join(words, " ")
}

func begin() *claudeFile { return (&claudeFile{}).user("1", "", "Go.") }

func TestClaude(t *testing.T) {
	tests := []struct {
		name, reason string
		from         *claudeFile
		want         string
	}{
		{"an answer", "", begin().says("2", "1", "ok"), "prompt:Go. says:ok stop:end_turn"},
		{
			"calls made together", "each result follows its own call",
			begin().calls("2", "1", "a", "Read").calls("3", "2", "b", "Grep").
				gets("4", "2", "a", "x").gets("5", "3", "b", "y").says("6", "5", "ok"),
			"prompt:Go. calls:Read calls:Grep completed completed says:ok stop:end_turn",
		},
		{
			"a prompt that was taken back", "its lines stay in the file",
			begin().calls("2", "1", "a", "Bash").gets("3", "2", "a", "x").says("4", "3", "no").
				user("5", "", "Go on.").says("6", "5", "ok"),
			"prompt:Go on. says:ok stop:end_turn",
		},
		{
			"a second prompt that was taken back", "",
			begin().says("2", "1", "ok").user("3", "2", "Wrong.").says("4", "3", "hm").
				user("5", "2", "Right.").says("6", "5", "yes"),
			"prompt:Go. says:ok stop:end_turn prompt:Right. says:yes stop:end_turn",
		},
		{
			"a parent that is not in the file", "the file begins in the middle of the program's own lines",
			begin().says("2", "lost", "ok"),
			"prompt:Go. says:ok stop:end_turn",
		},
		{
			"a context that was compacted", "", begin().says("2", "1", "ok").
				line("3", "", "system",
					`"subtype":"compact_boundary","logicalParentUuid":"2","content":"Conversation compacted"`).
				line("4", "3", "user", `"isCompactSummary":true,"message":{"content":"In short: go."}`).user("5", "4",
				"More.").says("6", "5", "yes"),
			"prompt:Go. says:ok claude:compact_boundary claude:user stop:end_turn prompt:More. says:yes stop:end_turn",
		},
		{
			"interrupted", "",
			begin().calls("2", "1", "a", "Bash").user("3", "2", "[Request interrupted by user for tool use]"),
			"prompt:Go. calls:Bash cancelled stop:cancelled",
		},
		{
			"killed, then asked again", "a turn that the next prompt ends was cancelled",
			begin().calls("2", "1", "a", "Bash").
				user("3", "2", "Again.").says("4", "3", "ok"),
			"prompt:Go. calls:Bash stop:cancelled prompt:Again. says:ok stop:end_turn",
		},
		{
			"a command of the program", "it is not for the agent", begin().says("2", "1", "ok").
				user("3", "2", "<command-name>/cost</command-name>\n<command-args></command-args>").
				user("4", "3", "<local-command-stdout>free</local-command-stdout>"),
			"prompt:Go. says:ok stop:end_turn",
		},
		{
			"a command for the agent", "",
			(&claudeFile{}).user("1", "", "<command-message>review</command-message>\n"+
				"<command-name>/review</command-name>\n<command-args>all of it</command-args>").
				line("2", "1", "user", `"isMeta":true,"message":{"content":"Review this."}`).says("3", "2", "ok"),
			"prompt:/review all of it says:ok stop:end_turn",
		},
		{
			"the model failed and was asked again", "", begin().
				line("2", "1", "assistant",
					`"isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API `+
						`Error: 529"}]}`).
				says("3", "2", "ok"),
			"prompt:Go. claude:api_error says:ok stop:end_turn",
		},
		{
			"a tool of the model's service", "", begin().
				line("2", "1", "assistant",
					`"message":{"stop_reason":"end_turn","content":[{"type":"server_tool_use","id":"a",`+
						`"name":"web_search","input":{"query":"q"}},`+
						`{"type":"web_search_tool_result","tool_use_id":"a","content":[]},`+
						`{"type":"text","text":"ok"}]}`),
			"prompt:Go. calls:web_search completed says:ok stop:end_turn",
		},
		{
			"an agent in the same file", "older versions write it so", begin().calls("2", "1", "a", "Task").
				line("3", "", "user", `"isSidechain":true,"message":{"content":"Help."}`).
				line("4", "3", "assistant",
					`"isSidechain":true,"message":{"stop_reason":"tool_use","content":[{"type":"tool_use","id":"b",`+
						`"name":"Bash","input":{}}]}`).
				line("5", "4", "user",
					`"isSidechain":true,`+
						`"message":{"content":[{"type":"tool_result","tool_use_id":"b","content":"x"}]}`).
				gets("6", "2", "a", "done").says("7", "6", "ok"),
			"prompt:Go. calls:Task subagent:prompt calls:Bash completed completed says:ok stop:end_turn",
		},
		{
			"refused", "",
			begin().line("2", "1", "assistant",
				`"message":{"stop_reason":"refusal","content":[{"type":"text","text":"no"}]}`),
			"prompt:Go. says:no stop:refusal",
		},
		{
			"cut short", "",
			begin().line("2", "1", "assistant",
				`"message":{"stop_reason":"max_tokens","content":[{"type":"text","text":"a"}]}`),
			"prompt:Go. says:a stop:max_tokens",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(Claude, tt.from.write(t), Options{Stop: "end_turn"})
			require.NoError(t, err, tt.reason)
			assert.Equal(t, tt.want, short(s), tt.reason)
		})
	}
}

func TestClaudeLeft(t *testing.T) {
	s, err := Read(Claude, begin().says("2", "1", "no").user("3", "", "Go on.").says("4", "3", "ok").write(t),
		Options{Stop: "end_turn"})
	require.NoError(t, err)
	assert.Equal(t, []string{"turns that the user took back: 1"}, s.Left)
}

func TestClaudeErrors(t *testing.T) {
	tests := []struct {
		name string
		from *claudeFile
		want string // behind the file's name
	}{
		{"half a line", begin().raw(`{"type":"assi`), ":2: this is not JSON: the text is incomplete: unexpected EOF"},
		{"two values", begin().raw(`{"type":"tag"} {}`), ":2: this is not JSON: text after the JSON value"},
		{"a list", begin().raw(`[]`), ":2: the line is of type array, which the format does not allow"},
		{"no type", begin().raw(`{}`), ":2: the line has no type: this is not a session file"},
		{
			"an unknown type", begin().raw(`{"type":"telepathy"}`),
			`:2: unknown line type "telepathy"; if such lines do not belong to the session, ` +
				`skip them with --ignore telepathy`,
		},
		{
			"no uuid", (&claudeFile{}).line("", "", "user", `"message":{"content":"x"}`),
			":1: the line of type user has no uuid",
		},
		{"no time", begin().raw(`{"type":"user","uuid":"2","timestamp":"now"}`), `:2: invalid timestamp "now"`},
		{
			"nothing asked", (&claudeFile{}).raw(`{"type":"summary"}`),
			": the file has no prompt",
		},
		{"empty", &claudeFile{}, ": the file has no prompt"},
		{"no prompt first", (&claudeFile{}).says("1", "", "ok"), ":1: the agent acts before the first prompt"},
		{
			"no answer", begin(),
			": turn 1 has not ended: it does not end with a message of the agent (if it did, " +
				"give the reason with --stop REASON)",
		},
		{
			"an open call", begin().calls("2", "1", "a", "Bash"),
			": turn 1 has not ended: no result of a (if it did, give the reason with --stop REASON)",
		},
		{
			"killed before it called",
			begin().line("2", "1", "assistant",
				`"message":{"stop_reason":"tool_use","content":[{"type":"text","text":"I'll look."}]}`),
			": turn 1 has not ended: it does not end with a message of the agent (if it did, " +
				"give the reason with --stop REASON)",
		},
		{
			"no word after the last result", begin().calls("2", "1", "a", "Bash").gets("3", "2", "a", "x"),
			": turn 1 has not ended: it does not end with a message of the agent (if it did, " +
				"give the reason with --stop REASON)",
		},
		{
			"a result of nothing", begin().gets("2", "1", "a", "x"),
			`:2: result of unknown tool call "a"`,
		},
		{
			"a second result", begin().calls("2", "1", "a", "Bash").gets("3", "2", "a", "x").gets("4", "3", "a", "x"),
			`:4: duplicate result of tool call "a"`,
		},
		{
			"a result of neither text nor parts",
			begin().calls("2", "1", "a", "Bash").line("3", "2", "user",
				`"message":{"content":[{"type":"tool_result","tool_use_id":"a","content":{}}]}`),
			":3: the line is of type object, which the format does not allow",
		},
		{
			"an id twice", begin().calls("2", "1", "a", "Bash").calls("3", "2", "a", "Bash"),
			`:3: missing or duplicate tool call id "a"`,
		},
		{
			"an unknown part", begin().line("2", "1", "assistant", `"message":{"content":[{"type":"hologram"}]}`),
			`:2: unknown block type "hologram"`,
		},
		{
			"an unknown end", begin().line("2", "1", "assistant", `"message":{"stop_reason":"bored","content":[]}`),
			`:2: unknown stop reason "bored"`,
		},
		{
			"a word in between",
			begin().calls("2", "1", "a", "Bash").line("3", "2", "attachment",
				`"attachment":{"type":"queued_command","prompt":"Stop.","commandMode":"prompt"}`),
			":3: the user sent a message during a turn, which a unit cannot do",
		},
		{
			"the model failed",
			begin().line("2", "1", "assistant",
				`"isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"API Error: 529"}]}`),
			": the session ended because its model failed, so nothing is known about the agent: API Error: 529",
		},
		{
			"an agent nobody names",
			begin().calls("2", "1", "a", "Agent").gets("3", "2", "a", "done").says("4", "3", "ok"),
			":3: a subagent worked for the session, but the line does not name it",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := tt.from.write(t)
			_, err := Read(Claude, file, Options{})
			assert.EqualError(t, err, file+tt.want)
		})
	}
}

// A subagent whose transcript is missing is an error, since its calls are unknown.
func TestClaudeSubagentIsMissing(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "claude", "delegate.jsonl"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "delegate.jsonl")
	require.NoError(t, os.WriteFile(file, data, 0o644))
	_, err = Read(Claude, file, Options{Stop: "end_turn"})
	assert.ErrorContains(t, err,
		": the file of subagent a8f173dcf8ac43edf is missing: ")
	assert.ErrorIs(t, err, os.ErrNotExist)

	// Nor does a file of another one count, whatever the id makes of its path.
	other := filepath.Join(strings.TrimSuffix(file, ".jsonl"), "subagents", "agent-x.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(other), "agent-a"), 0o755))
	require.NoError(t, os.WriteFile(other, nil, 0o644))
	data = bytes.ReplaceAll(data, []byte("a8f173dcf8ac43edf"), []byte("a/../agent-x"))
	require.NoError(t, os.WriteFile(file, data, 0o644))
	_, err = Read(Claude, file, Options{Stop: "end_turn"})
	assert.ErrorContains(t, err, ": the file of subagent a/../agent-x is missing: ")
}

func TestStopAndIgnore(t *testing.T) {
	file := begin().calls("2", "1", "a", "Bash").gets("3", "2", "a", "x").raw(`{"type":"telepathy"}`).write(t)
	s, err := Read(Claude, file, Options{Stop: "max_turn_requests", Ignore: []string{"telepathy"}})
	require.NoError(t, err)
	assert.Equal(t, "prompt:Go. calls:Bash completed stop:max_turn_requests", short(s))
}

// TestClaudeExitCodes holds that an exit code is not known where nothing tells it: Claude takes that of a grep which
// found nothing for no failure.
func TestClaudeExitCodes(t *testing.T) {
	for _, tt := range []struct {
		name, told, returned string
		want                 *int
	}{
		{"ok", "a", `{"stdout":"a","stderr":""}`, new(int)},
		{"failed", `Exit code 2\nno`, `"Error: Exit code 2"`, new(2)},
		{"found nothing", "", `{"stdout":"","returnCodeInterpretation":"No matches found"}`, nil},
		{"in the background", "", `{"stdout":"","backgroundTaskId":"b"}`, nil},
		{"interrupted", "", `{"stdout":"","interrupted":true}`, nil},
	} {
		rest := fmt.Sprintf(`"message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"%s"}]},`+
			`"toolUseResult":%s`, tt.told, tt.returned)
		file := begin().calls("2", "1", "a", "Bash").line("3", "2", "user", rest).says("4", "3", "ok").write(t)
		s, err := Read(Claude, file, Options{Stop: "end_turn"})
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.want, s.Turns[0][2].Body.(trajectory.ToolEnd).ExitCode, tt.name)
	}
}

// The output tokens of an answer are unknown until it ends.
func TestClaudeTokens(t *testing.T) {
	s, err := Read(Claude, filepath.Join("testdata", "claude", "client-fix-bug.jsonl"), Options{Stop: "end_turn"})
	require.NoError(t, err)
	u := s.Turns[0][len(s.Turns[0])-1].Body.(trajectory.Stop).Usage
	require.NotNil(t, u)
	assert.Equal(t, int64(9000), *u.Input)
	assert.Nil(t, u.Output)
	assert.Nil(t, u.Total)
}

func TestLongLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.jsonl")
	require.NoError(t, os.WriteFile(file, append([]byte(`{"type":"`), make([]byte, maxLine)...), 0o644))
	_, err := Read(Claude, file, Options{Stop: "end_turn"})
	assert.EqualError(t, err, file+":1: the line has more than 67108864 bytes")
	_, err = Read(Claude, t.TempDir(), Options{Stop: "end_turn"})
	assert.ErrorContains(t, err, ": not a regular file")
}

func FuzzClaude(f *testing.F) {
	for _, file := range samples(f, Claude) {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(strings.Join(begin().calls("2", "1", "a", "Read").gets("3", "2", "a", "x").user("5", "",
		"Go on.").says("6", "5", "ok").lines, "\n")))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, Claude, data) })
}
