package mockdir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/mock"
	"github.com/sdd-eval/sdd-eval/internal/mock/mockdir"
)

// write makes a directory with files.
func write(t testing.TB, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	return dir
}

func TestRead(t *testing.T) {
	first := write(t, map[string]string{
		"sell.md": "covered", "count.md": "---\nexpect:\n  of: {sku: '/^[a-z]+$/i'}\n  n: [1, two]\n---\n\n\n  12\n\n",
		"_tools.json": `{"result": {"tools": [` +
			`{"name": "count", "description": "Counts.", "inputSchema": {"x": 1}}]}}`,
		".hidden.md": "---\nnonsense", "notes.txt": "of nobody", "more/deep.md": "of nobody",
	})
	second := write(t, map[string]string{"sell.md": "---\nerror: true\n---\n{{file:x.txt}}", "x.txt": "gone"})
	s, files, err := mockdir.Read("shop", []string{first, second})
	require.NoError(t, err)
	assert.Len(t, files, 5, files)
	assert.Len(t, s.Tools, 2)
	assert.Equal(t, mock.Tool{
		Description: "Counts.", InputSchema: map[string]any{"type": "object", "x": s.Tools["count"].InputSchema["x"]},
		Body: "  12", Expect: []mock.Guard{
			{Path: "of.sku", Shown: "/^[a-z]+$/i", Matches: s.Tools["count"].Expect[0].Matches, Most: 7070},
			{Path: "n", OneOf: []string{"1", "two"}},
		},
	}, s.Tools["count"])
	assert.Equal(t, mock.Reply{Verdict: mock.Failed, Text: "gone"}, s.Call("sell", map[string]any{}))
	assert.Equal(t, mock.Reply{Verdict: mock.OK, Text: "  12"},
		s.Call("count", map[string]any{"of": map[string]any{"sku": "TEA"}, "n": 1.0}))
}

// TestProblems reads what cannot be played.
func TestProblems(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"model":         {"a.md", "---\ntype: agent\n---\nYou are a shop.", "a.md:2:1: type: agent: the server"},
		"model of all":  {"_server.md", "---\ntype: agent\ntools: [a]\n---\nx", "played by a model"},
		"fixed for all": {"_server.md", "x", "is about servers that a model plays"},
		"abort_when":    {"a.md", "---\nabort_when: x\n---\nx", "played by a model"},
		"tools":         {"a.md", "---\ntools: [b]\n---\nx", "tools: is for _server.md"},
		"name":          {"a b.md", "x", "letters, digits"},
		"separator":     {"a__b.md", "x", "no __"},
		"unknown key":   {"a.md", "---\nexpects: {}\n---\nx", "unknown key"},
		"stub": {
			"a.md", "TODO: replace with the canned result this tool should return", "nobody has written",
		},
		"no end of head": {"a.md", "---\nerror: true\n", "has no other that ends the head"},
		"no YAML":        {"a.md", "---\n{\n---\nx", "a.md:"},
		"group":          {"a.md", "---\nexpect: {a: /(a)/}\n---\nx", "a.md:2:13: expect.a: /(a)/: has more than"},
		"loops":          {"a.md", "---\nexpect: {a: /a*a*a*a*a*a*a*a*/}\n---\nx", "could look at nothing"},
		"flags":          {"a.md", "---\nexpect: {a: /a/g}\n---\nx", "only the flags i and s"},
		"empty list":     {"a.md", "---\nexpect: {a: []}\n---\nx", "can never hold"},
		"null":           {"a.md", "---\nexpect: {a: }\n---\nx", "must be a text"},
		"no mapping":     {"a.md", "---\nexpect: 3\n---\nx", "must be a mapping"},
		"many guards": {
			"a.md", "---\nexpect: {" + strings.Repeat("a", 1) + ": 1, " + many(33) + "}\n---\nx",
			"34 values are more than 32",
		},
		"no list":     {"_tools.json", `[]`, "is no saved answer"},
		"empty list_": {"_tools.json", `{}`, "is no saved answer"},
		"nothing":     {"notes.txt", "x", "so that it answers nothing"},
		"large":       {"a.md", strings.Repeat("x", 1<<20+1), "1048577 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := mockdir.Read("shop", []string{write(t, map[string]string{tt.file: tt.text})})
			require.Error(t, err)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
}

func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("k%d: 1", i))
	}
	return strings.Join(all, ", ")
}

