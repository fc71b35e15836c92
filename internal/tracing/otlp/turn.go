package otlp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
)

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

// turn makes the spans of one turn. Calls are those of all turns.
func (w *unitTrace) turn(ctx context.Context, events []trajectory.Event, calls []trajectory.ToolCall) {
	n, end := events[0].Turn, events[len(events)-1].At
	agent := w.Run.Agent
	name := w.name(cmp.Or(agent.Name, agent.Kind))
	// The agent is another process that we are the client of.
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

// model says who answers, as far as it is known: the vendor of the agent, whatever stands behind it.
func (w *unitTrace) model() []attribute.KeyValue {
	ran := w.Run.Agent
	profile, _ := agent.Lookup(ran.Kind) // several providers are none: the agent does not tell which it asks
	provider := semconv.GenAIProviderNameKey.String(w.name(cmp.Or(profile.Provider, ran.Kind, "unknown")))
	if ran.Model == "" {
		return []attribute.KeyValue{provider}
	}
	return []attribute.KeyValue{provider, semconv.GenAIRequestModel(w.name(ran.Model))}
}

// step is a time in which an agent must have waited for its model.
type step struct{ from, to time.Duration }

// inferred returns the steps of a turn. Over its protocol an agent does not tell when it asks its model, nor how often: a
// step is from where the agent had what it waited for, the prompt or the ends of its tools, to the last that it said or
// called before it waited again.
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
			if speaks { // the last message came in pieces, and its event is the first of them
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

// tool makes the span of a call, which ends with its turn if nothing else ended it.
func (w *unitTrace) tool(ctx context.Context, c trajectory.ToolCall, turnEnd time.Duration) {
	name := w.name(cmp.Or(c.Name, c.Kind, "unknown"))
	_, span := w.start(ctx, "execute_tool "+name, trace.SpanKindInternal, w.at(c.Start),
		semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(name), semconv.GenAIToolCallID(w.name(c.ID)))
	span.SetAttributes(toolStateKey.String(w.name(string(c.Status))))
	if c.Kind != "" {
		span.SetAttributes(toolKindKey.String(w.name(c.Kind)))
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

// finish returns why a turn ended in the conventions' words, where they have one.
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

// usage returns the tokens that an agent reports for a turn.
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

// input returns all input tokens, as the conventions want it: those of the cache come on top, unless the agent's total
// says that it has counted them already.
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
