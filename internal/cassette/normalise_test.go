package cassette

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func newTestNormaliser() *Normaliser {
	return NewNormaliser(
		map[string]string{
			"/run/ws": "$WORKSPACE", "/run/ws/home/": "$HOME", "/run": "$TMPDIR",
			"/": "$ROOT", "": "$NONE",
		},
		[]*regexp.Regexp{
			regexp.MustCompile(`\d+\.\d+s`), regexp.MustCompile(`pid \w+`),
			regexp.MustCompile(`^done .*`),
		},
		[]string{"turn_id"},
	)
}

func TestNormaliseText(t *testing.T) {
	tests := []struct{ name, reason, in, want string }{
		{"whole path", "", "/run/ws", "$WORKSPACE"},
		{"below", "", "/run/ws/a/b.go", "$WORKSPACE/a/b.go"},
		{
			"inside text", "", "see file:///run/ws/a, /run/ws: and /run/ws.",
			"see file://$WORKSPACE/a, $WORKSPACE: and $WORKSPACE.",
		},
		{
			"sibling", "the beginning of a name is another name",
			"/run/ws2 /run/ws-old /run/ws.bak /run/ws_x /run/wsé",
			"$TMPDIR/ws2 $TMPDIR/ws-old $TMPDIR/ws.bak $TMPDIR/ws_x $TMPDIR/wsé",
		},
		{
			"below another directory", "it is the beginning that counts",
			"/src/run/ws ./run/ws ~/run/ws ${X}/run/ws **/run", "/src/run/ws ./run/ws ~/run/ws ${X}/run/ws **/run",
		},
		{"longest first", "home lies below the workspace", "/run/ws/home/x /run/ws/homes", "$HOME/x $WORKSPACE/homes"},
		{
			"options", "they have no space before their value", "gcc -I/run/ws -L/run/x --y=/run/ws",
			"gcc -I$WORKSPACE -L$TMPDIR/x --y=$WORKSPACE",
		},
		{"escapes", "output is often quoted JSON", `{"o":"a\n/run/ws/b\t/run"}`, `{"o":"a\n$WORKSPACE/b\t$TMPDIR"}`},
		{
			"diffs", "Copilot puts their sides before absolute paths",
			"diff --git a/run/ws/x b/run/ws/x\n--- a/run/ws/x\n+++ b/run/ws/x data/run/ws c/run/ws",
			"diff --git a$WORKSPACE/x b$WORKSPACE/x\n--- a$WORKSPACE/x\n+++ b$WORKSPACE/x data/run/ws c/run/ws",
		},
		{
			"files of Claude Code", "they are named by the directory", "/x/projects/-run-ws/s1 a-run-ws /x/-run-ws2",
			"/x/projects/-WORKSPACE/s1 a-run-ws /x/-run-ws2",
		},
		{"colours", "", "\x1b[31m/run/ws\x1b[0m", "\x1b[31m$WORKSPACE\x1b[0m"},
		{"text without spaces", "", "打开/run/ws吧，/run/ws。", "打开/run/ws吧，$WORKSPACE。"},
		{"pattern", "durations differ", "ok  shop  0.123s", "ok  shop  <normalised>"},
		{"patterns do not touch placeholders", "", "pid normalised pid <normalised>", "<normalised> pid <normalised>"},
		{"patterns take placeholders in", "", "done in 1.2s and 2.3s", "<normalised>"},
		{
			"long id", "agents put ids into their output", "see toolu_0123456789, not toolu_01234567890",
			"see c1, not toolu_01234567890",
		},
		{"short id", "1 says nothing", "1 of 1", "1 of 1"},
		{"invalid UTF-8", "JSON cannot hold it", "a\xff\xfeb", "a\ufffdb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := newTestNormaliser().Events([]trajectory.Event{
				{Body: trajectory.Message{Text: tt.in}},
				{Body: trajectory.ToolStart{ID: "toolu_0123456789"}},
				{Body: trajectory.ToolStart{ID: "1", Parent: "toolu_0123456789"}},
			})
			require.Equal(t, trajectory.Message{Text: tt.want}, got[0].Body, tt.reason)
			require.Equal(t, trajectory.ToolStart{ID: "c2", Parent: "c1"}, got[2].Body)
			require.Equal(t, got, newTestNormaliser().Events(got), "what is normalised stays as it is")
		})
	}
}

