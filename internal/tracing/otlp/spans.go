package otlp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// The attributes that are not in the conventions.
const (
	runKey        = attribute.Key("sdd_eval.run.id")
	unitKey       = attribute.Key("sdd_eval.unit.id")
	caseKey       = attribute.Key("sdd_eval.case")
	variantKey    = attribute.Key("sdd_eval.variant")
	trialKey      = attribute.Key("sdd_eval.trial")
	outcomeKey    = attribute.Key("sdd_eval.outcome")
	reasonKey     = attribute.Key("sdd_eval.reason")
	stopKey       = attribute.Key("sdd_eval.stop")
	scoreKey      = attribute.Key("sdd_eval.score")
	cassetteKey   = attribute.Key("sdd_eval.cassette")
	endpointKey   = attribute.Key("sdd_eval.endpoint")
	replayedKey   = attribute.Key("sdd_eval.replayed")
	attemptsKey   = attribute.Key("sdd_eval.attempts")
	costKey       = attribute.Key("sdd_eval.cost.amount")
	currencyKey   = attribute.Key("sdd_eval.cost.currency")
	turnKey       = attribute.Key("sdd_eval.turn")
	inferredKey   = attribute.Key("sdd_eval.inferred")
	toolKindKey   = attribute.Key("sdd_eval.tool.kind")
	toolStateKey  = attribute.Key("sdd_eval.tool.status")
	toolParentKey = attribute.Key("sdd_eval.tool.parent")
	typeKey       = attribute.Key("sdd_eval.evaluator.type")
	thresholdKey  = attribute.Key("sdd_eval.evaluator.threshold")

	// Without this name, Langfuse names a trace after its root, which is the same for all variants and trials.
	langfuseNameKey = attribute.Key("langfuse.trace.name")
	langfuseTypeKey = attribute.Key("langfuse.observation.type")
)

