package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/words"
)

// theirs has the user's own hooks, in common ways of writing.
const theirs = `{
	"$schema": "https://json.schemastore.org/claude-code-settings.json",
	"permissions": {"allow": ["Bash(ls:*)"], "n": 1.50},
	"hooks": {
		"Stop": [],
		"PreToolUse": [
			{"matcher": "Bash", "hooks": [{"type": "command", "command": "./mine.sh pre"}]}
		],
		"PostToolUse": []
	},
	"model": "sonnet"
}
`

// pretty returns our hooks for an event, indented like the user's settings.
func pretty(command string) string {
	return `{
				"hooks": [
					{
						"type": "command",
						"command": "` + command + `",
						"timeout": 60
					}
				]
			}`
}

func TestMerge(t *testing.T) {
	tests := []struct {
		name, before string
		want         string
	}{
		{
			name: "among others", before: theirs,
			want: strings.NewReplacer(
				`pre"}]}`, `pre"}]},`+"\n\t\t\t"+pretty("sdd-eval hook pre"),
				`"PostToolUse": []`, `"PostToolUse": [`+"\n\t\t\t"+pretty("sdd-eval hook post")+"\n\t\t],\n"+
					"\t\t\"PostToolUseFailure\": [\n\t\t\t"+pretty("sdd-eval hook failure")+"\n\t\t]",
			).Replace(theirs),
		},
		{
			name: "on one line", before: `{"model": "sonnet"}`,
			want: `{"model": "sonnet", "hooks": {"PreToolUse":[{"hooks":[{"type":"command","command":"sdd-eval hook ` +
				`pre","timeout":60}]}], ` +
				`"PostToolUse": [{"hooks":[{"type":"command","command":"sdd-eval hook post","timeout":60}]}], ` +
				`"PostToolUseFailure": [{"hooks":[{"type":"command","command":"sdd-eval hook ` +
				`failure","timeout":60}]}]}}`,
		},
		{
			name: "one of ours that is old",
			before: `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"command":"x"},` +
				`{"type":"command","command":"/opt/sdd-eval hook pre --deny Bash"}]}],` +
				`"PostToolUse":[{"hooks":[{"type":"command","command":"sdd-eval hook ` +
				`post","timeout":60}]}],"PostToolUseFailure":[` +
				`{"hooks":[{"type":"command","command":"sdd-eval hook ` +
				`failure","timeout":60}]},{"hooks":[{"type":"command","command":"\"C:\\sdd-eval.exe\" hook ` +
				`failure"}]}]}}`,
			want: `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"command":"x"}]}, ` +
				`{"hooks":[{"type":"command","command":"sdd-eval hook pre","timeout":60}]}],` +
				`"PostToolUse":[{"hooks":[{"type":"command","command":"sdd-eval hook post","timeout":60}]}], ` +
				`"PostToolUseFailure": [` +
				`{"hooks":[{"type":"command","command":"sdd-eval hook failure","timeout":60}]}]}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Merge([]byte(tt.before), Handlers{})
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
			again, err := Merge(got, Handlers{})
			require.NoError(t, err)
			require.Equal(t, string(got), string(again), "twice is once")
		})
	}
}

func TestMergeKeepsLineEnds(t *testing.T) {
	got, err := Merge([]byte("{\r\n    \"a\": 1\r\n}\r\n"), Handlers{Command: "x"})
	require.NoError(t, err)
	require.Equal(t, strings.Count(string(got), "\n"), strings.Count(string(got), "\r\n"))
	require.Contains(t, string(got), "\r\n    \"hooks\": {\r\n        \"PreToolUse\": [\r\n            {\r\n")
}

func TestWithout(t *testing.T) {
	h := Handlers{Command: "/opt/my wrapper", Matcher: "Bash|Edit"}
	for _, before := range []string{theirs, "{}", "{\n  \"model\": \"x\"\n}\n", `{"a":1}`} {
		with, err := Merge([]byte(before), h)
		require.NoError(t, err)
		kept, err := Without(with, "")
		require.NoError(t, err)
		require.Equal(t, string(with), string(kept), "what is not called sdd-eval is ours only if we are told")
		after, err := Without(with, h.Command)
		require.NoError(t, err)
		if before == theirs { // an empty list of theirs goes
			before = strings.Replace(before, ",\n\t\t\"PostToolUse\": []", "", 1)
		}
		require.Equal(t, before, string(after))
	}
}

func TestIsOurs(t *testing.T) {
	for text, want := range map[string]bool{
		"sdd-eval hook pre": true, "/a/sdd-eval hook post": true, "'/a b/sdd-eval' hook failure --x": true,
		`"C:\bin\sdd-eval.exe" hook pre`: true, "env A=b sdd-eval hook pre": true,
		"go run ./cmd/sdd-eval hook pre": true,
		"sdd-eval hook prefix":           false, "not-sdd-eval hook pre": false, "sdd-eval run": false,
		"echo hook pre": false, "": false,
		"my hook pre": true, "my hook": false, "my other hook pre": false,
	} {
		require.Equal(t, want, isOurs(text, "my"), text)
	}
}

func TestSettingsRefused(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "the file is empty, which is not JSON"},
		{"not JSON", "model: x\n", "line 1: invalid character 'm'"},
		{"line comment", "{\n  // mine\n  \"a\": 1\n}", "line 2: JSON has no comments"},
		{"comment at the end", "{\n  \"a\": 1 /* mine */\n}", "line 2: JSON has no comments"},
		{"comment behind a value", "{\n  \"a\": [1, // mine\n  2]\n}", "line 2: JSON has no comments"},
		{"trailing comma", "{\n  \"a\": 1,\n}", "line 3: invalid character '}'"},
		{"cut off", "{\n\"a\": {", "line 2: the text is incomplete"},
		{"text behind", "{}\n{}", "line 2: text after the object"},
		{"an array", "[]", "line 1: this is not a JSON object"},
		{"byte order mark", "\ufeff{}", "line 1: JSON has no byte order mark"},
		{"hooks twice", "{\"hooks\":{},\n\"hooks\":{}}", `line 2: duplicate key "hooks"`},
		{"event twice", "{\"hooks\":{\"PreToolUse\":[],\n\"PreToolUse\":[]}}", `line 2: duplicate key "PreToolUse"`},
		{"hooks of another type", "{\n\"hooks\":[]}", "hooks: line 2: this is not a JSON object"},
		{
			"event of another type", "{\"hooks\":{\n\"PostToolUse\":{}}}",
			"PostToolUse: line 2: this is not a JSON array",
		},
		{
			"group of another type", "{\"hooks\":{\"PostToolUse\":[\n1]}}",
			"PostToolUse: line 2: this is not a JSON object",
		},
		{
			"handlers of another type", "{\"hooks\":{\"PostToolUse\":[\n{\"hooks\":1}]}}",
			"PostToolUse: hooks: line 2: this is not a JSON array",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "settings.json")
			require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o644))
			changed, err := Edit(file, func(s []byte) ([]byte, error) { return Merge(s, Handlers{}) })
			require.ErrorContains(t, err, file+": "+tt.want)
			require.False(t, changed)
			got, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, tt.text, string(got))
		})
	}
}

func TestEdit(t *testing.T) {
	merge := func(s []byte) ([]byte, error) { return Merge(s, Handlers{}) }
	dir := t.TempDir()
	file := filepath.Join(dir, ".claude", "settings.json")
	shown, err := Preview(file, merge)
	require.NoError(t, err)
	require.NoFileExists(t, file)
	changed, err := Edit(file, merge)
	require.NoError(t, err)
	require.True(t, changed)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(Settings(Handlers{})), string(got))
	require.Equal(t, string(shown), string(got))
	changed, err = Edit(file, merge)
	require.NoError(t, err)
	require.False(t, changed)

	none := filepath.Join(dir, "none", "settings.json")
	changed, err = Edit(none, func(s []byte) ([]byte, error) { return Without(s, "") })
	require.NoError(t, err)
	require.False(t, changed)
	require.NoDirExists(t, filepath.Dir(none))

	link := filepath.Join(dir, "link.json")
	require.NoError(t, os.Symlink(filepath.Join(".claude", "settings.json"), link))
	require.NoError(t, os.Chmod(file, 0o600))
	changed, err = Edit(link, func(s []byte) ([]byte, error) { return Without(s, "") })
	require.NoError(t, err)
	require.True(t, changed)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type(), "a link stays one")
	info, err = os.Stat(link)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	got, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(got))

	_, err = Edit(dir, merge)
	require.Error(t, err)
	dangling := filepath.Join(dir, "dangling")
	require.NoError(t, os.Symlink("nowhere", dangling))
	_, err = Edit(dangling, merge)
	require.Error(t, err)
	large := filepath.Join(dir, "large")
	require.NoError(t, os.WriteFile(large, nil, 0o644))
	require.NoError(t, os.Truncate(large, maxSettings+1))
	_, err = Edit(large, merge)
	require.ErrorContains(t, err, "exceed the limit of 16777216")
}

func TestSettings(t *testing.T) {
	rewrite, err := ParseRewrite("Bash command=it's {old}")
	require.NoError(t, err)
	var got struct {
		Hooks map[string][]handlerGroup `json:"hooks"`
	}
	require.NoError(t, json.Unmarshal(Settings(Handlers{
		Command: words.Quote("/opt/my tools/sdd-eval"), Matcher: "Bash|mcp__.*",
		Policy: Policy{
			Deny: parseRules(t, "Read(secrets/**)"), Allow: parseRules(t, "Read", "Bash"), Rewrite: []Rewrite{rewrite},
		},
	}), &got))
	command := func(text string) []handlerGroup {
		return []handlerGroup{
			{
				Matcher: "Bash|mcp__.*",
				Hooks:   []handler{{Type: "command", Command: "'/opt/my tools/sdd-eval' hook " + text, Timeout: 60}},
			},
		}
	}
	require.Equal(t, map[string][]handlerGroup{
		"PreToolUse": command(`pre --deny 'Read(secrets/**)' --allow Read --allow Bash --rewrite 'Bash ` +
			`command=it'\''s {old}'`),
		"PostToolUse":        command("post"),
		"PostToolUseFailure": command("failure"),
	}, got.Hooks)
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(theirs))
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"sdd-eval hook pre"}]},{}]}}`))
	f.Add([]byte("{\r\n \"a\": {\"hooks\": 1}, \"hooks\": {}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := Handlers{Matcher: "<x>"}
		with, err := Merge(data, h)
		if err != nil {
			return
		}
		if again, err := Merge(with, h); err != nil || string(again) != string(with) {
			t.Fatalf("%v: twice is not once:\n%s\n%s", err, with, again)
		}
		without, err := Without(with, "")
		if err != nil {
			t.Fatal(err)
		}
		before, after := members(t, data), members(t, without)
		require.Contains(t, members(t, with), "hooks")
		delete(before, "hooks")
		delete(after, "hooks")
		require.Equal(t, before, after, "what is not ours stays, to the byte")
	})
}

// members returns the members of an object, as they are written.
func members(t *testing.T, text []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &m), "%s", text)
	return m
}

func TestCheckMatcher(t *testing.T) {
	for _, good := range []string{
		"", "*", "Bash|mcp__.*", "^(?!Read).*$", "(?<=x)y", `(a)\1`, "a{2000}", "(?<tool>Bash)",
	} {
		require.NoError(t, CheckMatcher(good), good)
	}
	for _, bad := range []string{"(", ")", "[", "a)", "+", "a**", "(?!Read", `\`} {
		require.ErrorContains(t, CheckMatcher(bad), strconv.Quote(bad)+" is not a regular expression: ")
	}
}
