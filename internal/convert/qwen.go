package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// Subtypes of a log's system lines, as of Qwen Code 0.24.4: those that say nothing about the conversation, and those
// that change what the agent can know or do.
var (
	qwenOther = []string{
		"at_command", "attribution_snapshot", "branch_checkpoint", "custom_title", "file_history_snapshot",
		"goal_state", "goal_turn_end", "omni_recall", "parent_session", "session_artifact_event",
		"session_artifact_snapshot", "session_model", "session_source", "session_sources_snapshot",
		"user_text_elements",
	}
	qwenNotices = []string{"background_task_completed", "chat_compression", "slash_command"}
)

// qwenLine is a line of a log, with the fields of the types that are read.
type qwenLine struct {
	SessionID  string `json:"sessionId"`
	Timestamp  string `json:"timestamp"`
	Type       string `json:"type"`
	Subtype    string `json:"subtype"`
	Provenance string `json:"provenance"`
	Cwd        string `json:"cwd"`
	Version    string `json:"version"`
	Model      string `json:"model"`
	Message    struct {
		Parts []genaiPart `json:"parts"`
	} `json:"message"`
	Usage *struct {
		Prompt  int64 `json:"promptTokenCount"`
		Output  int64 `json:"candidatesTokenCount"`
		Thought int64 `json:"thoughtsTokenCount"`
		Cached  int64 `json:"cachedContentTokenCount"`
		Total   int64 `json:"totalTokenCount"`
	} `json:"usageMetadata"`
	Result struct {
		Status  string          `json:"status"`
		Display json.RawMessage `json:"resultDisplay"` // a text, or an object by the kind of tool
	} `json:"toolCallResult"`
	System struct {
		Display string `json:"displayText"`
		State   string `json:"state"` // of a turn_result
		Event   struct {
			Name     string `json:"event.name"`
			Error    string `json:"error_message"`
			Subagent string `json:"subagent_name"`
		} `json:"uiEvent"`
	} `json:"systemPayload"`
}

// qwenReader reads a log of Qwen Code.
type qwenReader struct {
	*builder
	ignore []string
}

func readQwen(path string, o Options) (*Session, error) {
	r := qwenReader{builder: newBuilder(), ignore: o.Ignore}
	if err := eachOf(path, r.line); err != nil {
		return nil, err
	}
	return r.file(path, o, Qwen, "qwen-code")
}

func (r *qwenReader) line(l qwenLine) error {
	if slices.Contains(r.ignore, cmp.Or(l.Subtype, l.Type)) {
		return nil
	}
	at, err := parseTime(l.Timestamp)
	if err != nil {
		if l.Type == "" {
			return unknownType("")
		}
		return err
	}
	r.about.ID, r.about.Cwd = cmp.Or(r.about.ID, l.SessionID), cmp.Or(r.about.Cwd, l.Cwd)
	r.about.Version = cmp.Or(r.about.Version, l.Version)
	switch l.Type {
	case "user":
		return r.user(at, l)
	case "assistant":
		if l.Subtype != "" {
			return unknownType(l.Subtype)
		}
		return r.assistant(at, l)
	case "tool_result":
		return r.results(at, l)
	case "system":
		return r.system(at, l)
	}
	return unknownType(l.Type)
}

// user adds a message that is not the agent's.
func (r *qwenReader) user(at time.Time, l qwenLine) error {
	said := cmp.Or(l.System.Display, genaiText(l.Message.Parts))
	switch {
	case l.Subtype == "mid_turn_user_message":
		return errors.New("the user sent a message during a turn, which a unit cannot do")
	case slices.Contains([]string{"cron", "notification", "goal_runtime"}, l.Subtype):
		r.note(at, trajectory.Notice{Name: "qwen:" + l.Subtype, Data: noticeText(said)})
	case l.Subtype != "":
		return unknownType(l.Subtype)
	case l.Provenance != "" && l.Provenance != "real_user":
		r.note(at, trajectory.Notice{Name: "qwen:user", Data: noticeText(said)})
	default:
		if t := r.turn(); t != nil && len(t.open) > 0 && t.stop == "" {
			r.cancel(at) // it is asked for the next prompt only once a turn has ended
		}
		r.prompt(at, said)
	}
	return nil
}

// assistant adds an answer of the model.
func (r *qwenReader) assistant(at time.Time, l qwenLine) error {
	r.about.Agent.Model = cmp.Or(r.about.Agent.Model, l.Model)
	for _, p := range l.Message.Parts {
		var err error
		switch {
		case p.Call != nil:
			if p.Call.Name == "agent" || p.Call.Name == "task" {
				return fmt.Errorf("a subagent worked for the session (%s); its calls are not in the file", p.Call.Name)
			}
			err = r.call(at, newCall(p.Call.ID, p.Call.Name, p.Call.args()))
		case p.Text == "":
		case p.Thought:
			err = r.act(at, trajectory.Thought{Text: p.Text})
		default:
			err = r.act(at, trajectory.Message{Text: p.Text})
		}
		if err != nil {
			return err
		}
	}
	if u := l.Usage; u != nil {
		return r.spend(spent{
			input: u.Prompt, output: u.Output, cacheRead: u.Cached, thought: u.Thought, total: u.Total,
		})
	}
	return nil
}

// results adds the results of calls.
func (r *qwenReader) results(at time.Time, l qwenLine) error {
	for _, p := range l.Message.Parts {
		if p.Response == nil {
			continue // an image or a file, which belongs to the result before it
		}
		end := trajectory.ToolEnd{ID: p.Response.ID, Status: trajectory.Completed}
		switch l.Result.Status {
		case "", "success":
		case "cancelled":
			end.Status = trajectory.Cancelled
		default:
			end.Status = trajectory.Failed
		}
		var shown genaiDisplay
		if len(l.Result.Display) > 0 && l.Result.Display[0] == '{' {
			if err := decode(l.Result.Display, &shown); err != nil {
				return err
			}
		}
		output := p.Response.text()
		switch {
		case shown.Type == "shell_result":
			end.Printed, end.ExitCode = shown.Output, shown.ExitCode
		case isShell(r.tools[end.ID]):
			end.Printed, end.ExitCode = genaiPrinted(output)
		default:
			end.Output = noticeText(output)
		}
		end.Diffs = shown.diffs()
		if err := r.result(at, end); err != nil {
			return err
		}
	}
	return nil
}

// system handles a line of the program.
func (r *qwenReader) system(at time.Time, l qwenLine) error {
	switch {
	case slices.Contains(qwenOther, l.Subtype):
	case slices.Contains(qwenNotices, l.Subtype):
		r.note(at, trajectory.Notice{Name: "qwen:" + l.Subtype})
	case l.Subtype == "rewind":
		return errors.New("the user took turns back, and the file does not say which: it cannot be read")
	case l.Subtype == "session_recording_degraded":
		return errors.New("the program could not write all of the session")
	case l.Subtype == "turn_result":
		switch l.System.State {
		case "cancelled":
			r.cancel(at)
		case "error":
			r.failed = "the turn ended with an error"
		}
	case l.Subtype == "ui_telemetry":
		// A failure after the agent's last message is one of the program's own questions, such as what to suggest.
		t := r.turn()
		if e := l.System.Event; strings.HasSuffix(e.Name, "api_error") && e.Subagent == "" && t != nil && !t.said {
			r.note(at, trajectory.Notice{Name: "qwen:api_error", Data: noticeText(e.Error)})
			r.failed = fmt.Sprintf("%.200s", cmp.Or(e.Error, "unknown error"))
		}
	default:
		return unknownType(cmp.Or(l.Subtype, "system"))
	}
	return nil
}
