package modelserver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// read decodes a request as the endpoint for it does. The files in testdata/requests are what the real agents sent,
// with long texts cut.
func read(t *testing.T, data []byte) request {
	t.Helper()
	decode := func(q interface{ request() request }) request {
		require.NoError(t, json.Unmarshal(data, q))
		return q.request()
	}
	switch {
	case bytes.Contains(data, []byte(`"stream_options"`)):
		return decode(new(chatRequest))
	case bytes.Contains(data, []byte(`"messages"`)):
		return decode(new(anthropicRequest))
	case bytes.Contains(data, []byte(`"contents"`)):
		return decode(new(geminiRequest))
	}
	return decode(new(responsesRequest))
}

func TestRequestsOfRealAgents(t *testing.T) {
	const task = "Our purchase orders are wrong: reorder.Plan orders too little. Please find the bug, " +
		"fix it, and run the tests."
	const report = "Which files did you change?"
	const comment = "The function amount has no comment."
	tests := []struct {
		name    string // of the file
		prompt  string
		prompts int
		results []string // how each begins
		offers  []string // some of the tools
		cwd     string
		aside   bool
	}{
		{
			name: "claude-agent-acp-task", prompt: task, prompts: 1, cwd: "/workspace",
			results: []string{"Exit code 1\nok", "1\t// Package reorder"}, offers: []string{"Bash", "Edit"},
		},
		{
			name: "claude-agent-acp-second-prompt", prompt: report, prompts: 2, cwd: "/workspace",
			offers: []string{"Bash"},
		},
		{name: "claude-agent-acp-title", prompt: "<session>\nOur", prompts: 1, aside: true},
		{
			name: "claude-code-acp-task", prompt: task, prompts: 1, cwd: "/workspace",
			results: []string{"Exited with code 1.Final", "// Package reorder"},
			offers:  []string{"mcp__acp__Bash", "Grep"},
		},
		{
			name: "claude-code-acp-second-prompt", prompt: report, prompts: 2, cwd: "/workspace",
			offers: []string{"mcp__acp__Edit"},
		},
		{
			name: "codex-acp-task", prompt: task, prompts: 1, cwd: "/workspace",
			results: []string{"Chunk ID", "Chunk ID"}, offers: []string{"exec_command", "apply_patch"},
		},
		{
			name: "codex-acp-second-prompt", prompt: report, prompts: 2, cwd: "/workspace",
			offers: []string{"apply_patch"},
		},
		{
			name: "codex-acp-2-task", prompt: comment, prompts: 1, cwd: "/workspace",
			results: []string{"Script completed", "Script completed"}, offers: []string{"exec", "spawn_agent"},
		},
		{
			name: "gemini-task", prompt: comment, prompts: 1, cwd: "/workspace",
			results: []string{"Found 1 match", "package report"}, offers: []string{"grep_search", "run_shell_command"},
		},
		{name: "gemini-route", prompt: "Which file did you change", prompts: 2, cwd: "/workspace", aside: true},
		{
			name: "opencode-task", prompt: comment, prompts: 1, cwd: "/workspace",
			results: []string{"./report/csv.go:29", "<path>/workspace/report"}, offers: []string{"bash", "read"},
		},
		{name: "opencode-title", prompt: comment, prompts: 2, aside: true},
		{name: "codex-acp-2-title", prompt: "Your task is to generate", prompts: 1, cwd: "/workspace", aside: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "requests", test.name+".json"))
			require.NoError(t, err)
			r := read(t, data)
			assert.True(t, strings.HasPrefix(r.prompt, test.prompt), "prompt %q", r.prompt)
			assert.Equal(t, test.prompts, r.prompts)
			assert.Equal(t, test.cwd, r.cwd)
			assert.Equal(t, test.aside, r.aside)
			assert.Equal(t, !strings.HasPrefix(test.name, "gemini"), r.stream,
				"Gemini's requests do not say it, their address does")
			assert.Subset(t, r.toolNames(), test.offers)
			require.Len(t, r.results, len(test.results))
			for i, want := range test.results {
				assert.True(t, strings.HasPrefix(r.results[i], want), "result %q", r.results[i])
			}
		})
	}
}

