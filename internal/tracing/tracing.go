// Package tracing sends the results of units to an OpenTelemetry collector, to Langfuse, or to both, if the environment
// names one. docs/tracing.md says what is sent.
//
//	tracer, err := tracing.Open(tracing.Config{Getenv: os.Getenv, RunID: id, Secrets: secrets})
//	if err != nil {
//		return err
//	}
//	tracer.Unit(unit) // does not wait for the collector
//	if err := tracer.Close(); err != nil {
//		warn(err) // only tracing has failed
//	}
//
// This package only reads the environment. The OpenTelemetry SDK makes a binary 8 MB larger and its start 0.9 ms
// longer, so it is only linked where needed, in internal/tracing/otlp, which registers itself here.
package tracing

import (
	"context"
	"errors"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Config is the configuration of a [Tracer].
type Config struct {
	// Getenv reads the environment. The SDK reads some variables itself, see docs/tracing.md.
	Getenv func(string) string
	// RunID is the run of the units; empty: they belong to no run.
	RunID string
	// Version is the version of sdd-eval; empty: it is not sent.
	Version string
	// Secrets are masked in everything that is sent. [Open] adds the collectors' keys; nil: only those are masked.
	Secrets *secret.Set
}

// Tracer sends units. Its methods may be called concurrently. Those of a nil Tracer do nothing.
type Tracer struct{ sender Sender }

// Score is what a person or a model said of a unit of the run [Config.RunID] after the unit was judged.
type Score struct {
	Unit result.Unit
	// Name says what the score is, and By whose it is: the same person's next one of that name takes its place.
	Name, By string
	// Value is a float64 or a bool.
	Value any
	// Reason is sent if content is, with By.
	Reason string
}

// Sender sends units with an SDK.
type Sender interface {
	Unit(result.Unit)
	Scores(context.Context, []Score) error
	Close() error
}

// ErrNotLinked says that the environment asks for tracing, but no [Sender] is linked into the binary.
var ErrNotLinked = errors.New("the environment names a collector, but this binary cannot send traces" +
	"\nnext: add `import _ \"github.com/sdd-eval/sdd-eval/evaltest/tracing\"` to a test file, or set " +
	"OTEL_TRACES_EXPORTER=none")

// newSender makes senders. It is nil if no SDK is linked.
var newSender func(Config, Settings) (Sender, error)

// Register sets the function that makes senders. It must be called while packages are initialized.
func Register(open func(Config, Settings) (Sender, error)) { newSender = open }

// Open returns a tracer that sends units to the targets in the environment, nil if there are none. It does not connect,
// so an error is [ErrNotLinked] or is about the environment.
func Open(c Config) (*Tracer, error) {
	e := environment(c.Getenv)
	if on, err := e.wanted(); err != nil || !on {
		return nil, err
	}
	if newSender == nil {
		return nil, ErrNotLinked
	}
	settings, err := e.settings()
	if err != nil {
		return nil, err
	}
	if c.Secrets == nil {
		c.Secrets = new(secret.Set)
	}
	settings.mark(c.Secrets)
	sender, err := newSender(c, settings)
	if err != nil {
		return nil, err
	}
	return &Tracer{sender}, nil
}

// Wanted reports whether the environment asks for traces, even with settings that are wrong.
func Wanted(getenv func(string) string) bool {
	on, err := environment(getenv).wanted()
	return on || err != nil
}

// Unit sends a unit that has ended. It does not wait for the collector.
func (t *Tracer) Unit(u result.Unit) {
	if t != nil {
		t.sender.Unit(u)
	}
}

// Scores sends scores to Langfuse, where they belong to the traces of their units, and waits until they are there, as
// long as [Tracer.Close] does. Other targets get none. The error, as that of Close, affects nothing else.
func (t *Tracer) Scores(ctx context.Context, scores []Score) error {
	if t == nil {
		return nil
	}
	return t.sender.Scores(ctx, scores)
}

// Close sends the remaining spans. If a target does not respond, all calls in a process together wait for it no longer
// than [Settings].Timeout. The error has a line for each target, which says what was not sent and why, without secrets.
// Each reason is returned once in a process. The error does not affect the outcomes of units.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	return t.sender.Close()
}
