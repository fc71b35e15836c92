package observe

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// update handles one session/update.
func (o *Observer) update(at time.Duration, u acp.SessionUpdate) {
	if o.state.take(u) {
		return
	}
	switch u := u.(type) {
	case acp.AgentMessageChunk:
		text := blockText(u.Content)
		if last, ok := o.last().(*trajectory.Message); ok {
			last.Text += text
		} else if text != "" {
			o.add(at, &trajectory.Message{Text: text})
		}
	case acp.AgentThoughtChunk:
		text := blockText(u.Content)
		if last, ok := o.last().(*trajectory.Thought); ok {
			last.Text += text
		} else if text != "" {
			o.add(at, &trajectory.Thought{Text: text})
		}
	case acp.Plan:
		p := trajectory.Plan{}
		for _, e := range u.Entries {
			p.Entries = append(p.Entries, trajectory.PlanEntry{Content: e.Content, Priority: e.Priority, Status: e.Status})
		}
		o.add(at, p)
	case acp.ToolCall:
		o.call(at, u.ToolCallID).replace(o, at, u)
	case acp.ToolCallUpdate:
		o.call(at, u.ToolCallID).change(o, at, u)
	default:
		raw, err := json.Marshal(u)
		if err != nil {
			raw = nil
		}
		o.add(at, trajectory.Notice{Name: "session/update:" + u.UpdateKind(), Data: decoded(raw)})
	}
}

// last returns the body of the last event, nil if there is none.
func (o *Observer) last() trajectory.Body {
	if len(o.events) == 0 {
		return nil
	}
	return o.events[len(o.events)-1].Body
}

// state collects what an agent reports of its session during a turn: the last values count.
type state struct {
	now     trajectory.State
	changed bool
}

// take keeps the update if it is about the session's state.
func (s *state) take(u acp.SessionUpdate) bool {
	switch u := u.(type) {
	case acp.AvailableCommandsUpdate:
		s.now.Commands = nil
		for _, c := range u.AvailableCommands {
			s.now.Commands = append(s.now.Commands, c.Name)
		}
		slices.Sort(s.now.Commands)
	case acp.CurrentModeUpdate:
		s.now.Mode = u.CurrentModeID
	case acp.ConfigOptionUpdate:
		s.now.Options = make(map[string]string)
		for _, c := range u.ConfigOptions {
			s.now.Options[c.ID] = optionText(c.CurrentValue)
		}
	case acp.SessionInfoUpdate:
		if u.Title.Set {
			s.now.Title = u.Title.Value
		}
	case acp.UsageUpdate:
		if u.Used != nil {
			s.now.ContextUsed = u.Used
		}
		if u.Size != nil {
			s.now.ContextSize = u.Size
		}
		if u.Cost != nil {
			s.now.Cost = &trajectory.Cost{Amount: u.Cost.Amount, Currency: u.Cost.Currency}
		}
	default:
		return false
	}
	s.changed = true
	return true
}

// event returns the state if anything was reported since the last call.
func (s *state) event() (trajectory.State, bool) {
	if !s.changed {
		return trajectory.State{}, false
	}
	s.changed = false
	return s.now, true
}

func optionText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return ""
}

func usage(u *acp.Usage) *trajectory.Usage {
	if u == nil {
		return nil
	}
	return &trajectory.Usage{
		Input: u.InputTokens, Output: u.OutputTokens, Thought: u.ThoughtTokens,
		CacheRead: u.CachedReadTokens, CacheWrite: u.CachedWriteTokens, Total: u.TotalTokens,
	}
}

// blocksText joins the text of content blocks. Blocks that are not text are named by their type.
func blocksText(blocks []acp.ContentBlock) string {
	texts := make([]string, len(blocks))
	for i, b := range blocks {
		texts[i] = blockText(b)
	}
	return strings.Join(texts, "\n")
}

func blockText(b acp.ContentBlock) string {
	switch b := b.(type) {
	case nil:
		return ""
	case acp.TextContent:
		return b.Text
	case acp.ResourceLink:
		return b.URI
	default:
		return "[" + b.BlockType() + "]"
	}
}

// decoded returns JSON as Go values with numbers kept exact, nil if there is none.
func decoded(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}
