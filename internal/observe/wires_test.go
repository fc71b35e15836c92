package observe

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestWires reads sessions in which real agents did the same work: a command that fails with 3, a file read, another
// edited, one written, and two calls of the tool "count" of the MCP server "stock", of which the second fails. Whatever
// an agent writes, the same must be told of it, but for what it does not say.
func TestWires(t *testing.T) {
	silent := map[string]string{"exit code": "gemini", "tokens": "codex"}
	files, err := filepath.Glob("testdata/wires/*.ndjson")
	require.NoError(t, err)
	require.Len(t, files, 6)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ndjson")
		t.Run(name, func(t *testing.T) {
			o := Observer{Servers: []string{"stock"}}
			for _, f := range readTranscript(t, file) {
				o.Frame(f)
			}
			run := trajectory.Run{Events: o.Turn()}
			golden.Equal(t, strings.TrimSuffix(file, ".ndjson")+".golden", render(run.Events))

			var counted []any
			var codes []int
			touched := make(map[string][]string)
			for _, c := range run.ToolCalls() {
				if c.Name == "mcp__stock__count" {
					counted = append(counted, c.Args)
				}
				if c.ExitCode != nil && *c.ExitCode != 0 {
					codes = append(codes, *c.ExitCode)
				}
				for _, l := range c.Locations {
					touched[c.Kind] = append(touched[c.Kind], filepath.Base(l.Path))
				}
			}
			assert.Equal(t, []any{
				map[string]any{"part": "bolts", "n": json.Number("2")}, map[string]any{"part": "none"},
			}, counted)
			assert.Equal(t, []string{"go.mod"}, touched["read"])
			slices.Sort(touched["edit"])
			assert.Equal(t, []string{"go.mod", "new.txt"}, touched["edit"])
			if silent["exit code"] != name {
				assert.Equal(t, []int{3}, codes)
			}
			stop := run.Events[len(run.Events)-1].Body.(trajectory.Stop)
			assert.Equal(t, silent["tokens"] != name, stop.Usage != nil)
		})
	}
}

