package engine

import (
	"context"
	"fmt"
	"time"
)

const (
	// keepTimeout bounds each part of what is done with what a unit left: searching it, comparing it.
	keepTimeout = time.Minute
	// closingGrace is how long such a part may go on when the run has been interrupted: enough for what most agents
	// leave, and little for a person who waits.
	closingGrace = 500 * time.Millisecond
)

// closing returns a context for a part of what is done at the end of a unit or a run, which is not left out after an
// interrupt. It ends after a limit, 0 meaning none, and soon after ctx.
func closing(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-inner.Done():
		case <-time.After(closingGrace):
			cancel(context.Cause(ctx))
		}
	})
	if limit == 0 {
		return inner, func() { stop(); cancel(nil) }
	}
	timed, end := context.WithTimeoutCause(inner, limit, fmt.Errorf("it took longer than %v", limit))
	return timed, func() { end(); stop(); cancel(nil) }
}
