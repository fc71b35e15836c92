package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// geminiRecord is a line of a log of Gemini CLI 0.61: the head of the session, a message, a change of the head, or that
// messages were taken back. A message with the id of an earlier one is that one, with more. Older versions write one
// document: a head that has the messages.
type geminiRecord struct {
	SessionID string          `json:"sessionId"`
	Kind      string          `json:"kind"` // main, subagent
	Messages  []geminiMessage `json:"messages"`
	Set       *struct {
		Messages []geminiMessage `json:"messages"`
	} `json:"$set"`
	RewindTo *string `json:"$rewindTo"`
	geminiMessage
}

type geminiMessage struct {
	ID        string        `json:"id"`
	Timestamp string        `json:"timestamp"`
	Type      string        `json:"type"` // user, gemini, info, warning, error
	Content   genaiContent  `json:"content"`
	Display   genaiContent  `json:"displayContent"` // what people are shown in its place
	Model     string        `json:"model"`
	Calls     []*geminiCall `json:"toolCalls"`
	Thoughts  []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	Tokens *struct {
		Input    int64 `json:"input"`
		Output   int64 `json:"output"`
		Cached   int64 `json:"cached"`
		Thoughts int64 `json:"thoughts"`
		Total    int64 `json:"total"`
	} `json:"tokens"`
}

type geminiCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      map[string]any  `json:"args"`
	Result    genaiContent    `json:"result"`
	Status    string          `json:"status"`
	Timestamp string          `json:"timestamp"`
	AgentID   string          `json:"agentId"`
	Display   json.RawMessage `json:"resultDisplay"` // a text, or an object by the kind of tool
}

// geminiReader reads a log of Gemini CLI.
type geminiReader struct {
	*builder
	ignore  []string
	prompts []string                 // ids of the turns' prompts
	known   map[string]*geminiAnswer // answers by id
	back    int                      // turns that were taken back
}

// geminiAnswer is what has been read of an answer.
type geminiAnswer struct {
	said, counted bool
	thoughts      int
}

func readGemini(path string, o Options) (*Session, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := geminiReader{builder: newBuilder(), ignore: o.Ignore, known: make(map[string]*geminiAnswer)}
	if err := r.read(path, file); err != nil {
		return nil, err
	}
	s, err := r.file(path, o, Gemini, "gemini-cli")
	if err != nil {
		return nil, err
	}
	s.Version = unknown
	if r.back > 0 {
		s.Left = append(s.Left, fmt.Sprintf("turns that the user took back: %d", r.back))
	}
	return s, nil
}

