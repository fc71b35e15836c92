package engine

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
	}{
		{"Internal error", 0},
		{"429 Too Many Requests", 0},
		{"Rate limit reached for requests. Please try again in 1.2s.", 1200 * time.Millisecond},
		{"Please try again in 500ms. Visit the site.", 500 * time.Millisecond},
		{"Please try again in 6m0s.", 6 * time.Minute},
		{"try again in 1h2m3s", time.Hour + 2*time.Minute + 3*time.Second},
		{"please retry after 12 seconds", 12 * time.Second},
		{"Retry-After: 12", 12 * time.Second},
		{"retry-after: 12 request-id: 7", 12 * time.Second},
		{"retry-after-ms: 1500", 1500 * time.Millisecond},
		{`{"retryDelay":"34.5s"}`, 34500 * time.Millisecond},
		{`{"retry_after": 3, "code": 429}`, 3 * time.Second},
		{`"retry_delay_ms":2040,"error_status":429`, 2040 * time.Millisecond},
		{"Please retry in 1 minute 30 seconds", 90 * time.Second},
		{"Retry in 2 days", 48 * time.Hour},
		{"retry after 1s, or retry after 5s", 5 * time.Second},
		{"retried 5 times (total retry wait time: 10.67 seconds)", 0},
		{"try again in a few minutes", 0},
		{"Retry-After: 999999999", maxTold},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, retryAfter(tt.text), tt.text)
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("try again in 1h2m3s")
	f.Add("retry-after-ms: 999999999.999999999d 1 2")
	f.Fuzz(func(t *testing.T, text string) {
		if d := retryAfter(text); d < 0 || d > 4*maxTold {
			t.Errorf("%v", d)
		}
	})
}

// TestPauses holds how long is waited between attempts: longer each time, and as long as an error asks for.
func TestPauses(t *testing.T) {
	tests := []struct {
		name, reason string
		failed       int
		said         string
		least, most  time.Duration
		err          string
	}{
		{name: "first", failed: 1, least: time.Second, most: 2 * time.Second},
		{name: "second", failed: 2, least: 2 * time.Second, most: 4 * time.Second},
		{name: "tenth", reason: "it has a bound", failed: 10, least: 30 * time.Second, most: time.Minute},
		{
			name: "asked for", reason: "who comes sooner is refused again", failed: 1, said: "Retry-After: 20",
			least: 20 * time.Second, most: 22 * time.Second,
		},
		{
			name: "asked for less", reason: "nothing says that it will do", failed: 4, said: "try again in 1.2s",
			least: 8 * time.Second, most: 16 * time.Second,
		},
		{
			name: "asked for too much", failed: 1, said: "try again in 6m0s",
			err: "not tried again: the next attempt should wait 6m0s, which is more than 5m0s",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []session.Activity
				r := &Runner{pb: &plan.Playbook{Retries: 10}, tell: func(a session.Activity) { told = append(told, a) }}
				var log bytes.Buffer
				start := time.Now()
				err := r.pause(t.Context(), plan.Unit{}, tt.failed, "busy\n"+tt.said, &log)
				if tt.err != "" {
					require.EqualError(t, err, tt.err)
					require.Empty(t, told, "nothing is waited for")
					return
				}
				require.NoError(t, err)
				took := time.Since(start)
				assert.GreaterOrEqual(t, took, tt.least, tt.reason)
				assert.LessOrEqual(t, took, tt.most, tt.reason)
				require.Len(t, told, 1)
				assert.Contains(t, told[0].Pause, " of 11 ended in error; another one follows after a pause (")
				assert.Contains(t, log.String(), told[0].Pause, "go test -v shows it")
				assert.Equal(t, 1, strings.Count(log.String(), "\n"), "whatever the error has")
			})
		})
	}
}

// TestPauseEnds holds that nobody waits for an attempt that will not be.
func TestPauseEnds(t *testing.T) {
	r := &Runner{pb: &plan.Playbook{Retries: 1}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("interrupted")) })
		start := time.Now()
		require.EqualError(t, r.pause(ctx, plan.Unit{}, 1, "retry after 60s", new(bytes.Buffer)), "interrupted")
		require.Equal(t, time.Second, time.Since(start), "at once")
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		start := time.Now()
		err := r.pause(ctx, plan.Unit{}, 1, "retry after 60s", new(bytes.Buffer))
		require.ErrorContains(t, err, "and the run ends before")
		require.Zero(t, time.Since(start), "the rest of the time is for other units")
	})
}
