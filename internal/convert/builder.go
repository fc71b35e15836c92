package convert

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// builder builds a session, turn by turn. Its methods are called in the order of the file.
type builder struct {
	about  Session // what the file says of the session as a whole
	start  time.Time
	last   time.Duration
	turns  []*turn
	before []trajectory.Event // the first prompt
	calls  map[string]bool    // all calls by id; true: it has ended
	tools  map[string]string  // names of tools by the id of the call
	failed string             // the error of the model's service, if nothing follows it
}

// turn is a turn that is being built.
type turn struct {
	events []trajectory.Event
	open   []string // ids of calls without an end
	stop   string   // the stop reason, empty while unknown
	usage  *trajectory.Usage
	// said is true while the agent's last event is a message, cut while it is a call that the user cancelled.
	said, cut bool
}

func newBuilder() *builder {
	return &builder{calls: make(map[string]bool), tools: make(map[string]string)}
}

// at returns the time of an event since the session began. Times never go back: lines are not always written in order.
func (b *builder) at(t time.Time) time.Duration {
	if t.IsZero() {
		return b.last
	}
	if b.start.IsZero() {
		b.start = t
	}
	b.last = max(b.last, t.Sub(b.start))
	return b.last
}

func (b *builder) turn() *turn {
	if len(b.turns) == 0 {
		return nil
	}
	return b.turns[len(b.turns)-1]
}

// prompt begins a turn.
func (b *builder) prompt(at time.Time, text string) {
	b.turns = append(b.turns, &turn{events: b.before})
	b.before, b.failed = nil, ""
	b.note(at, trajectory.Prompt{Text: text})
}

// note adds an event that is not an action of the agent. An event before the first prompt goes into the first turn.
func (b *builder) note(at time.Time, body trajectory.Body) {
	e := trajectory.Event{Turn: max(len(b.turns), 1), At: b.at(at), Body: body}
	if t := b.turn(); t != nil {
		t.events = append(t.events, e)
		return
	}
	b.before = append(b.before, e)
}

// act adds an action of the agent, such as a message or a thought.
func (b *builder) act(at time.Time, body trajectory.Body) error {
	t := b.turn()
	if t == nil {
		return errors.New("the agent acts before the first prompt")
	}
	_, t.said = body.(trajectory.Message)
	t.cut = false
	b.failed = ""
	b.note(at, body)
	return nil
}

// call begins a tool call.
func (b *builder) call(at time.Time, c trajectory.ToolStart) error {
	if _, known := b.calls[c.ID]; known || c.ID == "" {
		return fmt.Errorf("missing or duplicate tool call id %q", c.ID)
	}
	if err := b.act(at, c); err != nil {
		return err
	}
	b.calls[c.ID], b.tools[c.ID] = false, c.Name
	t := b.turn()
	t.open = append(t.open, c.ID)
	return nil
}

// result ends a tool call of any turn.
func (b *builder) result(at time.Time, r trajectory.ToolEnd) error {
	ended, known := b.calls[r.ID]
	switch {
	case !known:
		return fmt.Errorf("result of unknown tool call %q", r.ID)
	case ended:
		return fmt.Errorf("duplicate result of tool call %q", r.ID)
	case b.turn() == nil:
		return fmt.Errorf("result of tool call %q after its turn was taken back", r.ID)
	}
	b.calls[r.ID] = true
	for _, t := range b.turns {
		t.open = slices.DeleteFunc(t.open, func(id string) bool { return id == r.ID })
	}
	b.turn().said, b.turn().cut = false, r.Status == trajectory.Cancelled
	b.note(at, r)
	return nil
}

// cancel ends the turn as cancelled, and with it its open calls.
func (b *builder) cancel(at time.Time) {
	t := b.turn()
	if t == nil {
		return
	}
	for _, id := range t.open {
		b.calls[id] = true
		b.note(at, trajectory.ToolEnd{ID: id, Status: trajectory.Cancelled})
	}
	t.open, t.stop, b.failed = nil, "cancelled", ""
}

// drop removes the last n turns, which the user took back.
func (b *builder) drop(n int) {
	b.turns = b.turns[:max(0, len(b.turns)-n)]
}

// end reports whether the turn has ended. A turn without a stop reason ended if its last action is a message and no
// call is open.
func (t *turn) end() bool {
	if t.stop == "" && t.said && len(t.open) == 0 {
		t.stop = "end_turn"
	}
	return t.stop != ""
}

// session returns the session. Stop is the stop reason of the last turn if the file does not give it.
func (b *builder) session(stop string) (*Session, error) {
	if len(b.turns) == 0 {
		return nil, errors.New("the file has no prompt")
	}
	if b.failed != "" {
		return nil, fmt.Errorf("the session ended because its model failed, so nothing is known about the agent: %s",
			b.failed)
	}
	s := b.about
	s.Start = b.start
	for i, t := range b.turns {
		n, last := i+1, i == len(b.turns)-1
		if t.stop == "" && t.cut && len(t.open) == 0 {
			t.stop = "cancelled"
		}
		if last && t.stop == "" {
			t.stop = stop
		}
		told := t.stop != ""
		switch ended := t.end(); {
		case !ended && !last:
			t.stop = "cancelled" // by the next prompt
		case !ended:
			return nil, fmt.Errorf("turn %d has not ended: %s (if it did, give the reason with --stop REASON)",
				n, t.unfinished())
		case last && !told: // a file that was cut ends so, too
			return nil, fmt.Errorf("the file does not say why turn %d ended: if its last message, %s, is the agent's "+
				"answer, give --stop end_turn, else the reason", n, excerpt.Quote(t.lastMessage(), 80))
		}
		at := t.events[len(t.events)-1].At
		t.events = append(t.events, trajectory.Event{At: at, Body: trajectory.Stop{Reason: t.stop, Usage: t.usage}})
		for j := range t.events {
			t.events[j].Turn = n
		}
		s.Turns = append(s.Turns, t.events)
	}
	return &s, nil
}

