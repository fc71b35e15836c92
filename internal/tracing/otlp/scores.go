package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// scores sends scores to Langfuse, whose OTLP endpoint ignores the scores in the attributes of spans.
type scores struct {
	url     string
	headers map[string]string
	client  *http.Client
}

// scoreEvent is one entry of a batch for Langfuse's ingestion API.
type scoreEvent struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Body      score     `json:"body"`
}

type score struct {
	ID      string `json:"id"`
	TraceID string `json:"traceId"`
	Name    string `json:"name"`
	// Value is a float64 of a NUMERIC score, and a string of a CATEGORICAL one.
	Value    any    `json:"value"`
	DataType string `json:"dataType"`
	Comment  string `json:"comment,omitempty"`
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 1 << 20

// send sends the scores in the spans of evaluations and the outcomes of units, each to the trace of its span.
func (s *scores) send(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	var batch struct {
		Batch []scoreEvent `json:"batch"`
	}
	for _, span := range spans {
		if e, ok := scoreOf(span); ok {
			batch.Batch = append(batch.Batch, e)
		}
	}
	if len(batch.Batch) == 0 {
		return nil
	}
	data, err := json.Marshal(batch)
	if err != nil {
		return fmt.Errorf("scores: %w", err)
	}
	answer, err := s.post(ctx, data)
	if err != nil {
		return fmt.Errorf("scores: %w", err)
	}
	// The status is a success even if entries of the batch failed.
	var refused struct {
		Errors []json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(answer, &refused); err != nil {
		return fmt.Errorf("scores: the answer of %s: %w", s.url, err)
	}
	if len(refused.Errors) > 0 {
		return fmt.Errorf("scores: %s rejected %d of %d: %s", s.url, len(refused.Errors),
			len(batch.Batch), refused.Errors[0])
	}
	return nil
}

// scoreOf returns the score of an evaluation's span, or the outcome of a unit's.
func scoreOf(span sdktrace.ReadOnlySpan) (e scoreEvent, found bool) {
	c := span.SpanContext()
	id := c.TraceID().String() + "-" + c.SpanID().String() // the same if the span is sent again
	e = scoreEvent{ID: id, Type: "score-create", Timestamp: span.EndTime().UTC(), Body: score{
		ID: id, TraceID: c.TraceID().String(), DataType: "NUMERIC",
	}}
	for _, a := range span.Attributes() {
		switch a.Key {
		case semconv.GenAIEvaluationNameKey:
			e.Body.Name = a.Value.AsString()
		case semconv.GenAIEvaluationScoreValueKey:
			e.Body.Value, found = a.Value.AsFloat64(), true
		case outcomeKey:
			e.Body.Name, e.Body.DataType, e.Body.Value, found = "outcome", "CATEGORICAL", a.Value.AsString(), true
		case semconv.GenAIEvaluationExplanationKey, reasonKey:
			e.Body.Comment = a.Value.AsString()
		}
	}
	return e, found
}

func (s *scores) post(ctx context.Context, data []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for name, value := range s.headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s: %s: %s", s.url, response.Status, answer)
	}
	return answer, nil
}
