package observe

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// update handles one session/update.
func (o *Observer) update(at time.Duration, u acp.SessionUpdate) {
	o.noteMode(u)
	if o.state.take(u) {
		return
	}
	switch u := u.(type) {
	case acp.AgentMessageChunk:
		o.spend(readMeta[usageMeta](u.Meta).Usage)
		o.speak(at, blockText(u.Content), voice{parent: parent(u.Meta)})
	case acp.AgentThoughtChunk:
		o.spend(readMeta[usageMeta](u.Meta).Usage)
		o.speak(at, blockText(u.Content), voice{parent: parent(u.Meta), thought: true})
	case acp.Plan:
		p, size := trajectory.Plan{}, 0
		for _, e := range u.Entries {
			p.Entries = append(p.Entries, trajectory.PlanEntry{
				Content:  e.Content,
				Priority: e.Priority, Status: e.Status,
			})
			size += len(e.Content) + len(e.Priority) + len(e.Status)
		}
		o.add(at, size, p)
	case acp.ToolCall:
		o.call(at, u.ToolCallID).replace(o, at, u)
	case acp.ToolCallUpdate:
		o.call(at, u.ToolCallID).change(o, at, u)
	default:
		raw, err := json.Marshal(u)
		if err != nil {
			raw = nil
		}
		o.add(at, len(raw), trajectory.Notice{Name: "session/update:" + u.UpdateKind(), Data: decoded(raw)})
	}
}

// maxModes is how many changes of the mode are kept between two calls of [Observer.Modes].
const maxModes = 1000

// noteMode notes the mode that an update tells, by either of the two ways in which agents tell it.
func (o *Observer) noteMode(u acp.SessionUpdate) {
	mode := ""
	switch u := u.(type) {
	case acp.CurrentModeUpdate:
		mode = u.CurrentModeID
	case acp.ConfigOptionUpdate:
		for _, c := range u.ConfigOptions {
			if c.Category == acp.CategoryMode {
				mode = optionText(c.CurrentValue)
				break
			}
		}
	}
	if mode != "" && len(o.modes) < maxModes {
		o.modes = append(o.modes, acp.ModeName(mode))
	}
}

// updateOther handles an update of another session than the one that was opened: of a sub-agent. What is done there is
// done for this session, so its calls and tokens count, with the other session as the calls' parent. What is said there
// is not said to the user, and its state is not that of the session.
func (o *Observer) updateOther(at time.Duration, other string, u acp.SessionUpdate) {
	switch u := u.(type) {
	case acp.AgentMessageChunk:
		o.spend(readMeta[usageMeta](u.Meta).Usage)
		o.speak(at, blockText(u.Content), voice{parent: other})
	case acp.AgentThoughtChunk:
		o.spend(readMeta[usageMeta](u.Meta).Usage)
		o.speak(at, blockText(u.Content), voice{parent: other, thought: true})
	case acp.ToolCall:
		u.ToolCallID = other + "/" + u.ToolCallID
		c := o.call(at, u.ToolCallID)
		c.tells.Parent = cmp.Or(c.tells.Parent, other)
		c.replace(o, at, u)
	case acp.ToolCallUpdate:
		u.ToolCallID = other + "/" + u.ToolCallID
		c := o.call(at, u.ToolCallID)
		c.tells.Parent = cmp.Or(c.tells.Parent, other)
		c.change(o, at, u)
	}
}

// voice tells apart what a speech can be.
type voice struct {
	parent  string // the call that started the sub-agent which speaks, empty for the main agent
	thought bool
}

// speech is a message or a thought that may continue.
type speech struct {
	voice
	text strings.Builder
}

// EventName implements [trajectory.Body].
func (s *speech) EventName() string { return s.settled().EventName() }

