package convert

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/shell"
)

// codexWork is an item of the session that Codex finished, as user interfaces are told since 0.166: what its newest
// models call is a script, and what the script did is told only here.
type codexWork struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Status string `json:"status"`
	// UserMessage
	Content codexContent `json:"content"`
	// CommandExecution. Source says who began it.
	Command []string `json:"command"`
	Cwd     string   `json:"cwd"`
	Source  string   `json:"source"`
	Printed string   `json:"aggregated_output"`
	Code    *int     `json:"exit_code"`
	// FileChange
	Changes map[string]codexChange `json:"changes"` // by path
	Stdout  string                 `json:"stdout"`
	Stderr  string                 `json:"stderr"`
	// McpToolCall and DynamicToolCall
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Arguments any    `json:"arguments"`
	Result    any    `json:"result"`
	Error     any    `json:"error"`
	Items     any    `json:"content_items"`
	Success   *bool  `json:"success"`
	// The rest
	Path  string `json:"path"`
	Query string `json:"query"`
}

// codexChange is a change of a file.
type codexChange struct {
	Type    string `json:"type"` // add, delete, update
	Content string `json:"content"`
	Diff    string `json:"unified_diff"`
}

// work adds an item that Codex finished. A call of the model has its id, and is read from the item of the model.
func (r *codexReader) work(at time.Time, e codexEvent) error {
	w := e.Item
	switch w.Type {
	case "UserMessage":
		return r.user(at, "event_msg", w.Content.text())
	case "AgentMessage", "Reasoning", "Plan", "ContextCompaction", "HookPrompt":
		return nil
	case "EnteredReviewMode", "ExitedReviewMode":
		return errors.New("a review agent worked for the session; its calls are not in the rollout")
	case "CollabAgentToolCall", "SubAgentActivity":
		return errors.New("a subagent worked for the session; its calls are in another rollout")
	}
	if _, called := r.calls[w.ID]; called {
		return nil
	}
	var c trajectory.ToolStart
	switch w.Type {
	case "CommandExecution":
		if strings.HasPrefix(w.Source, "user") {
			r.note(at, trajectory.Notice{Name: "codex:user_command", Data: shell.Join(w.Command)})
			return nil
		}
		args := map[string]any{"cmd": shell.Join(w.Command)}
		if dir := codexDir(w.Cwd); dir != "" && dir != r.meta.Cwd {
			args["workdir"] = dir
		}
		c = newCall(w.ID, "exec_command", args)
	case "FileChange":
		c = newCall(w.ID, "apply_patch", nil)
		for _, path := range slices.Sorted(maps.Keys(w.Changes)) {
			c.Locations = append(c.Locations, trajectory.Location{Path: path})
		}
	case "McpToolCall":
		c = newCall(w.ID, mcpname.Of(w.Server, w.Tool), w.Arguments)
	case "DynamicToolCall":
		c = newCall(w.ID, w.Tool, w.Arguments)
	case "WebSearch", "ImageView", "ImageGeneration", "Sleep":
		if !strings.HasPrefix(w.ID, "exec-") { // not by a script
			return nil
		}
		c = newCall(w.ID, codexWorkTools[w.Type], w.args())
	default:
		if slices.Contains(r.ignore, w.Type) {
			return nil
		}
		return unknownType(w.Type)
	}
	begun := at
	if e.Started > 0 && e.Started < at.UnixMilli() {
		begun = time.UnixMilli(e.Started)
	}
	if err := r.call(begun, c); err != nil {
		return err
	}
	r.worked = true
	end := w.end()
	if r.cut != "" {
		r.remove(r.cut)
		r.cut = ""
	}
	if t := r.turn(); t.stop == "cancelled" && end.Status == trajectory.Failed {
		end.Status = trajectory.Cancelled
	}
	return r.builder.result(at, end)
}

var codexWorkTools = map[string]string{
	"WebSearch": "web_search", "ImageView": "view_image", "ImageGeneration": "image_generation", "Sleep": "sleep",
}

// args returns the arguments of a tool that has one at most.
func (w *codexWork) args() any {
	switch {
	case w.Path != "":
		return map[string]any{"path": w.Path}
	case w.Query != "":
		return map[string]any{"query": w.Query}
	}
	return nil
}

// end returns the end of the call that the item is.
func (w *codexWork) end() trajectory.ToolEnd {
	end := trajectory.ToolEnd{ID: w.ID, Status: trajectory.Completed, ExitCode: w.Code, Printed: w.Printed}
	failed := w.Success != nil && !*w.Success || w.Code != nil && *w.Code != 0 || w.Error != nil
	if failed || w.Status != "" && w.Status != "completed" {
		end.Status = trajectory.Failed // failed, declined
	}
	switch w.Type {
	case "FileChange":
		end.Output = w.Stdout + w.Stderr
		for _, path := range slices.Sorted(maps.Keys(w.Changes)) {
			end.Diffs = append(end.Diffs, w.Changes[path].diffs(path)...)
		}
	case "McpToolCall", "DynamicToolCall":
		for _, output := range []any{w.Error, w.Result, w.Items} {
			if output != nil {
				end.Output = output
				break
			}
		}
	}
	return end
}

// diffs returns what was changed, a diff for each part of the file.
func (c codexChange) diffs(path string) []trajectory.Diff {
	switch c.Type {
	case "add":
		return []trajectory.Diff{{Path: path, New: c.Content}}
	case "delete":
		return []trajectory.Diff{{Path: path, Old: &c.Content}}
	}
	return patchDiffs(path, c.Diff)
}

// scripted removes the call of a script that made calls itself, unless it failed: they are what it did, and what
// clients are told. The calls of one that was interrupted may be told once its turn is over.
func (r *codexReader) scripted(i codexItem) {
	worked := r.worked
	r.worked = false
	cut := strings.HasPrefix(i.Output.text, "aborted")
	if r.tools[i.CallID] != "exec" || !cut && !strings.HasPrefix(i.Output.text, "Script completed") {
		return
	}
	switch {
	case worked:
		r.remove(i.CallID)
	case cut:
		r.cut = i.CallID
	}
}

// remove removes a call from the turn.
func (r *codexReader) remove(id string) {
	t := r.turn()
	t.events = slices.DeleteFunc(t.events, func(e trajectory.Event) bool {
		switch b := e.Body.(type) {
		case trajectory.ToolStart:
			return b.ID == id
		case trajectory.ToolEnd:
			return b.ID == id
		}
		return false
	})
}

// codexDir returns the path of a directory that is named by a path or by a URL.
func codexDir(name string) string {
	if !strings.HasPrefix(name, "file://") {
		return name
	}
	if u, err := url.Parse(name); err == nil {
		return u.Path
	}
	return name
}
