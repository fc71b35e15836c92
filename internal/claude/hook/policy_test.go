package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/capture"
	"github.com/sdd-eval/sdd-eval/internal/claude"
)

func parseRules(t *testing.T, texts ...string) []Rule {
	t.Helper()
	var rules []Rule
	for _, text := range texts {
		r, err := ParseRule(text)
		require.NoError(t, err)
		require.Equal(t, text, r.String())
		rules = append(rules, r)
	}
	return rules
}

// projectWithLinks returns a project with a directory secrets, and links to it and out of the project.
func projectWithLinks(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	project := filepath.Join(dir, "project [1]")
	require.NoError(t, os.MkdirAll(filepath.Join(project, "secrets"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(project, "src"), 0o755))
	require.NoError(t, os.Symlink("secrets", filepath.Join(project, "link")))
	require.NoError(t, os.Symlink("/etc", filepath.Join(project, "src", "out")))
	return project
}

func TestRules(t *testing.T) {
	project := projectWithLinks(t)
	type in map[string]any
	tests := []struct {
		name string
		rule string
		tool string
		in   in
		// meets is the result of matchesAny, covers that of matchesAll.
		meets, covers bool
	}{
		{"tool", "Read", "Read", in{}, true, true},
		{"another tool", "Read", "ReadMany", in{}, false, false},
		{"any tool", "*", "mcp__a__b", in{}, true, true},
		{"tools of a server", "mcp__mail__*", "mcp__mail__send", in{}, true, true},
		{"tools of another server", "mcp__mail__*", "mcp__files__read", in{}, false, false},
		{"file", "Read(secrets/**)", "Read", in{"file_path": project + "/secrets/a/b"}, true, true},
		{"relative file", "Read(secrets/**)", "Read", in{"file_path": "../secrets/a"}, true, true},
		{"not below", "Read(secrets/**)", "Read", in{"file_path": project + "/src/secrets/a"}, false, false},
		{"not the same beginning", "Read(secrets/**)", "Read", in{"file_path": project + "/secrets2/a"}, false, false},
		{"anywhere", "Read(**/*.env)", "Read", in{"file_path": project + "/src/x/.env"}, true, true},
		{"with a dot in front", "Read(./src/*)", "Read", in{"file_path": project + "/src/a"}, true, true},
		{"around", "Read(secrets/**)", "Read", in{"file_path": project + "/src/../secrets/a"}, true, true},
		{"by a link", "Read(secrets/**)", "Read", in{"file_path": project + "/link/a"}, true, false},
		{"out by a link", "Read(src/**)", "Read", in{"file_path": project + "/src/out/passwd"}, true, false},
		{"absolute", "Read(/etc/**)", "Read", in{"file_path": "/etc/passwd"}, true, true},
		{"above", "Read(../*)", "Read", in{"file_path": project + "/../a"}, true, true},
		{"outside", "Read(**)", "Read", in{"file_path": "/etc/passwd"}, false, false},
		{"notebook", "NotebookEdit(src/*)", "NotebookEdit", in{"notebook_path": project + "/src/a"}, true, true},
		{"directory", "Grep(secrets/**)", "Grep", in{"path": project + "/secrets", "pattern": "x"}, true, true},
		{"no directory is the working one", "Grep(src/**)", "Grep", in{"pattern": "x"}, true, true},
		{"pattern of a glob", "Glob(/etc/**)", "Glob", in{"pattern": "/etc/*", "path": project}, true, true},
		{
			"relative pattern of a glob", "Glob(secrets/**)", "Glob",
			in{"pattern": "secrets/*", "path": project},
			true,
			true,
		},
		{"command", "Bash(git push*)", "Bash", in{"command": "git push origin"}, true, true},
		{"command in the middle", "Bash(*rm*-rf*)", "Bash", in{"command": "cd / && rm -rf ."}, true, true},
		{
			"another command", "Bash(git push*)", "Bash",
			in{"command": "git pull", "description": "git push"},
			false,
			false,
		},
		{"whole command", "Bash(ls)", "Bash", in{"command": "ls -l"}, false, false},
		{"parts do not overlap", "Bash(aba*aba)", "Bash", in{"command": "aba"}, false, false},
		{
			"URL", "WebFetch(https://example.com/*)", "WebFetch",
			in{"url": "https://example.com/a", "prompt": "x"},
			true, true,
		},
		{"query", "WebSearch(*weather*)", "WebSearch", in{"query": "the weather"}, true, true},
		{"nothing to compare", "TodoWrite(x)", "TodoWrite", in{"todos": []any{}}, false, false},
		{"a path that is no text", "Read(**)", "Read", in{"file_path": 1}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			input, err := json.Marshal(tt.in)
			require.NoError(t, err)
			rule := parseRules(t, tt.rule)[0]
			c := newCall(&payload{Tool: tt.tool, Cwd: project + "/src", Input: input}, project)
			require.Equal(t, tt.meets, rule.matchesAny(c), "meets")
			require.Equal(t, tt.covers, rule.matchesAll(c), "covers")
		})
	}
}

