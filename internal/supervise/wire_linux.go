package supervise

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/lockdown"
)

// controlFD is the supervisor's end of the socket to us.
const controlFD = 3

// The orders that we give the supervisor. The end of the stream means kill.
const (
	askRun       = 'R' // with a spec and files
	askTerminate = 'T'
	askKill      = 'K'
)

// orderHeader is the length of an order's header: the order, and the length of the text that follows.
const orderHeader = 1 + 4

// A spec comes with files: the child's streams and, unless the spec names it, the working directory.
const (
	streamFiles = 3
	maxFiles    = streamFiles + 1
)

// sendOrder sends the supervisor an order. The files go with the first bytes.
func sendOrder(control *os.File, what byte, text []byte, files ...*os.File) error {
	if len(text) > math.MaxInt32 {
		return errors.New("arguments and environment are too long")
	}
	order := append(binary.LittleEndian.AppendUint32([]byte{what}, uint32(len(text))), text...)
	conn, err := control.SyscallConn()
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	var n int
	var sendErr error
	err = conn.Write(func(fd uintptr) bool {
		n, sendErr = unix.SendmsgN(int(fd), order, rights, nil, unix.MSG_NOSIGNAL)
		return sendErr != unix.EAGAIN
	})
	runtime.KeepAlive(files)
	if err = errors.Join(err, sendErr); err != nil || n == len(order) { // who has all of it may have ended
		return err
	}
	_, err = control.Write(order[n:])
	return err
}

// receiveOrder receives an order. The descriptors of files are closed on exec.
func receiveOrder(control *os.File) (what byte, text []byte, files []int, err error) {
	header, rights := make([]byte, orderHeader), make([]byte, unix.CmsgSpace(4*maxFiles))
	var n, oobn int
	for {
		n, oobn, _, _, err = unix.Recvmsg(int(control.Fd()), header, rights, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return 0, nil, nil, err
	}
	if messages, err := unix.ParseSocketControlMessage(rights[:oobn]); err == nil && len(messages) > 0 {
		files, _ = unix.ParseUnixRights(&messages[0])
	}
	if n == 0 {
		return 0, nil, nil, io.EOF
	}
	if _, err := io.ReadFull(control, header[n:]); err != nil {
		return 0, nil, nil, err
	}
	text = make([]byte, binary.LittleEndian.Uint32(header[1:]))
	_, err = io.ReadFull(control, text)
	return header[0], text, files, err
}

// report is what the supervisor reports about a child: started or one of the failures, then perhaps a limit that was
// met, then exited, then left. The supervisor ends after a failure, and if there are processes that it could not kill.
type report struct {
	Kind  reportKind
	Value uint64
	// Memory, CPU and Disk come with exited; see [Usage].
	Memory, CPU, Disk int64
}

type reportKind uint64

const (
	started    reportKind = iota + 1 // value: process id
	dirFailed                        // value: errno
	runFailed                        // value: errno
	lockFailed                       // value: how many bytes of text follow, which say why
	metThreads                       // value: how many threads there were
	metMemory                        // value: how many bytes there were
	metDisk                          // value: how many bytes there were, or are left on the disk
	exited                           // value: wait status
	left                             // value: how many children could not be killed
)

func (r report) send(w io.Writer) error { return binary.Write(w, binary.LittleEndian, r) }

func receive(r io.Reader) (report, error) {
	var m report
	err := binary.Read(r, binary.LittleEndian, &m)
	return m, err
}

// spec is what the supervisor is to run. It travels over the socket and not in the supervisor's arguments and
// environment, because some variables affect the Go runtime and the loader, and other processes can see arguments.
type spec struct {
	path      string
	dir       string // empty: the directory is the last of files
	scratch   string // empty: none
	limits    Limits // without those that only control groups have
	group     *controlGroup
	rules     *lockdown.Rules
	args, env []string

	files []int // descriptors, beside the text
}

// encode returns the fields, each followed by a NUL, which none of them can contain. A list begins with its length.
func (s *spec) encode() []byte {
	var text bytes.Buffer
	put := func(fields ...string) {
		for _, f := range fields {
			text.WriteString(f)
			text.WriteByte(0)
		}
	}
	list := func(items []string) {
		put(strconv.Itoa(len(items)))
		put(items...)
	}
	put(s.path, s.dir, s.scratch)
	for _, limit := range []int64{int64(s.limits.Threads), s.limits.Memory, s.limits.Disk} {
		put(strconv.FormatInt(limit, 10))
	}
	list(s.limits.Dirs)
	put(strconv.FormatBool(s.group != nil))
	if g := s.group; g != nil {
		list(g.dirs)
		put(strconv.FormatBool(g.unified))
	}
	put(strconv.FormatBool(s.rules != nil))
	if r := s.rules; r != nil {
		for _, flag := range []bool{r.Files, r.Offline, r.Unconnected, r.Namespaces} {
			put(strconv.FormatBool(flag))
		}
		for _, paths := range [][]string{r.Read, r.Write, r.List, r.Devices, r.Fixed, r.Connect} {
			list(paths)
		}
	}
	list(s.args)
	list(s.env)
	return text.Bytes()
}

func decodeSpec(text []byte, files []int) (*spec, error) {
	f := fields{rest: string(text)}
	s := &spec{path: f.text(), dir: f.text(), scratch: f.text(), files: files}
	s.limits = Limits{Threads: f.number(), Memory: int64(f.number()), Disk: int64(f.number()), Dirs: f.list()}
	if f.flag() {
		s.group = &controlGroup{dirs: f.list(), unified: f.flag()}
		if f.err == nil && len(s.group.dirs) == 0 {
			f.err = errors.New("spec has a control group without a directory")
		}
	}
	if f.flag() {
		s.rules = &lockdown.Rules{
			Files: f.flag(), Offline: f.flag(), Unconnected: f.flag(), Namespaces: f.flag(),
			Read: f.list(), Write: f.list(), List: f.list(), Devices: f.list(), Fixed: f.list(), Connect: f.list(),
		}
	}
	s.args, s.env = f.list(), f.list()
	if f.err == nil && f.rest != "" {
		f.err = fmt.Errorf("spec has %d bytes too many", len(f.rest))
	}
	if f.err == nil && (len(files) < streamFiles || len(files) == streamFiles && s.dir == "") {
		f.err = fmt.Errorf("spec has %d files", len(files))
	}
	return s, f.err
}

// fields decodes the fields of an encoded spec. After an error its methods return zero values.
type fields struct {
	rest string
	err  error
}

func (f *fields) text() string {
	field, rest, ok := strings.Cut(f.rest, "\x00")
	if !ok && f.err == nil {
		f.err = errors.New("spec is truncated")
	}
	if f.err != nil {
		return ""
	}
	f.rest = rest
	return field
}

func (f *fields) flag() bool { return f.text() == "true" }

func (f *fields) number() int {
	field := f.text()
	n, err := strconv.Atoi(field)
	if f.err == nil && (err != nil || n < 0) {
		f.err = fmt.Errorf("spec has the bad number %q", field)
	}
	return n
}

func (f *fields) list() []string {
	n := f.number()
	if f.err == nil && n > len(f.rest) { // each item has at least its NUL
		f.err = errors.New("spec is truncated")
	}
	if f.err != nil {
		return nil
	}
	items := make([]string, n)
	for i := range items {
		items[i] = f.text()
	}
	return items
}
