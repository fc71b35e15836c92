package style

import (
	"bytes"
	"errors"
	"fmt"
)

// The markers stand alone on their lines; elsewhere they are text.
const (
	beginMarker = "<!-- sdd-eval:begin -->"
	endMarker   = "<!-- sdd-eval:end -->"
)

// splice returns text with body as its managed block: in place of the one that is there, else at the end. What is
// outside the block stays as it is, and the block's lines end as the first line of text does.
func splice(text, body []byte) ([]byte, error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%s: has NUL bytes, so it is not UTF-8 text", agentsFile)
	}
	found, err := locate(text)
	if err != nil {
		return nil, err
	}
	eol := lineEnd(text)
	block := render(body, eol)
	if found != (span{}) {
		return bytes.Join([][]byte{text[:found.from], block, text[found.to:]}, nil), nil
	}
	out := bytes.Clone(text)
	if len(out) > 0 {
		if out[len(out)-1] != '\n' {
			out = append(out, eol...)
		}
		out = append(out, eol...)
	}
	return append(append(out, block...), eol...), nil
}

// render returns the block without an end of its last line.
func render(body []byte, eol string) []byte {
	body = bytes.Trim(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), "\n")
	block := beginMarker + "\n" + string(body) + "\n" + endMarker
	return bytes.ReplaceAll([]byte(block), []byte("\n"), []byte(eol))
}

// lineEnd goes by the first line alone, which stays the same whatever the block becomes.
func lineEnd(text []byte) string {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasSuffix(first, []byte("\r")) {
		return "\r\n"
	}
	return "\n"
}

// span is where a block is, in bytes, from the begin marker to behind the end marker. The zero value is no block.
type span struct{ from, to int }

// locate finds the managed block of text. An error says on which line it is damaged.
func locate(text []byte) (span, error) {
	var found span
	line, begin, end, offset := 0, 0, 0, 0 // lines count from 1
	for l := range bytes.Lines(text) {
		line++
		switch marker := trim(l, line); {
		case marker == beginMarker && end > 0:
			return span{}, damaged(line, "a second managed block begins, the first one is on lines %d to %d", begin, end)
		case marker == beginMarker && begin > 0:
			return span{}, damaged(line, "a managed block begins inside the one of line %d", begin)
		case marker == beginMarker:
			begin, found.from = line, offset+bytes.Index(l, []byte(beginMarker))
		case marker == endMarker && (begin == 0 || end > 0):
			return span{}, damaged(line, "a managed block ends that did not begin")
		case marker == endMarker:
			end, found.to = line, offset+bytes.Index(l, []byte(endMarker))+len(endMarker)
		}
		offset += len(l)
	}
	if begin > 0 && end == 0 {
		return span{}, damaged(begin, "the managed block that begins here does not end")
	}
	return found, nil
}

// trim returns a line without what may stand around a marker.
func trim(line []byte, number int) string {
	if number == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return string(bytes.Trim(line, " \t\r\n"))
}

func damaged(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: there is to be one %q and behind it one %q, or neither",
		agentsFile, line, fmt.Sprintf(format, args...), beginMarker, endMarker)
}

// checkBody refuses what cannot be inside a block.
func checkBody(body []byte) error {
	if bytes.IndexByte(body, 0) >= 0 {
		return errors.New("has NUL bytes, so it is not UTF-8 text")
	}
	line := 0
	for l := range bytes.Lines(body) {
		line++
		if m := trim(l, line); m == beginMarker || m == endMarker {
			return fmt.Errorf("line %d: %s is added when the style is written: remove it", line, m)
		}
	}
	return nil
}
