package otlp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
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
	// Value is a float64 of a NUMERIC score, a string of a CATEGORICAL one, and 0 or 1 of a BOOLEAN one.
	Value    any    `json:"value"`
	DataType string `json:"dataType"`
	Comment  string `json:"comment,omitempty"`
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 1 << 20

// Scores implements [tracing.Sender].
func (s *sender) Scores(ctx context.Context, list []tracing.Score) error {
	now := time.Now().UTC()
	var events []scoreEvent
	for _, score := range list {
		// It does not end, so it is not sent: it tells whether the trace was.
		_, span := s.tracer.Start(s.traceOf(score.Unit), "score")
		if c := span.SpanContext(); c.IsSampled() {
			events = append(events, s.event(c.TraceID().String(), score, now))
		}
	}
	var errs []error
	for _, t := range s.targets {
		if t.scores != nil {
			errs = append(errs, t.sendScores(ctx, events))
		}
	}
	return errors.Join(errs...)
}

// event returns a score as Langfuse wants it. Its id is the same for the same name and person, so that a new score
// takes the place of an old one; that of the event is not, since Langfuse passes over events that it has.
func (s *sender) event(traceID string, of tracing.Score, now time.Time) scoreEvent {
	sum := sha256.Sum256([]byte(traceID + "\x00" + of.Name + "\x00" + of.By))
	id := hex.EncodeToString(sum[:16])
	body := score{ID: id, TraceID: traceID, Name: s.name(of.Name), DataType: "NUMERIC", Value: of.Value}
	if yes, ok := of.Value.(bool); ok {
		body.DataType, body.Value = "BOOLEAN", 0
		if yes {
			body.Value = 1
		}
	}
	if s.content {
		body.Comment = s.text(strings.TrimSuffix(of.By+": "+of.Reason, ": "))
	}
	return scoreEvent{ID: fmt.Sprintf("%s-%d", id, now.UnixNano()), Type: "score-create", Timestamp: now, Body: body}
}

// maxBatch is how many scores are sent at once: Langfuse takes 3.5 MB.
const maxBatch = 100

// sendScores sends scores in batches until one is not taken.
func (t *target) sendScores(ctx context.Context, events []scoreEvent) error {
	start, sent := time.Now(), 0
	for batch := range slices.Chunk(events, maxBatch) {
		ctx, cancel := context.WithTimeoutCause(ctx, t.patience.left(t.url, t.timeout), t.tooSlow())
		err := t.scores.send(ctx, batch)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		cancel()
		if err != nil {
			reason := excerpt.Line(t.secrets.String(err.Error()), maxReason)
			if t.patience.spend(t.url, time.Since(start), "scores: "+reason) {
				return nil
			}
			return fmt.Errorf("%s: %d of %d scores were not sent: %s", t.url, len(events)-sent, len(events), reason)
		}
		sent += len(batch)
	}
	return nil
}

// scoresOf returns the scores in the spans of evaluations and the outcomes of units, each of the trace of its span.
func scoresOf(spans []sdktrace.ReadOnlySpan) (events []scoreEvent) {
	for _, span := range spans {
		if e, ok := scoreOf(span); ok {
			events = append(events, e)
		}
	}
	return events
}

// send sends scores.
func (s *scores) send(ctx context.Context, events []scoreEvent) error {
	if len(events) == 0 {
		return nil
	}
	data, err := json.Marshal(map[string][]scoreEvent{"batch": events})
	if err != nil {
		return err
	}
	answer, err := s.post(ctx, data)
	if err != nil {
		return err
	}
	// The status is a success even if entries of the batch failed.
	var refused struct {
		Errors []json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(answer, &refused); err != nil {
		return fmt.Errorf("the answer of %s: %w", s.url, err)
	}
	if len(refused.Errors) > 0 {
		return fmt.Errorf("%s rejected %d of %d: %s", s.url, len(refused.Errors), len(events), refused.Errors[0])
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
