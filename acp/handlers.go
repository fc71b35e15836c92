package acp

import "context"

// FileHandler serves the agent's file requests. Paths are absolute when it is called. An error that is an [*Error] is
// sent as it is; one that is fs.ErrNotExist becomes "Resource not found" (-32002), every other one an internal error.
// The context ends with the session, and when the agent cancels the request. Its methods are called concurrently.
type FileHandler interface {
	ReadTextFile(context.Context, ReadTextFileRequest) (ReadTextFileResponse, error)
	WriteTextFile(context.Context, WriteTextFileRequest) (WriteTextFileResponse, error)
}

// TerminalHandler serves the agent's terminal requests; errors and contexts are as in [FileHandler]. Create returns at
// once; WaitForExit returns when the command has ended or the context is done. Its methods are called concurrently.
type TerminalHandler interface {
	Create(context.Context, CreateTerminalRequest) (CreateTerminalResponse, error)
	Output(context.Context, TerminalOutputRequest) (TerminalOutputResponse, error)
	WaitForExit(context.Context, WaitForTerminalExitRequest) (WaitForTerminalExitResponse, error)
	Kill(context.Context, KillTerminalRequest) (KillTerminalResponse, error)
	Release(context.Context, ReleaseTerminalRequest) (ReleaseTerminalResponse, error)
}
