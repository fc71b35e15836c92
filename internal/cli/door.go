package cli

import (
	"bytes"
	"io"
	"regexp"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// door is what the command prints its text through, line by line: whatever an agent, a judge or a file says in it, it
// controls no terminal and begins no command of a CI system.
type door struct {
	w     io.Writer
	color bool // our own colours may pass

	mu   sync.Mutex
	rest []byte // the beginning of a line
}

// sgr is what [paint] writes.
var sgr = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9]*m`) })

func (d *door) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := bytes.LastIndexByte(p, '\n') + 1
	if end == 0 {
		d.rest = append(d.rest, p...)
		return len(p), nil
	}
	lines := append(d.rest, p[:end]...)
	d.rest = bytes.Clone(p[end:])
	return len(p), d.print(string(lines))
}

// close prints the last line, if it has no end.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.rest) > 0 {
		_ = d.print(string(d.rest)) // App reports errors
		d.rest = nil
	}
}

func (d *door) print(lines string) error {
	harmless := excerpt.Harmless(lines)
	if d.color {
		harmless = colored(lines)
	}
	_, err := io.WriteString(d.w, harmless)
	return err
}

// colored makes lines harmless, but for our colours. No CI system reads commands from a terminal.
func colored(lines string) string {
	var b bytes.Buffer
	at := 0
	for _, code := range sgr().FindAllStringIndex(lines, -1) {
		b.WriteString(excerpt.Harmless(lines[at:code[0]]))
		b.WriteString(lines[code[0]:code[1]])
		at = code[1]
	}
	b.WriteString(excerpt.Harmless(lines[at:]))
	return b.String()
}

// printJSON prints a value as JSON of several lines, without secrets.
func (a *App) printJSON(v any) error {
	text, err := jsonvalue.Indent(v)
	if err == nil {
		_, err = io.WriteString(inJSON{a.Stdout}, a.secrets.String(string(text)))
	}
	return err
}

// inJSON makes JSON that is written to it harmless for CI systems: what a string holds means the same afterwards.
type inJSON struct{ w io.Writer }

var inlineCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`#(\p{M}*)#`) })

func (j inJSON) Write(p []byte) (int, error) {
	_, err := data(j.w).Write(inlineCommand().ReplaceAll(p, []byte(`#${1}\u0023`)))
	return len(p), err
}

// data returns the writer below a door, for what programs read: JSON, scripts, the annotations that are meant to be
// commands.
func data(w io.Writer) io.Writer {
	if d, ok := w.(*door); ok {
		return d.w
	}
	return w
}