// unitTrace makes the trace of one unit.
type unitTrace struct {
	*sender
	result.Unit
	// session is when the session began, and judged when judging began.
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
	ctx, root := w.start(s.traceOf(u), "invoke_workflow "+workflow, trace.SpanKindInternal, u.Started,
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
	// The times of a replayed session are those of the recording, so the session may end after the unit.
	w.end(root, latest(u.Started.Add(time.Duration(u.Duration)), end))
}

// traceOf returns a context in which the trace of a unit begins. Its id follows from what a run keeps of the unit, so
// that what people say of it later belongs to it, too.
func (s *sender) traceOf(u result.Unit) context.Context {
	ctx := context.Background()
	if s.RunID == "" {
		return ctx
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", s.RunID, u.ID, u.Started.UnixNano()))
	return context.WithValue(ctx, traceKey{}, trace.TraceID(sum[:16]))
}

// traceKey is the key of the id of the trace that begins in a context.
type traceKey struct{}

// ids makes the ids of spans and traces: random ones, unless the context has that of the trace.
type ids struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, ok := ctx.Value(traceKey{}).(trace.TraceID)
	if !ok {
		_, _ = rand.Read(id[:]) // which never fails
	}
	return id, ids{}.NewSpanID(ctx, id)
}

// NewSpanID implements [sdktrace.IDGenerator].
func (ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	_, _ = rand.Read(id[:])
	return id
}

// attributes returns the attributes of the whole unit that are not in the conventions.
func (w *unitTrace) attributes() []attribute.KeyValue {
	all := []attribute.KeyValue{
		unitKey.String(w.name(w.ID)), caseKey.String(w.name(w.Case)), variantKey.String(w.name(w.Variant)),
		trialKey.Int(w.Trial),
		outcomeKey.String(string(w.Outcome)), replayedKey.Bool(w.Replayed), attemptsKey.Int(len(w.Attempts) + 1),
	}
	for _, a := range []attribute.KeyValue{
		runKey.String(w.RunID), semconv.SessionID(w.RunID), stopKey.String(w.Stop), cassetteKey.String(w.Session),
		endpointKey.String(w.Endpoint),
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

// evaluations makes a span for each evaluation, one after the other in their order, and an event in the unit's span,
// which is how the conventions record evaluations. It returns the end of the last one.
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

// at returns the time of an event that happened so long after the session began.
func (w *unitTrace) at(since time.Duration) time.Time { return w.session.Add(since) }

func (s *sender) start(
	ctx context.Context, name string, kind trace.SpanKind, at time.Time, attributes ...attribute.KeyValue,
) (context.Context, trace.Span) {
	return s.tracer.Start(ctx, name,
		trace.WithSpanKind(kind), trace.WithTimestamp(at), trace.WithAttributes(attributes...))
}

func (s *sender) end(span trace.Span, at time.Time) {
	if span.SpanContext().IsSampled() {
		s.spans.Add(1)
	}
	span.End(trace.WithTimestamp(at))
}

// fails marks a span as failed, with the class of the failure.
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

// turns makes the spans of the session.
func (w *unitTrace) turns(ctx context.Context) {
	if w.Run == nil {
		return
	}
	calls := w.Run.ToolCalls()
	for events := w.Run.Events; len(events) > 0; {
		n := slices.IndexFunc(events, func(e trajectory.Event) bool { return e.Turn != events[0].Turn })
		if n < 0 {
			n = len(events)
		}
		w.turn(ctx, events[:n], calls)
		events = events[n:]
	}
}

// turn makes the spans of one turn. Calls are the calls of all turns.
func (w *unitTrace) turn(ctx context.Context, events []trajectory.Event, calls []trajectory.ToolCall) {
	n, end := events[0].Turn, events[len(events)-1].At
	agent := w.Run.Agent
	name := w.name(cmp.Or(agent.Name, agent.Kind))
	// The agent is another process, and we are its client.
	ctx, span := w.start(ctx, strings.TrimSpace("invoke_agent "+name), trace.SpanKindClient, w.at(events[0].At),
		append(w.model(), semconv.GenAIOperationNameInvokeAgent)...)
	span.SetAttributes(semconv.GenAIAgentName(name), turnKey.Int(n), replayedKey.Bool(w.Replayed))
	if agent.Version != "" {
		span.SetAttributes(semconv.GenAIAgentVersion(w.name(agent.Version)))
	}
	if w.content {
		span.SetAttributes(w.messages(events)...)
	}
	for _, step := range inferred(events) {
		w.chat(ctx, step)
	}
	for _, c := range calls {
		if c.Turn == n {
			w.tool(ctx, c, end)
		}
	}
	last, _ := events[len(events)-1].Body.(trajectory.Stop)
	switch last.Reason {
	case "end_turn":
	case "":
		fails(span, "interrupted")
	default:
		fails(span, w.name(last.Reason))
	}
	if last.Reason != "" {
		span.SetAttributes(semconv.GenAIResponseFinishReasons(w.name(finish(last.Reason))))
	}
	span.SetAttributes(usage(last.Usage)...)
	w.end(span, w.at(end))
}

// model returns attributes for the model, as far as it is known: the provider is the agent's vendor, even if another
// model answers.
func (w *unitTrace) model() []attribute.KeyValue {
	ran := w.Run.Agent
	profile, _ := agent.Lookup(ran.Kind) // no provider if it has several: the agent does not say which one it uses
	provider := semconv.GenAIProviderNameKey.String(w.name(cmp.Or(profile.Provider, ran.Kind, "unknown")))
	if ran.Model == "" {
		return []attribute.KeyValue{provider}
	}
	return []attribute.KeyValue{provider, semconv.GenAIRequestModel(w.name(ran.Model))}
}

// step is a period in which an agent must have waited for its model.
type step struct{ from, to time.Duration }

// inferred returns the steps of a turn. The protocol does not say when, or how often, an agent asks its model. So a
// step begins when the agent has what it waited for, the prompt or the results of its tools, and ends with its last
// message or call before it waits again.
func inferred(events []trajectory.Event) (steps []step) {
	ready, open, speaks := events[0].At, false, false
	for _, e := range events {
		switch e.Body.(type) {
		case trajectory.Prompt, trajectory.ToolEnd:
			ready, open, speaks = e.At, false, false
		case trajectory.Message, trajectory.Thought, trajectory.Plan, trajectory.ToolStart:
			if !open {
				steps, open = append(steps, step{from: ready}), true
			}
			steps[len(steps)-1].to = e.At
			_, calls := e.Body.(trajectory.ToolStart)
			speaks = !calls
		case trajectory.Stop:
			if speaks { // the time of the last message is that of its first chunk
				steps[len(steps)-1].to = e.At
			}
		}
	}
	return steps
}

func (w *unitTrace) chat(ctx context.Context, s step) {
	_, span := w.start(ctx, strings.TrimSpace("chat "+w.name(w.Run.Agent.Model)), trace.SpanKindInternal, w.at(s.from),
		append(w.model(), semconv.GenAIOperationNameChat)...)
	span.SetAttributes(inferredKey.Bool(true))
	w.end(span, w.at(s.to))
}

// tool makes the span of a call. A call without an end ends with its turn.
func (w *unitTrace) tool(ctx context.Context, c trajectory.ToolCall, turnEnd time.Duration) {
	name := w.name(cmp.Or(c.Name, c.Kind, "unknown"))
	_, span := w.start(ctx, "execute_tool "+name, trace.SpanKindInternal, w.at(c.Start),
		semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(name), semconv.GenAIToolCallID(w.name(c.ID)))
	span.SetAttributes(toolStateKey.String(w.name(string(c.Status))))
	if c.Kind != "" {
		span.SetAttributes(toolKindKey.String(w.name(c.Kind)))
	}
	if c.Parent != "" {
		span.SetAttributes(toolParentKey.String(w.name(c.Parent)))
	}
	if c.ExitCode != nil {
		span.SetAttributes(semconv.ProcessExitCode(*c.ExitCode))
	}
	if w.content {
		span.SetAttributes(w.call(c)...)
	}
	end := c.Start + c.Duration
	switch c.Status {
	case trajectory.Completed:
	case trajectory.Failed, trajectory.Cancelled:
		fails(span, string(c.Status))
	default:
		end = max(turnEnd, c.Start)
	}
	w.end(span, w.at(end))
}

// finish returns the reason why a turn ended, in the conventions' words if they have one.
func finish(stop string) string {
	switch stop {
	case "end_turn":
		return "stop"
	case "max_tokens":
		return "length"
	case "refusal":
		return "content_filter"
	}
	return stop
}

// usage returns the token usage that an agent reports for a turn.
func usage(u *trajectory.Usage) (all []attribute.KeyValue) {
	if u == nil {
		return nil
	}
	add := func(n *int64, key attribute.Key) {
		if n != nil {
			all = append(all, key.Int64(*n))
		}
	}
	add(input(u), semconv.GenAIUsageInputTokensKey)
	add(u.Output, semconv.GenAIUsageOutputTokensKey)
	add(u.CacheRead, semconv.GenAIUsageCacheReadInputTokensKey)
	add(u.CacheWrite, semconv.GenAIUsageCacheCreationInputTokensKey)
	add(u.Thought, semconv.GenAIUsageReasoningOutputTokensKey)
	return all
}

// input returns the number of all input tokens, as the conventions require. It adds those of the cache, unless the
// agent's total shows that they are included already.
func input(u *trajectory.Usage) *int64 {
	if u.Input == nil {
		return nil
	}
	value := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	sum := *u.Input + value(u.CacheRead) + value(u.CacheWrite)
	if u.Total != nil && *u.Total < sum+value(u.Output) {
		sum = *u.Input
	}
	return &sum
}
