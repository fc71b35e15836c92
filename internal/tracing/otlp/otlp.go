// Package otlp turns units into spans and sends them by OTLP over HTTP, with the OpenTelemetry SDK. It registers itself
// with package tracing, which reads the environment, and is used only through that package.
//
// It does not use the SDK's globals, since the user's tests may: it has its own provider, and Close returns the errors
// of the exporter.
package otlp

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
)

func init() {
	tracing.Register(func(c tracing.Config, s tracing.Settings) (tracing.Sender, error) {
		return open(c, s, connect, &processPatience)
	})
}

// sender sends units to one or more targets.
type sender struct {
	tracing.Config
	content  bool
	langfuse bool // one of the targets is Langfuse
	tracer   trace.Tracer
	targets  []*target
	spans    atomic.Int64 // number of spans put into the queue of each target
}

// transports returns the transport for a target with a timeout.
type transports func(tracing.Target, time.Duration) (http.RoundTripper, error)

func open(c tracing.Config, s tracing.Settings, reach transports, p *patience) (*sender, error) {
	res, err := resource.New(context.Background(), resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("sdd-eval")), resource.WithFromEnv()) // the last one wins
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	out := &sender{Config: c, content: s.Content}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(res), sdktrace.WithIDGenerator(ids{})}
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

// Close sends the remaining spans, to all targets at the same time.
func (s *sender) Close() error {
	failed := make([]error, len(s.targets))
	var all sync.WaitGroup
	for i, t := range s.targets {
		all.Go(func() { failed[i] = t.close(s.spans.Load()) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// patience limits, by URL, how long a process waits for targets that do not accept everything. A test binary closes a
// sender for each playbook, but a collector that is down must cost its tests only one timeout and one line in the log.
type patience struct {
	mu       sync.Mutex
	spent    map[string]time.Duration
	reported map[string]bool // by URL and reason
}

// processPatience is the patience of this process.
var processPatience patience

// left returns the remaining time of a limit.
func (p *patience) left(url string, limit time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(limit-p.spent[url], 0)
}

// spend adds to the time that was spent waiting, and returns whether the reason was reported before.
func (p *patience) spend(url string, d time.Duration, reason string) (reported bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent == nil {
		p.spent, p.reported = make(map[string]time.Duration), make(map[string]bool)
	}
	p.spent[url] += d
	key := url + " " + reason
	reported = p.reported[key]
	p.reported[key] = true
	return reported
}

// target sends spans to one receiver and counts them.
type target struct {
	url      string
	timeout  time.Duration // of a request, and of all closing together
	patience *patience
	secrets  *secret.Set
	client   *http.Client
	exporter sdktrace.SpanExporter
	scores   *scores // nil: scores are only in spans
	queue    sdktrace.SpanProcessor
	ended    context.Context // cancels the requests
	end      context.CancelCauseFunc

	mu          sync.Mutex
	tried, sent int   // numbers of spans
	err         error // the first one
}

func newTarget(to tracing.Target, timeout time.Duration, transport http.RoundTripper, p *patience,
	secrets *secret.Set,
) (*target, error) {
	t := &target{
		url: to.URL, timeout: timeout, patience: p, secrets: secrets,
		client: &http.Client{Transport: transport},
	}
	t.ended, t.end = context.WithCancelCause(context.Background())
	var err error
	// Set all options that the environment has for the collector: otherwise the SDK would use them for Langfuse, too.
	t.exporter, err = otlptracehttp.New(t.ended,
		otlptracehttp.WithEndpointURL(to.URL), otlptracehttp.WithHeaders(to.Headers),
		otlptracehttp.WithHTTPClient(t.client),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: timeout / 20, MaxInterval: timeout / 2, MaxElapsedTime: timeout,
		}))
	if err != nil {
		t.end(nil)
		return nil, fmt.Errorf("send traces to %s: %w", to.URL, err)
	}
	if to.ScoresURL != "" {
		t.scores = &scores{url: to.ScoresURL, headers: to.Headers, client: t.client}
	}
	// ExportSpans has the timeout
	t.queue = sdktrace.NewBatchSpanProcessor(export{t}, sdktrace.WithExportTimeout(0), queueOption)
	return t, nil
}

// queueOption makes queues large, unless the user has set their size, which the SDK reads. The SDK's default of 2,048
// spans is one second of replays.
func queueOption(o *sdktrace.BatchSpanProcessorOptions) {
	if os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE") == "" {
		o.MaxQueueSize = 1 << 14
	}
}

// export is the target as an exporter of the SDK. It returns no errors: the SDK would pass them to the global error
// handler.
type export struct{ *target }

// Shutdown implements [sdktrace.SpanExporter].
func (e export) Shutdown(ctx context.Context) error { return e.exporter.Shutdown(ctx) }

// ExportSpans implements [sdktrace.SpanExporter].
func (e export) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.ended, func() { cancel(context.Cause(e.ended)) })()
	defer time.AfterFunc(e.timeout, func() { cancel(e.tooSlow()) }).Stop()
	err := e.exporter.ExportSpans(ctx, spans)
	sent := err == nil
	if sent && e.scores != nil {
		if err = e.scores.send(ctx, scoresOf(spans)); err != nil {
			err = fmt.Errorf("scores: %w", err)
		}
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tried += len(spans)
	if sent {
		e.sent += len(spans)
	}
	e.err = cmp.Or(e.err, err)
	return nil
}

// close sends the rest of the spans that were put into the queue. When there is no patience left, it cancels the
// requests, which ends all goroutines. The error says in one line what was not sent, unless its reason was reported
// before.
func (t *target) close(spans int64) error {
	start := time.Now()
	defer time.AfterFunc(t.patience.left(t.url, t.timeout), func() { t.end(t.tooSlow()) }).Stop()
	defer t.client.CloseIdleConnections()
	defer t.end(nil)
	err := t.queue.Shutdown(context.Background()) // ends when the requests end
	if err = cmp.Or(t.lost(spans), err); err == nil {
		return nil
	}
	reason := excerpt.Line(t.secrets.String(err.Error()), maxReason)
	if reported := t.patience.spend(t.url, time.Since(start), reason); reported {
		return nil
	}
	if missing := spans - int64(t.sent); missing > 0 {
		return fmt.Errorf("%s: %d of %d spans were not sent: %s", t.url, missing, spans, reason)
	}
	return fmt.Errorf("%s: %d spans were sent, but not all of their scores: %s", t.url, spans, reason)
}

func (t *target) tooSlow() error { return fmt.Errorf("no answer within %v", t.timeout) }

// maxReason is how many characters of an error are quoted: it may have a collector's answer.
const maxReason = 400

// lost returns an error if not all of the spans, or not all of their scores, were sent.
func (t *target) lost(spans int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && int64(t.tried) < spans {
		return errors.New("the queue was full (OTEL_BSP_MAX_QUEUE_SIZE)")
	}
	return t.err
}

// connect returns the transport for a target. It shares no connections with other transports.
func connect(t tracing.Target, timeout time.Duration) (http.RoundTripper, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.Certificate != "" {
		pem, err := os.ReadFile(t.Certificate)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate in PEM format", t.Certificate)
		}
	}
	if t.ClientCertificate != "" || t.ClientKey != "" {
		pair, err := tls.LoadX509KeyPair(t.ClientCertificate, t.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: timeout}).DialContext,
		TLSClientConfig: config, TLSHandshakeTimeout: timeout, ForceAttemptHTTP2: true,
	}, nil
}
