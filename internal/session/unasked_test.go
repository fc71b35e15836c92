package session

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

type bodies = []trajectory.Body

// call is the start of a tool call that names files of the workspace.
func call(kind, name, title string, paths ...string) trajectory.ToolStart {
	c := trajectory.ToolStart{ID: name + title, Kind: kind, Name: name, Title: title}
	for _, p := range paths {
		c.Locations = append(c.Locations, trajectory.Location{Path: p})
	}
	return c
}

// bash is the start of a call that runs a command: a line, or a list of words.
func bash(command any) trajectory.ToolStart {
	return trajectory.ToolStart{ID: "sh", Kind: "execute", Name: "Bash", Args: map[string]any{"command": command}}
}

// ended is a call that ended so, with these events before its start and in it.
func ended(status trajectory.Status, c trajectory.ToolStart, before bodies, in ...trajectory.Body) bodies {
	all := append(bodies{}, before...)
	all = append(append(all, c), in...)
	return append(all, trajectory.ToolEnd{ID: c.ID, Status: status})
}

// asked is the agent's question whether it may make a call, and the answer.
func asked(c trajectory.ToolStart, decision string) trajectory.Permission {
	return trajectory.Permission{ID: c.ID, Decision: decision, Options: []trajectory.PermissionOption{
		{ID: "yes", Kind: "allow_once"},
		{ID: "no", Kind: "reject_once"},
		{ID: "both", Kind: "allow_once"},
		{ID: "both", Kind: "reject_once"},
		{ID: "last", Kind: "allow_always"},
	}}
}

// unasked returns the lines that an error has about what the agent did, none without an error, and the error.
func unasked(t *testing.T, more string, changed []string, did bodies, change func(*Config)) (string, error) {
	t.Helper()
	c := config(t, more, script())
	turn := cassette.Turn{Events: []trajectory.Event{{Turn: 1, Body: trajectory.Prompt{Text: "one"}}}}
	for _, b := range append(did, trajectory.Stop{Reason: "end_turn"}) {
		turn.Events = append(turn.Events, trajectory.Event{Turn: 1, Body: b})
	}
	for _, path := range changed {
		turn.Delta.Changes = append(turn.Delta.Changes,
			workspace.Change{Path: path, Op: workspace.Added, Kind: workspace.File, Data: []byte("x")})
	}
	c.Recording = Recording{Cassette: &cassette.Cassette{Path: "c.jsonl", Turns: []cassette.Turn{turn}}}
	if change != nil {
		change(&c)
	}
	s := Replay(c)
	err := s.Ask(t.Context(), []string{"one"})
	if err == nil {
		return "", nil
	}
	_, lines, ok := strings.Cut(err.Error(), ":\n  ")
	require.True(t, ok, err)
	return strings.ReplaceAll(lines, "\n  ", "; "), err
}