// read reads a log of lines, or the document of an older version.
func (r *geminiReader) read(path string, file io.ReadSeeker) error {
	head := make([]byte, 2)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if bytes.ContainsAny(head[:n], "\r\n") { // no line has a whole object
		data, err := readDocument(file)
		if err == nil {
			err = r.line(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	return eachLine(path, file, func(_ int, data []byte) error { return r.line(data) })
}

func (r *geminiReader) line(data []byte) error {
	var l geminiRecord
	if err := decode(data, &l); err != nil {
		return err
	}
	switch {
	case l.Set != nil:
		return r.replace(l.Set.Messages)
	case l.RewindTo != nil:
		return r.rewind(*l.RewindTo)
	case l.ID != "":
		return r.message(l.geminiMessage)
	case l.SessionID == "":
		return unknownType("")
	case l.Kind == "subagent":
		return errors.New("this is the log of a subagent: name that of its session")
	case r.about.ID != "" && r.about.ID != l.SessionID:
		return errors.New("a second session begins in the file")
	}
	r.about.ID = l.SessionID
	for _, m := range l.Messages {
		if err := r.message(m); err != nil {
			return err
		}
	}
	return nil
}

// replace handles messages that take the place of all others. They are those that a session begins with, or the same
// ones again, compressed.
func (r *geminiReader) replace(messages []geminiMessage) error {
	if messages == nil {
		return nil
	}
	if r.turn() != nil {
		r.note(time.Time{}, trajectory.Notice{Name: "gemini:history"})
		return nil
	}
	for _, m := range messages {
		if err := r.message(m); err != nil {
			return err
		}
	}
	return nil
}

// rewind takes back a message and all that follow.
func (r *geminiReader) rewind(id string) error {
	i := slices.Index(r.prompts, id)
	if i < 0 {
		return errors.New("the user took back a part of a turn, which a unit cannot do")
	}
	n := len(r.prompts) - i
	r.drop(n)
	r.back += n
	r.prompts = r.prompts[:i]
	return nil
}

func (r *geminiReader) message(m geminiMessage) error {
	at, err := parseTime(m.Timestamp)
	if err != nil {
		return err
	}
	switch m.Type {
	case "user":
		return r.user(at, m)
	case "gemini":
		return r.answer(at, m)
	case "info", "warning":
		r.note(at, trajectory.Notice{Name: "gemini:" + m.Type, Data: noticeText(genaiText(m.Content))})
	case "error":
		text := genaiText(m.Content)
		r.note(at, trajectory.Notice{Name: "gemini:error", Data: noticeText(text)})
		r.failed = fmt.Sprintf("%.200s", cmp.Or(text, "unknown error"))
	default:
		if !slices.Contains(r.ignore, m.Type) {
			return unknownType(m.Type)
		}
	}
	return nil
}

// How begins what the program tells the model about the session, and what a hook does.
const (
	geminiContext = "<session_context>"
	geminiHook    = "<hook_context>"
)

var geminiWorkspace = lazyregexp.New(`Workspace Directories:\*\*\s*\n\s*- ([^\n]+)`)

// user adds a prompt, or the results of calls if they are not in the calls.
func (r *geminiReader) user(at time.Time, m geminiMessage) error {
	text, results := genaiText(m.Content), 0
	for _, p := range m.Content {
		if p.Response == nil {
			continue
		}
		results++
		if ended, known := r.calls[p.Response.ID]; known && ended {
			continue
		}
		end := trajectory.ToolEnd{
			ID: p.Response.ID, Status: trajectory.Completed, Output: noticeText(p.Response.text()),
		}
		if p.Response.Response["error"] != nil {
			end.Status = trajectory.Failed
		}
		if err := r.result(at, end); err != nil {
			return err
		}
	}
	switch {
	case strings.HasPrefix(strings.TrimSpace(text), geminiContext):
		if w := geminiWorkspace.FindStringSubmatch(text); w != nil {
			r.about.Cwd = cmp.Or(r.about.Cwd, strings.TrimSpace(w[1]))
		}
	case strings.HasPrefix(strings.TrimSpace(text), geminiHook):
		r.note(at, trajectory.Notice{Name: "gemini:hook", Data: text})
	case results > 0 || slices.Contains(r.prompts, m.ID):
	default:
		if t := r.turn(); t != nil && len(t.open) > 0 {
			r.cancel(at) // it is asked for the next prompt only once a turn has ended
		}
		r.prompts = append(r.prompts, m.ID)
		r.prompt(at, cmp.Or(genaiText(m.Display), text))
	}
	return nil
}

// answer adds what is new in an answer of the model.
func (r *geminiReader) answer(at time.Time, m geminiMessage) error {
	known := r.known[m.ID]
	if known == nil {
		known = new(geminiAnswer)
		r.known[m.ID] = known
	}
	r.about.Agent.Model = cmp.Or(r.about.Agent.Model, m.Model)
	for _, t := range m.Thoughts[min(known.thoughts, len(m.Thoughts)):] {
		if text := strings.TrimSpace(t.Subject + "\n" + t.Description); text != "" {
			if err := r.act(at, trajectory.Thought{Text: text}); err != nil {
				return err
			}
		}
	}
	known.thoughts = max(known.thoughts, len(m.Thoughts))
	if text := genaiText(m.Content); text != "" && !known.said {
		known.said = true
		if err := r.act(at, trajectory.Message{Text: text}); err != nil {
			return err
		}
	}
	for _, c := range m.Calls {
		if err := r.toolCall(at, c); err != nil {
			return err
		}
	}
	if t := m.Tokens; t != nil && !known.counted {
		known.counted = true
		return r.spend(spent{
			input: t.Input, output: t.Output, cacheRead: t.Cached, thought: t.Thoughts, total: t.Total,
		})
	}
	return nil
}

// toolCall adds a call, or what is new of it: that it ended.
func (r *geminiReader) toolCall(at time.Time, c *geminiCall) error {
	if c == nil {
		return errors.New("a call is null")
	}
	var shown genaiDisplay
	if len(c.Display) > 0 && c.Display[0] == '{' {
		if err := decode(c.Display, &shown); err != nil {
			return err
		}
	}
	if c.AgentID != "" || shown.Subagent {
		return fmt.Errorf("a subagent worked for the session (%.60s); its calls are in another file", c.Name)
	}
	if t, err := parseTime(c.Timestamp); err == nil {
		at = t
	}
	ended, begun := r.calls[c.ID]
	if !begun {
		if err := r.call(at, newCall(c.ID, c.Name, (&genaiCall{Args: c.Args}).args())); err != nil {
			return err
		}
	}
	end := trajectory.ToolEnd{ID: c.ID, Diffs: shown.diffs()}
	switch c.Status {
	case "success":
		end.Status = trajectory.Completed
	case "error":
		end.Status = trajectory.Failed
	case "cancelled":
		end.Status = trajectory.Cancelled
	default: // it waits or works
		return nil
	}
	if ended {
		return nil
	}
	var texts []string
	for _, p := range c.Result {
		if p.Response != nil {
			texts = append(texts, p.Response.text())
		}
	}
	output := strings.Join(texts, "\n")
	if isShell(c.Name) {
		end.Printed, end.ExitCode = genaiPrinted(output)
	} else {
		end.Output = noticeText(output)
	}
	return r.result(at, end)
}