// file returns the session of a file of this format, which this agent wrote.
func (b *builder) file(path string, o Options, format, agent string) (*Session, error) {
	s, err := b.session(o.Stop)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.Format, s.Agent.Name, s.Agent.Version = format, agent, s.Version
	return s, nil
}

// lastMessage is the agent's last message.
func (t *turn) lastMessage() string {
	for _, e := range slices.Backward(t.events) {
		if m, ok := e.Body.(trajectory.Message); ok {
			return m.Text
		}
	}
	return ""
}

// unfinished says what the turn lacks to have ended.
func (t *turn) unfinished() string {
	if len(t.open) > 0 {
		return "no result of " + strings.Join(t.open, ", ")
	}
	return "it does not end with a message of the agent"
}

// The largest file that is read and the longest line in it, in bytes.
const (
	maxFile = 512 << 20
	maxLine = 64 << 20
)

// open opens a regular file that is not too large.
func open(path string) (*os.File, error) {
	f, err := disk.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%s: %w", path, &disk.SizeError{Size: info.Size(), Limit: maxFile})
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// maxDocument is the size of the largest file that is one JSON document, in bytes.
const maxDocument = 256 << 20

// readDocument reads a file that is one JSON document.
func readDocument(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = &disk.SizeError{Size: int64(len(data)), Limit: maxDocument}
	}
	return data, err
}

// lineError is an error at a line.
func lineError(file string, line int, err error) error {
	return fmt.Errorf("%s:%d: %w", file, line, err)
}

// eachLine calls f with the number and the text of each line that is not empty. Errors name the file and the line. Half
// a line at the end, which a killed agent may leave, is an error too: the session did not end there.
func eachLine(file string, r io.Reader, f func(number int, line []byte) error) error {
	in := bufio.NewReaderSize(io.LimitReader(r, maxFile+1), 1<<16)
	for number := 1; ; number++ {
		line, err := jsonvalue.ReadLine(in, maxLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return lineError(file, number, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if err := f(number, text); err != nil {
				return lineError(file, number, err)
			}
		}
		if err != nil {
			return nil
		}
	}
}

// eachOf calls f with each line of a file that is not empty, decoded.
func eachOf[T any](path string, f func(line T) error) error {
	file, err := open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return eachLine(path, file, func(_ int, data []byte) error {
		var line T
		if err := decode(data, &line); err != nil {
			return err
		}
		return f(line)
	})
}

// decode decodes one JSON value. Numbers in values of any type keep their text.
func decode(data []byte, v any) error {
	if err := jsonvalue.Decode(data, v); err != nil {
		return formatError(err)
	}
	return nil
}

// formatError explains an error of encoding/json in terms of the format.
func formatError(err error) error {
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is of type %s, which the format does not allow", cmp.Or(other.Field, "the line"),
			other.Value)
	}
	return fmt.Errorf("this is not JSON: %w", err)
}

// parseTime returns the time of a line.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("invalid timestamp %q", fmt.Sprintf("%.40s", s))
	}
	return t, nil
}

// pathKeys are the names under which tools that read or change a file take its path.
var pathKeys = []string{"file_path", "notebook_path", "absolute_path", "filePath", "path"}

// newCall returns a call of a tool, described by its name and arguments. Tools that Claude's older adapter serves have
// the names that users know them by.
func newCall(id, tool string, args any) trajectory.ToolStart {
	tool = mcpname.WithoutClient(tool)
	kind := observe.Kind(tool, args)
	c := trajectory.ToolStart{ID: id, Name: tool, Kind: kind, Args: args}
	fields, _ := args.(map[string]any)
	switch kind {
	case "execute":
		c.Title = commandLine(fields)
	case "read", "edit":
		for _, key := range pathKeys {
			if path, ok := fields[key].(string); ok && path != "" {
				c.Title = tool + " " + filepath.Base(filepath.FromSlash(path))
				c.Locations = []trajectory.Location{{Path: path}}
				break
			}
		}
	}
	return c
}

// isShell reports whether a tool runs commands, by its name.
func isShell(tool string) bool { return observe.Kind(tool, nil) == "execute" }

// commandLine returns the command that the arguments of a tool name, empty if they name none.
func commandLine(args map[string]any) string {
	for _, key := range []string{"command", "cmd"} {
		switch command := args[key].(type) {
		case string:
			return command
		case []any:
			var words []string
			for _, w := range command {
				if text, ok := w.(string); ok {
					words = append(words, text)
				}
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}
