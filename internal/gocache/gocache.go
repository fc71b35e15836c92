// Package gocache lets go commands use a build cache that they cannot write to. Where the caches are is package
// toolcache's matter.
//
// The go command does not work with a read-only build cache: a failed write is an error. But it accepts a program in
// place of its cache (GOCACHEPROG, since Go 1.24). This one answers from caches that it only reads, and keeps new
// entries in another directory. Go before 1.24 uses only that directory, as its GOCACHE.
package gocache

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// Main is the program [helper.GoCache]. Its arguments are the directory to write and those to read.
func Main(args []string) int {
	err := errors.New("want the directory to write and at least one to read")
	if len(args) > 1 {
		err = serve(os.Stdin, os.Stdout, store{write: args[0], read: args[1:]})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sdd-eval: go build cache:", err)
		return 1
	}
	return 0
}

// Variables returns the variables with which go commands put new entries into the directory write, and use the caches
// in others as well. The commands must be able to start the helper.
func Variables(p helper.Program, write string, read ...string) []string {
	var quoted []string
	for _, word := range p.Command(slices.Concat([]string{helper.GoCache, write}, read)...) {
		quoted = append(quoted, quote(word))
	}
	return []string{"GOCACHE=" + write, "GOCACHEPROG=" + strings.Join(quoted, " ")}
}

// quote quotes a word for the go command. A word with both kinds of quotes cannot be quoted.
func quote(word string) string {
	for _, q := range []string{"'", `"`} {
		if !strings.Contains(word, q) {
			return q + word + q
		}
	}
	return word
}

// request is a request of the protocol, see cmd/go/internal/cacheprog. If it has a BodySize, the body follows as a JSON
// string in base64.
type request struct {
	ID       int64
	Command  string
	ActionID []byte
	OutputID []byte
	BodySize int64
}

// response is the answer to a request.
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

// serve answers requests until one is close, or the input ends.
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

// maxRequest is the largest size of a request without its body, in bytes. It is the size of the reader's buffer.
const maxRequest = 1 << 16

func readRequest(r *bufio.Reader) (request, error) {
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return request{}, fmt.Errorf("request exceeds the limit of %d bytes", maxRequest)
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return request{}, err
		}
		if len(line) <= 1 { // an empty line between requests
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

// answer carries a request out. An error means that the protocol is broken, and that no request can follow.
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
	source *bufio.Reader // has the end of the string; nil if there is no string
}

func newBody(r *bufio.Reader, size int64) (*body, error) {
	if size < 0 {
		return nil, fmt.Errorf("invalid body size %d", size)
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
			return fmt.Errorf("body: got %q, want a quote", c)
		}
	}
}
