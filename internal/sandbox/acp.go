package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"

	"github.com/sdd-eval/sdd-eval/acp"
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
