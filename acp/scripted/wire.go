package scripted

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Codes of error responses.
const (
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeParse          = -32700
	codeAuthRequired   = -32000
	codeNotFound       = -32002
)

// Error is an error response of JSON-RPC.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error returns message and code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// message is a message that was received. ID is nil if there is none, which is not the same as null.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// frame is a message that is sent.
type frame struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// writer writes messages with the faults of a script.
type writer struct {
	faults Faults

	mu  sync.Mutex
	out io.Writer
	buf bytes.Buffer
}

// send writes a message, and before it what the faults ask for.
func (w *writer) send(f frame) error {
	f.Version = "2.0"
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Reset()
	if w.faults.BlankLines {
		w.endLine()
	}
	if w.faults.Garbage != "" {
		w.buf.WriteString(w.faults.Garbage)
		w.endLine()
	}
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		return fmt.Errorf("scripted: encode message: %w", err)
	}
	w.buf.Truncate(w.buf.Len() - 1) // the newline
	w.endLine()
	return w.flush()
}

// line writes a line as it is.
func (w *writer) line(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Reset()
	w.buf.WriteString(text)
	w.endLine()
	return w.flush()
}

func (w *writer) endLine() {
	if w.faults.CRLF {
		w.buf.WriteByte('\r')
	}
	w.buf.WriteByte('\n')
}

func (w *writer) flush() error {
	size := w.buf.Len()
	if n := w.faults.SplitWrites; n > 0 {
		size = n
	}
	for w.buf.Len() > 0 {
		if _, err := w.out.Write(w.buf.Next(size)); err != nil {
			return fmt.Errorf("scripted: write to the client: %w", err)
		}
	}
	return nil
}

// gate reads from a reader until it is shut; then it waits for the end of the connection. The result of a read that is
// under way when it is shut is lost.
type gate struct {
	ctx  context.Context
	shut <-chan struct{}
	in   io.Reader
}

func (g gate) Read(p []byte) (int, error) {
	if err := g.pass(); err != nil {
		return 0, err
	}
	n, err := g.in.Read(p)
	if shut := g.pass(); shut != nil {
		return 0, shut
	}
	return n, err
}

func (g gate) pass() error {
	select {
	case <-g.shut:
		<-g.ctx.Done()
		return context.Cause(g.ctx)
	default:
		return nil
	}
}

// maxLine is the length in bytes up to which a line of the client is read.
const maxLine = 64 << 20

// readLines calls line with each line of r, of at most limit bytes, until r ends, which is not an error.
func readLines(r io.Reader, limit int, line func([]byte) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var text []byte
	for {
		part, err := br.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > limit:
			return fmt.Errorf("scripted: the client wrote a line of more than %d bytes", limit)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("scripted: read from the client: %w", err)
		}
		if err := line(text); err != nil {
			return err
		}
		text = nil
	}
}
