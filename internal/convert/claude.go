package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/claude"
)

// claudeReader reads a transcript of Claude Code.
type claudeReader struct {
	*builder
	message string                       // id of the last message that was said
	usage   map[string]*trajectory.Usage // of the turn, by the id of the answer
}

func readClaude(path string, o Options) (*Session, error) {
	all, err := readClaudeLines(path, o.Ignore)
	if err != nil {
		return nil, err
	}
	thread, left := claudeThread(all)
	sub, err := claudeSubagents(path, all, thread, o.Ignore)
	if err != nil {
		return nil, err
	}
	r := claudeReader{builder: newBuilder()}
	for _, l := range interleave(thread, sub) {
		if err := r.line(l); err != nil {
			return nil, lineError(l.file, l.number, err)
		}
	}
	if err := r.delegated(thread); err != nil {
		return nil, err
	}
	r.endTurn()
	s, err := r.file(path, o, Claude, "claude-code")
	if err != nil {
		return nil, err
	}
	if left > 0 {
		s.Left = append(s.Left, fmt.Sprintf("turns that the user took back: %d", left))
	}
	return s, nil
}

// delegated returns an error if the result of a subagent does not name it: the subagent's tool calls would be missing.
// Older versions write the lines of subagents into the session itself, without ids.
func (r *claudeReader) delegated(thread []*claudeLine) error {
	for _, l := range thread {
		if l.Sidechain {
			return nil
		}
	}
	for _, l := range thread {
		for _, b := range l.Message.Content {
			worked := b.Type == "tool_result" && !b.Failed && slices.Contains(delegates, r.tools[b.CallID])
			if worked && l.agent() == "" {
				return lineError(l.file, l.number,
					errors.New("a subagent worked for the session, but the line does not name it"))
			}
		}
	}
	return nil
}

func (r *claudeReader) line(l *claudeLine) error {
	if !l.Sidechain {
		r.about.Version = cmp.Or(r.about.Version, l.Version)
		r.about.ID, r.about.Cwd = cmp.Or(r.about.ID, l.SessionID), cmp.Or(r.about.Cwd, l.Cwd)
	}
	switch {
	case l.Type == "cost-state":
		r.cost(l)
	case l.Type == "attachment":
		if l.Attachment.Type == "queued_command" && cmp.Or(l.Attachment.Command, "prompt") == "prompt" && !l.Sidechain {
			return errors.New("the user sent a message during a turn, which a unit cannot do")
		}
	case l.Type == "system":
		r.note(l.time, trajectory.Notice{Name: "claude:" + cmp.Or(l.Subtype, "system"), Data: rawText(l.Content)})
	case l.Type == "assistant":
		return r.assistant(l)
	case l.prompts():
		r.endTurn()
		r.builder.prompt(l.time, claudeCommandLine(l.Message.Content.Text()))
	default:
		return r.user(l)
	}
	return nil
}

// rawText returns a JSON text's content, nil if it is not a text.
func rawText(raw json.RawMessage) any {
	var text string
	if json.Unmarshal(raw, &text) != nil || text == "" {
		return nil
	}
	return text
}

// cost adds the cost of the session so far.
func (r *claudeReader) cost(l *claudeLine) {
	if l.Cost != nil && !l.CostUnknown && r.turn() != nil {
		r.note(l.time, trajectory.State{Cost: &trajectory.Cost{Amount: *l.Cost, Currency: "USD"}})
	}
}

// user adds a line of type user that is not a prompt; most have results of tools.
func (r *claudeReader) user(l *claudeLine) error {
	for _, b := range l.Message.Content {
		if b.Type == "tool_result" {
			if err := r.builder.result(l.time, r.toolEnd(l, b)); err != nil {
				return err
			}
		}
	}
	text := l.Message.Content.Text()
	switch {
	case l.answers(), l.Meta:
	case l.Sidechain:
		r.note(l.time, trajectory.Notice{Name: "subagent:prompt", Data: text})
	case strings.HasPrefix(text, claudeInterrupted):
		r.cancel(l.time)
	case strings.HasPrefix(text, claudeLocal) && r.idle():
		r.drop(1) // the command before it was for the program, not for the agent
	default:
		r.note(l.time, trajectory.Notice{Name: "claude:user", Data: text})
	}
	return nil
}

// idle reports whether the agent has not reacted to the turn's prompt yet.
func (r *claudeReader) idle() bool {
	t := r.turn()
	return t != nil && !slices.ContainsFunc(t.events, func(e trajectory.Event) bool {
		switch e.Body.(type) {
		case trajectory.Prompt, trajectory.Notice:
			return false
		}
		return true
	})
}

// assistant adds a part of a model's answer.
func (r *claudeReader) assistant(l *claudeLine) error {
	if l.APIError {
		r.note(l.time, trajectory.Notice{Name: "claude:api_error", Data: l.Message.Content.Text()})
		r.failed = fmt.Sprintf("%.200s", l.Message.Content.Text())
		return nil
	}
	if l.Message.Model == claude.Synthetic {
		r.note(l.time, trajectory.Notice{Name: "claude:synthetic", Data: l.Message.Content.Text()})
		return nil
	}
	if !l.Sidechain {
		r.about.Agent.Model = cmp.Or(r.about.Agent.Model, l.Message.Model)
	}
	for _, b := range l.Message.Content {
		if err := r.block(l, b); err != nil {
			return err
		}
	}
	return r.answered(l)
}