// TestUnasked holds what an agent did that the playbook forbids.
func TestUnasked(t *testing.T) {
	const (
		completed, failed = trajectory.Completed, trajectory.Failed
		reject            = "permissions: {default: reject}"
		docs              = "permissions: {default: allow, rules: [{path: docs/**, decide: reject}]}"
		noEdit            = "permissions: {default: allow, rules: [{tool: Edit, decide: reject}]}"
		noRead            = "permissions: {default: allow, rules: [{tool: Read, decide: reject}]}"
	)
	edit := call("edit", "Edit", "Edit a.go", "$WORKSPACE/a.go")
	diff := trajectory.ToolEnd{
		ID: "Edit", Status: completed, Diffs: []trajectory.Diff{{Path: "$WORKSPACE/docs/a.md"}},
	}
	remove := bash("rm x")
	ranRemove := trajectory.Terminal{Command: "rm", Args: []string{"x"}}
	wrote := trajectory.FileWrite{Path: "$WORKSPACE/a.go"}
	exited := trajectory.ToolEnd{ID: "sh", Status: failed, ExitCode: new(1)}
	twoLines := call("edit", "Edit", strings.Repeat("x", 200))
	reads := func(line string) trajectory.ToolStart { // as Codex calls what a shell does
		return trajectory.ToolStart{ID: "r", Kind: "read", Name: "Shell", Args: map[string]any{
			"command": []any{"bash", "-lc", line},
		}}
	}
	seven := func(n int) (all bodies) {
		for i := range n {
			all = append(all, call("edit", "E", strings.Repeat("x", i+1)))
		}
		return all
	}
	tests := []struct {
		name, more string
		changed    []string
		did        bodies
		want       string
	}{
		{name: "nothing", more: reject, did: bodies{trajectory.Message{Text: "a"}}},
		{name: "edit", more: reject, did: ended(completed, edit, nil), want: "Edit a.go"},
		{name: "edit that has not ended", more: reject, did: bodies{edit}, want: "Edit a.go"},
		{name: "delete", more: reject, did: bodies{call("delete", "Rm", "a")}, want: "Rm a"},
		{name: "move", more: reject, did: bodies{call("move", "Mv", "a")}, want: "Mv a"},
		{name: "deletion that is called reading", more: reject, did: bodies{reads("cat a; rm b")}, want: "Shell "},
		{name: "edit that is called reading", more: reject, did: bodies{reads("sed -i s/a/b/ a")}, want: "Shell "},
		{name: "move that is called reading", more: reject, did: bodies{reads("mv a b")}, want: "Shell "},
		{name: "reading", more: reject, did: bodies{reads("cat a")}},
		{name: "no name", more: reject, did: bodies{call("edit", "", "")}, want: "edit"},
		{name: "no name, a title", more: reject, did: bodies{call("edit", "", "Do it")}, want: "Do it"},
		{name: "edit that failed", more: reject, did: ended(failed, edit, nil)},
		{name: "edit that was cancelled", more: reject, did: ended(trajectory.Cancelled, edit, nil)},
		{name: "accepted", more: "permissions: {default: reject, allow_unasked: true}", did: bodies{edit}},
		{name: "error", more: "permissions: {default: error}", did: bodies{edit}, want: "Edit a.go"},
		{
			name: "asked for", more: reject, did: ended(completed, edit, bodies{asked(edit, "yes")}),
			changed: []string{"a.go"},
		},
		{name: "asked for, the last option", more: reject, did: ended(completed, edit, bodies{asked(edit, "last")})},
		{
			name: "asked for, another file", more: reject, did: ended(completed, edit, bodies{asked(edit, "yes")}),
			changed: []string{"a.go", "b.go"}, want: "changed b.go",
		},
		{
			name: "refused", more: reject, did: ended(completed, edit, bodies{asked(edit, "no")}),
			want: "Edit a.go (although it was refused)",
		},
		{name: "refused, and not done", more: reject, did: ended(failed, edit, bodies{asked(edit, "no")})},
		{
			name: "refused by an ambiguous option", more: reject,
			did:  ended(completed, edit, bodies{asked(edit, "both")}),
			want: "Edit a.go (although it was refused)",
		},
		{
			name: "cancelled question", more: reject, did: ended(completed, edit, bodies{asked(edit, "cancelled")}),
			want: "Edit a.go (although it was refused)",
		},
		{
			name: "refused, and exited", more: reject, did: bodies{asked(remove, "no"), remove, exited},
			want: "Bash (although it was refused)",
		},
		{
			name: "refused reading", more: reject,
			did: ended(completed, call("read", "Read", "a"), bodies{asked(call("read", "Read", "a"), "no")}),
		},
		{
			name: "refused reading that a rule names", more: noRead,
			did:  ended(completed, call("read", "Read", "a"), bodies{asked(call("read", "Read", "a"), "no")}),
			want: "Read a (although it was refused)",
		},
		{name: "command", more: reject, did: ended(completed, remove, nil), want: "Bash "},
		{name: "command that exited", more: reject, did: bodies{remove, exited}, want: "Bash "},
		{name: "harmless command", more: reject, did: ended(completed, bash("ls -l"), nil)},
		{name: "harmless words", more: reject, did: ended(completed, bash([]any{"ls", "-l"}), nil)},
		{name: "no command", more: reject, did: bodies{call("execute", "Bash", "")}, want: "Bash "},
		{name: "reading", more: reject, did: ended(completed, call("read", "Read", "a"), nil)},
		{name: "reading that a rule names", more: noRead, did: bodies{call("read", "Read", "a")}, want: "Read a"},
		{
			name: "reading that a path forbids", more: docs,
			did: bodies{call("read", "Read", "a", "$WORKSPACE/docs/a.md")},
		},
		{
			name: "reading that a rule allows",
			did:  bodies{call("read", "Read", "a")},
			more: "permissions: {default: reject, rules: [{tool: Read, decide: allow}]}",
		},
		{name: "a tool", more: noEdit, did: ended(completed, edit, nil), want: "Edit a.go"},
		{name: "another tool", more: noEdit, did: bodies{call("edit", "Write", "a", "$WORKSPACE/a.go")}},
		{
			name: "a path", more: docs, did: bodies{call("edit", "Edit", "a", "$WORKSPACE/docs/a.md")},
			want: "Edit a",
		},
		{name: "a path of a diff", more: docs, did: bodies{call("edit", "Edit", ""), diff}, want: "Edit "},
		{name: "a path elsewhere", more: docs, did: bodies{call("edit", "Edit", "a", "$HOME/docs/a.md")}},
		{name: "change", more: reject, changed: []string{"a.go"}, want: "changed a.go"},
		{name: "change of another path", more: docs, changed: []string{"a.go"}},
		{name: "change of a path", more: docs, changed: []string{"docs/a.md"}, want: "changed docs/a.md"},
		{name: "a change below a directory", more: reject, changed: []string{"sub/x/y"}, want: "changed sub/x/y"},
		{
			name: "change by a call for a directory", more: docs, changed: []string{"docs/x/y"},
			did: ended(completed, call("edit", "Edit", "", "$WORKSPACE/docs"),
				bodies{asked(call("edit", "Edit", "", "$WORKSPACE/docs"), "yes")}),
		},
		{
			name: "change by an allowed command", more: docs, changed: []string{"docs/x"},
			did: ended(completed, remove, bodies{asked(remove, "yes")}),
		},
		{
			name: "change by a command that nothing forbids", more: docs, changed: []string{"docs/x"},
			did: ended(completed, remove, nil),
		},
		{
			name: "change beside a harmless command", more: docs, changed: []string{"docs/x"},
			did: ended(completed, bash("ls"), nil), want: "changed docs/x",
		},
		{
			name: "change by a move", more: docs, changed: []string{"docs/x"},
			did: bodies{call("move", "Mv", "a", "$WORKSPACE/a.go")},
		},
		{
			name: "change beside a deletion", more: docs, changed: []string{"docs/x"},
			did: bodies{call("delete", "Rm", "a", "$WORKSPACE/a.go")}, want: "changed docs/x",
		},
		{
			name: "change by an edit of unknown files", more: docs, changed: []string{"docs/x"},
			did: bodies{call("edit", "Edit", "")},
		},
		{
			name: "change of a file that was read", more: docs, changed: []string{"docs/x"},
			did: bodies{call("read", "Read", "", "$WORKSPACE/docs/x")}, want: "changed docs/x",
		},
		{
			name: "change of a file that was moved and read", more: docs, changed: []string{"docs/x"},
			did: bodies{
				call("move", "Move", ""), call("read", "Read", "", "$WORKSPACE/docs/x"),
			},
		},
		{name: "six", more: reject, did: seven(6), want: "E x; E xx; E xxx; E xxxx; E xxxxx; E xxxxxx"},
		{name: "seven", more: reject, did: seven(7), want: "E x; E xx; E xxx; E xxxx; E xxxxx; and 2 more"},
		{name: "long", more: reject, did: bodies{twoLines}, want: "Edit " + strings.Repeat("x", maxSubject-5) + "…"},

		{name: "file of the client", more: reject, did: bodies{wrote}, want: "wrote $WORKSPACE/a.go"},
		{
			name: "file of the client that changed", more: reject, did: bodies{wrote}, changed: []string{"a.go"},
			want: "wrote $WORKSPACE/a.go",
		},
		{name: "file of the client in a path", more: docs, did: bodies{wrote}},
		{name: "file not written", more: reject, did: bodies{trajectory.FileWrite{Path: "a", Error: "no"}}},
		{name: "file of an edit", more: reject, did: ended(completed, edit, bodies{asked(edit, "yes")}, wrote)},
		{name: "file of a told edit", more: reject, did: ended(completed, edit, nil, wrote), want: "Edit a.go"},
		{
			name: "file after an edit", more: reject,
			did:  append(ended(completed, edit, bodies{asked(edit, "yes")}), wrote),
			want: "wrote $WORKSPACE/a.go",
		},
		{
			name: "file of an edit that failed", more: reject, did: ended(failed, edit, nil, wrote),
			want: "wrote $WORKSPACE/a.go",
		},
		{
			name: "file of a refused edit", more: reject, did: ended(failed, edit, bodies{asked(edit, "no")}, wrote),
			want: "wrote $WORKSPACE/a.go (although it was refused)",
		},
		{
			name: "file of a refused reading", more: docs,
			did: ended(failed, call("read", "Read", "", "$WORKSPACE/a.go"),
				bodies{asked(call("read", "Read", "", "$WORKSPACE/a.go"), "no")}, wrote),
		},
		{
			name: "file of an edit of another", more: reject,
			did: ended(completed, call("edit", "Edit", "", "$WORKSPACE/b.go"),
				bodies{asked(call("edit", "Edit", "", "$WORKSPACE/b.go"), "yes")}, wrote),
			want: "wrote $WORKSPACE/a.go",
		},
		{
			name: "file of an edit of unknown files", more: reject,
			did: ended(completed, call("edit", "Edit", ""), bodies{asked(call("edit", "Edit", ""), "yes")}, wrote),
		},
		{name: "file of a command", more: reject, did: ended(completed, remove, bodies{asked(remove, "yes")}, wrote)},

		{
			name: "file outside of the workspace", did: bodies{trajectory.FileWrite{Path: "$HOME/x"}},
			more: "permissions: {default: allow, rules: [{path: /**, decide: reject}]}", want: "wrote $HOME/x",
		},
		{
			name: "file of a refused download", more: docs,
			did: ended(failed, call("fetch", "Fetch", "", "$WORKSPACE/a.go"),
				bodies{asked(call("fetch", "Fetch", "", "$WORKSPACE/a.go"), "no")}, wrote),
		},

		{name: "command of the client", more: reject, did: bodies{ranRemove}, want: "ran rm x"},
		{
			name: "harmless command of the client", more: reject,
			did: bodies{trajectory.Terminal{Command: "ls", Args: []string{"-l"}}},
		},
		{name: "harmless line of the client", more: reject, did: bodies{trajectory.Terminal{Command: "ls -l"}}},
		{name: "line of the client", more: reject, did: bodies{trajectory.Terminal{Command: "rm x"}}, want: "ran rm x"},
		{name: "command not started", more: reject, did: bodies{trajectory.Terminal{Command: "rm", Error: "no"}}},
		{
			name: "command of a call", more: reject,
			did: ended(completed, remove, bodies{asked(remove, "yes")}, ranRemove),
		},
		{
			name: "command of a shell", more: reject,
			did: ended(completed, bash([]any{"/bin/bash", "-lc", " rm x"}), nil, trajectory.Terminal{
				Command: "sh", Args: []string{"-c", "rm x"},
			}),
			want: "Bash ",
		},
		{
			name: "command of a refused call", more: reject,
			did:  ended(failed, remove, bodies{asked(remove, "no")}, ranRemove),
			want: "ran rm x (although it was refused)",
		},
		{
			name: "command that was refused and then allowed", more: reject,
			did: append(ended(failed, remove, bodies{asked(remove, "no")}),
				ended(completed, remove, bodies{asked(remove, "yes")}, ranRemove)...),
		},
		{
			name: "another command of a refused call", more: reject,
			did: ended(failed, remove, bodies{asked(remove, "no")},
				trajectory.Terminal{Command: "rm", Args: []string{"y"}}),
			want: "ran rm y",
		},
		{
			name: "another command of an allowed call", more: reject,
			did: ended(completed, edit, bodies{asked(edit, "yes")}, ranRemove),
		},
		{
			name: "change by a command of the client", more: docs, changed: []string{"docs/x"}, did: bodies{ranRemove},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := unasked(t, tt.more, tt.changed, tt.did, nil)
			assert.Equal(t, strings.TrimSpace(tt.want), strings.TrimSpace(got))
		})
	}
}

