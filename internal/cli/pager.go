package cli

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os/exec"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// paged prints what write writes for a screen of columns columns, 0 meaning any. On a terminal that has too few lines
// for it, the user's pager shows it.
func (a *App) paged(ctx context.Context, write func(w io.Writer, columns int) error) error {
	out := data(a.Stdout)
	if checked, ok := out.(*checkedWriter); ok {
		out = checked.w
	}
	size := screenOf(out, a.Getenv, a.Now).size
	if size == nil {
		return write(a.Stdout, 0)
	}
	columns, lines := size()
	var text bytes.Buffer
	if err := write(&text, columns); err != nil {
		return err
	}
	rows := 0
	for line := range strings.Lines(text.String()) {
		rows += max(1, (width(strings.TrimRight(line, "\n"))+columns-1)/columns)
	}
	if rows >= lines && a.page(ctx, text.String(), out) {
		return nil
	}
	_, err := a.Stdout.Write(text.Bytes())
	return err
}

// page shows a text with the user's pager, and reports whether that could be started.
func (a *App) page(ctx context.Context, text string, out io.Writer) bool {
	line, err := words.Split(cmp.Or(a.Getenv("PAGER"), "less"))
	if err != nil || len(line) == 0 {
		return false
	}
	c := exec.CommandContext(ctx, line[0], line[1:]...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(excerpt.Harmless(text)), out, a.Stderr
	if a.Getenv("LESS") == "" {
		c.Env = append(c.Environ(), "LESS=FRX")
	}
	if c.Start() != nil {
		return false
	}
	_ = c.Wait() // how a person left it means nothing
	return true
}
