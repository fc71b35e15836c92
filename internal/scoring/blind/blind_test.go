package blind

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

func TestHide(t *testing.T) {
	names := NamesOf(rundir.Manifest{
		Variants: []rundir.Variant{
			{
				ID: "fast", Style: "sdd", Kind: "claude-code-acp", Preset: "production",
				Command: "/opt/bin/my-wrapper.exe", Model: "sonnet-9",
			},
			{ID: "fast-2", Style: "sdd-legacy", Kind: "acp", Preset: "team-7", Command: "node"},
			{ID: "x", Style: "gemini-style", Kind: "gemini-acp", Command: "gemini"},
		},
		Cases: []rundir.Case{{Title: "A client for Gemini", Prompts: []string{"Use gemini-style requests."}}},
	})
	tests := []struct{ name, reason, text, want string }{
		{
			"product", "in any case, inside words", "CLAUDE.md, myClaudeCode <x@anthropic.com>",
			"[hidden].md, my[hidden]Code <x@[hidden].com>",
		},
		{"kind", "", "claude-code-acp", Hidden},
		{"command", "", "exec My-Wrapper now", "exec [hidden] now"},
		{"runtime", "hiding it would spoil the work", "node server.js", "node server.js"},
		{"model", "", "by sonnet-9.", "by [hidden]."},
		{"style", "the longest name wins", "sdd-legacy and sdd, not sddx", "[hidden] and [hidden], not sddx"},
		{"protocol", "", "acp", "acp"},
		{"id", "", "fast-2 is done", "[hidden] is done"},
		{"id that is a plain word", "programs contain it", "func fast()", "func fast()"},
		{
			"id in a path", "", "/r/variants/fast/workspace variants\\fast-2 variants/x/y",
			"/r/variants/[hidden]/workspace variants\\[hidden] variants/[hidden]/y",
		},
		{"preset that is a plain word", "", "production", "production"},
		{"preset", "", "team-7", Hidden},
		{"name that the task uses", "it tells nothing", "geminiClient", "geminiClient"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, names.Hide(tt.text), tt.reason) })
	}
	require.Equal(t, "text", NamesOf(rundir.Manifest{}).Hide("text"))
}

// TestHideProducts hides what gives an agent away in the work of every kind that has a maker.
func TestHideProducts(t *testing.T) {
	for _, p := range agent.Profiles() {
		for _, v := range []rundir.Variant{
			{ID: "a", Kind: p.Kind, Command: "wrapper"}, {ID: "a", Kind: "acp", Command: "/opt/" + p.Command},
		} {
			for _, name := range p.Names {
				require.Equal(t, "By My[hidden]Bot.",
					NamesOf(rundir.Manifest{Variants: []rundir.Variant{v}}).Hide("By My"+name+"Bot."), v)
			}
		}
		general := p.Kind == "acp" || p.Kind == agent.Fake
		require.Equal(t, general, len(p.Names) == 0, "%s: by which words do people know this agent?", p.Kind)
	}
}

func TestCutDiff(t *testing.T) {
	file := func(name string, lines int) string {
		return "diff --git a/" + name + " b/" + name + "\n" + strings.Repeat("+23456789\n", lines)
	}
	small, large := file("a", 3), file("b", 5000)
	require.Equal(t, small, cutDiff(small, 1000))
	got := cutDiff(large+small, 1000)
	require.Contains(t, got, small, "a large file before it does not crowd it out")
	require.Regexp(t, `(?s)^diff --git a/b b/b\n\+23456789\n.*\n\[\d+ more bytes of this file are not shown\]\n`, got)
	require.Less(t, len(got), 1100)

	got = cutDiff(strings.Repeat(small, 1000), 1000)
	require.Contains(t, got, "[998 more changed files are not shown]")
	got = cutDiff("diff --git a/x b/x\n+"+strings.Repeat("é", 5000), 1001)
	require.Equal(t, "diff --git a/x b/x\n[10001 more bytes of this file are not shown]\n", got, "one long line")
}

func TestCommands(t *testing.T) {
	one := 1
	var e Sample
	e.addCommands([]result.Command{
		{Command: "go test", ExitCode: &one, Output: strings.Repeat("x ", 2500) + "end"},
		{Command: "sleep 9", Signal: "killed", Cut: true},
		{Command: "ls"},
	}, NamesOf(rundir.Manifest{}), 1200)
	require.Equal(t, "exit 1", e.Commands[0].Exit)
	require.True(t, e.Commands[0].Cut)
	require.InDelta(t, 300, len(e.Commands[0].Output), 3)
	require.True(t, strings.HasSuffix(e.Commands[0].Output, "end"), "the end tells how it went")
	require.Equal(t, []Command{{Command: "sleep 9", Exit: "signal killed", Cut: true}, {Command: "ls"}}, e.Commands[1:])

	e = Sample{}
	e.addCommands(make([]result.Command, 1000), NamesOf(rundir.Manifest{}), 1<<20)
	require.Len(t, e.Commands, maxCommands)
	require.Equal(t, 1000-maxCommands, e.CommandsLeftOut)
	e = Sample{}
	e.addCommands(nil, NamesOf(rundir.Manifest{}), 0)
	require.Empty(t, e.Commands)
}

func TestHeadAndTail(t *testing.T) {
	require.Equal(t, "abc", head("abc", 3))
	require.Equal(t, "é\n[3 more bytes are not shown]", head("éèx", 3), "no half letters")
	require.Equal(t, "by\n[8 more bytes are not shown]", head("by\nClaude.", 6), "no half words")
	got, cut := tail("éx", 2)
	require.Equal(t, "x", got)
	require.True(t, cut)
	got, _ = tail("by Claude. Done", 8)
	require.Equal(t, "Done", got)
	got, cut = tail("abc", 3)
	require.Equal(t, "abc", got)
	require.False(t, cut)
}

func BenchmarkHide(b *testing.B) {
	names := NamesOf(rundir.Manifest{
		Variants: []rundir.Variant{{ID: "a-1", Style: "sdd", Kind: "claude-code-acp"}, {ID: "b-1", Kind: "codex-acp"}},
	})
	text := strings.Repeat("+a line of a program that somebody wrote\n", 1000) + "by Claude\n"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		names.Hide(text)
	}
}

// TestAnswerIn holds that an answer is found without the events before it.
func TestAnswerIn(t *testing.T) {
	say := func(turn int, text string) trajectory.Event {
		return trajectory.Event{Turn: turn, Body: trajectory.Message{Text: text}}
	}
	stop := func(turn int) trajectory.Event {
		return trajectory.Event{Turn: turn, Body: trajectory.Stop{Reason: "end_turn"}}
	}
	for want, events := range map[string][]trajectory.Event{
		"":       {say(1, "no answer"), stop(1), stop(2), stop(2)},
		"last":   {stop(1), stop(1), stop(1), say(1, "first"), say(1, "last"), stop(1), stop(1), stop(1)},
		"second": {say(1, "first"), stop(1), say(2, "second")},
	} {
		run := trajectory.Run{Cwd: "$WORKSPACE", Events: events}
		text, err := json.MarshalIndent(&run, "", "  ")
		require.NoError(t, err)
		got, err := answerIn(bytes.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, run.Answer(), got)
		for _, cut := range []int{2, 10} {
			_, err = answerIn(bytes.NewReader(text[:len(text)-cut]))
			require.Error(t, err)
		}
		_, err = answerIn(strings.NewReader(string(text) + "x"))
		require.Error(t, err)
	}
}
