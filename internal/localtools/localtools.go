// Package localtools serves an agent the files and terminals of its workspace, and nothing else.
//
//	files, err := localtools.OpenFiles(workspace, "")
//	...
//	defer files.Close()
//	text, err := files.Read("/path/to/workspace/main.go", nil, nil)
//	terminals := localtools.NewTerminals(files, localtools.TerminalConfig{Env: env, Allow: []string{"go", "git"}})
//	defer terminals.Close()
//
// Every path an agent names is resolved below a directory that was opened once, by [os.Root]: links that lead outside
// are refused, whenever they are made. What an agent's commands do in their own processes is up to package confine, and
// answers from recordings are up to package interaction/clienttools.
package localtools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// Handler returns what serves an ACP agent's file requests.
func (f *Files) Handler() acp.FileHandler { return fileHandler{f} }

type fileHandler struct{ files *Files }

func (h fileHandler) ReadTextFile(_ context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	text, err := h.files.Read(r.Path, r.Line, r.Limit)
	return acp.ReadTextFileResponse{Content: text}, asACP(err)
}

func (h fileHandler) WriteTextFile(_ context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, asACP(h.files.Write(r.Path, r.Content))
}

// Handler returns what serves an ACP agent's terminal requests.
func (t *Terminals) Handler() acp.TerminalHandler { return terminalHandler{t} }

type terminalHandler struct{ terminals *Terminals }

func (h terminalHandler) Create(_ context.Context, r acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	s := Spec{Command: r.Command, Args: r.Args, Cwd: r.Cwd, OutputByteLimit: r.OutputByteLimit}
	for _, v := range r.Env {
		s.Env = append(s.Env, v.Name+"="+v.Value)
	}
	id, err := h.terminals.Create(s)
	return acp.CreateTerminalResponse{TerminalID: id}, asACP(err)
}

func (h terminalHandler) Output(_ context.Context, r acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	out, err := h.terminals.Output(r.TerminalID)
	resp := acp.TerminalOutputResponse{Output: out.Text, Truncated: out.Truncated}
	if out.Exit != nil {
		code, signal := exitStatus(*out.Exit)
		resp.ExitStatus = &acp.TerminalExitStatus{ExitCode: code, Signal: signal}
	}
	return resp, asACP(err)
}

func (h terminalHandler) WaitForExit(
	ctx context.Context, r acp.WaitForTerminalExitRequest,
) (acp.WaitForTerminalExitResponse, error) {
	exit, err := h.terminals.Wait(ctx, r.TerminalID)
	code, signal := exitStatus(exit)
	return acp.WaitForTerminalExitResponse{ExitCode: code, Signal: signal}, asACP(err)
}

func (h terminalHandler) Kill(_ context.Context, r acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, asACP(h.terminals.Kill(r.TerminalID))
}

func (h terminalHandler) Release(_ context.Context, r acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, asACP(h.terminals.Release(r.TerminalID))
}

// exitStatus returns an exit as the protocol has it: no code with a signal.
func exitStatus(e supervise.Exit) (code *int, signal string) {
	if e.Code < 0 {
		return nil, e.Signal
	}
	return &e.Code, ""
}

// asACP gives errors that are the agent's doing their codes. What it leaves is an internal error to the agent, but for
// fs.ErrNotExist, which package acp knows.
func asACP(err error) error {
	_, denied := errors.AsType[*Denied](err)
	if denied || errors.Is(err, fs.ErrInvalid) || errors.Is(err, exec.ErrNotFound) {
		return &acp.Error{Code: acp.CodeInvalidParams, Message: err.Error()}
	}
	if errors.Is(err, ErrNoTerminal) {
		return &acp.Error{Code: acp.CodeResourceNotFound, Message: err.Error()}
	}
	return err
}

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

// reasonSteers is why a variable is dropped.
const reasonSteers = "agents may not set it; the command runs without"

// DeniedVariables returns the denials of those of the variables that an agent may not add for a command, by their
// names.
func DeniedVariables(names []string) []Denied {
	var denied []Denied
	for _, name := range names {
		if environ.Steers(name) {
			denied = append(denied, Denied{Op: OpEnv, Path: name, Reason: reasonSteers})
		}
	}
	return denied
}
