package acp

// CreateTerminalRequest asks the client to run a command. Method: terminal/create.
type CreateTerminalRequest struct {
	SessionID string        `json:"sessionId" acp:"required"`
	Command   string        `json:"command" acp:"required"`
	Args      []string      `json:"args,omitzero"`
	Env       []EnvVariable `json:"env,omitzero"`
	// Cwd is absolute; empty: the session's.
	Cwd string `json:"cwd,omitzero"`
	// OutputByteLimit is how many bytes of output to keep, the latest ones; nil: as many as the client likes.
	OutputByteLimit *int64 `json:"outputByteLimit,omitzero"`
	Extra
}

// CreateTerminalResponse is the client's answer, given at once, while the command runs.
type CreateTerminalResponse struct {
	TerminalID string `json:"terminalId" acp:"required"`
	Extra
}

// TerminalOutputRequest asks for the output so far. Method: terminal/output.
type TerminalOutputRequest struct {
	SessionID  string `json:"sessionId" acp:"required"`
	TerminalID string `json:"terminalId" acp:"required"`
	Extra
}

// TerminalOutputResponse is a terminal's output so far.
type TerminalOutputResponse struct {
	Output string `json:"output"`
	// Truncated means that the beginning of the output was dropped.
	Truncated bool `json:"truncated"`
	// ExitStatus is nil while the command runs.
	ExitStatus *TerminalExitStatus `json:"exitStatus,omitzero"`
	Extra
}

// TerminalExitStatus says how a command ended.
type TerminalExitStatus struct {
	// ExitCode is nil if a signal ended the command.
	ExitCode *int `json:"exitCode,omitzero"`
	// Signal is the name of the signal that ended the command, else empty.
	Signal string `json:"signal,omitzero"`
	Extra
}

// WaitForTerminalExitRequest asks for the end of a command. Method: terminal/wait_for_exit.
type WaitForTerminalExitRequest struct {
	SessionID  string `json:"sessionId" acp:"required"`
	TerminalID string `json:"terminalId" acp:"required"`
	Extra
}

// WaitForTerminalExitResponse is the client's answer once the command has ended.
type WaitForTerminalExitResponse struct {
	// ExitCode is nil if a signal ended the command.
	ExitCode *int `json:"exitCode,omitzero"`
	// Signal is the name of the signal that ended the command, else empty.
	Signal string `json:"signal,omitzero"`
	Extra
}

// KillTerminalRequest ends a command but keeps its terminal. Method: terminal/kill.
type KillTerminalRequest struct {
	SessionID  string `json:"sessionId" acp:"required"`
	TerminalID string `json:"terminalId" acp:"required"`
	Extra
}

// KillTerminalResponse is the client's answer to [KillTerminalRequest].
type KillTerminalResponse struct {
	Extra
}

// ReleaseTerminalRequest ends a command and forgets its terminal. Method: terminal/release.
type ReleaseTerminalRequest struct {
	SessionID  string `json:"sessionId" acp:"required"`
	TerminalID string `json:"terminalId" acp:"required"`
	Extra
}

// ReleaseTerminalResponse is the client's answer to [ReleaseTerminalRequest].
type ReleaseTerminalResponse struct {
	Extra
}
