package convert

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// openCodeOther are the types of parts that say nothing about the conversation, as of OpenCode 1.18.34.
var openCodeOther = []string{"step-start", "step-finish", "snapshot", "patch"}

// openCodeStops are the stop reasons by the finish of the last answer, as in the Agent Client Protocol. Others do not
// tell.
var openCodeStops = map[string]string{"stop": "end_turn", "length": "max_tokens", "content-filter": "refusal"}

// openCodeAborted is the error of an answer that the user interrupted.
const openCodeAborted = "MessageAbortedError"

// openCodeExport is what `opencode export` prints.
type openCodeExport struct {
	Info *struct {
		ID        string  `json:"id"`
		Directory string  `json:"directory"`
		Version   string  `json:"version"`
		ParentID  string  `json:"parentID"`
		Cost      float64 `json:"cost"`
		Revert    any     `json:"revert"`
	} `json:"info"`
	Messages []openCodeMessage `json:"messages"`
}

type openCodeMessage struct {
	Info struct {
		Role    string `json:"role"`
		ModelID string `json:"modelID"`
		Finish  string `json:"finish"`
		Summary any    `json:"summary"` // true for an answer that compresses the session; prompts have an object
		Time    struct {
			Created   int64 `json:"created"`
			Completed int64 `json:"completed"`
		} `json:"time"`
		Error *struct {
			Name string `json:"name"`
			Data struct {
				Message string `json:"message"`
			} `json:"data"`
		} `json:"error"`
		Tokens *openCodeTokens `json:"tokens"`
	} `json:"info"`
	Parts []openCodePart `json:"parts"`
}

type openCodeTokens struct {
	Total     int64 `json:"total"`
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

type openCodePart struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Synthetic texts are the program's; ignored ones are not sent to the model.
	Synthetic bool `json:"synthetic"`
	Ignored   bool `json:"ignored"`
	Time      struct {
		Start int64 `json:"start"`
	} `json:"time"`
	Tool   string `json:"tool"`
	CallID string `json:"callID"`
	State  struct {
		Status   string         `json:"status"`
		Input    map[string]any `json:"input"`
		Output   string         `json:"output"`
		Error    string         `json:"error"`
		Metadata struct {
			Exit     *int   `json:"exit"`
			Printed  string `json:"output"`
			FileDiff struct {
				File  string `json:"file"`
				Patch string `json:"patch"`
			} `json:"filediff"`
		} `json:"metadata"`
		Time struct {
			Start int64 `json:"start"`
			End   int64 `json:"end"`
		} `json:"time"`
	} `json:"state"`
}

// openCodeReader reads an export of OpenCode.
type openCodeReader struct {
	*builder
	ignore  []string
	prompts []string // that were asked
	aborted bool     // the user interrupted the answer
}

