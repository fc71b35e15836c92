package payload

import (
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// expected returns what a good session says: the case's messages or, where it has none, the answer that is known to be
// right.
func expected(c spec.Case) []judge.Message {
	if len(c.ExpectedMessages) == 0 && c.ReferenceAnswer != "" {
		return []judge.Message{{Role: "assistant", Content: c.ReferenceAnswer}}
	}
	var all []judge.Message
	for _, m := range c.ExpectedMessages {
		message := judge.Message{Role: m.Role, Content: m.Content}
		for _, call := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, judge.ToolCall{Tool: call.Tool, Input: call.Input, Output: call.Output})
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