// TestAskedApart checks that a request for permission, in which agents describe the call in another way, leaves the
// call as it is, and that it is decided by what the request says.
func TestAskedApart(t *testing.T) {
	ask := func(call string) string {
		return `<{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s",` +
			`"options":[],"toolCall":{"toolCallId":"1",` + call + `}}}`
	}
	t.Run("an edit, as Copilot asks", func(t *testing.T) {
		var o Observer
		feed(t, &o, prompt,
			update(`"sessionUpdate":"tool_call","toolCallId":"1","title":"Editing /w/a.go","kind":"edit",`+
				`"rawInput":{"path":"/w/a.go","old_str":"a","new_str":"b"},`+
				`"content":[{"type":"diff","path":"/w/a.go","oldText":"a","newText":"b"}]`),
			ask(`"title":"Edit file","kind":"edit","rawInput":{"fileName":"/w/b.go","diff":"-a +b"},`+
				`"locations":[{"path":"/w/b.go"}],`+
				`"content":[{"type":"content","content":{"type":"text","text":"Ok?"}}]`))
		asked, ok := o.Call("1")
		require.True(t, ok)
		assert.Equal(t, map[string]any{"fileName": "/w/b.go", "diff": "-a +b"}, asked.Args)
		assert.Equal(t, []trajectory.Location{{Path: "/w/b.go"}, {Path: "/w/a.go"}}, asked.Locations,
			"a rule for either file holds")
		feed(t, &o, update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"`), endTurn)
		run := trajectory.Run{Events: o.Turn()}
		c := run.ToolCalls()[0]
		assert.Equal(t, "Editing /w/a.go", c.Title)
		assert.Equal(t, map[string]any{"path": "/w/a.go", "old_str": "a", "new_str": "b"}, c.Args)
		assert.Equal(t, []trajectory.Location{{Path: "/w/a.go"}}, c.Locations)
		assert.Nil(t, c.Output, "a question is no output")
	})
	t.Run("a read, as OpenCode asks", func(t *testing.T) {
		var o Observer
		feed(t, &o, prompt,
			update(`"sessionUpdate":"tool_call","toolCallId":"1","title":"read","kind":"read",`+
				`"rawInput":{"filePath":"/etc/hosts"}`),
			ask(`"title":"external_directory","kind":"other","rawInput":{"parentDir":"/etc"}`), endTurn)
		c := (&trajectory.Run{Events: o.Turn()}).ToolCalls()[0]
		assert.Equal(t, "read", c.Kind)
		assert.Equal(t, "read", c.Name)
		assert.Equal(t, map[string]any{"filePath": "/etc/hosts"}, c.Args)
	})
	t.Run("a command that only the question tells, as Qwen asks", func(t *testing.T) {
		o := Observer{Servers: []string{"stock"}}
		feed(t, &o, prompt,
			update(`"sessionUpdate":"tool_call","toolCallId":"1","title":"ToolCall","kind":"other","rawInput":{},`+
				`"_meta":{"toolName":"tool_call"}`),
			ask(`"title":"{}","kind":"other","rawInput":{"part":"nuts"},"_meta":{"toolName":"mcp__stock__count"}`))
		asked, _ := o.Call("1")
		assert.Equal(t, "mcp__stock__count", asked.Name, "rules name the tool that is to run")
		feed(t, &o, endTurn)
		c := (&trajectory.Run{Events: o.Turn()}).ToolCalls()[0]
		assert.Equal(t, map[string]any{"part": "nuts"}, c.Args)
		assert.Equal(t, "ToolCall", c.Title)
	})
}

// TestCopilotSubAgents checks that Copilot's calls that only name a sub-agent are those of the call that started it.
func TestCopilotSubAgents(t *testing.T) {
	var o Observer
	task := func(id string) string {
		return update(`"sessionUpdate":"tool_call","toolCallId":"` + id + `","title":"Look","kind":"other",` +
			`"rawInput":{"agent_type":"explore","prompt":"Look."}`)
	}
	by := func(id, agent string) string {
		return update(`"sessionUpdate":"tool_call","toolCallId":"` + id + `","title":"Viewing a","kind":"read",` +
			`"rawInput":{"path":"a"},"_meta":{"github.com/copilot":{"agentId":"` + agent + `"}}`)
	}
	feed(t, &o, `>{"jsonrpc":"2.0","id":9,"method":"initialize","params":{}}`,
		`<{"jsonrpc":"2.0","id":9,"result":{"protocolVersion":1,"agentInfo":{"name":"Copilot","version":"1"}}}`, prompt,
		task("1"), task("2"), by("3", "x"), by("4", "y"), by("5", "x"), by("6", "z"),
		update(`"sessionUpdate":"tool_call","toolCallId":"7","title":"Using skill: pdf","kind":"other",`+
			`"rawInput":{"skill":"pdf"}`), endTurn)
	var parents, tools []string
	run := trajectory.Run{Events: o.Turn()}
	for _, c := range run.ToolCalls() {
		parents, tools = append(parents, c.Parent), append(tools, c.Name)
	}
	assert.Equal(t, []string{"", "", "1", "2", "1", "z", ""}, parents, "a third sub-agent is one, whoever started it")
	assert.Equal(t, []string{"task", "task", "view", "view", "view", "view", "skill"}, tools)
}

// TestCodexOrder checks that the files of an edit have one order: @zed-industries/codex-acp keeps them in a map.
func TestCodexOrder(t *testing.T) {
	edit := func(first, second string) []trajectory.Event {
		var o Observer
		feed(t, &o, `>{"jsonrpc":"2.0","id":9,"method":"initialize","params":{}}`,
			`<{"jsonrpc":"2.0","id":9,"result":{"protocolVersion":1,"agentInfo":{"name":"codex-acp","version":"1"}}}`,
			prompt,
			update(`"sessionUpdate":"tool_call","toolCallId":"1","kind":"edit","status":"completed",`+
				`"title":"Edit `+first+`, `+second+`","locations":[{"path":"`+first+`"},{"path":"`+second+`"}],`+
				`"content":[{"type":"diff","path":"`+first+`","newText":"x"},`+
				`{"type":"diff","path":"`+second+`","newText":"x"}]`), endTurn)
		return o.Turn()
	}
	assert.Equal(t, edit("/w/a", "/w/b"), edit("/w/b", "/w/a"))
}
