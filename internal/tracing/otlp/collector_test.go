package otlp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sdd-eval/sdd-eval/internal/tracing"
)

// collector is a server on loopback that keeps what it is sent.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*tracepb.Span
	resource []*commonpb.KeyValue
	requests []*http.Request
	scores   []json.RawMessage
	// answer, if not nil, answers in place of the collector.
	answer http.HandlerFunc
}

func newCollector(t *testing.T) *collector {
	c := new(collector)
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.answer != nil {
		c.answer(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	if strings.HasSuffix(r.URL.Path, "/ingestion") {
		c.scores = append(c.scores, body)
		w.WriteHeader(http.StatusMultiStatus)
		fmt.Fprint(w, `{"successes":[],"errors":[]}`)
		return
	}
	var request collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, rs := range request.ResourceSpans {
		c.resource = rs.Resource.Attributes
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

// tree returns the spans as text: children below their parent by time, times since start, attributes by name.
func (c *collector) tree(t *testing.T, start time.Time) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	var write func(parent []byte, trace []byte, indent string) int
	write = func(parent, trace []byte, indent string) (n int) {
		for _, s := range c.spans {
			if string(s.ParentSpanId) != string(parent) || trace != nil && string(s.TraceId) != string(trace) {
				continue
			}
			fmt.Fprintf(&b, "%s%s [%s] %v..%v%s\n", indent, s.Name, strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_"),
				since(start, s.StartTimeUnixNano), since(start, s.EndTimeUnixNano), status(s))
			writeAttributes(&b, indent+"    ", s.Attributes)
			for _, e := range s.Events {
				fmt.Fprintf(&b, "%s    event %s at %v\n", indent, e.Name, since(start, e.TimeUnixNano))
				writeAttributes(&b, indent+"        ", e.Attributes)
			}
			n += 1 + write(s.SpanId, s.TraceId, indent+"  ")
		}
		return n
	}
	slices.SortStableFunc(c.spans,
		func(a, b *tracepb.Span) int { return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano)) })
	require.Equal(t, len(c.spans), write(nil, nil, ""), "each span is in the tree of its trace")
	return b.String()
}

func since(start time.Time, nanos uint64) time.Duration { return time.Unix(0, int64(nanos)).Sub(start) }

func status(s *tracepb.Span) string {
	if s.Status.GetCode() == tracepb.Status_STATUS_CODE_UNSET {
		return ""
	}
	return fmt.Sprintf(" %s %q", strings.TrimPrefix(s.Status.Code.String(), "STATUS_CODE_"), s.Status.Message)
}

func writeAttributes(b *strings.Builder, indent string, attributes []*commonpb.KeyValue) {
	attributes = slices.Clone(attributes)
	slices.SortFunc(attributes, func(a, b *commonpb.KeyValue) int { return strings.Compare(a.Key, b.Key) })
	for _, a := range attributes {
		fmt.Fprintf(b, "%s%s = %s\n", indent, a.Key, valueText(a.Value))
	}
}

func valueText(v *commonpb.AnyValue) string {
	switch v := v.Value.(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *commonpb.AnyValue_ArrayValue:
		texts := make([]string, len(v.ArrayValue.Values))
		for i, item := range v.ArrayValue.Values {
			texts[i] = valueText(item)
		}
		return strings.Join(texts, ", ")
	}
	return "?"
}

// openTracer opens a tracer by the environment, as callers do, with variables as "NAME=value".
func openTracer(t *testing.T, c tracing.Config, environ ...string) *tracing.Tracer {
	t.Helper()
	c.Getenv = func(name string) string {
		for _, kv := range environ {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return ""
	}
	tracer, err := tracing.Open(c)
	require.NoError(t, err)
	require.NotNil(t, tracer)
	return tracer
}
