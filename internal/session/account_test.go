package session

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

const oldTokens, newTokens = `{"refresh_token": "rt-test-old-token"}`, `{"refresh_token": "rt-test-new-token"}`

// TestWriteBack has agents renew the tokens of their account.
func TestWriteBack(t *testing.T) {
	put := func(text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	}
	tests := []struct {
		name, reason string
		drop         bool // the preset has no write_back
		from         string
		agent        func(t *testing.T, path string)
		want, note   string
		err          string
	}{
		{name: "renewed", agent: put(newTokens), want: newTokens},
		{name: "unchanged", agent: put(oldTokens), want: oldTokens},
		{
			name: "dropped", drop: true, agent: put(newTokens), want: oldTokens,
			note: "the agent changed its .codex/auth.json, and FROM stays as it is: " +
				"the preset has no `write_back = true`",
		},
		{
			name: "emptied", agent: put(" \n"), want: oldTokens,
			note: "the agent damaged its .codex/auth.json; FROM stays as it is",
		},
		{
			name: "no JSON any more", agent: put(newTokens[:20]), want: oldTokens,
			note: "the agent damaged its .codex/auth.json; FROM stays as it is",
		},
		{name: "never was JSON", from: "token", agent: put("another token"), want: "another token"},
		{
			name: "removed", reason: "as by a logout",
			agent: func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }, want: oldTokens,
			note: "the agent removed its .codex/auth.json; FROM stays as it is",
		},
		{
			name: "a link out of its home", reason: "it could make us copy what it cannot read itself",
			agent: func(t *testing.T, path string) {
				require.NoError(t, os.Remove(path))
				require.NoError(t, os.Symlink("/etc/hostname", path))
			},
			want: oldTokens, err: "look at the agent's .codex/auth.json: ",
		},
		{
			name: "too large", agent: put(strings.Repeat(" ", agent.MaxAccountFile) + newTokens), want: oldTokens,
			err: "look at the agent's .codex/auth.json: ",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			from := filepath.Join(t.TempDir(), "auth.json")
			if tt.from == "" {
				tt.from = oldTokens
			}
			require.NoError(t, os.WriteFile(from, []byte(tt.from), 0o640))
			c := config(t, "", script(acts{say("rt-test-new-token")}))
			var notes strings.Builder
			c.Log = NewLog(c.Secrets, "unit", &notes, time.Now)
			c.Launch.Files = []agent.File{
				{Path: "own.json", Data: []byte("{}")},
				{Path: ".codex/auth.json", Data: []byte(tt.from), From: from, WriteBack: !tt.drop},
			}
			start := c.startChild
			c.startChild = func(ctx context.Context, p supervise.Command, _ confine.Policy) (child, error) {
				path := filepath.Join(c.Dirs.Home, ".codex", "auth.json")
				info, err := os.Stat(path)
				require.NoError(t, err)
				if runtime.GOOS != "windows" {
					require.EqualValues(t, 0o600, info.Mode().Perm())
				}
				tt.agent(t, path)
				return start(ctx, p, confine.Policy{})
			}
			o := hold(t.Context(), c, "one")
			if tt.err == "" {
				require.NoError(t, o.err, tt.reason)
			} else {
				require.ErrorContains(t, o.err, tt.err, tt.reason)
			}
			got, err := os.ReadFile(from)
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got), tt.reason)
			info, err := os.Stat(from)
			require.NoError(t, err)
			if runtime.GOOS != "windows" {
				assert.EqualValues(t, 0o640, info.Mode().Perm())
			}
			want := ""
			if tt.note != "" {
				want = "unit: " + strings.ReplaceAll(tt.note, "FROM", from) + "\n"
			}
			assert.Equal(t, want, notes.String())
			if o.session != nil && tt.note != "" {
				assert.Equal(t, []string{strings.ReplaceAll(tt.note, "FROM", from)}, o.session.Warnings())
			}
			if tt.drop {
				masked := c.Secrets.String("rt-test-new-token")
				assert.NotContains(t, masked, "new-token", "what is new is a secret, too")
			}
		})
	}
}

// TestWriteBackTogether has units renew the tokens of one account at a time. The file is whole, and from the first.
func TestWriteBackTogether(t *testing.T) {
	from := filepath.Join(t.TempDir(), "auth.json")
	require.NoError(t, os.WriteFile(from, []byte(oldTokens), 0o600))
	link := filepath.Join(t.TempDir(), "link.json")
	require.NoError(t, os.Symlink(from, link))
	var units sync.WaitGroup
	var late atomic.Int64
	for i := range 8 {
		units.Go(func() {
			text := `{"refresh_token": "` + strings.Repeat(string(rune('a'+i)), 1000) + `"}`
			f := agent.File{Data: []byte(oldTokens), From: link, WriteBack: true}
			warning, err := writeBack(f, []byte(text))
			assert.NoError(t, err)
			if warning != "" {
				assert.Contains(t, warning, "has changed since the agent was given it")
				late.Add(1)
			}
		})
	}
	units.Wait()
	require.EqualValues(t, 7, late.Load(), "the first wins, and the others say that they came late")
	got, err := os.ReadFile(from)
	require.NoError(t, err)
	assert.Regexp(t, `^\{"refresh_token": "(a+|b+|c+|d+|e+|f+|g+|h+)"\}$`, string(got))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSymlink, info.Mode().Type(), "a link stays one")
}

// TestWriteBackFails holds that tokens are not lost unnoticed: the old ones may not be valid any more.
func TestWriteBackFails(t *testing.T) {
	f := agent.File{Path: "a", Data: []byte("{}"), From: filepath.Join(t.TempDir(), "gone"), WriteBack: true}
	_, err := writeBack(f, []byte("[]"))
	require.ErrorContains(t, err, "write what the agent made of its a back: ")
	assert.NotEmpty(t, fault.Advice(err))
}
