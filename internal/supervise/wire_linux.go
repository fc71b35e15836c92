package supervise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// supervisorName is the argv[0] that makes our binary a supervisor.
const supervisorName = "sdd-eval-supervisor"

// Descriptors of the supervisor beside its standard streams, which are those of the child.
const (
	controlFD = 3 // the socket to us
	dirFD     = 4 // Command.DirFile, if there is one
)

// What we ask of the supervisor after the spec, one byte each. The end of the stream means kill.
const (
	askTerminate = 'T'
	askKill      = 'K'
)

// report is what the supervisor tells us: started or one of the failures, then exited, then perhaps left.
type report struct {
	Kind  reportKind
	Value uint32
}

type reportKind uint32

const (
	started   reportKind = iota + 1 // value: process id
	dirFailed                       // value: errno
	runFailed                       // value: errno
	exited                          // value: wait status
	left                            // value: how many children could not be killed
)

func (r report) send(w io.Writer) error { return binary.Write(w, binary.LittleEndian, r) }

func receive(r io.Reader) (report, error) {
	var m report
	err := binary.Read(r, binary.LittleEndian, &m)
	return m, err
}

// spec is what the supervisor is to run. It travels over the socket and not in the arguments and the environment of the
// supervisor, because some variables mean something to the Go runtime and to the loader.
type spec struct {
	path string
	dir  string // empty: as it is
	// dirFile says that descriptor dirFD is the working directory.
	dirFile   bool
	scratch   string // empty: none
	args, env []string
}

// send writes the length of the spec and its strings, with a NUL between them, which none of them can contain.
func (s *spec) send(w io.Writer) error {
	fields := []string{s.path, s.dir, strconv.FormatBool(s.dirFile), s.scratch, strconv.Itoa(len(s.args))}
	text := strings.Join(append(append(fields, s.args...), s.env...), "\x00")
	if len(text) > math.MaxInt32 {
		return errors.New("arguments and environment are too long")
	}
	buf := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	_, err := w.Write(append(buf, text...))
	return err
}

func receiveSpec(r io.Reader) (*spec, error) {
	var length uint32
	if err := binary.Read(r, binary.LittleEndian, &length); err != nil {
		return nil, err
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	fields := strings.Split(string(text), "\x00")
	if len(fields) < 5 {
		return nil, fmt.Errorf("spec of %d fields", len(fields))
	}
	n, err := strconv.Atoi(fields[4])
	if err != nil || n < 0 || n > len(fields)-5 {
		return nil, fmt.Errorf("spec with %s arguments in %d fields", fields[4], len(fields))
	}
	return &spec{
		path: fields[0], dir: fields[1], dirFile: fields[2] == "true",
		scratch: fields[3], args: fields[5 : 5+n], env: fields[5+n:],
	}, nil
}
