package chat_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory/chat"
)

func call(id, name, args string) chat.ToolCall {
	return chat.ToolCall{ID: id, Type: "function", Function: chat.Function{Name: name, Arguments: args}}
}

// A conversation comes back as it was, with calls numbered in their order.
func TestRoundTrip(t *testing.T) {
	messages := []chat.Message{
		{Role: "user", Content: "fix it"},
		{Role: "assistant", Content: "let me see", ToolCalls: []chat.ToolCall{
			call("c1", "Read", `{"path":"a.go"}`), call("c2", "Grep", `{"n":9007199254740993,"p":null}`),
		}},
		{Role: "tool", Content: "package a", ToolCallID: "c1"},
		{Role: "tool", Content: "none", ToolCallID: "c2"},
		{Role: "assistant", ToolCalls: []chat.ToolCall{call("c3", "Edit", `{}`)}},
		{Role: "tool", Content: "", ToolCallID: "c3"},
		{Role: "assistant", Content: "done"},
		{Role: "user", Content: "thanks"},
	}
	run, err := chat.Run(messages)
	require.NoError(t, err)
	assert.Equal(t, 2, run.Turns())
	var groups []int
	for _, c := range run.ToolCalls() {
		groups = append(groups, c.Group)
	}
	assert.Equal(t, []int{1, 1, 2}, groups)
	back, err := chat.Messages(run)
	require.NoError(t, err)
	if diff := cmp.Diff(messages, back); diff != "" {
		t.Errorf("after a round trip (-want +got):\n%s", diff)
	}
}

func TestRunOfOddMessages(t *testing.T) {
	run, err := chat.Run([]chat.Message{
		{Role: "system", Content: "be nice"},
		{Role: "assistant", ToolCalls: []chat.ToolCall{call("same", "a", "{}")}},
		{Role: "assistant", ToolCalls: []chat.ToolCall{call("same", "b", "[1]")}},
		{Role: "tool", Content: "of a", ToolCallID: "same"},
		{Role: "tool", Content: "of nothing", ToolCallID: "other"},
	})
	require.NoError(t, err)
	calls := run.ToolCalls()
	require.Len(t, calls, 2)
	assert.Equal(t, "of a", calls[0].Output, "ids may stand for several calls")
	assert.Equal(t, trajectory.Pending, calls[1].Status)
	assert.Equal(t, []any{json.Number("1")}, calls[1].Args)
	assert.NotEqual(t, calls[0].Group, calls[1].Group, "each message is a group, with or without results")
	assert.Equal(t, trajectory.Notice{Name: "system", Data: "be nice"}, run.Events[0].Body)
	assert.Equal(t, trajectory.Notice{Name: "tool", Data: "of nothing"}, run.Events[len(run.Events)-1].Body)
}

func TestRunErrors(t *testing.T) {
	for args, want := range map[string]string{
		"":      "the text is empty",
		"{oops": "invalid character 'o' looking for beginning of object key string",
		"{} {}": "text after the JSON value",
	} {
		_, err := chat.Run([]chat.Message{
			{Role: "user"}, {Role: "assistant", ToolCalls: []chat.ToolCall{call("1", "Read", args)}},
		})
		require.EqualError(t, err, `message 2: call 1, "Read": arguments: `+want)
	}
}

// What an agent does through the protocol becomes messages: one for calls that were made together, never one for all.
func TestMessagesOfRun(t *testing.T) {
	event := func(b trajectory.Body) trajectory.Event { return trajectory.Event{Turn: 1, Body: b} }
	run := &trajectory.Run{Events: []trajectory.Event{
		event(trajectory.Prompt{Text: "go"}),
		event(trajectory.Thought{Text: "hm"}),
		event(trajectory.ToolStart{ID: "1", Name: "a"}),
		event(trajectory.Permission{ID: "1"}),
		event(trajectory.ToolStart{ID: "2", Name: "b", Args: []string{"x"}}),
		event(trajectory.ToolEnd{ID: "1", Output: map[string]any{"n": 1}}),
		event(trajectory.ToolStart{ID: "3", Name: "c"}),
		event(trajectory.ToolEnd{ID: "2", Printed: "out"}),
		event(trajectory.Stop{Reason: "end_turn"}),
	}}
	got, err := chat.Messages(run)
	require.NoError(t, err)
	want := []chat.Message{
		{Role: "user", Content: "go"},
		{Role: "assistant", ToolCalls: []chat.ToolCall{call("1", "a", "{}"), call("2", "b", `["x"]`)}},
		{Role: "tool", Content: `{"n":1}`, ToolCallID: "1"},
		{Role: "assistant", ToolCalls: []chat.ToolCall{call("3", "c", "{}")}},
		{Role: "tool", Content: "out", ToolCallID: "2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	_, err = chat.Messages(&trajectory.Run{
		Events: []trajectory.Event{event(trajectory.ToolStart{ID: "1", Name: "a", Args: func() {}})},
	})
	require.EqualError(t, err, `call 1, "a": arguments: json: unsupported type: func()`)
}

func TestContent(t *testing.T) {
	for data, want := range map[string]string{
		`"text"`: "text", `null`: "", `[]`: "", `[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]`: "ab",
	} {
		var c chat.Content
		require.NoError(t, json.Unmarshal([]byte(data), &c), data)
		assert.Equal(t, want, string(c), data)
	}
	var c chat.Content
	require.Error(t, json.Unmarshal([]byte(`5`), &c))
}

func ExampleRun() {
	var messages []chat.Message
	err := json.Unmarshal([]byte(`[
		{"role": "user", "content": "What is the weather in Paris?"},
		{"role": "assistant", "content": null, "tool_calls": [
			{"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"}}
		]}
	]`), &messages)
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := chat.Run(messages)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(trajectory.Superset(trajectory.Tool("get_weather").Args(trajectory.Args{"city": "London"})).Match(run))
	// Output:
	// superset: step 1 not matched: get_weather city=London
	// 1 ✗ get_weather city=Paris   want city=London
}
