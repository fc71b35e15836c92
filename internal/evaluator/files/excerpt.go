package files

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

const (
	maxQuote = 80 // runes of a text that are shown
	maxLines = 5  // lines of a file that are shown
)

// quote returns s in quotes, cut where it is long.
func quote(s string) string { return excerpt.Quote(s, maxQuote) }

// beginning shows the first lines of a file.
func beginning(content []byte) string {
	switch {
	case len(content) == 0:
		return "the file is empty"
	case !utf8.Valid(content):
		return fmt.Sprintf("the file is not text, %d bytes", len(content))
	}
	lines := bytes.SplitN(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"), maxLines+1)
	text := "the file begins with"
	if len(lines) <= maxLines {
		text = "the file is"
	}
	for _, line := range lines[:min(len(lines), maxLines)] {
		text += "\n" + quote(string(line))
	}
	return text
}