func TestRequest(t *testing.T) {
	tests := []struct {
		name, reason, body string
		want               request
	}{
		{
			name: "prompt of several parts", reason: "an ACP prompt may have many blocks",
			body: `{"max_tokens": 9, "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": [
				{"type": "text", "text": "<system-reminder>no prompt</system-reminder>"},
				{"type": "text", "text": "Look at this:"}, {"type": "image"}, {"type": "text", "text": "a.go"}]}]}`,
			want: request{
				prompt: "Look at this:\na.go", prompts: 1, tools: []tool{{name: "Bash"}},
				told: "<system-reminder>no prompt</system-reminder>\n",
			},
		},
		{
			name: "content as a string", reason: "both forms are allowed",
			body: `{"max_tokens": 9, "tools": [{"name": "Bash"}], "system": "Working directory: /a b ",
				"messages": [{"role": "user", "content": "Go."}]}`,
			want: request{
				prompt: "Go.", prompts: 1, tools: []tool{{name: "Bash"}}, cwd: "/a b",
				told: "Working directory: /a b\n",
			},
		},
		{
			name: "a reminder after results", reason: "it does not begin a prompt",
			body: `{"max_tokens": 9, "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "Go."},
				{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]},
				{"role": "user", "content": [
					{"type": "tool_result", "content": [
						{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]},
					{"type": "text", "text": "<system-reminder>so</system-reminder>"}]}]}`,
			want: request{
				prompt: "Go.", prompts: 1, results: []string{"a\nb"}, tools: []tool{{name: "Bash"}},
				told: "<system-reminder>so</system-reminder>\n",
			},
		},
		{
			name:   "a skill after its result",
			reason: "it does not begin a prompt, and scripts can say that the model saw it",
			body: `{"max_tokens": 9, "tools": [{"name": "Skill"}], "messages": [{"role": "user", "content": "Go."},
				{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "Skill", "input": {}}]},
				{"role": "user", "content": [{"type": "tool_result", "content": "Launching"},
					{"type": "text", "text": "Base directory for this skill: /s\n\n# How"}]}]}`,
			want: request{
				prompt: "Go.", prompts: 1, tools: []tool{{name: "Skill"}},
				results: []string{"Launching\nBase directory for this skill: /s\n\n# How"},
			},
		},
		{
			name: "one token", reason: "old versions count tokens so",
			body: `{"max_tokens": 1, "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "count"}]}`,
			want: request{prompt: "count", prompts: 1, tools: []tool{{name: "Bash"}}, aside: true},
		},
		{
			name: "suggestion", reason: "Claude asks what the user may want next",
			body: `{"max_tokens": 9, "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "Go."},
				{"role": "assistant", "content": "Done."}, {"role": "user", "content": "[SUGGESTION MODE: Suggest"}]}`,
			want: request{prompt: "[SUGGESTION MODE: Suggest", prompts: 2, tools: []tool{{name: "Bash"}}, aside: true},
		},
		{
			name: "thinking", reason: "thoughts are shown to those who ask for them",
			body: `{"max_tokens": 9, "thinking": {"type": "enabled"}, "tools": [{"name": "A"}], "messages": []}`,
			want: request{tools: []tool{{name: "A"}}, thoughts: true},
		},
		{
			name: "Gemini's results", reason: "an error is a result, too, and an object is shown whole",
			body: `{"generationConfig": {"thinkingConfig": {"includeThoughts": true}},
				"systemInstruction": {"parts": [{"text": "- **Workspace Directories:**\n  - /a b\n"}]},
				"tools": [{"functionDeclarations": [{"name": "A"}, {"name": "B"}]}, {"googleSearch": {}}],
				"contents": [{"role": "user", "parts": [{"text": "<session_context>x"}, {"text": "Go."}]},
				{"role": "model", "parts": [{"functionCall": {"name": "A", "args": {}}}]},
				{"role": "user", "parts": [
					{"functionResponse": {"response": {"output": "a"}}},
					{"functionResponse": {"response": {"error": "b"}}},
					{"functionResponse": {"response": {"output": "c", "n": 1}}}]}]}`,
			want: request{
				prompt: "Go.", prompts: 1, results: []string{"a", "b", `{"n":1,"output":"c"}`},
				tools: []tool{{name: "A"}, {name: "B"}},
				cwd:   "/a b", thoughts: true,
				told: "- **Workspace Directories:**\n  - /a b\n<session_context>x\n",
			},
		},
		{
			name: "reasoning summaries", reason: "as thinking, in Responses",
			body: `{"reasoning": {"summary": "auto"}, "input": [],
				"tools": [{"type": "custom", "name": "A"}, {"type": "web_search"}]}`,
			want: request{tools: []tool{{name: "A", freeText: true}}, thoughts: true},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, read(t, []byte(test.body)), test.reason)
		})
	}
}
