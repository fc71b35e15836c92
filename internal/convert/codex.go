package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// codexReader reads a rollout of Codex.
type codexReader struct {
	*builder
	ignore []string
	meta   *codexMeta // nil: the rollout has not begun
	// began is true if the file marks where turns begin and end, ended if the last turn has ended.
	began, ended bool
	tokens       codexTokens // of the session so far
	base         codexTokens // when the turn began
	counted      bool        // the turn's tokens are known
	items        int         // calls without an id
	asked        string      // the type of the line that had the last prompt
	worked       bool        // a script made a call since the last result
	cut          string      // the call of a script that was interrupted in this turn, and made no call so far
}

func readCodex(path string, o Options) (*Session, error) {
	r := codexReader{builder: newBuilder(), ignore: o.Ignore}
	if err := readCodexLines(path, o.Ignore, r.line); err != nil {
		return nil, err
	}
	if r.meta == nil {
		return nil, fmt.Errorf("%s: this is not a rollout: it has no session_meta", path)
	}
	r.count()
	r.about.Version, r.about.ID, r.about.Cwd = r.meta.Version, r.meta.ID, r.meta.Cwd
	return r.file(path, o, Codex, "codex")
}

func (r *codexReader) line(l codexLine) error {
	at, err := parseTime(l.Timestamp)
	if err != nil {
		return err
	}
	if r.meta == nil && l.Type != "session_meta" {
		return errors.New("a rollout must begin with session_meta")
	}
	switch l.Type {
	case "session_meta":
		var meta codexMeta
		if err := decode(l.Payload, &meta); err != nil {
			return err
		}
		if r.meta == nil { // that of an earlier session, which this one continues, may follow
			r.meta = &meta
		}
	case "turn_context":
		var context struct {
			Model string `json:"model"`
		}
		if err := decode(l.Payload, &context); err != nil {
			return err
		}
		r.about.Agent.Model = cmp.Or(r.about.Agent.Model, context.Model)
	case "compacted":
		r.note(at, trajectory.Notice{Name: "codex:compacted"})
	case "world_state": // what the model is told of its surroundings
	case "token_usage_record":
		var record struct {
			Thread *codexTokens `json:"thread_token_usage"`
		}
		if err := decode(l.Payload, &record); err != nil {
			return err
		}
		if record.Thread != nil {
			r.tokens, r.counted = *record.Thread, true
		}
	case "response_item":
		var item codexItem
		if err := decode(l.Payload, &item); err != nil {
			return err
		}
		return r.item(at, item)
	case "event_msg":
		var event codexEvent
		if err := decode(l.Payload, &event); err != nil {
			return err
		}
		return r.event(at, event)
	default:
		return unknownType(l.Type)
	}
	return nil
}

// item adds a message, a call or a result.
func (r *codexReader) item(at time.Time, i codexItem) error {
	switch i.Type {
	case "message":
		switch text := i.Content.text(); {
		case i.Role == "assistant" && text != "":
			return r.act(at, trajectory.Message{Text: text})
		case i.asks():
			return r.user(at, "response_item", text)
		}
		return nil // older versions have what the user said as an event only; the rest is context
	case "reasoning":
		if text := i.Summary.text() + i.Content.text(); text != "" {
			return r.act(at, trajectory.Thought{Text: text})
		}
		return nil
	case "function_call":
		args, err := codexArguments(i.Arguments)
		if err != nil {
			return err
		}
		return r.begin(at, i.CallID, i.Name, args)
	case "custom_tool_call":
		return r.begin(at, i.CallID, i.Name, map[string]any{"input": i.Input})
	case "local_shell_call":
		return r.begin(at, i.CallID, "local_shell", i.Action)
	case "tool_search_call":
		args, err := codexArguments(i.Arguments)
		if err != nil {
			return err
		}
		return r.begin(at, i.CallID, "tool_search", args)
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		if err := r.builder.result(at, r.toolEnd(i)); err != nil {
			return err
		}
		r.scripted(i)
		return nil
	case "web_search_call", "image_generation_call": // tools of the model's service, without results
		r.items++
		id := "item" + strconv.Itoa(r.items)
		if err := r.begin(at, id, strings.TrimSuffix(i.Type, "_call"), i.Action); err != nil {
			return err
		}
		end := trajectory.ToolEnd{ID: id, Status: trajectory.Completed}
		if i.Status == "failed" {
			end.Status = trajectory.Failed
		}
		return r.builder.result(at, end)
	}
	if slices.Contains(codexOtherItems, i.Type) || slices.Contains(r.ignore, i.Type) {
		return nil
	}
	return unknownType(i.Type)
}