func TestMalformedRules(t *testing.T) {
	for _, text := range []string{
		"", "Read(", "Read()", "Read(a", "(a)", "Read a", "Read,Write", "Read|Write", "Re[ad", "Read(a[)", "Read)",
	} {
		_, err := ParseRule(text)
		require.Error(t, err, text)
	}
	for _, text := range []string{
		"", "Bash", "Bash command", "command=ls", "Bash =x", "Bash(a=b", "Bash( command=ls", "Bash (x) command=ls",
	} {
		_, err := ParseRewrite(text)
		require.Error(t, err, text)
	}
}

func TestPolicy(t *testing.T) {
	input := map[string]any{"command": "git push origin", "n": json.Number("12345678901234567890")}
	tests := []struct {
		name           string
		deny, allow    []string
		rewrite        []string
		denied, output string
	}{
		{name: "none"},
		{name: "deny", deny: []string{"Read", "Bash"}, denied: `Bash of "git push origin" is denied by the rule Bash`},
		{name: "deny others", deny: []string{"Read", "Bash(ls*)"}},
		{name: "allow", allow: []string{"Read", "Bash(git *)"}},
		{
			name: "allow others", allow: []string{"Read", "Bash(ls*)"},
			denied: `Bash of "git push origin" is not allowed: the rules allow Read, Bash(ls*)`,
		},
		{
			name: "deny is stronger", deny: []string{"Bash(*push*)"}, allow: []string{"Bash"},
			denied: `Bash of "git push origin" is denied by the rule Bash(*push*)`,
		},
		{
			name: "denied and not rewritten", deny: []string{"Bash"}, rewrite: []string{"Bash command=ls"},
			denied: `Bash of "git push origin" is denied by the rule Bash`,
		},
		{
			name: "rewrite", rewrite: []string{"Bash command=nice {old}"},
			output: `{"command":"nice git push origin","n":12345678901234567890}`,
		},
		{
			name: "rewrite with a pattern", rewrite: []string{"Bash(git push*) command=echo a=b (c)"},
			output: `{"command":"echo a=b (c)","n":12345678901234567890}`,
		},
		{name: "rewrite others", rewrite: []string{"Bash(ls) command=x"}},
		{
			name: "a value that is JSON", rewrite: []string{"Bash n=5", `Bash o={"a":[1]}`, `Bash s="5"`},
			output: `{"command":"git push origin","n":5,"o":{"a":[1]},"s":"5"}`,
		},
		{
			name: "one after the other", rewrite: []string{"Bash command=a {old}", "Bash command=b {old}"},
			output: `{"command":"b a git push origin","n":12345678901234567890}`,
		},
		{
			name: "what was not there", rewrite: []string{"Bash new=x{old}y", "Bash n={old}0"},
			output: `{"command":"git push origin","n":"123456789012345678900","new":"xy"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Policy{Deny: parseRules(t, tt.deny...), Allow: parseRules(t, tt.allow...)}
			for _, text := range tt.rewrite {
				r, err := ParseRewrite(text)
				require.NoError(t, err)
				require.Equal(t, text, r.String())
				p.Rewrite = append(p.Rewrite, r)
			}
			file := filepath.Join(t.TempDir(), "c")
			got := run(t, claude.Pre, p, payloadOf(t, claude.Pre, "tool_name", "Bash", "tool_input", input),
				VariableCapture+"="+file)
			c, err := capture.Read(file)
			require.NoError(t, err)
			call := c.Calls[0]
			switch {
			case tt.denied != "":
				require.Equal(t, ran{2, "", tt.denied + "\n"}, got)
				require.Equal(t, tt.denied, call.Error)
				require.True(t, call.Denied)
			case tt.output != "":
				require.Equal(t,
					ran{
						0, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":` + tt.output + "}}\n",
						"",
					}, got)
				rewritten, err := json.Marshal(call.Rewritten)
				require.NoError(t, err)
				require.JSONEq(t, tt.output, string(rewritten))
			default:
				require.Equal(t, ran{}, got)
				require.Nil(t, call.Rewritten)
			}
			require.Equal(t, input, call.Input, "what the agent asked for stays")
			require.Equal(t, ran{},
				run(t, claude.Pre, p, payloadOf(t, claude.Pre, "tool_name", "Bash", "tool_input", input)),
				"outside of tests people work")
		})
	}
}

func TestRewriteOfNoObject(t *testing.T) {
	r, err := ParseRewrite("Bash command=x")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "c")
	got := run(t, claude.Pre, Policy{Rewrite: []Rewrite{r}},
		payloadOf(t, claude.Pre, "tool_name", "Bash", "tool_input", "text"), VariableCapture+"="+file)
	require.Equal(t, ran{}, got)
	_, err = capture.Read(file)
	require.ErrorContains(t, err, "pre: rewrite Bash command=x: the input of the call is not an object")
}

// TestPolicyHoldsWithoutCapture holds that a policy does not depend on the disk.
func TestPolicyHoldsWithoutCapture(t *testing.T) {
	got := run(t, claude.Pre, Policy{Deny: parseRules(t, "Read")}, payloadOf(t, claude.Pre),
		VariableCapture+"="+t.TempDir())
	require.Equal(t, 2, got.code)
}