// TestHostile reads directories that somebody has made to do harm.
func TestHostile(t *testing.T) {
	outside := write(t, map[string]string{"secret.md": "secret"})
	t.Run("link", func(t *testing.T) {
		dir := write(t, map[string]string{"a.md": "x"})
		require.NoError(t, os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "b.md")))
		_, _, err := mockdir.Read("shop", []string{dir})
		assert.ErrorContains(t, err, "is no regular file")
	})
	t.Run("link among files", func(t *testing.T) {
		dir := write(t, map[string]string{"a.md": "{{file:b}}"})
		require.NoError(t, os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "b")))
		_, _, err := mockdir.Read("shop", []string{dir})
		assert.ErrorContains(t, err, "is no regular file")
	})
	t.Run("entries", func(t *testing.T) {
		files := make(map[string]string)
		for i := range 257 {
			files[fmt.Sprintf("f%d.md", i)] = "x"
		}
		_, _, err := mockdir.Read("shop", []string{write(t, files)})
		assert.ErrorContains(t, err, "more than 256 entries")
	})
	t.Run("depth", func(t *testing.T) {
		dir := write(t, map[string]string{"a.md": "{{file:b}}", strings.Repeat("d/", 10) + "f": "x"})
		_, _, err := mockdir.Read("shop", []string{dir})
		assert.ErrorContains(t, err, "more than 8 levels deep")
	})
	t.Run("size of all", func(t *testing.T) {
		files := map[string]string{"a.md": "{{file:b}}"}
		for i := range 9 {
			files[fmt.Sprint("f", i)] = strings.Repeat("x", 1<<20)
		}
		_, _, err := mockdir.Read("shop", []string{write(t, files)})
		assert.ErrorContains(t, err, "more than 8388608 bytes")
	})
	t.Run("number of all", func(t *testing.T) {
		files := map[string]string{"a.md": "{{file:d0/f0}}"}
		for i := range 17 * 250 {
			files[fmt.Sprintf("d%d/f%d", i/250, i%250)] = ""
		}
		_, _, err := mockdir.Read("shop", []string{write(t, files)})
		assert.ErrorContains(t, err, "more than 4096 entries in all")
	})
	t.Run("no directory", func(t *testing.T) {
		_, _, err := mockdir.Read("shop", []string{filepath.Join(outside, "none")})
		assert.Error(t, err)
	})
}

