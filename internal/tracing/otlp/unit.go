package otlp

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Attributes that no convention has.
const (
	runKey       = attribute.Key("sdd_eval.run.id")
	unitKey      = attribute.Key("sdd_eval.unit.id")
	caseKey      = attribute.Key("sdd_eval.case")
	variantKey   = attribute.Key("sdd_eval.variant")
	trialKey     = attribute.Key("sdd_eval.trial")
	outcomeKey   = attribute.Key("sdd_eval.outcome")
	reasonKey    = attribute.Key("sdd_eval.reason")
	stopKey      = attribute.Key("sdd_eval.stop")
	scoreKey     = attribute.Key("sdd_eval.score")
	cassetteKey  = attribute.Key("sdd_eval.cassette")
	endpointKey  = attribute.Key("sdd_eval.endpoint")
	replayedKey  = attribute.Key("sdd_eval.replayed")
	attemptsKey  = attribute.Key("sdd_eval.attempts")
	costKey      = attribute.Key("sdd_eval.cost.amount")
	currencyKey  = attribute.Key("sdd_eval.cost.currency")
	turnKey      = attribute.Key("sdd_eval.turn")
	inferredKey  = attribute.Key("sdd_eval.inferred")
	toolKindKey  = attribute.Key("sdd_eval.tool.kind")
	toolStateKey = attribute.Key("sdd_eval.tool.status")
	typeKey      = attribute.Key("sdd_eval.evaluator.type")
	thresholdKey = attribute.Key("sdd_eval.evaluator.threshold")

	// Langfuse names a trace after its root, which is the same for all variants and trials, unless it is told.
	langfuseNameKey = attribute.Key("langfuse.trace.name")
	langfuseTypeKey = attribute.Key("langfuse.observation.type")
)

// unitTrace is the trace of one unit while it is made.
type unitTrace struct {
	*sender
	result.Unit
	// session is when the session began, and judged when the evaluators were asked.
	session, judged time.Time
}

// Unit implements [tracing.Sender].
func (s *sender) Unit(u result.Unit) {
	w := unitTrace{sender: s, Unit: u, session: u.Started, judged: u.Started}
	if !u.SessionStarted.IsZero() {
		w.session = u.SessionStarted
	}
	if u.Run != nil && len(u.Run.Events) > 0 {
		w.judged = w.at(u.Run.Events[len(u.Run.Events)-1].At)
	}
	playbook, _, _ := strings.Cut(u.ID, "/")
	workflow := s.name(playbook + "/" + u.Case)
	ctx, root := w.start(context.Background(), "invoke_workflow "+workflow, trace.SpanKindInternal, u.Started,
		semconv.GenAIOperationNameInvokeWorkflow, semconv.GenAIWorkflowName(workflow),
		semconv.TestSuiteName(s.name(playbook)), semconv.TestCaseName(s.name(u.ID)))
	root.SetAttributes(w.attributes()...)
	w.turns(ctx)
	end := w.evaluations(ctx, root)
	switch u.Outcome {
	case result.Pass:
		root.SetAttributes(semconv.TestCaseResultStatusPass)
	case result.Fail:
		root.SetAttributes(semconv.TestCaseResultStatusFail)
		root.SetStatus(codes.Error, "fail")
	case result.Error:
		fails(root, "harness_error")
	}
	// A recorded session takes as long as it took, its replay hardly any time.
	w.end(root, latest(u.Started.Add(time.Duration(u.Duration)), end))
}

// attributes are those of the whole unit that no convention has.
func (w *unitTrace) attributes() []attribute.KeyValue {
	all := []attribute.KeyValue{
		unitKey.String(w.name(w.ID)), caseKey.String(w.name(w.Case)), variantKey.String(w.name(w.Variant)), trialKey.Int(w.Trial),
		outcomeKey.String(string(w.Outcome)), replayedKey.Bool(w.Replayed), attemptsKey.Int(len(w.Attempts) + 1),
	}
	for _, a := range []attribute.KeyValue{
		runKey.String(w.RunID), semconv.SessionID(w.RunID), stopKey.String(w.Stop), cassetteKey.String(w.Session), endpointKey.String(w.Endpoint),
	} {
		if value := a.Value.AsString(); value != "" {
			all = append(all, a.Key.String(w.name(value)))
		}
	}
	if w.content && w.Reason != "" {
		all = append(all, reasonKey.String(w.text(w.Reason)))
	}
	if score := w.Score(); score != nil {
		all = append(all, scoreKey.Float64(*score))
	}
	if w.Metrics != nil && w.Metrics.Cost != nil {
		all = append(all, costKey.Float64(w.Metrics.Cost.Amount), currencyKey.String(w.name(w.Metrics.Cost.Currency)))
	}
	if w.langfuse {
		all = append(all, langfuseNameKey.String(w.name(w.ID)))
	}
	return all
}

// evaluations makes a span of each verdict, one after the other as they were given, and an event of the unit's span, which
// is what the conventions have for it. It returns when the last one was given.
func (w *unitTrace) evaluations(ctx context.Context, root trace.Span) time.Time {
	at := w.judged
	for _, e := range w.Evaluations {
		attributes := []attribute.KeyValue{
			semconv.GenAIEvaluationName(w.name(e.Name)), semconv.GenAIEvaluationScoreLabel(string(e.Outcome)),
		}
		if e.Score != nil {
			attributes = append(attributes, semconv.GenAIEvaluationScoreValue(*e.Score))
		}
		if w.content && e.Reason != "" {
			attributes = append(attributes, semconv.GenAIEvaluationExplanation(w.text(e.Reason)))
		}
		if e.Outcome == result.Error {
			attributes = append(attributes, semconv.ErrorTypeKey.String("evaluator_error"))
		}
		_, span := w.start(ctx, "evaluate "+w.name(e.Name), trace.SpanKindInternal, at, attributes...)
		span.SetAttributes(typeKey.String(w.name(e.Type)), thresholdKey.Float64(e.Threshold))
		if w.langfuse {
			span.SetAttributes(langfuseTypeKey.String("evaluator"))
		}
		if e.Outcome == result.Error {
			span.SetStatus(codes.Error, "evaluator_error")
		}
		at = at.Add(time.Duration(e.Duration))
		w.end(span, at)
		root.AddEvent("gen_ai.evaluation.result", trace.WithTimestamp(at), trace.WithAttributes(attributes...))
	}
	return at
}

// at is when something happened that long after the session began.
func (w *unitTrace) at(since time.Duration) time.Time { return w.session.Add(since) }

func (s *sender) start(ctx context.Context, name string, kind trace.SpanKind, at time.Time, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return s.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(at), trace.WithAttributes(attributes...))
}

func (s *sender) end(span trace.Span, at time.Time) {
	if span.SpanContext().IsSampled() {
		s.spans.Add(1)
	}
	span.End(trace.WithTimestamp(at))
}

// fails marks a span as failed, with a word for the class of the failure.
func fails(span trace.Span, class string) {
	span.SetAttributes(semconv.ErrorTypeKey.String(class))
	span.SetStatus(codes.Error, class)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
