// Package words splits a command line into words as a POSIX shell does, but does nothing else that a shell does: no
// variables, globs, comments or operators. Text that would mean something else in a shell is an error, so that nobody
// gets an argument ">" instead of a file. It also makes command lines from words, for people to copy and for shells.
package words

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The reasons why a command line cannot be split; an [Error] wraps one of them.
var (
	// ErrOperator is an unquoted operator of the shell: && || | ; > < &.
	ErrOperator = errors.New("shell operators are not supported, quote it to pass it as text")
	// ErrQuote is a quote without its end.
	ErrQuote = errors.New("unmatched quote")
	// ErrBackslash is a backslash with nothing after it.
	ErrBackslash = errors.New("backslash with nothing to escape")
	// ErrNewline is a newline, quoted or not.
	ErrNewline = errors.New("newlines are not supported, write one command on one line")
	// ErrNUL is a NUL byte, which no argument of a process can hold.
	ErrNUL = errors.New("NUL byte")
	// ErrPlaceholder is a "${{" without its "}}".
	ErrPlaceholder = errors.New("unterminated ${{")
)

// Error says where and why a command line cannot be split.
type Error struct {
	// Column counts characters from 1, to where the offending text begins.
	Column int
	// Text is the offending text: an operator, a quote, a control character.
	Text string
	// Err is one of the errors of this package.
	Err error
}

func (e *Error) Error() string {
	return fmt.Sprintf("character %d: %q: %v", e.Column, e.Text, e.Err)
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Split returns the words of s, which spaces and tabs separate. Within single quotes every character stands for itself,
// within double quotes a backslash escapes $ ` " and \, outside quotes it escapes any character. A pair of quotes with
// nothing between them is an empty word. An unquoted "${{ path }}" is kept as it is, blanks included, for the caller to
// interpolate within its word. Without a word in s, Split returns nil.
//
// Every error is an [*Error].
func Split(s string) ([]string, error) {
	sc := scanner{text: s}
	if err := sc.scan(); err != nil {
		return nil, err
	}
	return sc.words, nil
}

// scanner holds the state of one Split.
type scanner struct {
	text  string
	pos   int // bytes read
	word  strings.Builder
	open  bool // a word has begun; it may still be empty: ''
	words []string
}

func (s *scanner) scan() error {
	if i := strings.IndexAny(s.text, "\n\r"); i >= 0 {
		return s.fail(i, 1, ErrNewline)
	}
	if i := strings.IndexByte(s.text, 0); i >= 0 {
		return s.fail(i, 1, ErrNUL)
	}
	for s.pos < len(s.text) {
		if err := s.next(); err != nil {
			return err
		}
	}
	s.endWord()
	return nil
}

// next reads one character outside quotes, or a whole quoted part.
func (s *scanner) next() error {
	rest := s.text[s.pos:]
	switch c := rest[0]; {
	case c == ' ' || c == '\t':
		s.endWord()
		s.pos++
	case strings.HasPrefix(rest, "${{"):
		end := strings.Index(rest, "}}")
		if end < 0 {
			return s.fail(s.pos, len("${{"), ErrPlaceholder)
		}
		s.take(rest[:end+len("}}")], end+len("}}"))
	case strings.HasPrefix(rest, "&&"), strings.HasPrefix(rest, "||"):
		return s.fail(s.pos, 2, ErrOperator)
	case strings.IndexByte("|;<>&", c) >= 0:
		return s.fail(s.pos, 1, ErrOperator)
	case c == '\\':
		if len(rest) == 1 {
			return s.fail(s.pos, 1, ErrBackslash)
		}
		s.take(rest[1:2], 2) // the bytes after a multi-byte character's first are ordinary text
	case c == '\'':
		end := strings.IndexByte(rest[1:], '\'')
		if end < 0 {
			return s.fail(s.pos, 1, ErrQuote)
		}
		s.take(rest[1:1+end], end+2)
	case c == '"':
		return s.doubleQuoted()
	default:
		s.take(rest[:1], 1)
	}
	return nil
}

// doubleQuoted reads from a double quote through the one that ends it.
func (s *scanner) doubleQuoted() error {
	start := s.pos
	s.take("", 1)
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch {
		case rest[0] == '"':
			s.pos++
			return nil
		case rest[0] == '\\' && len(rest) > 1 && strings.IndexByte("$`\"\\", rest[1]) >= 0:
			s.take(rest[1:2], 2)
		default:
			s.take(rest[:1], 1)
		}
	}
	return s.fail(start, 1, ErrQuote)
}

// take adds text to the current word for the next n bytes of the input.
func (s *scanner) take(text string, n int) {
	s.open = true
	s.word.WriteString(text)
	s.pos += n
}

func (s *scanner) endWord() {
	if s.open {
		s.words = append(s.words, s.word.String())
		s.word.Reset()
		s.open = false
	}
}

func (s *scanner) fail(pos, length int, err error) error {
	return &Error{Column: utf8.RuneCountInString(s.text[:pos]) + 1, Text: s.text[pos : pos+length], Err: err}
}
