// Package tracing sends what units did to an OpenTelemetry collector, to Langfuse, or to both, if the environment names
// one. docs/tracing.md says what is sent.
//
//	tracer, err := tracing.Open(tracing.Config{Getenv: os.Getenv, RunID: id, Secrets: secrets})
//	if err != nil {
//		return err
//	}
//	tracer.Unit(unit) // at once, whatever the collector does
//	if err := tracer.Close(); err != nil {
//		warn(err) // nothing failed but the tracing
//	}
//
// This package knows the environment only. The OpenTelemetry SDK makes a binary 8 MB larger and its start 0.9 ms
// longer, so it is only linked where needed: internal/tracing/otlp registers itself here.
package tracing

import (
	"errors"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Config is what a [Tracer] is opened with.
type Config struct {
	// Getenv reads the environment. The SDK reads some variables past it, see docs/tracing.md.
	Getenv func(string) string
	// RunID names the run that the units belong to; empty: they belong to none.
	RunID string
	// Version is the version of sdd-eval; empty: it is not told.
	Version string
	// Secrets are masked in all that is sent. The keys of the collectors are added. Nil: only those are known.
	Secrets *secret.Set
}

// Tracer sends units. Its methods may be called by several goroutines; those of a nil Tracer, which is what there is
// without a collector, do nothing.
type Tracer struct{ sender Sender }

// Sender is what sends units with an SDK.
type Sender interface {
	Unit(result.Unit)
	Close() error
}

// ErrNotLinked says that the environment asks for tracing and the binary has none.
var ErrNotLinked = errors.New("the environment names a collector, and this binary sends no traces to it" +
	"\nnext: add `import _ \"github.com/sdd-eval/sdd-eval/evaltest/tracing\"` to a test file, or set OTEL_TRACES_EXPORTER=none")

// newSender makes senders; nil: no SDK is linked.
var newSender func(Config, Settings) (Sender, error)

// Register has senders made by open. It is called when packages are initialized.
func Register(open func(Config, Settings) (Sender, error)) { newSender = open }

// Open returns what sends units to where the environment says, nil if it names no collector. It does not connect, so it
// is an error only if the environment is wrong, or [ErrNotLinked].
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

// Wanted reports whether the environment asks for traces, rightly or not.
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

// Close sends what is left. For a collector that does not take it, all calls in a process wait no longer than
// [Settings].Timeout together. The error says in a line for each collector what was not sent and why, without secrets, and
// each reason once in a process. It decides nothing about the units.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	return t.sender.Close()
}