func readOpenCode(path string, o Options) (*Session, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := readDocument(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var e openCodeExport
	if err := decode(data, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := openCodeReader{builder: newBuilder(), ignore: o.Ignore, prompts: o.Prompts}
	if err := r.read(&e); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r.file(path, o, OpenCode, "opencode")
}

func (r *openCodeReader) read(e *openCodeExport) error {
	switch {
	case e.Info == nil || e.Info.ID == "":
		return errors.New("this is not an export of OpenCode: it has no info about the session")
	case e.Info.ParentID != "":
		return errors.New("this is the session of a subagent: export that of " + e.Info.ParentID)
	case e.Info.Revert != nil:
		return errors.New("the user took back a part of the session: redo or go on before you export it")
	}
	for i := range e.Messages {
		if err := r.message(&e.Messages[i]); err != nil {
			return fmt.Errorf("messages[%d]%w", i, err)
		}
	}
	if e.Info.Cost > 0 && r.turn() != nil {
		r.note(time.Time{}, trajectory.State{Cost: &trajectory.Cost{Amount: e.Info.Cost, Currency: "USD"}})
	}
	r.about.Version, r.about.ID, r.about.Cwd = e.Info.Version, e.Info.ID, e.Info.Directory
	return nil
}

// openCodeTime returns a time of an export, in milliseconds; zero: it has none.
func openCodeTime(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func (r *openCodeReader) message(m *openCodeMessage) error {
	switch m.Info.Role {
	case "user":
		return r.user(m)
	case "assistant":
		return r.assistant(m)
	}
	return fmt.Errorf(".info.role: unknown role %.60q", m.Info.Role)
}

// user begins a turn, unless the message is the program's own.
func (r *openCodeReader) user(m *openCodeMessage) error {
	at := openCodeTime(m.Info.Time.Created)
	var said, program string
	asked := false
	for i, p := range m.Parts {
		switch {
		case p.Type == "text" && p.Synthetic:
			program += p.Text
		case p.Type == "text" && p.Ignored, slices.Contains(openCodeOther, p.Type):
		case p.Type == "text":
			said, asked = said+p.Text, true
		case p.Type == "file":
			said, asked = said+"\n[file]", true
		case p.Type == "agent", p.Type == "subtask":
			return fmt.Errorf(".parts[%d]: a subagent worked for the session; its calls are in another session", i)
		case p.Type == "compaction":
			r.note(at, trajectory.Notice{Name: "opencode:compaction"})
		case !slices.Contains(r.ignore, p.Type):
			return fmt.Errorf(".parts[%d]: %w", i, unknownType(p.Type))
		}
	}
	switch {
	case asked:
		if n := len(r.turns); n < len(r.prompts) {
			for _, typed := range []string{r.prompts[n], strings.TrimSpace(r.prompts[n])} {
				if said == openCodeRun(typed) {
					said = r.prompts[n]
				}
			}
		}
		r.prompt(at, said)
	case program != "":
		r.note(at, trajectory.Notice{Name: "opencode:user", Data: program})
	}
	return nil
}

// openCodeRun returns what `opencode run` says to the model if it is called with a prompt.
func openCodeRun(prompt string) string {
	if !strings.Contains(prompt, " ") {
		return prompt
	}
	return `"` + strings.ReplaceAll(prompt, `"`, `\"`) + `"`
}

// assistant adds an answer of the model.
func (r *openCodeReader) assistant(m *openCodeMessage) error {
	at := openCodeTime(m.Info.Time.Created)
	if m.Info.Summary == true {
		r.note(at, trajectory.Notice{Name: "opencode:summary"})
		return nil
	}
	r.about.Agent.Model = cmp.Or(r.about.Agent.Model, m.Info.ModelID)
	r.aborted = m.Info.Error != nil && m.Info.Error.Name == openCodeAborted
	for i := range m.Parts {
		if err := r.part(at, &m.Parts[i]); err != nil {
			return fmt.Errorf(".parts[%d]: %w", i, err)
		}
	}
	if t := m.Info.Tokens; t != nil && *t != (openCodeTokens{}) { // none are told of an answer that was cut
		if err := r.spend(spent{
			input: t.Input, output: t.Output, cacheRead: t.Cache.Read, cacheWrite: t.Cache.Write, thought: t.Reasoning,
			total: cmp.Or(t.Total, t.Input+t.Output+t.Reasoning+t.Cache.Read+t.Cache.Write),
		}); err != nil {
			return fmt.Errorf(".info.tokens: %w", err)
		}
	}
	return r.finish(m)
}

// finish handles how an answer ended.
func (r *openCodeReader) finish(m *openCodeMessage) error {
	at := openCodeTime(m.Info.Time.Completed)
	t := r.turn()
	switch e := m.Info.Error; {
	case t == nil:
		return errors.New(": the agent acts before the first prompt")
	case e == nil && m.Info.Finish == "error":
		r.failed = "an answer ended with an error"
	case e == nil && m.Info.Finish == "":
		t.said = false // it broke off
	case e == nil && len(t.open) == 0:
		t.stop = openCodeStops[m.Info.Finish]
	case e == nil:
	case e.Name == openCodeAborted:
		r.cancel(at)
	case e.Name == "MessageOutputLengthError":
		t.stop = "max_tokens"
	default:
		text := cmp.Or(e.Data.Message, e.Name, "unknown error")
		r.note(at, trajectory.Notice{Name: "opencode:error", Data: text})
		r.failed = fmt.Sprintf("%.200s", text)
	}
	return nil
}

// part adds a part of an answer.
func (r *openCodeReader) part(at time.Time, p *openCodePart) error {
	if p.Time.Start > 0 {
		at = openCodeTime(p.Time.Start)
	}
	switch p.Type {
	case "text":
		if p.Text != "" && !p.Synthetic && !p.Ignored {
			return r.act(at, trajectory.Message{Text: p.Text})
		}
	case "reasoning":
		if p.Text != "" {
			return r.act(at, trajectory.Thought{Text: p.Text})
		}
	case "tool":
		return r.tool(at, p)
	case "retry", "compaction":
		r.note(at, trajectory.Notice{Name: "opencode:" + p.Type})
	case "subtask":
		return errors.New("a subagent worked for the session; its calls are in another session")
	default:
		if !slices.Contains(openCodeOther, p.Type) && !slices.Contains(r.ignore, p.Type) {
			return unknownType(p.Type)
		}
	}
	return nil
}

// tool adds a call and its result.
func (r *openCodeReader) tool(at time.Time, p *openCodePart) error {
	if p.Tool == "task" {
		return errors.New("a subagent worked for the session (task); its calls are in another session")
	}
	s := &p.State
	if s.Time.Start > 0 {
		at = openCodeTime(s.Time.Start)
	}
	var args any
	if s.Input != nil {
		args = s.Input
	}
	if err := r.call(at, newCall(p.CallID, p.Tool, args)); err != nil {
		return err
	}
	end := trajectory.ToolEnd{ID: p.CallID, Status: trajectory.Completed, ExitCode: s.Metadata.Exit}
	output := s.Output
	switch s.Status {
	case "completed":
		if r.aborted && isShell(p.Tool) && s.Metadata.Exit == nil {
			end.Status = trajectory.Cancelled
		}
	case "error":
		end.Status, output = trajectory.Failed, cmp.Or(s.Error, s.Output)
	case "pending", "running":
		return nil
	default:
		return fmt.Errorf("unknown state of a call %.60q", s.Status)
	}
	if isShell(p.Tool) {
		end.Printed = cmp.Or(s.Metadata.Printed, output)
	} else {
		end.Output = noticeText(output)
	}
	if d := s.Metadata.FileDiff; d.File != "" {
		end.Diffs = patchDiffs(d.File, d.Patch)
	}
	if s.Time.End > 0 {
		at = openCodeTime(s.Time.End)
	}
	return r.result(at, end)
}
