// Package collectortest sends traces to the OpenTelemetry Collector's own receiver.
package collectortest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
	_ "github.com/sdd-eval/sdd-eval/internal/tracing/otlp"
)

func TestReceiver(t *testing.T) {
	for _, compression := range []string{"none", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression) // the SDK reads it itself
			var got received
			address := startReceiver(t, &got)
			environ := map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + address, "OTEL_EXPORTER_OTLP_COMPRESSION": compression,
				"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
			}
			tracer, err := tracing.Open(tracing.Config{
				Getenv: func(name string) string { return environ[name] },
				RunID:  "run-1",
			})
			require.NoError(t, err)
			tracer.Unit(unit())
			require.NoError(t, tracer.Close())
			require.Equal(t, `sdd-eval
Unset Internal invoke_workflow files/search
  event gen_ai.evaluation.result steps 0.5
Unset Client invoke_agent claude
Unset Internal chat opus
Unset Internal execute_tool Grep
Unset Internal chat opus
Unset Internal evaluate steps
`, got.text())
		})
	}
}

func unit() result.Unit {
	score := 0.5
	at := func(ms int, b trajectory.Body) trajectory.Event {
		return trajectory.Event{Turn: 1, At: time.Duration(ms) * time.Millisecond, Body: b}
	}
	return result.Unit{
		ID: "files/search/opus/1", Case: "search", Variant: "opus", Trial: 1, Outcome: result.Pass, Replayed: true,
		Started:     time.Now(),
		Evaluations: []result.Evaluation{{Name: "steps", Type: "tool_trajectory", Outcome: result.Pass, Score: &score}},
		Run: &trajectory.Run{
			Agent: trajectory.Agent{Kind: "claude-code-acp", Name: "claude", Model: "opus"},
			Events: []trajectory.Event{
				at(0, trajectory.Prompt{Text: "Find it."}),
				at(10, trajectory.ToolStart{ID: "a", Name: "Grep", Args: map[string]any{"pattern": "x"}}),
				at(20, trajectory.ToolEnd{ID: "a", Status: trajectory.Completed, Output: "x.go:1"}),
				at(30, trajectory.Message{Text: "There."}),
				at(40, trajectory.Stop{Reason: "end_turn"}),
			},
		},
	}
}

// received is what the receiver handed on.
type received struct {
	mu     sync.Mutex
	traces []ptrace.Traces
}

func (r *received) take(_ context.Context, traces ptrace.Traces) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.traces = append(r.traces, traces)
	return nil
}

// text shows the service and its spans, each parent before its children and these by time.
func (r *received) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	children := make(map[pcommon.SpanID][]ptrace.Span)
	for _, traces := range r.traces {
		for _, rs := range traces.ResourceSpans().All() {
			service, _ := rs.Resource().Attributes().Get("service.name")
			fmt.Fprintln(&b, service.AsString())
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					children[s.ParentSpanID()] = append(children[s.ParentSpanID()], s)
				}
			}
		}
	}
	write(&b, children, pcommon.SpanID{})
	return b.String()
}

func write(b *strings.Builder, children map[pcommon.SpanID][]ptrace.Span, parent pcommon.SpanID) {
	spans := children[parent]
	slices.SortStableFunc(spans,
		func(a, b ptrace.Span) int { return cmp.Compare(a.StartTimestamp(), b.StartTimestamp()) })
	for _, s := range spans {
		fmt.Fprintln(b, s.Status().Code(), s.Kind(), s.Name())
		for _, e := range s.Events().All() {
			name, _ := e.Attributes().Get("gen_ai.evaluation.name")
			score, _ := e.Attributes().Get("gen_ai.evaluation.score.value")
			fmt.Fprintln(b, "  event", e.Name(), name.AsString(), score.AsString())
		}
		write(b, children, s.SpanID())
	}
}

// host is a collector without extensions.
type host struct{}

func (host) GetExtensions() map[component.ID]component.Component { return nil }

// startReceiver starts a receiver on loopback and returns its address.
func startReceiver(t *testing.T, to *received) (address string) {
	t.Helper()
	traces, err := consumer.NewTraces(to.take)
	require.NoError(t, err)
	factory := otlpreceiver.NewFactory()
	settings := receiver.Settings{
		ID: component.NewID(factory.Type()),
		TelemetrySettings: component.TelemetrySettings{
			Logger: zap.NewNop(), TracerProvider: tracenoop.NewTracerProvider(),
			MeterProvider: metricnoop.NewMeterProvider(),
			Resource:      pcommon.NewResource(),
		},
	}
	for range 5 { // it takes a port's number only, and somebody else may have taken the port
		address = freeAddress(t)
		config := factory.CreateDefaultConfig()
		protocols := map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}}
		require.NoError(t, confmap.NewFromStringMap(protocols).Unmarshal(config))
		server, err := factory.CreateTraces(t.Context(), settings, config, traces)
		require.NoError(t, err)
		if err = server.Start(t.Context(), host{}); err == nil {
			t.Cleanup(func() { require.NoError(t, server.Shutdown(context.Background())) })
			return address
		}
		t.Logf("start the receiver: %v", err)
	}
	t.Fatal("no port to be had")
	return ""
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