func (r *claudeReader) block(l *claudeLine, b claude.Block) error {
	switch {
	case b.Type == "text" && l.Sidechain:
		r.note(l.time, trajectory.Notice{Name: "subagent:message", Data: b.Text})
	case b.Type == "text":
		return r.say(l, b.Text)
	case b.Type == "thinking" && l.Sidechain, b.Type == "thinking" && b.Thinking == "", b.Type == "redacted_thinking":
	case b.Type == "thinking":
		return r.act(l.time, trajectory.Thought{Text: b.Thinking})
	case strings.HasSuffix(b.Type, "tool_use"):
		var args any
		if b.Input != nil {
			if err := decode(b.Input, &args); err != nil {
				return err
			}
		}
		return r.call(l.time, newCall(b.ID, b.Name, args))
	case strings.HasSuffix(b.Type, "_tool_result"): // of a tool of the model's service
		return r.builder.result(l.time, r.toolEnd(l, b))
	default:
		return fmt.Errorf("unknown block type %q", fmt.Sprintf("%.60s", b.Type))
	}
	return nil
}

// say adds text, to the last message if that is a part of the same answer.
func (r *claudeReader) say(l *claudeLine, text string) error {
	if text == "" {
		return nil
	}
	if t := r.turn(); t != nil && r.message == l.Message.ID {
		last := &t.events[len(t.events)-1]
		if m, ok := last.Body.(trajectory.Message); ok {
			last.Body = trajectory.Message{Text: m.Text + text}
			return nil
		}
	}
	r.message = l.Message.ID
	return r.act(l.time, trajectory.Message{Text: text})
}

// answered adds the stop reason and the tokens of an answer.
func (r *claudeReader) answered(l *claudeLine) error {
	m := l.Message
	stop, known := claude.Stops[m.StopReason]
	if !known {
		return fmt.Errorf("unknown stop reason %q", fmt.Sprintf("%.60s", m.StopReason))
	}
	if l.Sidechain {
		return nil
	}
	t := r.turn()
	if t == nil {
		return errors.New("the agent acts before the first prompt")
	}
	t.stop = stop
	if m.StopReason == "tool_use" || m.StopReason == "pause_turn" {
		t.said = false // there is more to come
	}
	if m.Usage == nil {
		return nil
	}
	if r.usage == nil {
		r.usage = make(map[string]*trajectory.Usage)
	}
	u := &trajectory.Usage{Input: &m.Usage.Input, CacheRead: &m.Usage.CacheRead, CacheWrite: &m.Usage.CacheWrite}
	if m.StopReason != "" { // before its end the output of an answer is not counted
		u.Output = &m.Usage.Output
	}
	r.usage[m.ID] = u
	return nil
}

// endTurn adds up the tokens of the turn's answers. A count that one of them lacks is unknown.
func (r *claudeReader) endTurn() {
	t := r.turn()
	if t == nil || len(r.usage) == 0 {
		return
	}
	sum := &trajectory.Usage{
		Input: new(int64), Output: new(int64), CacheRead: new(int64), CacheWrite: new(int64), Total: new(int64),
	}
	for _, u := range r.usage {
		*sum.Input += *u.Input
		*sum.CacheRead += *u.CacheRead
		*sum.CacheWrite += *u.CacheWrite
		if u.Output == nil || sum.Output == nil {
			sum.Output, sum.Total = nil, nil
			continue
		}
		*sum.Output += *u.Output
	}
	if sum.Output != nil {
		*sum.Total = *sum.Input + *sum.Output + *sum.CacheRead + *sum.CacheWrite
	}
	t.usage, r.usage = sum, nil
}

// toolEnd returns the end of a call.
func (r *claudeReader) toolEnd(l *claudeLine, b claude.Block) trajectory.ToolEnd {
	end := trajectory.ToolEnd{ID: b.CallID, Status: trajectory.Completed}
	if b.Failed {
		end.Status = trajectory.Failed
	}
	content, _ := b.ResultContent() // check has refused errors
	text := content.Text()
	if r.tools[b.CallID] != "Bash" {
		end.Output = text
		end.Diffs = claudeDiffs(l.ToolUseResult)
		return end
	}
	end.Printed = text
	var ran claude.Command
	_ = json.Unmarshal(l.ToolUseResult, &ran) // fails for the text of a command that failed
	if end.ExitCode = claude.ExitCode(text); end.ExitCode == nil && !b.Failed && ran.ExitsZero() {
		end.ExitCode = new(int)
	}
	return end
}

// claudeDiffs returns the change that Edit or Write made, from what the file has beside the result.
func claudeDiffs(raw json.RawMessage) []trajectory.Diff {
	var done claude.Change
	if json.Unmarshal(raw, &done) != nil || done.Path == "" {
		return nil
	}
	switch {
	case done.New != nil:
		return []trajectory.Diff{{Path: done.Path, Old: done.Old, New: *done.New}}
	case done.Content != nil:
		return []trajectory.Diff{{Path: done.Path, Old: done.Original, New: *done.Content}}
	}
	return nil
}
