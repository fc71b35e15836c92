package modelserver

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
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
			{
				Saw:   regexp.MustCompile("(?s)package.*FAIL"),
				Calls: []Call{{Tool: "Bash", Input: map[string]any{"command": "fix"}}},
			},
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
		{
			name: "last turn", request: claudeRequest("package a", "FAIL", "ok"), script: "demo/claude", index: 2,
			calls: []Call{},
		},
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

func TestToldGoesFirst(t *testing.T) {
	some := Script{Name: "some", Prompt: regexp.MustCompile(""), Offers: "Bash", Turns: []Turn{{Say: "Done."}}}
	told := some
	told.Name, told.Told = "told", regexp.MustCompile("- changelog: ")
	for _, test := range []struct{ name, told, want string }{
		{"not told", "", "some"},
		{"told of something else", "- pdf: reads PDFs", "some"},
		{"told", "Skills:\n- changelog: for changes", "told"},
	} {
		r := claudeRequest()
		r.told = test.told
		step, err := choose([]Script{told, some}, r)
		require.NoError(t, err, test.name)
		assert.Equal(t, test.want, step.script, test.name)
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
		{
			name: "another prompt", request: other,
			want: `no script matches the prompt "Break it." with the tools Bash, Read`,
		},
		{
			name: "two scripts", request: claudeRequest(),
			scripts: []Script{demo[0], {Name: "b", Prompt: demo[0].Prompt, Offers: "Read"}},
			want:    `scripts "demo/claude" and "b" both match the prompt "Fix it."`,
		},
		{
			name: "some results of parallel calls", request: claudeRequest("package a"),
			want: `script "demo/claude": 1 tool results do not complete a turn's calls`,
		},
		{
			name: "past the end", request: claudeRequest("", "", "", ""),
			want: `script "demo/claude" has only 3 turns, but the agent continues, with 4 tool results`,
		},
		{
			name: "the world is not as the script has it", request: claudeRequest("package a", "ok"),
			want: `script "demo/claude": turn 2: the tool results before it do not match saw "(?s)package.*FAIL": ` +
				`"package a\nok"`,
		},
		{
			name: "no working directory", request: homeless,
			want: `script "demo/claude": turn 1: call of Read: cannot replace $WORKSPACE: ` +
				`the request does not name the working directory`,
		},
		{
			name: "tool not offered", request: poor,
			want: `script "demo/claude": turn 1: call of Read: the agent does not offer this tool; it offers Bash`,
		},
		{
			name: "JSON for a tool that takes text", request: text,
			want: `script "demo/claude": turn 1: call of Read: the input is a map[string]interface {}, ` +
				`but the tool takes text`,
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
	assert.ErrorContains(t, err, `do not match saw "FAIL": "ok"`)
}

const goodFile = `
prompt: ^Fix
scripts:
  claude:
    offers: Bash
    turns:
      - think: Where?
        say: I look.
        calls:
          - tool: Read
            input: {file_path: $WORKSPACE/a.go, limit: 20}
      - saw: package
        say: Done.
  codex:
    offers: apply_patch
    turns:
      - calls: [{tool: apply_patch, input: "*** Begin Patch\n"}]
`

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fix.yaml"), []byte(goodFile), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("not a script"), 0o600))
	m, err := Load(dir)
	require.NoError(t, err)
	scripts := m.Scripts
	require.Len(t, scripts, 2)
	assert.Equal(t, "fix/claude", scripts[0].Name)
	assert.Equal(t, "Bash", scripts[0].Offers)
	assert.Equal(t, "^Fix", scripts[0].Prompt.String())
	assert.Equal(t, "fix/codex", scripts[1].Name)
	assert.Equal(t, "^Fix", scripts[1].Prompt.String())
	require.Len(t, scripts[0].Turns, 2)
	assert.Equal(t, "Where?", scripts[0].Turns[0].Think)
	assert.Equal(t, "package", scripts[0].Turns[1].Saw.String())
	assert.Equal(t, `{"file_path":"$WORKSPACE/a.go","limit":20}`, compact(scripts[0].Turns[0].Calls[0].Input))
	assert.Equal(t, "*** Begin Patch\n", scripts[1].Turns[0].Calls[0].Input)

	_, err = New(m)
	assert.NoError(t, err)
}

func TestLoadReportsEverything(t *testing.T) {
	d := doc.Parse("bad.yaml", []byte(`
prompt: (
scripts:
  claude:
    offer: Bash
    turns:
      - saw: x
        say: I look.
      - {}
      - calls:
          - tool: Read
            input: 5
          - input: {}
`))
	_, err := decode("bad", d)
	want := []string{
		"bad.yaml:2:9: prompt: error parsing regexp: missing closing ): `(`",
		`bad.yaml:5:5: scripts.claude.offer: unknown key, did you mean "offers"?`,
		"bad.yaml:7:9: scripts.claude.turns[0]: a turn without calls must be the last one",
		"bad.yaml:7:14: scripts.claude.turns[0].saw: the first turn cannot have seen the result of a call",
		"bad.yaml:9:9: scripts.claude.turns[1]: must have say or calls",
		"bad.yaml:12:20: scripts.claude.turns[2].calls[0].input: must be a mapping, or text for a tool that takes text",
		"scripts.claude.turns[2].calls[1]",
	}
	require.Error(t, err)
	for _, w := range want {
		assert.Contains(t, err.Error(), w)
	}
}

func TestLoadJudges(t *testing.T) {
	m, err := decode("review", doc.Parse("review.yaml", []byte(`
prompt: ^Review
judges:
  gpt-4.1: {saw: round, say: {score: 1, reason: It rounds up.}}
  o3: {saw: round, say: "I'd say so: {\"score\": 1}"}
`)))
	require.NoError(t, err)
	require.Len(t, m.Judges, 2)
	assert.Equal(t, "review/gpt-4.1", m.Judges[0].Name)
	assert.Equal(t, "gpt-4.1", m.Judges[0].Model)
	assert.Equal(t, "^Review", m.Judges[0].Prompt.String())
	assert.Equal(t, `{"reason":"It rounds up.","score":1}`, m.Judges[0].text())
	assert.Equal(t, `I'd say so: {"score": 1}`, m.Judges[1].text())

	_, err = decode("bad",
		doc.Parse("bad.yaml", []byte("prompt: x\njudges:\n  a: {say: 1}\n  b: {saw: x, say: ' '}\n  c: {saw: x}\n")))
	require.ErrorContains(t, err, "bad.yaml:3:3: judges.a: `judges.a.saw` is required")
	require.ErrorContains(t, err, "bad.yaml:3:12: judges.a.say: must be a mapping or text")
	require.ErrorContains(t, err, "bad.yaml:4:20: judges.b.say: must not be empty")
	require.ErrorContains(t, err, "bad.yaml:5:3: judges.c: `judges.c.say` is required")
	both := goodFile + "judges: {m: {saw: x, say: y}}\n"
	for _, text := range []string{both, "prompt: x\n"} {
		_, err = decode("bad", doc.Parse("bad.yaml", []byte(text)))
		require.ErrorContains(t, err, "must have either scripts or judges")
	}
}

func TestLoadErrors(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)

	dir := t.TempDir()
	_, err = Load(dir)
	assert.EqualError(t, err, "read scripts: "+dir+" has no .yaml files")

	for _, name := range []string{"a.yaml", "b.yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("prompt: x\n"), 0o600))
	}
	_, err = Load(dir)
	require.Error(t, err)
	assert.Equal(t, 2, strings.Count(err.Error(), "scripts"), "both files are reported: %v", err)
}

// TestFixtures loads the scripts that the cassettes are recorded with.
func TestFixtures(t *testing.T) {
	m, err := Load("../../../fixtures/models")
	require.NoError(t, err)
	_, err = New(m)
	assert.NoError(t, err)
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(goodFile))
	f.Add([]byte("prompt: x\nscripts: {a: {offers: b, turns: [{say: c}, {calls: [{tool: d, input: [e]}]}]}}\n"))
	f.Add([]byte("scripts: {\"a.b[0]\": {turns: [{}]}}\n"))
	f.Add([]byte("scripts: []\n"))
	f.Add([]byte("prompt: x\njudges: {a: {saw: b, say: {c: 1}}, \"d.e\": {saw: b, say: c}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode("x", doc.Parse("x.yaml", data))
		if err != nil {
			return
		}
		_, err = New(m)
		require.NoError(t, err, "a file that loads is good for a server")
	})
}
