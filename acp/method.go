package acp

import (
	"encoding/json"
)

// Methods that the client calls.
const (
	MethodInitialize      = "initialize"
	MethodAuthenticate    = "authenticate"
	MethodLogout          = "logout"
	MethodNewSession      = "session/new"
	MethodLoadSession     = "session/load"
	MethodResumeSession   = "session/resume"
	MethodListSessions    = "session/list"
	MethodDeleteSession   = "session/delete"
	MethodCloseSession    = "session/close"
	MethodPrompt          = "session/prompt"
	MethodCancel          = "session/cancel" // a notification
	MethodSetMode         = "session/set_mode"
	MethodSetConfigOption = "session/set_config_option"
)

// Methods that the agent calls.
const (
	MethodUpdate              = "session/update" // a notification
	MethodRequestPermission   = "session/request_permission"
	MethodReadTextFile        = "fs/read_text_file"
	MethodWriteTextFile       = "fs/write_text_file"
	MethodCreateTerminal      = "terminal/create"
	MethodTerminalOutput      = "terminal/output"
	MethodWaitForTerminalExit = "terminal/wait_for_exit"
	MethodKillTerminal        = "terminal/kill"
	MethodReleaseTerminal     = "terminal/release"
	MethodCreateElicitation   = "elicitation/create"
	MethodCompleteElicitation = "elicitation/complete" // a notification
)

// MethodCancelRequest is a notification of either side.
const MethodCancelRequest = "$/cancel_request"

// method decodes the params of a method and, unless it is a notification, its result.
type method struct {
	params, result func(raw json.RawMessage) (any, error)
}

var methods = map[string]method{
	MethodInitialize:          request[InitializeRequest, InitializeResponse](),
	MethodAuthenticate:        request[AuthenticateRequest, AuthenticateResponse](),
	MethodLogout:              request[LogoutRequest, LogoutResponse](),
	MethodNewSession:          request[NewSessionRequest, NewSessionResponse](),
	MethodLoadSession:         request[LoadSessionRequest, LoadSessionResponse](),
	MethodResumeSession:       request[ResumeSessionRequest, ResumeSessionResponse](),
	MethodListSessions:        request[ListSessionsRequest, ListSessionsResponse](),
	MethodDeleteSession:       request[DeleteSessionRequest, DeleteSessionResponse](),
	MethodCloseSession:        request[CloseSessionRequest, CloseSessionResponse](),
	MethodPrompt:              request[PromptRequest, PromptResponse](),
	MethodCancel:              notification[CancelNotification](),
	MethodSetMode:             request[SetSessionModeRequest, SetSessionModeResponse](),
	MethodSetConfigOption:     request[SetConfigOptionRequest, SetConfigOptionResponse](),
	MethodUpdate:              notification[SessionNotification](),
	MethodRequestPermission:   request[RequestPermissionRequest, RequestPermissionResponse](),
	MethodReadTextFile:        request[ReadTextFileRequest, ReadTextFileResponse](),
	MethodWriteTextFile:       request[WriteTextFileRequest, WriteTextFileResponse](),
	MethodCreateTerminal:      request[CreateTerminalRequest, CreateTerminalResponse](),
	MethodTerminalOutput:      request[TerminalOutputRequest, TerminalOutputResponse](),
	MethodWaitForTerminalExit: request[WaitForTerminalExitRequest, WaitForTerminalExitResponse](),
	MethodKillTerminal:        request[KillTerminalRequest, KillTerminalResponse](),
	MethodReleaseTerminal:     request[ReleaseTerminalRequest, ReleaseTerminalResponse](),
	MethodCreateElicitation:   request[CreateElicitationRequest, CreateElicitationResponse](),
	MethodCompleteElicitation: notification[CompleteElicitationNotification](),
	MethodCancelRequest:       notification[CancelRequestNotification](),
}

func request[Params, Result any]() method {
	return method{params: decodeAs[Params], result: decodeAs[Result]}
}

func notification[Params any]() method {
	return method{params: decodeAs[Params]}
}

// decodeAs decodes valid JSON to a T, a struct of the schema.
func decodeAs[T any](raw json.RawMessage) (any, error) {
	var v T
	if err := unmarshalValid(raw, &v); err != nil {
		return nil, err
	}
	return v, nil
}
