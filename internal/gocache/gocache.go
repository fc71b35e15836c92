// Package gocache lets go commands use a build cache that they cannot write to.
//
// The go command does not work with a read-only build cache: a failed write is an error. But it accepts a program in
// place of its cache (GOCACHEPROG, since Go 1.24): this one answers from the user's cache and keeps new entries in
// another directory. Go before 1.24 uses only that directory, as its GOCACHE.
package gocache

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// Main is the program [helper.GoCache]. Its arguments are the directories to read and to write.
func Main(args []string) int {
	err := errors.New("want the directory to read and the one to write")
	if len(args) == 2 {
		err = serve(os.Stdin, os.Stdout, store{read: args[0], write: args[1]})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sdd-eval: go build cache:", err)
		return 1
	}
	return 0
}

// Variables returns the variables that have go commands use the cache in the directory read, and put what is new into
// write. The commands must be able to start the helper.
func Variables(p helper.Program, read, write string) []string {
	var quoted []string
	for _, word := range p.Command(helper.GoCache, read, write) {
		quoted = append(quoted, quote(word))
	}
	return []string{"GOCACHE=" + write, "GOCACHEPROG=" + strings.Join(quoted, " ")}
}

// quote quotes a word as the go command takes it apart. A word with both kinds of quotes cannot be written.
func quote(word string) string {
	for _, q := range []string{"'", `"`} {
		if !strings.Contains(word, q) {
			return q + word + q
		}
	}
	return word
}

// request and response are the messages of the protocol, see cmd/go/internal/cacheprog. A request with a BodySize is
// followed by a JSON string with the body in base64.
type request struct {
	ID       int64
	Command  string
	ActionID []byte
	OutputID []byte
	BodySize int64
}

type response struct {
	ID            int64
	Err           string     `json:",omitempty"`
	KnownCommands []string   `json:",omitempty"`
	Miss          bool       `json:",omitempty"`
	OutputID      []byte     `json:",omitempty"`
	Size          int64      `json:",omitempty"`
	Time          *time.Time `json:",omitempty"`
	DiskPath      string     `json:",omitempty"`
}

// serve answers requests until one asks to close, or the input ends.
func serve(in io.Reader, out io.Writer, s store) error {
	r, w := bufio.NewReaderSize(in, maxRequest), bufio.NewWriter(out)
	e := json.NewEncoder(w)
	send := func(m response) error {
		if err := e.Encode(m); err != nil {
			return err
		}
		return w.Flush()
	}
	if err := send(response{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return err
	}
	for {
		req, err := readRequest(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := s.answer(req, r)
		if err != nil {
			return err
		}
		answer.ID = req.ID
		if err := send(answer); err != nil {
			return err
		}
		if req.Command == "close" {
			return nil
		}
	}
}

// maxRequest bounds a request without its body, in bytes: it is the size of the reader's buffer.
const maxRequest = 1 << 16

func readRequest(r *bufio.Reader) (request, error) {
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return request{}, fmt.Errorf("a request of more than %d bytes", maxRequest)
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return request{}, err
		}
		if len(line) <= 1 { // between requests
			if err != nil {
				return request{}, err
			}
			continue
		}
		var req request
		if err := json.Unmarshal(line, &req); err != nil {
			return request{}, fmt.Errorf("request: %w", err)
		}
		return req, nil
	}
}

// answer does what a request asks for. The error is of the protocol: nothing can follow.
func (s store) answer(req request, r *bufio.Reader) (response, error) {
	switch req.Command {
	case "get":
		entry, path, ok := s.get(req.ActionID)
		if !ok {
			return response{Miss: true}, nil
		}
		return response{OutputID: entry.output, Size: entry.size, Time: &entry.time, DiskPath: path}, nil
	case "put":
		body, err := newBody(r, req.BodySize)
		if err != nil {
			return response{}, err
		}
		path, err := s.put(req.ActionID, req.OutputID, body, req.BodySize)
		if _, drainErr := io.Copy(io.Discard, body); drainErr != nil {
			return response{}, drainErr
		}
		if err := body.end(); err != nil {
			return response{}, err
		}
		if err != nil {
			return response{Err: err.Error()}, nil
		}
		return response{DiskPath: path}, nil
	case "close":
		return response{}, nil
	}
	return response{Err: "unknown command " + strconv.Quote(req.Command)}, nil
}

// body is the body of a put.
type body struct {
	io.Reader
	source *bufio.Reader // at the end of the string, if there is one
}

func newBody(r *bufio.Reader, size int64) (*body, error) {
	if size < 0 {
		return nil, fmt.Errorf("a body of %d bytes", size)
	}
	if size == 0 {
		return &body{Reader: strings.NewReader("")}, nil
	}
	if err := expectQuote(r); err != nil {
		return nil, err
	}
	encoded := io.LimitReader(r, (size+2)/3*4)
	return &body{Reader: base64.NewDecoder(base64.StdEncoding, encoded), source: r}, nil
}

// end reads the end of the string.
func (b *body) end() error {
	if b.source == nil {
		return nil
	}
	return expectQuote(b.source)
}

func expectQuote(r *bufio.Reader) error {
	for {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return fmt.Errorf("body: %w", err)
		case c == '"':
			return nil
		case c != '\n':
			return fmt.Errorf("body: %q where a quote is to be", c)
		}
	}
}
