package sandbox

import (
	"fmt"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// Operations that can be denied; see [Denied].
const (
	OpRead  = "read"  // a file
	OpWrite = "write" // a file
	OpRun   = "run"   // a command in a terminal
	OpEnv   = "env"   // an environment variable for a command, which runs without it
)

// Denied is the error of an operation that an agent may not do. It is fit for logs: it holds no content.
type Denied struct {
	Op string // one of the operations above
	// Path is the path, the program's name or the variable's name as the agent gave it, if need be shortened.
	Path   string
	Reason string
}

func (d *Denied) Error() string { return fmt.Sprintf("%s %q denied: %s", d.Op, d.Path, d.Reason) }

var deniedText = lazyregexp.New(`^(read|write|run|env) ("(?:[^"\\]|\\.)*") denied: (.*)$`)

// ParseDenied returns the denial that an agent was answered with, whose text is [Denied.Error].
func ParseDenied(text string) (Denied, bool) {
	m := deniedText.FindStringSubmatch(text)
	if m == nil {
		return Denied{}, false
	}
	path, err := strconv.Unquote(m[2])
	return Denied{Op: m[1], Path: path, Reason: m[3]}, err == nil
}

// maxDeniedPath bounds Denied.Path, in bytes.
const maxDeniedPath = 1 << 10

// deny tells about a denial and returns it as an error.
func deny(tell func(Denied), op, path, reason string) error {
	d := Denied{Op: op, Path: excerpt.Bytes(path, maxDeniedPath), Reason: reason}
	if tell != nil {
		tell(d)
	}
	return &d
}
