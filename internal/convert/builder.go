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
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// builder puts a session together, turn by turn. Its methods take what a file tells in the file's order.
type builder struct {
	start  time.Time
	last   time.Duration
	turns  []*turn
	before []trajectory.Event // the first prompt
	calls  map[string]bool    // all calls by id; true: it has ended
	failed string             // why the model's service failed, if that is the last that is known
}

// turn is one that is put together.
type turn struct {
	events []trajectory.Event
	open   []string // ids of calls without an end
	stop   string   // why it ended, empty while that is not known
	usage  *trajectory.Usage
	// said tells that a message was the last that came of the agent.
	said bool
}

func newBuilder() *builder { return &builder{calls: make(map[string]bool)} }

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

// note takes an event that is not the agent's own doing. Before the first prompt it waits for it.
func (b *builder) note(at time.Time, body trajectory.Body) {
	e := trajectory.Event{Turn: max(len(b.turns), 1), At: b.at(at), Body: body}
	if t := b.turn(); t != nil {
		t.events = append(t.events, e)
		return
	}
	b.before = append(b.before, e)
}

// act takes what the agent did: a message, a thought.
func (b *builder) act(at time.Time, body trajectory.Body) error {
	t := b.turn()
	if t == nil {
		return errors.New("the agent acts before the first prompt")
	}
	_, t.said = body.(trajectory.Message)
	b.failed = ""
	b.note(at, body)
	return nil
}

// call begins a tool call.
func (b *builder) call(at time.Time, c trajectory.ToolStart) error {
	if _, known := b.calls[c.ID]; known || c.ID == "" {
		return fmt.Errorf("a tool call without an id of its own: %q", c.ID)
	}
	if err := b.act(at, c); err != nil {
		return err
	}
	b.calls[c.ID] = false
	t := b.turn()
	t.open = append(t.open, c.ID)
	return nil
}

// result ends a tool call, of whatever turn.
func (b *builder) result(at time.Time, r trajectory.ToolEnd) error {
	ended, known := b.calls[r.ID]
	switch {
	case !known:
		return fmt.Errorf("the result of a tool call that was not made: %q", r.ID)
	case ended:
		return fmt.Errorf("a second result of the tool call %q", r.ID)
	}
	b.calls[r.ID] = true
	for _, t := range b.turns {
		t.open = slices.DeleteFunc(t.open, func(id string) bool { return id == r.ID })
	}
	b.turn().said = false
	b.note(at, r)
	return nil
}

// cancel ends the turn because somebody wanted it to. Its open calls end with it.
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

// drop forgets the last turns, which the user took back.
func (b *builder) drop(n int) {
	b.turns = b.turns[:max(0, len(b.turns)-n)]
}

// end finds out why a turn ended where nothing said so: an agent that is done ends with a message, and with no call
// open.
func (t *turn) end() bool {
	if t.stop == "" && t.said && len(t.open) == 0 {
		t.stop = "end_turn"
	}
	return t.stop != ""
}

// session returns what was put together. Stop is why the last turn ended if nobody knows.
func (b *builder) session(stop string) (*Session, error) {
	if len(b.turns) == 0 {
		return nil, errors.New("there is no prompt in it: nobody asked anything of the agent")
	}
	if b.failed != "" {
		return nil, fmt.Errorf("the session ended because its model failed, so nothing is known about the agent: %s",
			b.failed)
	}
	s := &Session{Start: b.start}
	for i, t := range b.turns {
		n, last := i+1, i == len(b.turns)-1
		if !t.end() {
			switch {
			case !last:
				t.stop = "cancelled" // by the next prompt
			case stop != "":
				t.stop = stop
			default:
				return nil, fmt.Errorf("turn %d has not ended: %s (if it did, say why with --stop REASON)", n,
					t.unfinished())
			}
		}
		at := t.events[len(t.events)-1].At
		t.events = append(t.events, trajectory.Event{At: at, Body: trajectory.Stop{Reason: t.stop, Usage: t.usage}})
		for j := range t.events {
			t.events[j].Turn = n
		}
		s.Turns = append(s.Turns, t.events)
	}
	return s, nil
}

// unfinished says how one sees that the turn has not ended.
func (t *turn) unfinished() string {
	if len(t.open) > 0 {
		return "there is no result of " + strings.Join(t.open, ", ")
	}
	return "the agent's last word is not a message"
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

// lineError is an error at a line.
func lineError(file string, line int, err error) error {
	return fmt.Errorf("%s:%d: %w", file, line, err)
}

// eachLine calls f with each line that is not empty, and its number. Errors get the file and the line. An agent that is
// killed may leave half a line at the end, and that is an error too: the session did not end there.
func eachLine(file string, r io.Reader, f func(number int, line []byte) error) error {
	in := bufio.NewReaderSize(io.LimitReader(r, maxFile+1), 1<<16)
	for number := 1; ; number++ {
		line, err := readLine(in)
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

// readLine returns a line, with [io.EOF] if it is the last.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("the line has more than %d bytes", maxLine)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// decode decodes one JSON value. Numbers in values of any type keep their text.
func decode(data []byte, v any) error {
	if err := jsonvalue.Decode(data, v); err != nil {
		return formatError(err)
	}
	return nil
}

// formatError says of an error of encoding/json what it means for the format.
func formatError(err error) error {
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is of type %s, which the format does not have there", cmp.Or(other.Field, "the line"),
			other.Value)
	}
	return fmt.Errorf("this is not JSON: %w", err)
}

// parseTime returns the time of a line.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("the line has no time: %q", fmt.Sprintf("%.40s", s))
	}
	return t, nil
}

// pathKeys are the names under which tools that read or change a file take its path.
var pathKeys = []string{"file_path", "notebook_path", "absolute_path", "path"}

// newCall returns a call of a tool, described by its name and arguments. Tools that Claude's older adapter serves have
// the names that users know them by.
func newCall(id, tool string, args any) trajectory.ToolStart {
	tool = strings.TrimPrefix(tool, "mcp__acp__")
	kind := observe.Kind(tool)
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