// begin begins a call.
func (r *codexReader) begin(at time.Time, id, tool string, args any) error {
	if tool == "spawn_agent" || strings.HasPrefix(tool, "spawn_agents") {
		return fmt.Errorf("a subagent worked for the session (%s); its calls are in another rollout", tool)
	}
	if fields, ok := args.(map[string]any); ok && fields == nil {
		args = nil
	}
	c := newCall(id, tool, args)
	if fields, ok := args.(map[string]any); ok && tool == "apply_patch" {
		patch, _ := fields["input"].(string)
		c.Locations = r.patched(patch)
	}
	return r.call(at, c)
}

// patchHeads are the lines of a patch that name a file.
var patchHeads = lazyregexp.New(`(?m)^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$`)

// patched returns the files that a patch is for.
func (r *codexReader) patched(patch string) []trajectory.Location {
	var files []trajectory.Location
	for _, m := range patchHeads.FindAllStringSubmatch(patch, -1) {
		path := strings.TrimSpace(m[1])
		if !filepath.IsAbs(path) && !strings.HasPrefix(path, "/") {
			path = strings.TrimRight(r.meta.Cwd, "/") + "/" + path
		}
		files = append(files, trajectory.Location{Path: path})
	}
	return files
}

// codexHead matches the lines about a command that precede its output.
var codexHead = lazyregexp.New(`^(?:[A-Z][A-Za-z ]*: .*\n)*(?:(?:Process exited with code|Exit code:) ` +
	`(-?\d+)\n|Process running .*\n)(?:[A-Z][A-Za-z ]*: .*\n)*Output:\n`)

// toolEnd returns the end of a call.
func (r *codexReader) toolEnd(i codexItem) trajectory.ToolEnd {
	text := i.Output.text
	end := trajectory.ToolEnd{ID: i.CallID, Status: trajectory.Completed}
	printed, code := codexPrinted(text)
	switch {
	case strings.HasPrefix(text, "aborted"):
		end.Status = trajectory.Cancelled
	case i.Output.success != nil && !*i.Output.success, code != nil && *code != 0,
		r.tools[i.CallID] == "exec" && strings.HasPrefix(text, "Script failed"):
		end.Status = trajectory.Failed
	}
	if printed != nil && isShell(r.tools[i.CallID]) {
		end.Printed, end.ExitCode = *printed, code
	} else {
		end.Output = text
	}
	return end
}

// codexPrinted returns what a command printed and its exit code. Printed is nil if the text is not about a command, the
// code if the command still runs.
func codexPrinted(text string) (printed *string, code *int) {
	var older struct {
		Output   *string `json:"output"`
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	}
	if strings.HasPrefix(text, `{"output":`) && decode([]byte(text), &older) == nil {
		return older.Output, older.Metadata.ExitCode
	}
	m := codexHead.FindStringSubmatch(text)
	if m == nil {
		return nil, nil
	}
	rest := text[len(m[0]):]
	if n, err := strconv.Atoi(m[1]); err == nil {
		code = &n
	}
	return &rest, code
}