func TestNormaliseEverything(t *testing.T) {
	one, line := 1, 3
	const call, session, message = "toolu_01ABCDEFGH", "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000", "msg_0123456789"
	events := []trajectory.Event{
		{Turn: 1, Body: trajectory.Prompt{Text: "Make /run/ws take 1.5s."}},
		{Turn: 1, At: 1234567, Body: trajectory.Notice{Name: "session/update:x", Data: map[string]any{
			"sessionId": session, "update": []any{map[string]any{
				"messageId": message, "toolCallId": "7",
				"n": json.Number("1.50"),
			}},
		}}},
		{Turn: 1, Body: trajectory.ToolStart{
			ID: call, Name: "Read", Title: "Read /run/ws/a",
			Locations: []trajectory.Location{{Path: "/run/ws/a", Line: &line}},
			Args: map[string]any{
				"/run/ws/a": []any{"/run/ws/b", nil, json.Number("3"), true}, "turn_id": "xyz",
				"log": "/x/" + session + ".log", "sessionId": "mine",
				"pid 1": 1, "pid 2": 2,
			},
		}},
		{Turn: 1, Body: trajectory.ToolEnd{
			ID: call, Status: trajectory.Completed, Output: message, Printed: "0.1s",
			Diffs: []trajectory.Diff{{Path: "/run/ws/a"}},
		}},
		{Turn: 1, Body: trajectory.Permission{
			ID:      "7",
			Options: []trajectory.PermissionOption{{ID: "7", Kind: "allow_once"}}, Decision: "7",
		}},
		{Turn: 1, Body: trajectory.Terminal{
			ID: "7", Command: "ls", Args: []string{"/run/ws"},
			Cwd: "/run/ws", ExitCode: &one,
		}},
		{Turn: 1, Body: trajectory.State{Options: map[string]string{"dir": "/run/ws"}}},
	}
	want := []trajectory.Event{
		{Turn: 1, Body: trajectory.Prompt{Text: "Make /run/ws take 1.5s."}},
		{Turn: 1, At: 1234 * time.Microsecond, Body: trajectory.Notice{Name: "session/update:x", Data: map[string]any{
			"sessionId": "s1", "update": []any{map[string]any{
				"messageId": "m1", "toolCallId": "c1",
				"n": json.Number("1.50"),
			}},
		}}},
		{Turn: 1, Body: trajectory.ToolStart{
			ID: "c2", Name: "Read", Title: "Read $WORKSPACE/a",
			Locations: []trajectory.Location{{Path: "$WORKSPACE/a", Line: &line}},
			Args: map[string]any{
				"$WORKSPACE/a": []any{"$WORKSPACE/b", nil, json.Number("3"), true}, "turn_id": Placeholder,
				"log": "/x/s1.log", "sessionId": "mine",
				Placeholder: 1, Placeholder + "#2": 2,
			},
		}},
		{Turn: 1, Body: trajectory.ToolEnd{
			ID: "c2", Status: trajectory.Completed, Output: "m1", Printed: Placeholder,
			Diffs: []trajectory.Diff{{Path: "$WORKSPACE/a"}},
		}},
		{Turn: 1, Body: trajectory.Permission{
			ID:      "c1",
			Options: []trajectory.PermissionOption{{ID: "7", Kind: "allow_once"}}, Decision: "7",
		}},
		{Turn: 1, Body: trajectory.Terminal{
			ID: "t1", Command: "ls", Args: []string{"$WORKSPACE"},
			Cwd: "$WORKSPACE", ExitCode: &one,
		}},
		{Turn: 1, Body: trajectory.State{Options: map[string]string{"dir": "$WORKSPACE"}}},
	}
	n := newTestNormaliser()
	got := n.Events(events)
	require.Empty(t, cmp.Diff(want, got), "-want +got")
	assert.Empty(t, cmp.Diff(want, newTestNormaliser().Events(got)), "what is normalised stays as it is")
	assert.Equal(t, "toolu_01ABCDEFGH", events[2].Body.(trajectory.ToolStart).ID,
		"the events themselves stay as they were")

	again := n.Events([]trajectory.Event{{Body: trajectory.ToolStart{ID: "new"}}, {Body: trajectory.ToolEnd{ID: call}}})
	assert.Equal(t, trajectory.ToolStart{ID: "c3"}, again[0].Body, "numbers go on from turn to turn")
	assert.Equal(t, trajectory.ToolEnd{ID: "c2"}, again[1].Body, "ids are remembered from turn to turn")
}

