package evaltest

import (
	"context"
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/panics"
)

// ending is how a function of the user's ended.
type ending struct {
	panicked string // what it panicked with, and where; empty: it did not
	exited   bool   // it ended its goroutine, as FailNow of a T that belongs to another does
}

// guard runs f on a goroutine of its own, where neither a panic nor [runtime.Goexit] takes the test along.
func guard(f func()) <-chan ending {
	done := make(chan ending, 1)
	go func() {
		e := ending{exited: true}
		defer func() { done <- e }()
		err := panics.Catch(func() error { f(); return nil })
		e.exited = false
		if err != nil {
			e.panicked = err.Error()
		}
	}()
	return done
}

// err returns why what f was to find out is not known, nil if it returned.
func (e ending) err(what string) error {
	switch {
	case e.panicked != "":
		return fmt.Errorf("the %s panicked\n%s", what, e.panicked)
	case e.exited:
		return fmt.Errorf("the %s ended its goroutine (runtime.Goexit): only the test itself may call FailNow or SkipNow of its T", what)
	}
	return nil
}

// within runs f, which has to respect its context, and returns why it did not finish. A limit of 0 means no limit. When
// the context has ended, f has the patience left to return; then it is left behind.
func within(ctx context.Context, limit, patience time.Duration, what string, f func(context.Context)) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("its timeout of %v", limit))
		defer cancel()
	}
	done := guard(func() { f(ctx) })
	select {
	case e := <-done:
		if ctx.Err() == nil { // both may have been ready
			return e.err(what)
		}
		return fmt.Errorf("the %s did not end in time: %w", what, context.Cause(ctx))
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-done:
		return fmt.Errorf("the %s did not end in time: %w", what, context.Cause(ctx))
	case <-late.C:
		return fmt.Errorf("the %s did not end in time: %w\nit ignores that its context is cancelled, and was still at work %v later",
			what, context.Cause(ctx), patience)
	}
}
