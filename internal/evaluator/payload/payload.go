// Package payload turns the input of evaluators into the input of judges. The judges' input itself is defined by
// package judge.
package payload

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Of returns the judge's input. Config is the judge's configuration, a value that encoding/json can marshal, nil for
// none.
func Of(ctx context.Context, in evaluator.Input, config any) (judge.Input, error) {
	j := judge.Input{
		Question:         strings.Join(in.Case.Prompts, "\n\n"),
		ExpectedOutcome:  in.Case.ExpectedOutcome,
		ReferenceAnswer:  in.Case.ReferenceAnswer,
		CandidateAnswer:  in.Run.Answer(),
		ExpectedMessages: expected(in.Case),
		OutputMessages:   messages(in.Run),
		InputFiles:       files(in.Case, in.Workspace),
		TraceSummary:     summary(in.Run, in.Metrics),
		SchemaVersion:    judge.Version,
		WorkspacePath:    in.Workspace,
	}
	for _, prompt := range in.Case.Prompts {
		j.InputMessages = append(j.InputMessages, judge.Message{Role: "user", Content: prompt})
	}
	var err error
	if config != nil {
		if j.Config, err = json.Marshal(config); err != nil {
			return judge.Input{}, fmt.Errorf("judge's config: %w", err)
		}
	}
	if in.Metrics != nil {
		if j.Metrics, err = json.Marshal(in.Metrics); err != nil {
			return judge.Input{}, fmt.Errorf("metrics: %w", err)
		}
	}
	if in.Changes != nil {
		if j.FileChanges, err = in.Changes(ctx); err != nil {
			return judge.Input{}, fmt.Errorf("changes of the workspace: %w", err)
		}
	}
	return j, nil
}

// files returns the paths of what the case put into the workspace, relative ones if there is none.
func files(c plan.Case, workspace string) []string {
	paths := slices.Collect(maps.Keys(c.Files))
	for _, add := range c.Workspace.Add {
		paths = append(paths, cmp.Or(add.To, path.Base(filepath.ToSlash(add.From))))
	}
	slices.Sort(paths)
	for i, p := range paths {
		paths[i] = filepath.Join(workspace, filepath.FromSlash(p))
	}
	return paths
}

// Values of a playbook's `compat` for scripts that were written for AgentV.
const (
	AgentV  = "agentv"  // its first versions
	AgentV5 = "agentv5" // versions 5
)

// Encode returns what a script reads from its standard input. If compat is [AgentV] or [AgentV5], it has the keys that
// AgentV's own scripts know; otherwise compat is empty.
func Encode(in judge.Input, compat string) ([]byte, error) {
	if compat == AgentV5 {
		return json.Marshal(agentV5(in))
	}
	text, err := json.Marshal(in)
	if err != nil || compat != AgentV {
		return text, err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, err
	}
	for _, ours := range []string{"schema_version", "workspace_path", "file_changes", "metrics"} {
		delete(keys, ours)
	}
	return json.Marshal(keys)
}

// agentV5 returns what scripts for AgentV 5 read.
func agentV5(in judge.Input) map[string]any {
	summary := map[string]any{"event_count": 0, "tool_calls": map[string]int{}, "error_count": 0}
	all := map[string]any{"token_usage": nil, "cost_usd": nil, "duration_ms": nil}
	if t := in.TraceSummary; t != nil {
		summary["event_count"], summary["error_count"] = t.EventCount, t.ErrorCount
		summary["tool_calls"] = t.ToolCallsByName
		if t.ToolDurations != nil {
			summary["tool_durations"] = t.ToolDurations
		}
		all["token_usage"], all["cost_usd"], all["duration_ms"] = t.TokenUsage, t.CostUSD, t.DurationMS
	}
	trace := maps.Clone(summary)
	trace["messages"], trace["events"] = list(in.OutputMessages), []any{}
	maps.Copy(all, map[string]any{
		"criteria": in.ExpectedOutcome, "expected_output": list(in.ExpectedMessages), "output": in.CandidateAnswer,
		"messages": list(in.OutputMessages), "input_files": append([]string{}, in.InputFiles...),
		"input": list(in.InputMessages), "metadata": nil, "trace": trace, "trace_summary": summary,
		"file_changes": in.FileChanges, "workspace_path": in.WorkspacePath, "config": in.Config,
	})
	return all
}