func TestNormaliseSession(t *testing.T) {
	n := newTestNormaliser()
	n.Session("0199aaaa-bbbb")
	got := n.Events([]trajectory.Event{{Body: trajectory.ToolEnd{ID: "1", Output: "/x/0199aaaa-bbbb.jsonl"}}})
	assert.Equal(t, trajectory.ToolEnd{ID: "c1", Output: "/x/s1.jsonl"}, got[0].Body)
}

// TestNormaliseProtocolWords: no pattern changes what the protocol has words for, or a replay would not know a turn's
// end.
func TestNormaliseProtocolWords(t *testing.T) {
	n := NewNormaliser(nil, []*regexp.Regexp{regexp.MustCompile(`\w+`)}, nil)
	for _, body := range []trajectory.Body{
		trajectory.ToolStart{Kind: "edit"},
		trajectory.Permission{Options: []trajectory.PermissionOption{{Kind: "allow_once"}}, Decision: "cancelled"},
		trajectory.Plan{Entries: []trajectory.PlanEntry{{Priority: "high", Status: "in_progress"}}},
		trajectory.Notice{Name: "session/update:weather"},
		trajectory.Stop{Reason: "end_turn"},
	} {
		assert.Equal(t, body, n.Events([]trajectory.Event{{Body: body}})[0].Body)
		assert.Equal(t, body, n.Value(body), "as requests are compared with recordings")
	}
	assert.Equal(t, trajectory.Message{Text: Placeholder}, n.Value(trajectory.Message{Text: "edit"}))
}

