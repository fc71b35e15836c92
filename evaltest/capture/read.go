package capture

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// The size of the largest file and of the longest line that are read, in bytes. A payload has at most 16 MiB, and the
// line of a call that ended has its output twice.
const (
	maxFile = 512 << 20
	maxLine = 64 << 20
)

// Read reads a capture. An error means that the capture is incomplete; Read returns it with everything that it could
// read:
//
//   - the file does not exist ([fs.ErrNotExist]): no hook ran, see [Check]
//   - a hook failed and wrote its error to the file beside it, <path>.errors
//   - a line that is not the last one is damaged, or the file is too large
//
// An incomplete last line is not an error but a note: its writer was killed, as happens to agents that run out of time.
func Read(path string) (Capture, error) {
	c, err := readFile(path)
	if err != nil {
		err = fmt.Errorf("read capture: %w", err)
	}
	return c, errors.Join(hookErrors(path), err)
}

func readFile(path string) (Capture, error) {
	f, err := open(path)
	if err != nil {
		return Capture{}, err
	}
	defer f.Close()
	lines, torn, err := readLines(f)
	if err != nil {
		err = fmt.Errorf("%s:%w", path, err)
	}
	c := join(lines)
	if torn > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("line %d: its writer was killed before the end of the line", torn))
	}
	return c, err
}

// open opens a regular file. The agent may be able to write to its directory, so a link, which could lead anywhere, and
// a FIFO, which would block, are errors.
func open(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: this is not a regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s: the file has %d bytes, the limit is %d", path, info.Size(), maxFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(fmt.Errorf("%s: the file was replaced while it was opened", path), err, f.Close())
	}
	return f, nil
}

// readLines returns the complete lines, ordered by time, and the number of an incomplete last line, 0 if there is none.
// An error begins with the number of the first damaged line.
func readLines(r io.Reader) (lines []line, torn int, err error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxFile), 1<<16)
	for number, last := 1, false; !last; number++ {
		data, failed := jsonvalue.ReadLine(in, maxLine)
		if last = failed != nil; last && !errors.Is(failed, io.EOF) {
			err = errors.Join(err, fmt.Errorf("%d: %w", number, failed))
			break
		}
		data = bytes.TrimSpace(data)
		if len(data) == 0 {
			continue
		}
		switch l, failed := decodeLine(data); {
		case failed == nil:
			l.number = number
			lines = append(lines, l)
		case last:
			torn = number
		case err == nil:
			err = fmt.Errorf("%d: %w", number, failed)
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.Time.Compare(b.Time) })
	return lines, torn, err
}

// How many bytes of the errors of hooks are read, and how many errors are shown.
const (
	maxErrors   = 1 << 20
	shownErrors = 5
)

// hookErrors returns the errors that hooks left beside the capture, nil if there are none.
func hookErrors(path string) error {
	path += ".errors"
	f, err := open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read errors of hooks: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxErrors))
	if err != nil {
		return fmt.Errorf("read errors of hooks: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	shown := lines[:min(len(lines), shownErrors)]
	for i, l := range shown {
		var e struct {
			Phase string `json:"phase"`
			Error string `json:"error"`
		}
		if json.Unmarshal([]byte(l), &e) == nil && e.Error != "" {
			shown[i] = e.Phase + ": " + e.Error
		}
		shown[i] = fmt.Sprintf("%.500s", shown[i])
	}
	text := strings.Join(shown, "\n")
	if more := len(lines) - len(shown); more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return fmt.Errorf("hooks failed, so the capture is incomplete: %s:\n%s", path, text)
}

// maxMillis is the longest duration, one that a time.Duration can hold.
const maxMillis = float64(1 << 43)

// line is a line of a capture.
type line struct {
	claude.CaptureLine
	number int
}

// decodeLine decodes a line, and is strict where calls depend on it.
func decodeLine(data []byte) (line, error) {
	var l line
	if err := jsonvalue.DecodeStrict(data, &l.CaptureLine, jsonvalue.UnknownKeys); err != nil {
		if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return line{}, fmt.Errorf("%s is of type %s", cmp.Or(other.Field, "the line"), other.Value)
		}
		return line{}, fmt.Errorf("this is not a line of a capture: %w", err)
	}
	if l.Phase == "" {
		if err := l.infer(data); err != nil {
			return line{}, err
		}
	}
	switch {
	case !slices.Contains(claude.Phases, l.Phase):
		return line{}, fmt.Errorf("unknown phase %.60q", l.Phase)
	case l.Tool == "":
		return line{}, errors.New("tool_name is missing")
	case l.ID == "":
		return line{}, errors.New("tool_use_id is missing")
	case l.Time.IsZero():
		return line{}, errors.New("timestamp is missing")
	case l.Millis != nil && (*l.Millis < 0 || *l.Millis > maxMillis):
		return line{}, fmt.Errorf("duration_ms is %v", *l.Millis)
	}
	return l, nil
}

// infer sets the phase and the output of a line whose writer gives no phase and keeps the payload as it is: a line with
// a result is after the call.
func (l *line) infer(data []byte) error {
	var has map[string]json.RawMessage
	if err := json.Unmarshal(data, &has); err != nil {
		return err
	}
	if _, own := has["tool_output"]; !own && has["tool_response"] != nil {
		if err := jsonvalue.Decode(has["tool_response"], &l.Output); err != nil {
			return fmt.Errorf("tool_response: %w", err)
		}
	}
	var event string
	if raw := has["hook_event_name"]; raw != nil {
		if err := json.Unmarshal(raw, &event); err != nil {
			return fmt.Errorf("hook_event_name: %w", err)
		}
		i := slices.IndexFunc(claude.Phases, func(p claude.Phase) bool { return p.Event() == event })
		if i < 0 {
			return fmt.Errorf("hook_event_name is %.60q: captures have PreToolUse, PostToolUse and PostToolUseFailure",
				event)
		}
		l.Phase = claude.Phases[i]
		return nil
	}
	l.Phase = claude.Pre
	for _, field := range []string{"tool_response", "tool_output", "exit_code", "error"} {
		if has[field] != nil {
			l.Phase = claude.Post
		}
	}
	if l.Error != nil || l.ExitCode != nil && *l.ExitCode != 0 {
		l.Phase = claude.Failure
	}
	return nil
}

// begin returns the call that the line begins.
func (l *line) begin() Call {
	return Call{
		ID: l.ID, Tool: l.Tool, Session: l.Session, Agent: l.Agent, Prompt: l.Prompt, Cwd: l.Cwd,
		State: Pending, Input: l.Input, Start: l.Time,
	}
}

// decide adds what a policy decided before the call.
func (c *Call) decide(l *line) {
	if l.Rewritten != nil {
		c.Rewritten = l.Rewritten
	}
	if l.Denied != "" {
		c.State, c.Error, c.Denied = Error, l.Denied, true
	}
}

// finish adds what is known after the call.
func (c *Call) finish(l *line) {
	c.end = l.Time
	c.Duration = max(0, l.Time.Sub(c.Start))
	if l.Millis != nil {
		c.Duration = time.Duration(*l.Millis * float64(time.Millisecond))
	}
	c.Output, c.ExitCode = l.Output, l.ExitCode
	switch {
	case l.Phase == claude.Post:
		c.State, c.Error, c.Denied = OK, "", false
	case !c.Denied:
		c.State, c.Error = Error, errorText(l.Error)
	}
}

// errorText returns the agent's error as text.
func errorText(v any) string {
	switch v := v.(type) {
	case nil:
		return "the agent does not say why"
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}