// TestUnaskedAdvice holds where an error points to, and that an imported recording is not checked.
func TestUnaskedAdvice(t *testing.T) {
	const reject = "permissions: {default: reject}"
	edit := bodies{call("edit", "Edit", "")}
	_, err := unasked(t, reject, nil, edit, nil)
	require.ErrorContains(t, err,
		"bench.yaml:3: variants.fake.agent: the agent did what `permissions` forbid, unasked:\n")
	assert.Equal(t, "name a mode in which the agent asks under variants.fake.agent, "+
		"or accept it with `permissions: {allow_unasked: true}`", fault.Advice(err))

	_, err = unasked(t, reject, nil, edit, func(c *Config) {
		c.Unit.Variant.Agent.Kind = "claude-code-acp"
		c.Recording.Cassette.Header.Agent.Modes = []string{"default", "auto"}
	})
	require.ErrorContains(t, err, "forbid, unasked, in the mode \"auto\":\n")
	assert.Equal(t, "write `mode: default` under variants.fake.agent, "+
		"or accept it with `permissions: {allow_unasked: true}`", fault.Advice(err))

	_, err = unasked(t, reject, nil, edit, func(c *Config) {
		c.Recording.Cassette.Header.Origin = cassette.OriginImported + " from a log"
	})
	require.NoError(t, err)
}

// TestMayChange holds which calls may change something.
func TestMayChange(t *testing.T) {
	for kind, want := range map[string]bool{"edit": true, "delete": true, "move": true, "read": false, "": false} {
		assert.Equal(t, want, changes(trajectory.ToolCall{Kind: kind, Name: "Some"}), kind)
	}
}

// TestFilesOf holds paths of a recording to what rules say of them.
func TestFilesOf(t *testing.T) {
	got := filesOf(trajectory.ToolCall{
		Locations: []trajectory.Location{{Path: "$WORKSPACE/dir/a"}, {Path: "$HOME/b"}, {Path: "/etc/c"}},
		Diffs:     []trajectory.Diff{{Path: "$WORKSPACE/d"}},
	})
	assert.Equal(t, []string{"dir/a", "/$HOME/b", "/etc/c", "d"}, got)
}