// TestNormaliseContext checks that a turn that was cut short loses the size of the context, which the agent may or may
// not have reported in time.
func TestNormaliseContext(t *testing.T) {
	used := int64(1075)
	reported := trajectory.State{Mode: "auto", ContextUsed: &used, ContextSize: &used}
	other := trajectory.State{Mode: "plan", ContextUsed: &used}
	tests := []struct {
		name   string
		reason string
		stop   string
		before trajectory.State // in a turn before
		state  trajectory.State
		late   bool              // it is reported after the end of the turn
		want   []trajectory.Body // without the stop
	}{
		{name: "whole", stop: "end_turn", state: reported, want: []trajectory.Body{reported}},
		{
			name: "whole-and-nothing-else-is-new", stop: "end_turn",
			before: trajectory.State{Mode: "auto"}, state: reported,
			want: []trajectory.Body{reported},
		},
		{
			name: "refused", reason: "the model's answer has ended", stop: "refusal", state: reported,
			want: []trajectory.Body{reported},
		},
		{
			name: "cancelled", stop: "cancelled", state: reported,
			want: []trajectory.Body{trajectory.State{Mode: "auto"}},
		},
		{
			name: "limit", stop: "max_tool_calls", before: other, state: reported,
			want: []trajectory.Body{trajectory.State{Mode: "auto"}},
		},
		{
			name: "cancelled-before", stop: "cancelled", before: other, state: reported, late: true,
			want: []trajectory.Body{trajectory.State{Mode: "auto"}},
		},
		{
			name: "cancelled-before-and-nothing-else-is-new", stop: "cancelled", before: reported,
			state: reported, late: true,
			want: []trajectory.Body{},
		},
		{name: "whole-before", stop: "end_turn", state: reported, late: true, want: []trajectory.Body{reported}},
		{
			name: "cancelled-and-nothing-else-is-new", reason: "without the context it would not have been reported",
			stop:   "cancelled",
			before: reported, state: reported, want: []trajectory.Body{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newTestNormaliser()
			n.Events([]trajectory.Event{
				{Turn: 1, Body: tt.before},
				{Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
			})
			state, stop := trajectory.Event{Turn: 2, Body: tt.state}, trajectory.Event{
				Turn: 2,
				Body: trajectory.Stop{Reason: tt.stop},
			}
			var events []trajectory.Event
			if tt.late {
				events = append(n.Events([]trajectory.Event{stop}), n.Events([]trajectory.Event{state})...)
			} else {
				events = n.Events([]trajectory.Event{state, stop})
			}
			got := []trajectory.Body{}
			for _, e := range events {
				if _, isStop := e.Body.(trajectory.Stop); !isStop {
					got = append(got, e.Body)
				}
			}
			assert.Equal(t, tt.want, got, tt.reason)
		})
	}
}

// TestVolatileContext checks that states lose the size of a context that the agent only estimates.
func TestVolatileContext(t *testing.T) {
	used := int64(9426)
	n := NewNormaliser(nil, nil, []string{"context_used"})
	got := n.Events([]trajectory.Event{
		{Turn: 1, Body: trajectory.State{Mode: "agent", ContextUsed: &used, ContextSize: &used}},
		{Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
	})
	assert.Equal(t, trajectory.State{Mode: "agent", ContextSize: &used}, got[0].Body)
}

func TestNormaliseResolvedDirectories(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(base, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(base, "link")))
	n := NewNormaliser(map[string]string{filepath.Join(base, "link"): "$WORKSPACE"}, nil, nil)
	got := n.Events([]trajectory.Event{{Body: trajectory.Message{Text: base + "/link/a " + base +
		"/real/a " + base + "/other"}}})
	assert.Equal(t, trajectory.Message{Text: "$WORKSPACE/a $WORKSPACE/a " + base + "/other"}, got[0].Body)
}

func TestFoldMatches(t *testing.T) {
	tests := []struct{ name, pattern, in, want string }{
		{"all matches", `\d+`, "a1b22", "a<normalised>b<normalised>"},
		{"none", `\d+`, "ab", "ab"},
		{"empty matches", `x*`, "axb", "a<normalised>b"},
		{"within a placeholder", `\w+`, "a <normalised>", "<normalised> <normalised>"},
		{"out of a placeholder", `sed> \w`, "<normalised> a b", "<normalised> a b"},
		{"into a placeholder", `\w <nor`, "a b <normalised>", "a b <normalised>"},
		{"around a placeholder", `b .* c`, "a b <normalised> c d", "a <normalised> d"},
		{"a placeholder", `<\w+>`, "a <normalised>", "a <normalised>"},
		{"right behind a placeholder", `a`, "<normalised>a", "<normalised><normalised>"},
		{"up to the end of a placeholder", `a <\w+>`, "a <normalised> b", "<normalised> b"},
		{
			"several placeholders", `\w+$|sed> <`, "<normalised> <normalised> a",
			"<normalised> <normalised> <normalised>",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, foldMatches(tt.in, regexp.MustCompile(tt.pattern)))
		})
	}
}

func FuzzNormaliseTwice(f *testing.F) {
	f.Add("/run/ws/run pid <normalised>1.0s", `\d+`, `[<>a-z]+`)
	f.Add("done <normalised><normalised> x", `(<normalised>)+`, `^ x`)
	f.Fuzz(func(t *testing.T, text, first, second string) {
		var patterns []*regexp.Regexp
		for _, p := range []string{first, second} {
			if re, err := regexp.Compile(p); err == nil {
				patterns = append(patterns, re)
			}
		}
		normalise := func(s string) string {
			n := NewNormaliser(map[string]string{"/run/ws": "$WORKSPACE", "/run": "$TMPDIR"}, patterns, nil)
			return n.Events([]trajectory.Event{{Body: trajectory.Message{Text: s}}})[0].Body.(trajectory.Message).Text
		}
		once := normalise(text)
		if twice := normalise(once); twice != once {
			t.Errorf("%q became %q, and that %q", text, once, twice)
		}
		if strings.HasPrefix(once, "/run/ws/") {
			t.Errorf("%q still begins with the workspace", once)
		}
	})
}
