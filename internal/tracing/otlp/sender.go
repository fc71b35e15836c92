// Package otlp makes spans of units and sends them by OTLP over HTTP, with the OpenTelemetry SDK. It registers itself
// with internal/tracing and is used only through that.
//
// It leaves the SDK's globals alone, since the user's tests may use them too: it has its own provider, and Close
// returns the errors of the exporter.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sdd-eval/sdd-eval/internal/tracing"
)

func init() {
	tracing.Register(func(c tracing.Config, s tracing.Settings) (tracing.Sender, error) {
		return open(c, s, connect, &inVain)
	})
}

// sender sends units to one or more targets.
type sender struct {
	tracing.Config
	content  bool
	langfuse bool // one of the targets is Langfuse
	tracer   trace.Tracer
	targets  []*target
	spans    atomic.Int64 // that were put into the queue of each target
}

// transports returns what reaches a target.
type transports func(tracing.Target, time.Duration) (http.RoundTripper, error)

func open(c tracing.Config, s tracing.Settings, reach transports, p *patience) (*sender, error) {
	res, err := resource.New(context.Background(), resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("sdd-eval")), resource.WithFromEnv()) // which wins
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	out := &sender{Config: c, content: s.Content}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(res)}
	for _, t := range s.Targets {
		transport, err := reach(t, s.Timeout)
		if err != nil {
			return nil, errors.Join(err, out.Close())
		}
		made, err := newTarget(t, s.Timeout, transport, p, c.Secrets)
		if err != nil {
			return nil, errors.Join(err, out.Close())
		}
		out.targets = append(out.targets, made)
		out.langfuse = out.langfuse || t.ScoresURL != ""
		options = append(options, sdktrace.WithSpanProcessor(made.queue))
	}
	out.tracer = sdktrace.NewTracerProvider(options...).Tracer("github.com/sdd-eval/sdd-eval",
		trace.WithInstrumentationVersion(c.Version), trace.WithSchemaURL(semconv.SchemaURL))
	return out, nil
}

// Close sends what is left, to all targets at once.
func (s *sender) Close() error {
	failed := make([]error, len(s.targets))
	var all sync.WaitGroup
	for i, t := range s.targets {
		all.Go(func() { failed[i] = t.close(s.spans.Load()) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// patience is what this process has been through with targets that did not take everything, by URL. A test binary closes a
// sender for each playbook, and a collector that is down must cost its tests the timeout once, and a line of their log.
type patience struct {
	mu    sync.Mutex
	spent map[string]time.Duration
	told  map[string]bool // by URL and reason
}

// inVain is the patience of this process.
var inVain patience

// left returns what is left of a limit.
func (p *patience) left(url string, limit time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(limit-p.spent[url], 0)
}

// spend adds to the time that was spent in vain, and reports whether this reason has been told before.
func (p *patience) spend(url string, d time.Duration, reason string) (told bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent == nil {
		p.spent, p.told = make(map[string]time.Duration), make(map[string]bool)
	}
	p.spent[url] += d
	key := url + " " + reason
	told = p.told[key]
	p.told[key] = true
	return told
}