// event handles an event for user interfaces.
func (r *codexReader) event(at time.Time, e codexEvent) error {
	switch e.Type {
	case "user_message":
		return r.user(at, "event_msg", e.Message+strings.Repeat("\n[image]", len(e.Images)))
	case "item_completed":
		if e.Item != nil {
			return r.work(at, e)
		}
	case "task_started", "turn_started":
		r.began = true
	case "task_complete", "turn_complete":
		if t := r.turn(); t != nil {
			r.ended = true
			if t.stop = "end_turn"; e.Last == nil || *e.Last == "" {
				t.stop, r.failed = "", "the turn ended without an answer"
			}
		}
	case "turn_aborted":
		r.ended = true
		r.cancel(at)
	case "thread_rolled_back":
		r.count()
		r.drop(e.Turns)
		r.ended = true
	case "token_count":
		if e.Info != nil {
			r.tokens, r.counted = e.Info.Total, true
		}
	case "error":
		r.note(at, trajectory.Notice{Name: "codex:error", Data: e.Message})
		r.failed = fmt.Sprintf("%.200s", e.Message)
	case "patch_apply_end":
		r.changed(e)
	case "entered_review_mode", "exited_review_mode":
		return errors.New("a review agent worked for the session; its calls are not in the rollout")
	default:
		if strings.HasPrefix(e.Type, "collab_agent_spawn") {
			return errors.New("a subagent worked for the session; its calls are in another rollout")
		}
		known := slices.Contains(codexOtherEvents, e.Type) || slices.Contains(r.ignore, e.Type)
		if !known && !strings.HasPrefix(e.Type, "collab_") && !strings.HasPrefix(e.Type, "realtime_conversation_") {
			return unknownType(e.Type)
		}
	}
	return nil
}

// user begins a turn. Since 0.166 what the user said is an item of the model and then an event: one prompt.
func (r *codexReader) user(at time.Time, line, text string) error {
	t := r.turn()
	if t != nil && r.asked != line && !r.ended {
		if p, ok := t.events[len(t.events)-1].Body.(trajectory.Prompt); ok && samePrompt(p.Text, text) {
			return nil
		}
	}
	if t != nil && r.began && !r.ended {
		return errors.New("the user sent a message during a turn, which a unit cannot do")
	}
	r.count()
	r.asked, r.ended, r.worked, r.cut = line, false, false, ""
	r.builder.prompt(at, text)
	return nil
}

// samePrompt reports whether two lines have the same prompt. Each names images in its own way.
func samePrompt(a, b string) bool {
	return a == b || strings.Contains(a, "image]") && strings.Contains(b, "image]")
}

// count sets the tokens of the turn to the growth of the session's count.
func (r *codexReader) count() {
	used := r.tokens.minus(r.base)
	if t := r.turn(); t != nil && r.counted && !used.negative() {
		input, output := used.Input-used.Cached-used.Written, used.Output
		t.usage = &trajectory.Usage{Input: &input, Output: &output, CacheRead: &used.Cached, Total: &used.Total}
		if used.Reasoning > 0 {
			t.usage.Thought = &used.Reasoning
		}
		if used.Written > 0 {
			t.usage.CacheWrite = &used.Written
		}
	}
	r.base, r.counted = r.tokens, false
}

// changed sets the locations of a call of apply_patch to the files that it changed.
func (r *codexReader) changed(e codexEvent) {
	if start := r.find(e.CallID); start != nil && len(e.Changes) > 0 {
		c := start.Body.(trajectory.ToolStart)
		c.Locations = nil
		for _, path := range slices.Sorted(maps.Keys(e.Changes)) {
			c.Locations = append(c.Locations, trajectory.Location{Path: path})
		}
		start.Body = c
	}
}

// find returns the start of a call in this turn, nil if there is none.
func (r *codexReader) find(id string) *trajectory.Event {
	t := r.turn()
	if t == nil {
		return nil
	}
	for i := range t.events {
		if c, ok := t.events[i].Body.(trajectory.ToolStart); ok && c.ID == id {
			return &t.events[i]
		}
	}
	return nil
}
