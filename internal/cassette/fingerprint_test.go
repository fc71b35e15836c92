package cassette

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

var samplePrompts = []string{"Fix Add in add.go.\nRun the tests.", "Now the tests."}

func TestStale(t *testing.T) {
	stop := func(reason string) func(*Cassette) {
		return func(c *Cassette) { c.Turns[1].Events[3].Body = trajectory.Stop{Reason: reason} }
	}
	spending := func(reason string) func(*Cassette) {
		return func(c *Cassette) {
			stop(reason)(c)
			c.Header.Fingerprints.Tokens, c.Header.Fingerprints.CostUSD = 5, 1.5
		}
	}
	until := func(reason string) func(*Cassette) {
		return func(c *Cassette) {
			stop(reason)(c)
			c.Header.Fingerprints.Until = []string{"a fires"}
		}
	}
	files := func(n int) func(*Fingerprints) {
		return func(f *Fingerprints) {
			f.Workspace = Files{Digest: "new", ByPath: map[string]string{}}
			for i := range n {
				f.Workspace.ByPath[fmt.Sprintf("f%02d", i)] = "1"
			}
		}
	}
	tests := []struct {
		name    string
		reason  string
		was     func(*Cassette)
		now     func(*Fingerprints)
		prompts []string
		want    []string
	}{
		{name: "nothing"},
		{name: "nothing of several", was: func(c *Cassette) {
			f := &c.Header.Fingerprints
			for _, list := range []*[]string{
				&f.Args, &f.Permissions, &f.Steps, &f.Commands, &f.Variables, &f.Servers, &f.Plugins, &f.Overrides,
				&f.Until,
			} {
				*list = []string{"a", "b"}
			}
		}},
		{
			name: "steps", now: func(f *Fingerprints) { f.Steps = []string{"a", "b"} },
			want: []string{"steps before the agent:\n  + a\n  + b"},
		},
		{
			name: "a link that leads outside", reason: "the digest leaves it out",
			now: func(f *Fingerprints) { f.Workspace.ByPath = map[string]string{"l": "-> /x"} },
		},
		{
			name: "plugins", now: func(f *Fingerprints) { f.Plugins = []string{".claude/plugins/a"} },
			want: []string{`plugins: was none, is ".claude/plugins/a"`},
		},
		{
			name: "kind", now: func(f *Fingerprints) { f.Kind = "acp" },
			want: []string{`agent kind: was "claude-code-acp", is "acp"`},
		},
		{
			name: "command", now: func(f *Fingerprints) { f.Command = "claude" },
			want: []string{`agent command: was none, is "claude"`},
		},
		{
			name: "model", now: func(f *Fingerprints) { f.Model = "" },
			want: []string{`agent model: was "opus", is none`},
		},
		{
			name: "mode", now: func(f *Fingerprints) { f.Mode = "plan" },
			want: []string{`agent mode: was none, is "plan"`},
		},
		{
			name: "args", now: func(f *Fingerprints) { f.Args = []string{"--quiet", "--x"} },
			want: []string{`agent args: was "--quiet", is "--quiet --x"`},
		},
		{
			name: "args split elsewhere", reason: "two arguments are not one with a space",
			was:  func(c *Cassette) { c.Header.Fingerprints.Args = []string{"a", "b"} },
			now:  func(f *Fingerprints) { f.Args = []string{"a b"} },
			want: []string{`agent args: was "a b", is "\"a b\""`},
		},
		{
			name: "permissions",
			now:  func(f *Fingerprints) { f.Permissions = []string{"tool Bash, path any: allow", "default: allow"} },
			want: []string{"permissions:\n  - tool Bash, path any: reject\n  + tool Bash, path any: allow"},
		},
		{
			name: "prompt", prompts: []string{samplePrompts[0], "Now all tests."},
			want: []string{`prompt 2: was "Now the tests.", is "Now all tests."`},
		},
		{
			name:    "prompt of several lines",
			prompts: []string{"Fix Add in add.go.\nRun all tests.\nTwice.", samplePrompts[1]},
			want:    []string{"prompt 1:\n  line 2:\n  - Run the tests.\n  + Run all tests.\n  + Twice."},
		},
		{
			name: "prompt more", prompts: append(samplePrompts[:2:2], "Thanks."),
			want: []string{`prompt 3: was none, is "Thanks."`},
		},
		{name: "prompt less", prompts: samplePrompts[:1], want: []string{`prompt 2: was "Now the tests.", is none`}},
		{
			name: "prompt more, which the session never reached", reason: "a refusal ends it", was: stop("refusal"),
			prompts: append(samplePrompts[:2:2], "Thanks."),
		},
		{
			name: "files", now: func(f *Fingerprints) {
				f.Workspace = Files{Digest: "new", ByPath: map[string]string{
					"add.go": "33dd790e841bx",
					"new.go": "111111111111",
				}}
			},
			want: []string{
				`workspace file add.go: was "33dd790e841b", is "33dd790e841bx"`,
				`workspace file new.go: was none, is "111111111111"`,
				`workspace file run.sh: was "5762dd426773x", is none`,
			},
		},
		{
			name: "many files", was: func(c *Cassette) { c.Header.Fingerprints.Workspace.ByPath = map[string]string{} },
			now: files(12),
			want: append(numbered(10, `workspace file f%02d: was none, is "1"`),
				`2 more workspace files; the whole workspace: was "8f14e45fceea", is "new"`),
		},
		{
			name: "just not many files",
			was:  func(c *Cassette) { c.Header.Fingerprints.Workspace.ByPath = map[string]string{} }, now: files(11),
			want: numbered(11, `workspace file f%02d: was none, is "1"`),
		},
		{
			name: "files that are not listed", now: func(f *Fingerprints) { f.Workspace = Files{Digest: "new"} },
			want: []string{`workspace: was "8f14e45fceea", is "new"`},
		},
		{name: "limit that would not have cut", now: func(f *Fingerprints) { f.ToolCalls, f.Timeout = 2, "950ms" }},
		{name: "no limit", now: func(f *Fingerprints) { f.ToolCalls, f.Timeout = 0, "" }},
		{
			name: "limit that would have cut the calls", now: func(f *Fingerprints) { f.ToolCalls = 1 },
			want: []string{`limit max_tool_calls: was "20", is "1"`},
		},
		{
			name: "limit that would have cut the time", now: func(f *Fingerprints) { f.Timeout = "949ms" },
			want: []string{`limit timeout: was "30m0s", is "949ms"`},
		},
		{name: "same limit that did cut", was: stop("max_tool_calls")},
		{
			name: "new limits of spending", reason: "nobody knows when they would have cut",
			now:  func(f *Fingerprints) { f.Tokens, f.CostUSD = 5, 1.5 },
			want: []string{`limit max_tokens: was none, is "5"`, `limit max_cost_usd: was "0", is "1.5"`},
		},
		{name: "same limits of spending", was: spending("end_turn")},
		{
			name: "no limits of spending", was: spending("end_turn"),
			now: func(f *Fingerprints) { f.Tokens, f.CostUSD = 0, 0 },
		},
		{
			name: "token limit that did cut, removed", was: spending("token_limit"),
			now:  func(f *Fingerprints) { f.Tokens, f.CostUSD = 0, 0 },
			want: []string{`limit max_tokens: was "5", is none`},
		},
		{
			name: "cost limit that did cut, removed", was: spending("cost_limit"),
			now:  func(f *Fingerprints) { f.Tokens, f.CostUSD = 0, 0 },
			want: []string{`limit max_cost_usd: was "1.5", is "0"`},
		},
		{
			name: "what was decided", reason: "the session would go on today", was: until("decided"),
			now:  func(f *Fingerprints) { f.Until = []string{"a fires", "b fires"} },
			want: []string{"limit until:\n  line 2:\n  + b fires"},
		},
		{name: "the same was decided", was: until("decided")},
		{
			name: "what would be decided early", reason: "the session says all", was: until("end_turn"),
			now: func(f *Fingerprints) { f.Until = []string{"b fires"} },
		},
		{
			name: "limit that did cut, raised", reason: "the session would go on today", was: stop("max_tool_calls"),
			now: func(f *Fingerprints) { f.ToolCalls = 0 }, want: []string{`limit max_tool_calls: was "20", is none`},
		},
		{
			name: "time limit that did cut, raised", was: stop("timeout"),
			now:  func(f *Fingerprints) { f.Timeout = "1h0m0s" },
			want: []string{`limit timeout: was "30m0s", is "1h0m0s"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sample()
			if tt.was != nil {
				tt.was(c)
			}
			now := c.Header.Fingerprints
			if tt.now != nil {
				tt.now(&now)
			}
			prompts := samplePrompts
			if tt.prompts != nil {
				prompts = tt.prompts
			}
			var got []string
			for _, change := range c.Stale(now, prompts) {
				got = append(got, change.String())
			}
			assert.Equal(t, tt.want, got, tt.reason)
		})
	}
}

func numbered(n int, format string) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return all
}

func TestFilesOf(t *testing.T) {
	dir := t.TempDir()
	m, _, err := workspace.Prepare(t.Context(), workspace.Source{Files: map[string]string{"d/a": "1"}}, dir)
	require.NoError(t, err)
	m.Entries = append(m.Entries, workspace.Entry{Path: "l", Kind: workspace.Symlink, Target: "d/a"},
		workspace.Entry{Path: "x", Kind: workspace.File, Exec: true, Digest: strings.Repeat("0", 64)},
		workspace.Entry{Path: "y", Kind: workspace.File, Ignored: true, Digest: strings.Repeat("0", 64)})
	assert.Equal(t, Files{Digest: m.Digest(), ByPath: map[string]string{
		"d/a": "6b86b273ff34", "l": "-> d/a",
		"x": "000000000000x",
	}}, FilesOf(m))

	for i := range maxFiles {
		m.Entries = append(m.Entries, workspace.Entry{
			Path: fmt.Sprint("z", i), Kind: workspace.File,
			Digest: strings.Repeat("0", 64),
		})
	}
	assert.Equal(t, Files{Digest: m.Digest()}, FilesOf(m))
}

// TestCheckFiles: a digest of today beside files of then, or files of today beside a digest of then, hide that a
// cassette is stale.
func TestCheckFiles(t *testing.T) {
	files := func(digest string, byPath ...string) Files {
		f := Files{Digest: digest, ByPath: make(map[string]string)}
		for i := 0; i < len(byPath); i += 2 {
			f.ByPath[byPath[i]] = byPath[i+1]
		}
		return f
	}
	tests := []struct {
		name     string
		was, now Files
		bad      bool
	}{
		{"same", files("1", "a", "x"), files("1", "a", "x"), false},
		{"stale", files("1", "a", "x"), files("2", "a", "y"), false},
		{"digest of today", files("1", "a", "x"), files("1", "a", "y"), true},
		{"digest of today, a file more", files("1", "a", "x"), files("1", "a", "x", "b", "x"), true},
		{"digest of today, a file less", files("1", "a", "x", "b", "x"), files("1", "a", "x"), true},
		{"files of today", files("1", "a", "x"), files("2", "a", "x"), true},
		{"another link that leads outside", files("1", "a", "-> x"), files("1", "a", "-> y"), false},
		{"not listed", Files{Digest: "1"}, files("1", "a", "x"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &Cassette{Path: "x", Header: Header{Fingerprints: Fingerprints{Workspace: tt.was}}}
			err := c.CheckFiles(tt.now)
			if !tt.bad {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "x:1: the cassette was edited: in its fingerprints, the digest of the "+
				"workspace is not that of its files")
		})
	}
}

// TestTexts compares the texts that people read with one golden file.
func TestTexts(t *testing.T) {
	long := strings.Repeat("All happy families are alike. ", 8)
	list := func(n int) string { return strings.Join(numbered(n, "step %d"), "\n") }
	var b strings.Builder
	section := func(name string, text any) { fmt.Fprintf(&b, "=== %s\n%v\n\n", name, text) }
	section("short", Change{"agent model", "opus", "sonnet"})
	section("none before", Change{"agent mode", "", "plan"})
	section("long line", Change{"prompt 1", long + "But not here.", long + "And here."})
	section("long line changed at its beginning", Change{"prompt 1", long, "X" + long})
	section("lines", Change{"prompt 1", "a\nb\nc\nd\n", "a\nX\nY\nd\n"})
	section("line added at the end", Change{"prompt 1", "a\nb", "a\nb\nc"})
	section("many lines", Change{"prompt 1", "a\n" + list(20) + "\nz", "a\nb\nz"})
	section("line break at the end", Change{"prompt 1", "a\nb\n", "a\nb"})
	section("new text", Change{"prompt 3", "", "line 1\nline 2"})
	section("stale", &StaleError{
		"cassettes/x/y.1.jsonl",
		[]Change{{"agent model", "opus", "sonnet"}, {"prompt 1", "a\nb", "a\nc"}},
	})
	section("line changed", Difference{
		5, 5, `{"event":"message","text":"` + long + `yes"}`,
		`{"event":"message","text":"` + long + `no"}`,
	})
	section("line moved", Difference{5, 7, `{"event":"message","text":"yes"}`, `{"event":"message","text":"no"}`})
	section("line in one", Difference{0, 7, "", `{"event":"message","text":"` + long + `no"}`})
	golden.Equal(t, "testdata/texts.txt", b.String())
}

func TestStaleErrorOfNoTime(t *testing.T) {
	c := &Cassette{}
	assert.Equal(t, time.Duration(0), c.took())
	assert.Empty(t, c.Stale(Fingerprints{}, nil))
}