// TestCalls tells which calls of a session were answered, and how.
func TestCalls(t *testing.T) {
	server, _, err := mockdir.Read("shop", []string{write(t, map[string]string{
		"sell.md": "---\nexpect: {sku: tea}\n---\nsold {{input.sku}}", "fail.md": "---\nerror: true\n---\nno",
	})})
	require.NoError(t, err)
	run := &trajectory.Run{}
	call := func(id, name string, args any, status trajectory.Status, before ...trajectory.Body) {
		run.Events = append(run.Events, trajectory.Event{Body: trajectory.ToolStart{ID: id, Name: name, Args: args}})
		for _, b := range before {
			run.Events = append(run.Events, trajectory.Event{Body: b})
		}
		if status != "" {
			run.Events = append(run.Events, trajectory.Event{Body: trajectory.ToolEnd{ID: id, Status: status}})
		}
	}
	tea, milk := map[string]any{"sku": "tea"}, map[string]any{"sku": "milk"}
	call("1", "mcp__shop__sell", tea, trajectory.Completed)
	call("2", "Read", tea, trajectory.Completed)
	call("3", "mcp__shop__fail", nil, trajectory.Completed) // the agent does not tell that it failed
	call("4", "mcp__shop__none", tea, trajectory.Failed)
	call("5", "mcp__shop__sell", milk, trajectory.Failed, trajectory.Permission{
		ID: "5", Options: []trajectory.PermissionOption{{ID: "no", Kind: "reject_once"}}, Decision: "no",
	})
	call("6", "mcp__shop__sell", tea, "")
	call("7", "mcp__shop__sell", milk, "", trajectory.Permission{
		ID: "7", Options: []trajectory.PermissionOption{{ID: "yes", Kind: "allow_once"}}, Decision: "yes",
	})
	calls := mockdir.Set{server}.Calls(run)
	lines, err := mockdir.Lines(calls)
	require.NoError(t, err)
	assert.Equal(t, `{"tool":"mcp__shop__sell","input":{"sku":"tea"},"output":"sold tea","verdict":"ok"}
{"tool":"mcp__shop__fail","input":null,"output":"no","isError":true,"verdict":"tool_error"}
{"tool":"mcp__shop__sell","input":{"sku":"milk"},"output":"","isError":true,"verdict":"tool_error"}
{"tool":"mcp__shop__sell","input":{"sku":"tea"},"verdict":"no_result"}
{"tool":"mcp__shop__sell","input":{"sku":"milk"},"output":"the call was refused by the mock of shop/sell: `+
		`input violates expect: sku = \"milk\" is not \"tea\"","isError":true,"verdict":"abort"}`, lines)
	assert.Empty(t, mockdir.Set(nil).Calls(run))
}

// TestUntoldCalls: a call that an agent does not tell of counts, and what both tell counts once, as it was asked for.
func TestUntoldCalls(t *testing.T) {
	files := map[string]string{"sell.md": "---\nexpect: {sku: tea}\n---\nsold"}
	server, _, err := mockdir.Read("shop", []string{write(t, files)})
	require.NoError(t, err)
	run := &trajectory.Run{}
	add := func(bodies ...trajectory.Body) {
		for _, b := range bodies {
			run.Events = append(run.Events, trajectory.Event{Body: b})
		}
	}
	seen := func(server, sku string) trajectory.MCPCall {
		return trajectory.MCPCall{
			Server: server, Method: "tools/call", Tool: "sell", Params: map[string]any{"sku": sku},
		}
	}
	add(trajectory.ToolStart{ID: "1", Name: "mcp__shop__sell", Args: map[string]any{"sku": "tea"}}, seen("shop", "tea"),
		trajectory.ToolEnd{ID: "1", Status: trajectory.Completed}, seen("shop", "tea"), seen("shop", "milk"),
		seen("other", "milk"), trajectory.MCPCall{Server: "shop", Method: "tools/list"})
	add(trajectory.ToolStart{ID: "2", Name: "mcp__shop__sell", Args: map[string]any{"what": "tea"}})
	add(trajectory.ToolEnd{ID: "2", Status: trajectory.Completed})
	var verdicts []mock.Verdict
	for _, c := range (mockdir.Set{server}).Calls(run) {
		assert.Equal(t, "mcp__shop__sell", c.Name)
		verdicts = append(verdicts, c.Reply.Verdict)
	}
	assert.Equal(t, []mock.Verdict{mock.OK, mock.OK, mock.Refused}, verdicts)
}

// FuzzRead reads files of tools and lists of them.
func FuzzRead(f *testing.F) {
	f.Add("---\nexpect: {a: /^[a-z]{2,3}?x*$/i, b: {c: [1, true]}}\nerror: true\n---\n{{input.a}}", `{"tools": []}`)
	f.Add("---\ntype: agent\n---\nx", `{"result": {"tools": [{"name": "a"}]}}`)
	f.Fuzz(func(t *testing.T, tool, list string) {
		s, _, err := mockdir.Read("shop", []string{write(t, map[string]string{"a.md": tool, "_tools.json": list})})
		if err == nil {
			s.Call("a", map[string]any{"a": "x", "b": map[string]any{"c": true}})
		}
	})
}
