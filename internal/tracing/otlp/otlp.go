// Package otlp makes spans of units and sends them by OTLP over HTTP, with the OpenTelemetry SDK. It registers itself
// with internal/tracing and is used only through that.
//
// It leaves the SDK's globals alone, since the user's tests may use them too: it has its own provider, and Close
// returns the errors of the exporter.
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

// target takes spans to one place and keeps account of them.
type target struct {
	url      string
	timeout  time.Duration // of a request, and of all closing
	patience *patience
	secrets  *secret.Set
	client   *http.Client
	exporter sdktrace.SpanExporter
	scores   *scores // nil: the target takes none
	queue    sdktrace.SpanProcessor
	ended    context.Context // ends the requests
	end      context.CancelCauseFunc

	mu          sync.Mutex
	tried, sent int   // spans
	err         error // the first
}

func newTarget(to tracing.Target, timeout time.Duration, transport http.RoundTripper, p *patience, secrets *secret.Set) (*target, error) {
	t := &target{url: to.URL, timeout: timeout, patience: p, secrets: secrets, client: &http.Client{Transport: transport}}
	t.ended, t.end = context.WithCancelCause(context.Background())
	var err error
	// What the environment says of a collector is all given here: the SDK would take it for Langfuse's, too.
	t.exporter, err = otlptracehttp.New(t.ended,
		otlptracehttp.WithEndpointURL(to.URL), otlptracehttp.WithHeaders(to.Headers), otlptracehttp.WithHTTPClient(t.client),
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
	t.queue = sdktrace.NewBatchSpanProcessor(export{t}, sdktrace.WithExportTimeout(0), queueOption) // the bound is ours
	return t, nil
}

// queueOption makes queues large, unless the user says how large they are, which the SDK reads. The SDK's own 2,048 spans
// are a second of replays.
func queueOption(o *sdktrace.BatchSpanProcessorOptions) {
	if os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE") == "" {
		o.MaxQueueSize = 1 << 14
	}
}

// export is the target as the SDK has it. It never fails: the SDK would tell the error handler of the process.
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
		err = e.scores.send(ctx, spans)
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

// close sends what is left in the queue, of all that was put there. It ends the requests when the patience with the target
// is at its end, and with them all goroutines. What was not sent is an error in one line, unless the reason was told before.
func (t *target) close(spans int64) error {
	start := time.Now()
	defer time.AfterFunc(t.patience.left(t.url, t.timeout), func() { t.end(t.tooSlow()) }).Stop()
	defer t.client.CloseIdleConnections()
	defer t.end(nil)
	err := t.queue.Shutdown(context.Background()) // ends when the requests do
	if err = cmp.Or(t.lost(spans), err); err == nil {
		return nil
	}
	reason := excerpt.Line(t.secrets.String(err.Error()), maxReason)
	if told := t.patience.spend(t.url, time.Since(start), reason); told {
		return nil
	}
	if missing := spans - int64(t.sent); missing > 0 {
		return fmt.Errorf("%s: %d of %d spans were not sent: %s", t.url, missing, spans, reason)
	}
	return fmt.Errorf("%s: %d spans were sent, and not all of their scores: %s", t.url, spans, reason)
}

func (t *target) tooSlow() error { return fmt.Errorf("no answer within %v", t.timeout) }

// maxReason bounds what is quoted of an error, in characters: a collector's answer is in it.
const maxReason = 400

// lost returns why not all of the spans were sent, or not all of their scores; nil: they were.
func (t *target) lost(spans int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil && int64(t.tried) < spans {
		return errors.New("they came faster than they were taken (OTEL_BSP_MAX_QUEUE_SIZE)")
	}
	return t.err
}

// connect returns what reaches a target. Its connections are its own and end with the target.
func connect(t tracing.Target, timeout time.Duration) (http.RoundTripper, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.Certificate != "" {
		pem, err := os.ReadFile(t.Certificate)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s: no certificate in PEM", t.Certificate)
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
