package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What real agents say of a limit, word for word.
const (
	claudeLimit = `acp: session/prompt: error -32603: Internal error: You've hit your 5-hour limit · ` +
		`resets 1:06am (UTC) ({"errorKind":"rate_limit"})`
	codexLimit = `You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit ` +
		`https://chatgpt.com/codex/settings/usage to purchase more credits or try again at 1:06 AM.`
	codexRetried = `exceeded retry limit, last status: 429 Too Many Requests`
)

func TestAskedToWait(t *testing.T) {
	now := time.Date(2026, 11, 24, 0, 57, 30, 0, time.UTC)
	tests := []struct {
		text string
		want time.Duration
	}{
		{claudeLimit, 9*time.Minute + 30*time.Second},
		{codexLimit, 9*time.Minute + 30*time.Second},
		{codexRetried, 0},
		{"You've hit your limit · resets 2am (Europe/Berlin)", 3*time.Minute + 30*time.Second},
		{"resets 12:57am", 30 * time.Second},
		{"resets 12:56am", 24*time.Hour - 30*time.Second},
		{"resets 12pm (Nowhere/Land)", 11*time.Hour + 3*time.Minute + 30*time.Second},
		{"weekly limit · resets Nov 26, 1am (UTC)", 48*time.Hour + 3*time.Minute + 30*time.Second},
		{"try again at Nov 25th, 2026 1:00 AM.", 24*time.Hour + 3*time.Minute + 30*time.Second},
		{"Claude AI usage limit reached|1795482000", 2*time.Minute + 30*time.Second},
		{`{"resets_in_seconds":90}`, 90 * time.Second},
		{"try again in 5s", 5 * time.Second},
		{"resets 25:00pm", 0},
		{"resets 3 of them", 0},
		{"the door resets", 0},
		{"resets Foo 12, 1am", 0},
		{"limit reached|0000000001", 0},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, askedToWait(tt.text, now), tt.text)
	}
}

func FuzzAskedToWait(f *testing.F) {
	for _, text := range []string{claudeLimit, codexLimit, "limit reached|1796000000", "resets Nov 27, 3pm (UTC)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d := askedToWait(text, time.Unix(1796000000, 0)); d < 0 || d > maxTold {
			t.Errorf("%v", d)
		}
	})
}

// TestPatience: how long units of an account wait, and when the run ends.
func TestPatience(t *testing.T) {
	type step struct {
		say   string        // a unit met the limit; empty: one ended otherwise
		wait  time.Duration // how long the next one waits
		ended bool          // it does not
	}
	const rate = "429"
	for name, steps := range map[string][]step{
		"as long as it says":  {{say: "429 try again in 4m12s", wait: 4*time.Minute + 12*time.Second}},
		"longer than the run": {{say: "429 try again in 11m", ended: true}},
		"a part of it, then no": {
			{say: "try again in 6m", wait: 6 * time.Minute}, {say: "try again in 5m", ended: true},
		},
		"longer each time": {
			{say: rate, wait: 15 * time.Second},
			{say: rate, wait: 30 * time.Second},
			{say: rate, wait: time.Minute},
			{say: rate, wait: 2 * time.Minute},
			{say: rate, wait: 2 * time.Minute},
			{say: rate, wait: 2 * time.Minute},
			{say: rate, wait: 2 * time.Minute}, // to 9m45s
			{say: rate, wait: 15 * time.Second},
			{say: rate, ended: true},
		},
		"progress begins anew": {
			{say: "try again in 6m", wait: 6 * time.Minute},
			{},
			{say: "try again in 6m", wait: 6 * time.Minute},
			{},
			{say: rate, wait: 15 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPatience(10 * time.Minute)
				for i, s := range steps {
					if s.say == "" {
						p.progress("a")
						continue
					}
					p.met("a", s.say, time.Now())
					before := time.Now()
					var told time.Duration
					ran := p.wait(t.Context(), "a", func(d time.Duration) { told = d })
					assert.Equal(t, s.ended, !ran, "step %d", i)
					assert.Equal(t, s.wait, time.Since(before), "step %d", i)
					assert.Equal(t, s.wait, told)
				}
			})
		})
	}
}

// TestPatienceTogether: all units of an account wait, those of others do not; the limit that several meet at a time is
// one; and none waits any more when the run ends.
func TestPatienceTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatience(10 * time.Minute)
		begin := time.Now()
		for range 4 {
			p.met("a", "429", time.Now())
		}
		var mu sync.Mutex
		ended := make(map[string]time.Duration)
		refused := 0
		for _, unit := range []string{"a", "b"} {
			go func() {
				goesOn := p.wait(t.Context(), unit, func(time.Duration) {})
				mu.Lock()
				defer mu.Unlock()
				if !goesOn {
					refused++
				}
				ended[unit] = time.Since(begin)
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, map[string]time.Duration{"a": 15 * time.Second, "b": 0}, ended)

		p.met("a", "try again in 5m", time.Now())
		for range 3 {
			go func() {
				if !p.wait(t.Context(), "a", func(time.Duration) {}) {
					mu.Lock()
					defer mu.Unlock()
					refused++
					p.leave()
				}
			}()
		}
		synctest.Wait()
		p.met("a", "try again in 1h", time.Now()) // another unit, which was under way
		synctest.Wait()
		require.Equal(t, 3, refused)
		err := p.end()
		require.EqualError(t, err, "rate limit of a: it lasts another 1h0m0s, and the run waits 10m0s: "+
			"3 units were not run: try again in 1h")

		ctx, cancel := context.WithCancel(t.Context())
		p.met("c", "429", time.Now())
		cancel()
		require.False(t, p.wait(ctx, "c", func(time.Duration) {}))
	})
}

// TestNoPatience: without a time to wait there is none.
func TestNoPatience(t *testing.T) {
	p := newPatience(0)
	p.progress("a")
	require.True(t, p.wait(t.Context(), "a", nil))
	require.NoError(t, p.end())
}