// list is a list of messages that is not null.
func list(messages []judge.Message) []judge.Message { return append([]judge.Message{}, messages...) }

// expected returns the messages of a good session: those of the case or, if it has none, its reference answer.
func expected(c plan.Case) []judge.Message {
	if len(c.ExpectedMessages) == 0 && c.ReferenceAnswer != "" {
		return []judge.Message{{Role: "assistant", Content: c.ReferenceAnswer}}
	}
	var all []judge.Message
	for _, m := range c.ExpectedMessages {
		message := judge.Message{Role: m.Role, Content: m.Content}
		for _, call := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, judge.ToolCall{
				Tool: call.Tool, Input: call.Input, Output: call.Output,
			})
		}
		all = append(all, message)
	}
	return all
}

// messages returns what was said and done after the first prompt: what the agent said, each message with the tool calls
// that followed it, and the prompts of later turns.
func messages(run *trajectory.Run) []judge.Message {
	all := []judge.Message{}
	calls := run.ToolCalls()
	group, open := 0, false // the last message takes calls, those of the group or of any if it is 0
	for _, e := range run.Events {
		switch b := e.Body.(type) {
		case trajectory.Prompt:
			if open = false; e.Turn > 1 {
				all = append(all, judge.Message{Role: "user", Content: b.Text})
			}
		case trajectory.Message:
			all = append(all, judge.Message{Role: "assistant", Content: b.Text})
			group, open = 0, true
		case trajectory.ToolStart:
			call := calls[0]
			calls = calls[1:]
			if !open || group != 0 && group != call.Group {
				all = append(all, judge.Message{Role: "assistant"})
			}
			group, open = call.Group, true
			last := &all[len(all)-1]
			last.ToolCalls = append(last.ToolCalls, toolCall(call))
		}
	}
	return all
}

func toolCall(c trajectory.ToolCall) judge.ToolCall {
	call := judge.ToolCall{Tool: nameOf(c), Input: c.Args, Output: c.Output, ID: c.ID}
	if c.Output == nil && c.Printed != "" {
		call.Output = c.Printed
	}
	if c.Duration > 0 {
		call.DurationMS = new(milliseconds(c.Duration))
	}
	return call
}

// nameOf returns the tool's name; some agents give only a kind.
func nameOf(c trajectory.ToolCall) string {
	if c.Name == "" {
		return c.Kind
	}
	return c.Name
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// summary counts what the agent did. Metrics may be nil.
func summary(run *trajectory.Run, m *result.Metrics) *judge.TraceSummary {
	t := &judge.TraceSummary{ToolCallsByName: make(map[string]int)}
	for _, c := range run.ToolCalls() {
		name := nameOf(c)
		t.EventCount++
		t.ToolCallsByName[name]++
		if c.Status == trajectory.Failed {
			t.ErrorCount++
		}
		if c.Duration > 0 {
			if t.ToolDurations == nil {
				t.ToolDurations = make(map[string][]float64)
			}
			t.ToolDurations[name] = append(t.ToolDurations[name], milliseconds(c.Duration))
		}
	}
	t.ToolNames = slices.Sorted(maps.Keys(t.ToolCallsByName))
	if n := len(run.Events); n > 0 {
		t.DurationMS = new(milliseconds(run.Events[n-1].At))
	}
	if m == nil {
		return t
	}
	if u := m.Tokens; u != nil && u.Input != nil && u.Output != nil {
		t.TokenUsage = &judge.TokenUsage{Input: *u.Input, Output: *u.Output, Cached: u.CacheRead}
	}
	if m.Cost != nil && m.Cost.Currency == "USD" {
		t.CostUSD = &m.Cost.Amount
	}
	return t
}
