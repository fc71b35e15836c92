package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClosing: what is done at the end has time after an interrupt, but little, and an end otherwise.
func TestClosing(t *testing.T) {
	interrupted := errors.New("interrupted")
	tests := []struct {
		name      string
		interrupt time.Duration // negative: never
		limit     time.Duration
		want      time.Duration
		cause     string
	}{
		{"before it begins", 0, time.Minute, closingGrace, "interrupted"},
		{"meanwhile", time.Second, time.Minute, time.Second + closingGrace, "interrupted"},
		{"without a limit", time.Second, 0, time.Second + closingGrace, "interrupted"},
		{"at its limit", -1, time.Minute, time.Minute, "it took longer than 1m0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				outer, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.interrupt >= 0 {
					time.AfterFunc(tt.interrupt, func() { cancel(interrupted) })
				}
				if tt.interrupt == 0 {
					<-outer.Done()
				}
				begin := time.Now()
				ctx, end := closing(outer, tt.limit)
				defer end()
				require.NoError(t, ctx.Err())
				<-ctx.Done()
				require.Equal(t, tt.want, time.Since(begin))
				require.EqualError(t, context.Cause(ctx), tt.cause)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // nothing is left running
		outer, cancel := context.WithCancel(t.Context())
		ctx, end := closing(outer, time.Minute)
		cancel()
		synctest.Wait()
		require.NoError(t, ctx.Err())
		end()
		require.Error(t, ctx.Err())
	})
}
