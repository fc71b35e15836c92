package mcpproxy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// maxLine is how long a message may be, in bytes.
const maxLine = 16 << 20

// wire is a connection to an agent or a server: messages of JSON-RPC, each on a line of its own, as in the Agent Client
// Protocol. One goroutine reads, several may write.
type wire struct {
	in  *bufio.Reader
	mu  sync.Mutex // of out
	out io.Writer
}

func newWire(in io.Reader, out io.Writer) *wire { return &wire{in: bufio.NewReader(in), out: out} }

// read returns the next message. At the end, which may be within a line, the error is [io.EOF].
func (w *wire) read() (acp.Message, error) {
	for {
		line, err := jsonvalue.ReadLine(w.in, maxLine)
		if len(bytes.TrimSpace(line)) == 0 && err == nil {
			continue
		}
		if err != nil {
			if len(line) > 0 && !errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: %s", err, short(line))
			}
			return acp.Message{}, err
		}
		m, err := acp.ParseMessage(line)
		if err != nil || !isMessage(m) {
			return m, fmt.Errorf("%s is not one message of JSON-RPC 2.0", short(line))
		}
		if m.ID == null { // of a request: nobody waits for an answer
			m.ID = ""
		}
		return m, nil
	}
}

const null = "null"

// isMessage reports whether the parts of a message are what they have to be. Only then what is recorded of it is what
// its receiver sees.
func isMessage(m acp.Message) bool {
	parts := []json.RawMessage{m.Unknown["method"], m.Unknown["error"]}
	if m.Error != nil {
		parts = append(parts, m.Error.Unknown["code"], m.Error.Unknown["message"])
	}
	for _, bad := range parts {
		if bad != nil && string(bad) != null {
			return false
		}
	}
	return m.Version == "2.0" && (m.ID != null || !m.IsResponse())
}

// write writes a message.
func (w *wire) write(m acp.Message) error {
	m.Version = "2.0"
	line, err := m.MarshalJSON()
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.out.Write(append(line, '\n'))
	return err
}

// sameID reports whether two ids of requests are one. A server may answer 1 with 1.0, and write a text in another way.
func sameID(a, b acp.ID) bool { return a == b || valueOf(a) == valueOf(b) }

// valueOf returns the number or the text that an id is.
func valueOf(id acp.ID) (v any) {
	_ = json.Unmarshal([]byte(id), &v) // which it is
	return v
}