func (s *speech) settled() trajectory.Body {
	switch {
	case s.parent != "" && s.thought:
		return trajectory.Notice{Name: "subagent:thought", Data: s.text.String()}
	case s.parent != "": // it says that to the main agent
		return trajectory.Notice{Name: "subagent:message", Data: s.text.String()}
	case s.thought:
		return trajectory.Thought{Text: s.text.String()}
	}
	return trajectory.Message{Text: s.text.String()}
}

// speak takes a chunk of a message or thought, which continues the last event if it is of the same voice.
func (o *Observer) speak(at time.Duration, text string, of voice) {
	if text == "" {
		return
	}
	var last *speech
	if n := len(o.events); n > 0 {
		last, _ = o.events[n-1].Body.(*speech)
	}
	if last == nil || last.voice != of {
		last = &speech{voice: of}
		o.add(at, 0, last)
	}
	last.text.WriteString(text)
	o.size += len(text)
}

// ModelFailed is the name of the notice that follows a turn whose agent says, beside what it tells the user, that its
// model failed. Its data is why, as text.
const ModelFailed = "model_failed"

// state collects what an agent reports about its session during a turn. The last values count.
type state struct {
	now     trajectory.State
	changed bool
	failed  bool   // the model
	failure string // what was last said of the model
}

// thread is the part of an update's _meta in which Codex tells how its session fares.
type thread struct {
	Codex struct {
		Status struct {
			Type string `json:"type"`
		} `json:"threadStatus"`
		Error struct {
			Message string `json:"message"`
			Details string `json:"additionalDetails"`
		} `json:"error"`
	} `json:"codex"`
}

// takeThread keeps what Codex tells of its session. A session that is at work again has got over an error.
func (s *state) takeThread(t thread) {
	if told := cmp.Or(t.Codex.Error.Details, t.Codex.Error.Message); told != "" {
		s.failure = told
	}
	if is := t.Codex.Status.Type; is != "" {
		s.failed = is == "systemError"
	}
}

// fault returns the notice of a model that failed in the turn that ends.
func (s *state) fault() (trajectory.Notice, bool) {
	failed, why := s.failed, s.failure
	s.failed, s.failure = false, ""
	return trajectory.Notice{Name: ModelFailed, Data: why}, failed
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
		s.takeThread(readMeta[thread](u.Meta))
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

// usage returns the turn's token usage, nil if the agent does not report it.
func usage(r acp.PromptResponse) *trajectory.Usage {
	u := r.Usage
	if u == nil {
		tokens := readMeta[turnMeta](r.Meta).Quota.Tokens
		if tokens == nil {
			return nil
		}
		return &trajectory.Usage{Input: tokens.Input, Output: tokens.Output}
	}
	return counts(u)
}

func counts(u *acp.Usage) *trajectory.Usage {
	return &trajectory.Usage{
		Input: u.InputTokens, Output: u.OutputTokens, Thought: u.ThoughtTokens,
		CacheRead: u.CachedReadTokens, CacheWrite: u.CachedWriteTokens, Total: u.TotalTokens,
	}
}

// spend adds what one request to the model took to what the turn took. Counts that the agent does not give stay
// unknown.
func (o *Observer) spend(u *acp.Usage) {
	if u == nil {
		return
	}
	if o.spent == nil {
		o.spent = counts(u)
		return
	}
	add := func(to **int64, n *int64) {
		if n == nil {
			return
		}
		if *to == nil {
			*to = new(int64)
		}
		sum := **to + *n
		*to = &sum
	}
	add(&o.spent.Input, u.InputTokens)
	add(&o.spent.Output, u.OutputTokens)
	add(&o.spent.Thought, u.ThoughtTokens)
	add(&o.spent.CacheRead, u.CachedReadTokens)
	add(&o.spent.CacheWrite, u.CachedWriteTokens)
	add(&o.spent.Total, u.TotalTokens)
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

// decoded returns JSON as Go values with exact numbers, nil if there is none.
func decoded(raw json.RawMessage) (v any) {
	_ = jsonvalue.Decode(raw, &v)
	return v
}
