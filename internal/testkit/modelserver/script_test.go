package modelserver

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// demo has two agents' scripts of one task.
var demo = []Script{
	{
		Name: "demo/claude", Prompt: regexp.MustCompile("^Fix"), Offers: "Bash",
		Turns: []Turn{
			{Say: "I look at the package first, and then I run its tests.", Think: "Where?", Calls: []Call{
				{Tool: "Read", Input: map[string]any{"file_path": "$WORKSPACE/a.go", "more": []any{"$WORKSPACE", 1}}},
				{Tool: "Bash", Input: map[string]any{"command": "go test ./..."}},
			}},
			{Saw: regexp.MustCompile("(?s)package.*FAIL"), Calls: []Call{{Tool: "Bash", Input: map[string]any{"command": "fix"}}}},
			{Say: "Done."},
		},
	},
	{
		Name: "demo/codex", Prompt: regexp.MustCompile("^Fix"), Offers: "apply_patch",
		Turns: []Turn{{Calls: []Call{{Tool: "apply_patch", Input: "*** Begin Patch in $WORKSPACE\n"}}}, {Say: "Done."}},
	},
}

func claudeRequest(results ...string) request {
	return request{
		prompt: "Fix it.", prompts: 1, results: results, cwd: "/w",
		tools: []tool{{name: "Bash"}, {name: "Read"}},
	}
}

func TestChoose(t *testing.T) {
	codex := request{prompt: "Fix it.", cwd: "/w", tools: []tool{{name: "apply_patch", freeText: true}}}
	tests := []struct {
		name    string
		request request
		script  string
		index   int
		calls   []Call
	}{
		{
			name: "first turn", request: claudeRequest(), script: "demo/claude",
			calls: []Call{
				{Tool: "Read", Input: map[string]any{"file_path": "/w/a.go", "more": []any{"/w", 1}}},
				{Tool: "Bash", Input: map[string]any{"command": "go test ./..."}},
			},
		},
		{
			name: "after parallel calls", request: claudeRequest("package a", "FAIL"), script: "demo/claude", index: 1,
			calls: []Call{{Tool: "Bash", Input: map[string]any{"command": "fix"}}},
		},
		{name: "last turn", request: claudeRequest("package a", "FAIL", "ok"), script: "demo/claude", index: 2, calls: []Call{}},
		{
			name: "other tools", request: codex, script: "demo/codex",
			calls: []Call{{Tool: "apply_patch", Input: "*** Begin Patch in /w\n"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			step, err := choose(demo, test.request)
			require.NoError(t, err)
			assert.Equal(t, test.script, step.script)
			assert.Equal(t, test.index, step.index)
			assert.Equal(t, test.calls, step.turn.Calls)
		})
	}
}

func TestChooseErrors(t *testing.T) {
	other := claudeRequest()
	other.prompt = "Break it."
	homeless := claudeRequest()
	homeless.cwd = ""
	poor := claudeRequest()
	poor.tools = poor.tools[:1]
	text := claudeRequest()
	text.tools[1].freeText = true
	tests := []struct {
		name    string
		scripts []Script
		request request
		want    string
	}{
		{name: "another prompt", request: other, want: `no script is for the prompt "Break it." with the tools Bash, Read`},
		{
			name: "two scripts", request: claudeRequest(), scripts: []Script{demo[0], {Name: "b", Prompt: demo[0].Prompt, Offers: "Read"}},
			want: `scripts "demo/claude" and "b" are both for the prompt "Fix it."`,
		},
		{
			name: "some results of parallel calls", request: claudeRequest("package a"),
			want: `script "demo/claude": 1 tool results end in the middle of a turn's calls`,
		},
		{
			name: "past the end", request: claudeRequest("", "", "", ""),
			want: `script "demo/claude": the agent asks on after the last of 3 turns, with 4 tool results`,
		},
		{
			name: "the world is not as the script has it", request: claudeRequest("package a", "ok"),
			want: `script "demo/claude": turn 2: the tool results before it do not match "(?s)package.*FAIL": "package a\nok"`,
		},
		{
			name: "no working directory", request: homeless,
			want: `script "demo/claude": turn 1: call of Read: it uses $WORKSPACE, but the request does not tell the working directory`,
		},
		{
			name: "tool not offered", request: poor,
			want: `script "demo/claude": turn 1: call of Read: the agent does not offer it, but Bash`,
		},
		{
			name: "JSON for a tool that takes text", request: text,
			want: `script "demo/claude": turn 1: call of Read: the input is a map[string]interface {}, and the agent says that the tool takes free text: true`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scripts := test.scripts
			if scripts == nil {
				scripts = demo
			}
			_, err := choose(scripts, test.request)
			assert.EqualError(t, err, test.want)
		})
	}
}

func TestSawLooksAtTheLastTurnAlone(t *testing.T) {
	s := Script{Name: "s", Prompt: regexp.MustCompile(""), Offers: "A", Turns: []Turn{
		{Calls: []Call{{Tool: "A", Input: map[string]any{}}}},
		{Calls: []Call{{Tool: "A", Input: map[string]any{}}}},
		{Saw: regexp.MustCompile("FAIL"), Say: "It failed."},
	}}
	_, err := choose([]Script{s}, request{tools: []tool{{name: "A"}}, results: []string{"FAIL", "ok"}})
	assert.ErrorContains(t, err, `do not match "FAIL": "ok"`)
}
