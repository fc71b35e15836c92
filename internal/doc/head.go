package doc

import (
	"errors"
	"strings"
)

// PlainLines returns a text with lines that end with a line feed alone.
func PlainLines(data []byte) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(data), "\uFEFF"), "\r\n", "\n")
}

// CutHead returns what stands between two lines of --- at the head of a file, after an empty line so that it has its
// line numbers, and the rest. The head is empty if there is none.
func CutHead(data []byte) (head, body string, err error) {
	text := PlainLines(data)
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text, nil
	}
	front, after, closed := strings.Cut("\n"+rest, "\n---")
	line, more, _ := strings.Cut(after, "\n")
	if !closed || strings.TrimSpace(line) != "" {
		return "", "", errors.New("the line --- at the head has no other that ends the head")
	}
	return front + "\n", more, nil
}
