package acp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// The methods below make encoding/json encode and decode the types of the schema as this package does: leniently,
// losing nothing, and with the discriminator of a variant.

func (v EnvVariable) MarshalJSON() ([]byte, error) { return marshal(v) }

func (v *EnvVariable) UnmarshalJSON(data []byte) error                     { return unmarshal(data, v) }
func (v InitializeRequest) MarshalJSON() ([]byte, error)                   { return marshal(v) }
func (v *InitializeRequest) UnmarshalJSON(data []byte) error               { return unmarshal(data, v) }
func (v Implementation) MarshalJSON() ([]byte, error)                      { return marshal(v) }
func (v *Implementation) UnmarshalJSON(data []byte) error                  { return unmarshal(data, v) }
func (v ClientCapabilities) MarshalJSON() ([]byte, error)                  { return marshal(v) }
func (v *ClientCapabilities) UnmarshalJSON(data []byte) error              { return unmarshal(data, v) }
func (v FileSystemCapabilities) MarshalJSON() ([]byte, error)              { return marshal(v) }
func (v *FileSystemCapabilities) UnmarshalJSON(data []byte) error          { return unmarshal(data, v) }
func (v ClientSessionCapabilities) MarshalJSON() ([]byte, error)           { return marshal(v) }
func (v *ClientSessionCapabilities) UnmarshalJSON(data []byte) error       { return unmarshal(data, v) }
func (v ClientConfigOptionCapabilities) MarshalJSON() ([]byte, error)      { return marshal(v) }
func (v *ClientConfigOptionCapabilities) UnmarshalJSON(data []byte) error  { return unmarshal(data, v) }
func (v ClientAuthCapabilities) MarshalJSON() ([]byte, error)              { return marshal(v) }
func (v *ClientAuthCapabilities) UnmarshalJSON(data []byte) error          { return unmarshal(data, v) }
func (v ElicitationCapabilities) MarshalJSON() ([]byte, error)             { return marshal(v) }
func (v *ElicitationCapabilities) UnmarshalJSON(data []byte) error         { return unmarshal(data, v) }
func (v Supported) MarshalJSON() ([]byte, error)                           { return marshal(v) }
func (v *Supported) UnmarshalJSON(data []byte) error                       { return unmarshal(data, v) }
func (v InitializeResponse) MarshalJSON() ([]byte, error)                  { return marshal(v) }
func (v *InitializeResponse) UnmarshalJSON(data []byte) error              { return unmarshal(data, v) }
func (v AgentCapabilities) MarshalJSON() ([]byte, error)                   { return marshal(v) }
func (v *AgentCapabilities) UnmarshalJSON(data []byte) error               { return unmarshal(data, v) }
func (v PromptCapabilities) MarshalJSON() ([]byte, error)                  { return marshal(v) }
func (v *PromptCapabilities) UnmarshalJSON(data []byte) error              { return unmarshal(data, v) }
func (v McpCapabilities) MarshalJSON() ([]byte, error)                     { return marshal(v) }
func (v *McpCapabilities) UnmarshalJSON(data []byte) error                 { return unmarshal(data, v) }
func (v SessionCapabilities) MarshalJSON() ([]byte, error)                 { return marshal(v) }
func (v *SessionCapabilities) UnmarshalJSON(data []byte) error             { return unmarshal(data, v) }
func (v AgentAuthCapabilities) MarshalJSON() ([]byte, error)               { return marshal(v) }
func (v *AgentAuthCapabilities) UnmarshalJSON(data []byte) error           { return unmarshal(data, v) }
func (v AuthMethod) MarshalJSON() ([]byte, error)                          { return marshal(v) }
func (v *AuthMethod) UnmarshalJSON(data []byte) error                      { return unmarshal(data, v) }
func (v AuthenticateRequest) MarshalJSON() ([]byte, error)                 { return marshal(v) }
func (v *AuthenticateRequest) UnmarshalJSON(data []byte) error             { return unmarshal(data, v) }
func (v AuthenticateResponse) MarshalJSON() ([]byte, error)                { return marshal(v) }
func (v *AuthenticateResponse) UnmarshalJSON(data []byte) error            { return unmarshal(data, v) }
func (v LogoutRequest) MarshalJSON() ([]byte, error)                       { return marshal(v) }
func (v *LogoutRequest) UnmarshalJSON(data []byte) error                   { return unmarshal(data, v) }
func (v LogoutResponse) MarshalJSON() ([]byte, error)                      { return marshal(v) }
func (v *LogoutResponse) UnmarshalJSON(data []byte) error                  { return unmarshal(data, v) }
func (v CancelRequestNotification) MarshalJSON() ([]byte, error)           { return marshal(v) }
func (v *CancelRequestNotification) UnmarshalJSON(data []byte) error       { return unmarshal(data, v) }
func (v CreateElicitationRequest) MarshalJSON() ([]byte, error)            { return marshal(v) }
func (v *CreateElicitationRequest) UnmarshalJSON(data []byte) error        { return unmarshal(data, v) }
func (v CreateElicitationResponse) MarshalJSON() ([]byte, error)           { return marshal(v) }
func (v *CreateElicitationResponse) UnmarshalJSON(data []byte) error       { return unmarshal(data, v) }
func (v CompleteElicitationNotification) MarshalJSON() ([]byte, error)     { return marshal(v) }
func (v *CompleteElicitationNotification) UnmarshalJSON(data []byte) error { return unmarshal(data, v) }
func (v NewSessionRequest) MarshalJSON() ([]byte, error)                   { return marshal(v) }
func (v *NewSessionRequest) UnmarshalJSON(data []byte) error               { return unmarshal(data, v) }
func (v NewSessionResponse) MarshalJSON() ([]byte, error)                  { return marshal(v) }
func (v *NewSessionResponse) UnmarshalJSON(data []byte) error              { return unmarshal(data, v) }
func (v LoadSessionRequest) MarshalJSON() ([]byte, error)                  { return marshal(v) }
func (v *LoadSessionRequest) UnmarshalJSON(data []byte) error              { return unmarshal(data, v) }
func (v LoadSessionResponse) MarshalJSON() ([]byte, error)                 { return marshal(v) }
func (v *LoadSessionResponse) UnmarshalJSON(data []byte) error             { return unmarshal(data, v) }
func (v ResumeSessionRequest) MarshalJSON() ([]byte, error)                { return marshal(v) }
func (v *ResumeSessionRequest) UnmarshalJSON(data []byte) error            { return unmarshal(data, v) }
func (v ResumeSessionResponse) MarshalJSON() ([]byte, error)               { return marshal(v) }
func (v *ResumeSessionResponse) UnmarshalJSON(data []byte) error           { return unmarshal(data, v) }
func (v ListSessionsRequest) MarshalJSON() ([]byte, error)                 { return marshal(v) }
func (v *ListSessionsRequest) UnmarshalJSON(data []byte) error             { return unmarshal(data, v) }
func (v ListSessionsResponse) MarshalJSON() ([]byte, error)                { return marshal(v) }
func (v *ListSessionsResponse) UnmarshalJSON(data []byte) error            { return unmarshal(data, v) }
func (v SessionInfo) MarshalJSON() ([]byte, error)                         { return marshal(v) }
func (v *SessionInfo) UnmarshalJSON(data []byte) error                     { return unmarshal(data, v) }
func (v DeleteSessionRequest) MarshalJSON() ([]byte, error)                { return marshal(v) }
func (v *DeleteSessionRequest) UnmarshalJSON(data []byte) error            { return unmarshal(data, v) }
func (v DeleteSessionResponse) MarshalJSON() ([]byte, error)               { return marshal(v) }
func (v *DeleteSessionResponse) UnmarshalJSON(data []byte) error           { return unmarshal(data, v) }
func (v CloseSessionRequest) MarshalJSON() ([]byte, error)                 { return marshal(v) }
func (v *CloseSessionRequest) UnmarshalJSON(data []byte) error             { return unmarshal(data, v) }
func (v CloseSessionResponse) MarshalJSON() ([]byte, error)                { return marshal(v) }
func (v *CloseSessionResponse) UnmarshalJSON(data []byte) error            { return unmarshal(data, v) }
func (v PromptRequest) MarshalJSON() ([]byte, error)                       { return marshal(v) }
func (v *PromptRequest) UnmarshalJSON(data []byte) error                   { return unmarshal(data, v) }
func (v PromptResponse) MarshalJSON() ([]byte, error)                      { return marshal(v) }
func (v *PromptResponse) UnmarshalJSON(data []byte) error                  { return unmarshal(data, v) }
func (v Usage) MarshalJSON() ([]byte, error)                               { return marshal(v) }
func (v *Usage) UnmarshalJSON(data []byte) error                           { return unmarshal(data, v) }
func (v CancelNotification) MarshalJSON() ([]byte, error)                  { return marshal(v) }
func (v *CancelNotification) UnmarshalJSON(data []byte) error              { return unmarshal(data, v) }
func (v SessionModeState) MarshalJSON() ([]byte, error)                    { return marshal(v) }
func (v *SessionModeState) UnmarshalJSON(data []byte) error                { return unmarshal(data, v) }
func (v SessionMode) MarshalJSON() ([]byte, error)                         { return marshal(v) }
func (v *SessionMode) UnmarshalJSON(data []byte) error                     { return unmarshal(data, v) }
func (v SetSessionModeRequest) MarshalJSON() ([]byte, error)               { return marshal(v) }
func (v *SetSessionModeRequest) UnmarshalJSON(data []byte) error           { return unmarshal(data, v) }
func (v SetSessionModeResponse) MarshalJSON() ([]byte, error)              { return marshal(v) }
func (v *SetSessionModeResponse) UnmarshalJSON(data []byte) error          { return unmarshal(data, v) }
func (v ConfigOption) MarshalJSON() ([]byte, error)                        { return marshal(v) }
func (v *ConfigOption) UnmarshalJSON(data []byte) error                    { return unmarshal(data, v) }
func (v ConfigChoice) MarshalJSON() ([]byte, error)                        { return marshal(v) }
func (v *ConfigChoice) UnmarshalJSON(data []byte) error                    { return unmarshal(data, v) }
func (v SetConfigOptionRequest) MarshalJSON() ([]byte, error)              { return marshal(v) }
func (v *SetConfigOptionRequest) UnmarshalJSON(data []byte) error          { return unmarshal(data, v) }
func (v SetConfigOptionResponse) MarshalJSON() ([]byte, error)             { return marshal(v) }
func (v *SetConfigOptionResponse) UnmarshalJSON(data []byte) error         { return unmarshal(data, v) }
func (v McpServerStdio) MarshalJSON() ([]byte, error)                      { return marshal(v) }
func (v *McpServerStdio) UnmarshalJSON(data []byte) error                  { return unmarshal(data, v) }
func (v McpServerHTTP) MarshalJSON() ([]byte, error)                       { return marshal(v) }
func (v *McpServerHTTP) UnmarshalJSON(data []byte) error                   { return unmarshal(data, v) }
func (v McpServerSSE) MarshalJSON() ([]byte, error)                        { return marshal(v) }
func (v *McpServerSSE) UnmarshalJSON(data []byte) error                    { return unmarshal(data, v) }
func (v HTTPHeader) MarshalJSON() ([]byte, error)                          { return marshal(v) }
func (v *HTTPHeader) UnmarshalJSON(data []byte) error                      { return unmarshal(data, v) }
func (v SessionNotification) MarshalJSON() ([]byte, error)                 { return marshal(v) }
func (v *SessionNotification) UnmarshalJSON(data []byte) error             { return unmarshal(data, v) }
func (v UserMessageChunk) MarshalJSON() ([]byte, error)                    { return marshal(v) }
func (v *UserMessageChunk) UnmarshalJSON(data []byte) error                { return unmarshal(data, v) }
func (v AgentMessageChunk) MarshalJSON() ([]byte, error)                   { return marshal(v) }
func (v *AgentMessageChunk) UnmarshalJSON(data []byte) error               { return unmarshal(data, v) }
func (v AgentThoughtChunk) MarshalJSON() ([]byte, error)                   { return marshal(v) }
func (v *AgentThoughtChunk) UnmarshalJSON(data []byte) error               { return unmarshal(data, v) }
func (v Plan) MarshalJSON() ([]byte, error)                                { return marshal(v) }
func (v *Plan) UnmarshalJSON(data []byte) error                            { return unmarshal(data, v) }
func (v PlanEntry) MarshalJSON() ([]byte, error)                           { return marshal(v) }
func (v *PlanEntry) UnmarshalJSON(data []byte) error                       { return unmarshal(data, v) }
func (v AvailableCommandsUpdate) MarshalJSON() ([]byte, error)             { return marshal(v) }
func (v *AvailableCommandsUpdate) UnmarshalJSON(data []byte) error         { return unmarshal(data, v) }
func (v AvailableCommand) MarshalJSON() ([]byte, error)                    { return marshal(v) }
func (v *AvailableCommand) UnmarshalJSON(data []byte) error                { return unmarshal(data, v) }
func (v CommandInput) MarshalJSON() ([]byte, error)                        { return marshal(v) }
func (v *CommandInput) UnmarshalJSON(data []byte) error                    { return unmarshal(data, v) }
func (v CurrentModeUpdate) MarshalJSON() ([]byte, error)                   { return marshal(v) }
func (v *CurrentModeUpdate) UnmarshalJSON(data []byte) error               { return unmarshal(data, v) }
func (v ConfigOptionUpdate) MarshalJSON() ([]byte, error)                  { return marshal(v) }
func (v *ConfigOptionUpdate) UnmarshalJSON(data []byte) error              { return unmarshal(data, v) }
func (v SessionInfoUpdate) MarshalJSON() ([]byte, error)                   { return marshal(v) }
func (v *SessionInfoUpdate) UnmarshalJSON(data []byte) error               { return unmarshal(data, v) }
func (v UsageUpdate) MarshalJSON() ([]byte, error)                         { return marshal(v) }
func (v *UsageUpdate) UnmarshalJSON(data []byte) error                     { return unmarshal(data, v) }
func (v Cost) MarshalJSON() ([]byte, error)                                { return marshal(v) }
func (v *Cost) UnmarshalJSON(data []byte) error                            { return unmarshal(data, v) }
func (v Notice) MarshalJSON() ([]byte, error)                              { return marshal(v) }
func (v *Notice) UnmarshalJSON(data []byte) error                          { return unmarshal(data, v) }
func (v CompactionUpdate) MarshalJSON() ([]byte, error)                    { return marshal(v) }
func (v *CompactionUpdate) UnmarshalJSON(data []byte) error                { return unmarshal(data, v) }
func (v CompactionSummaryChunk) MarshalJSON() ([]byte, error)              { return marshal(v) }
func (v *CompactionSummaryChunk) UnmarshalJSON(data []byte) error          { return unmarshal(data, v) }
func (v TextContent) MarshalJSON() ([]byte, error)                         { return marshal(v) }
func (v *TextContent) UnmarshalJSON(data []byte) error                     { return unmarshal(data, v) }
func (v ImageContent) MarshalJSON() ([]byte, error)                        { return marshal(v) }
func (v *ImageContent) UnmarshalJSON(data []byte) error                    { return unmarshal(data, v) }
func (v AudioContent) MarshalJSON() ([]byte, error)                        { return marshal(v) }
func (v *AudioContent) UnmarshalJSON(data []byte) error                    { return unmarshal(data, v) }
func (v ResourceLink) MarshalJSON() ([]byte, error)                        { return marshal(v) }
func (v *ResourceLink) UnmarshalJSON(data []byte) error                    { return unmarshal(data, v) }
func (v EmbeddedResource) MarshalJSON() ([]byte, error)                    { return marshal(v) }
func (v *EmbeddedResource) UnmarshalJSON(data []byte) error                { return unmarshal(data, v) }
func (v ResourceContents) MarshalJSON() ([]byte, error)                    { return marshal(v) }
func (v *ResourceContents) UnmarshalJSON(data []byte) error                { return unmarshal(data, v) }
func (v Annotations) MarshalJSON() ([]byte, error)                         { return marshal(v) }
func (v *Annotations) UnmarshalJSON(data []byte) error                     { return unmarshal(data, v) }
func (v ToolCall) MarshalJSON() ([]byte, error)                            { return marshal(v) }
func (v *ToolCall) UnmarshalJSON(data []byte) error                        { return unmarshal(data, v) }
func (v ToolCallUpdate) MarshalJSON() ([]byte, error)                      { return marshal(v) }
func (v *ToolCallUpdate) UnmarshalJSON(data []byte) error                  { return unmarshal(data, v) }
func (v ToolCallLocation) MarshalJSON() ([]byte, error)                    { return marshal(v) }
func (v *ToolCallLocation) UnmarshalJSON(data []byte) error                { return unmarshal(data, v) }
func (v Content) MarshalJSON() ([]byte, error)                             { return marshal(v) }
func (v *Content) UnmarshalJSON(data []byte) error                         { return unmarshal(data, v) }
func (v Diff) MarshalJSON() ([]byte, error)                                { return marshal(v) }
func (v *Diff) UnmarshalJSON(data []byte) error                            { return unmarshal(data, v) }
func (v Terminal) MarshalJSON() ([]byte, error)                            { return marshal(v) }
func (v *Terminal) UnmarshalJSON(data []byte) error                        { return unmarshal(data, v) }
func (v RequestPermissionRequest) MarshalJSON() ([]byte, error)            { return marshal(v) }
func (v *RequestPermissionRequest) UnmarshalJSON(data []byte) error        { return unmarshal(data, v) }
func (v PermissionOption) MarshalJSON() ([]byte, error)                    { return marshal(v) }
func (v *PermissionOption) UnmarshalJSON(data []byte) error                { return unmarshal(data, v) }
func (v RequestPermissionResponse) MarshalJSON() ([]byte, error)           { return marshal(v) }
func (v *RequestPermissionResponse) UnmarshalJSON(data []byte) error       { return unmarshal(data, v) }
func (v PermissionOutcome) MarshalJSON() ([]byte, error)                   { return marshal(v) }
func (v *PermissionOutcome) UnmarshalJSON(data []byte) error               { return unmarshal(data, v) }
func (v ReadTextFileRequest) MarshalJSON() ([]byte, error)                 { return marshal(v) }
func (v *ReadTextFileRequest) UnmarshalJSON(data []byte) error             { return unmarshal(data, v) }
func (v ReadTextFileResponse) MarshalJSON() ([]byte, error)                { return marshal(v) }
func (v *ReadTextFileResponse) UnmarshalJSON(data []byte) error            { return unmarshal(data, v) }
func (v WriteTextFileRequest) MarshalJSON() ([]byte, error)                { return marshal(v) }
func (v *WriteTextFileRequest) UnmarshalJSON(data []byte) error            { return unmarshal(data, v) }
func (v WriteTextFileResponse) MarshalJSON() ([]byte, error)               { return marshal(v) }
func (v *WriteTextFileResponse) UnmarshalJSON(data []byte) error           { return unmarshal(data, v) }
func (v CreateTerminalRequest) MarshalJSON() ([]byte, error)               { return marshal(v) }
func (v *CreateTerminalRequest) UnmarshalJSON(data []byte) error           { return unmarshal(data, v) }
func (v CreateTerminalResponse) MarshalJSON() ([]byte, error)              { return marshal(v) }
func (v *CreateTerminalResponse) UnmarshalJSON(data []byte) error          { return unmarshal(data, v) }
func (v TerminalOutputRequest) MarshalJSON() ([]byte, error)               { return marshal(v) }
func (v *TerminalOutputRequest) UnmarshalJSON(data []byte) error           { return unmarshal(data, v) }
func (v TerminalOutputResponse) MarshalJSON() ([]byte, error)              { return marshal(v) }
func (v *TerminalOutputResponse) UnmarshalJSON(data []byte) error          { return unmarshal(data, v) }
func (v TerminalExitStatus) MarshalJSON() ([]byte, error)                  { return marshal(v) }
func (v *TerminalExitStatus) UnmarshalJSON(data []byte) error              { return unmarshal(data, v) }
func (v WaitForTerminalExitRequest) MarshalJSON() ([]byte, error)          { return marshal(v) }
func (v *WaitForTerminalExitRequest) UnmarshalJSON(data []byte) error      { return unmarshal(data, v) }
func (v WaitForTerminalExitResponse) MarshalJSON() ([]byte, error)         { return marshal(v) }
func (v *WaitForTerminalExitResponse) UnmarshalJSON(data []byte) error     { return unmarshal(data, v) }
func (v KillTerminalRequest) MarshalJSON() ([]byte, error)                 { return marshal(v) }
func (v *KillTerminalRequest) UnmarshalJSON(data []byte) error             { return unmarshal(data, v) }
func (v KillTerminalResponse) MarshalJSON() ([]byte, error)                { return marshal(v) }
func (v *KillTerminalResponse) UnmarshalJSON(data []byte) error            { return unmarshal(data, v) }
func (v ReleaseTerminalRequest) MarshalJSON() ([]byte, error)              { return marshal(v) }
func (v *ReleaseTerminalRequest) UnmarshalJSON(data []byte) error          { return unmarshal(data, v) }
func (v ReleaseTerminalResponse) MarshalJSON() ([]byte, error)             { return marshal(v) }
func (v *ReleaseTerminalResponse) UnmarshalJSON(data []byte) error         { return unmarshal(data, v) }
func (v Message) MarshalJSON() ([]byte, error)                             { return marshal(v) }
func (v *Message) UnmarshalJSON(data []byte) error                         { return unmarshal(data, v) }
func (v Error) MarshalJSON() ([]byte, error)                               { return marshal(v) }
func (v *Error) UnmarshalJSON(data []byte) error                           { return unmarshal(data, v) }

// MarshalJSON returns o.Raw, which has the kind in it.
func (o Other) MarshalJSON() ([]byte, error) { return o.Raw.MarshalJSON() }

// MarshalJSON returns the id's JSON text, null for the zero value.
func (id ID) MarshalJSON() ([]byte, error) { return json.RawMessage(id).MarshalJSON() }

// UnmarshalJSON takes the text of a number, a string or null.
func (id *ID) UnmarshalJSON(data []byte) error {
	if s := (&scanner{data: bytes.Clone(data)}); !json.Valid(data) || !id.decode(s) {
		return fmt.Errorf("acp: decode ID: want a number, a string or null, got %q", excerpt.Head(string(data), 64))
	}
	return nil
}
