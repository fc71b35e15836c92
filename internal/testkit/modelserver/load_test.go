package modelserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

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
		"bad.yaml:7:9: scripts.claude.turns[0]: it calls no tool, so that the turns after it are never reached",
		"bad.yaml:7:14: scripts.claude.turns[0].saw: no tool was called before the first turn",
		"bad.yaml:9:9: scripts.claude.turns[1]: it has to say something or call a tool",
		"bad.yaml:12:20: scripts.claude.turns[2].calls[0].input: it has to be a mapping, or text for a tool that takes text",
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

	_, err = decode("bad", doc.Parse("bad.yaml", []byte("prompt: x\njudges:\n  a: {say: 1}\n  b: {saw: x, say: ' '}\n  c: {saw: x}\n")))
	require.ErrorContains(t, err, "bad.yaml:3:3: judges.a: `judges.a.saw` is required")
	require.ErrorContains(t, err, "bad.yaml:3:12: judges.a.say: it has to be a mapping, or text")
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
	assert.EqualError(t, err, "read scripts: "+dir+" holds no .yaml files")

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
