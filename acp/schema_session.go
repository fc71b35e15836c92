package acp

// NewSessionRequest starts a session. Method: session/new.
type NewSessionRequest struct {
	// Cwd is the session's working directory, an absolute path.
	Cwd string `json:"cwd" acp:"required"`
	// AdditionalDirectories are further roots, absolute paths; only for agents with that capability.
	AdditionalDirectories []string    `json:"additionalDirectories,omitzero"`
	McpServers            []McpServer `json:"mcpServers"`
	Extra
}

// NewSessionResponse is the agent's answer: the session's id and what can be set in it.
type NewSessionResponse struct {
	SessionID string `json:"sessionId" acp:"required"`
	// Modes is nil if the agent has none.
	Modes         *SessionModeState `json:"modes,omitzero"`
	ConfigOptions []ConfigOption    `json:"configOptions,omitzero"`
	Extra
}

// LoadSessionRequest restores a session and asks for its history as updates. Method: session/load.
type LoadSessionRequest struct {
	SessionID             string      `json:"sessionId" acp:"required"`
	Cwd                   string      `json:"cwd" acp:"required"`
	AdditionalDirectories []string    `json:"additionalDirectories,omitzero"`
	McpServers            []McpServer `json:"mcpServers"`
	Extra
}

// LoadSessionResponse is the agent's answer once all of the session's history was sent.
type LoadSessionResponse struct {
	Modes         *SessionModeState `json:"modes,omitzero"`
	ConfigOptions []ConfigOption    `json:"configOptions,omitzero"`
	Extra
}

// ResumeSessionRequest restores a session without its history. Method: session/resume.
type ResumeSessionRequest struct {
	SessionID             string      `json:"sessionId" acp:"required"`
	Cwd                   string      `json:"cwd" acp:"required"`
	AdditionalDirectories []string    `json:"additionalDirectories,omitzero"`
	McpServers            []McpServer `json:"mcpServers,omitzero"`
	Extra
}

// ResumeSessionResponse is the agent's answer to [ResumeSessionRequest].
type ResumeSessionResponse struct {
	Modes         *SessionModeState `json:"modes,omitzero"`
	ConfigOptions []ConfigOption    `json:"configOptions,omitzero"`
	Extra
}

// ListSessionsRequest asks for the sessions that the agent knows. Method: session/list.
type ListSessionsRequest struct {
	// Cwd limits the list to sessions with this working directory; empty: all.
	Cwd string `json:"cwd,omitzero"`
	// Cursor is the NextCursor of the page before; empty: the first page.
	Cursor string `json:"cursor,omitzero"`
	Extra
}

// ListSessionsResponse is a page of sessions.
type ListSessionsResponse struct {
	Sessions []SessionInfo `json:"sessions"`
	// NextCursor is empty on the last page.
	NextCursor string `json:"nextCursor,omitzero"`
	Extra
}

// SessionInfo describes a session that an agent knows.
type SessionInfo struct {
	SessionID             string   `json:"sessionId" acp:"required"`
	Cwd                   string   `json:"cwd"`
	AdditionalDirectories []string `json:"additionalDirectories,omitzero"`
	Title                 string   `json:"title,omitzero"`
	// UpdatedAt is the time of the last activity, in ISO 8601.
	UpdatedAt string `json:"updatedAt,omitzero"`
	Extra
}

// DeleteSessionRequest deletes a session. Method: session/delete.
type DeleteSessionRequest struct {
	SessionID string `json:"sessionId" acp:"required"`
	Extra
}

// DeleteSessionResponse is the agent's answer to [DeleteSessionRequest].
type DeleteSessionResponse struct {
	Extra
}

// CloseSessionRequest ends a session and frees what it holds. Method: session/close.
type CloseSessionRequest struct {
	SessionID string `json:"sessionId" acp:"required"`
	Extra
}

// CloseSessionResponse is the agent's answer to [CloseSessionRequest].
type CloseSessionResponse struct {
	Extra
}

// PromptRequest starts a turn. Method: session/prompt.
type PromptRequest struct {
	SessionID string         `json:"sessionId" acp:"required"`
	Prompt    []ContentBlock `json:"prompt" acp:"required"`
	Extra
}

// PromptResponse ends a turn.
type PromptResponse struct {
	StopReason StopReason `json:"stopReason" acp:"required"`
	// Usage is nil if the agent does not report it.
	Usage *Usage `json:"usage,omitzero"`
	Extra
}

// StopReason says why a turn ended.
type StopReason string

// The stop reasons of the protocol.
const (
	StopEndTurn         StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
)

// Usage counts the tokens of a turn. A nil count was not reported; it is not zero.
type Usage struct {
	InputTokens       *int64 `json:"inputTokens,omitzero"`
	OutputTokens      *int64 `json:"outputTokens,omitzero"`
	ThoughtTokens     *int64 `json:"thoughtTokens,omitzero"`
	CachedReadTokens  *int64 `json:"cachedReadTokens,omitzero"`
	CachedWriteTokens *int64 `json:"cachedWriteTokens,omitzero"`
	TotalTokens       *int64 `json:"totalTokens,omitzero"`
	Extra
}

// CancelNotification asks the agent to end the current turn of a session. Method: session/cancel.
type CancelNotification struct {
	SessionID string `json:"sessionId" acp:"required"`
	Extra
}

// SessionModeState is the set of modes of a session and the current one.
type SessionModeState struct {
	CurrentModeID  string        `json:"currentModeId"`
	AvailableModes []SessionMode `json:"availableModes"`
	Extra
}

// SessionMode is a way in which an agent can work, for example read-only.
type SessionMode struct {
	ID          string `json:"id" acp:"required"`
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Extra
}

// SetSessionModeRequest changes a session's mode. Method: session/set_mode.
type SetSessionModeRequest struct {
	SessionID string `json:"sessionId" acp:"required"`
	ModeID    string `json:"modeId" acp:"required"`
	Extra
}

// SetSessionModeResponse is the agent's answer to [SetSessionModeRequest].
type SetSessionModeResponse struct {
	Extra
}

// ConfigOption is a setting of a session, such as its model.
type ConfigOption struct {
	ID          string `json:"id" acp:"required"`
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	// Category says what the option is about: "mode", "model", "model_config", "thought_level", or another; may be
	// empty.
	Category string `json:"category,omitzero"`
	// Type is "select" or "boolean".
	Type string `json:"type"`
	// CurrentValue is a string (a choice's Value) for "select", a bool for "boolean", nil if it was neither.
	CurrentValue any `json:"currentValue,omitzero"`
	// Options are the choices of a "select".
	Options []ConfigChoice `json:"options,omitzero"`
	Extra
}

// The categories of config options that the protocol names.
const (
	CategoryMode         = "mode"
	CategoryModel        = "model"
	CategoryModelConfig  = "model_config"
	CategoryThoughtLevel = "thought_level"
)

// Choices returns the values that can be chosen, those inside groups included.
func (o ConfigOption) Choices() []ConfigChoice {
	var flat []ConfigChoice
	for _, c := range o.Options {
		if c.Group != "" {
			flat = append(flat, c.Options...)
		} else {
			flat = append(flat, c)
		}
	}
	return flat
}

// ConfigChoice is a value that a [ConfigOption] can take, or a named group of such values.
type ConfigChoice struct {
	// Value identifies a choice; empty for a group.
	Value       string `json:"value,omitzero"`
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	// Group identifies a group; empty for a choice.
	Group string `json:"group,omitzero"`
	// Options are the choices of a group.
	Options []ConfigChoice `json:"options,omitzero"`
	Extra
}

// SetConfigOptionRequest changes a session's setting. Method: session/set_config_option.
type SetConfigOptionRequest struct {
	SessionID string `json:"sessionId" acp:"required"`
	ConfigID  string `json:"configId" acp:"required"`
	// Type is "boolean" if Value is a bool, else empty.
	Type string `json:"type,omitzero"`
	// Value is a string, or a bool for a boolean option.
	Value any `json:"value" acp:"required"`
	Extra
}

// SetConfigOptionResponse is the agent's answer: all options with their current values.
type SetConfigOptionResponse struct {
	ConfigOptions []ConfigOption `json:"configOptions"`
	Extra
}

// McpServer is an MCP server that the agent should connect to: [McpServerStdio], [McpServerHTTP], [McpServerSSE], or
// [Other].
type McpServer interface {
	// Transport returns the value of "type" on the wire, "" for stdio.
	Transport() string
}

// McpServerStdio is an MCP server that the agent starts as its child.
type McpServerStdio struct {
	Name    string        `json:"name" acp:"required"`
	Command string        `json:"command" acp:"required"`
	Args    []string      `json:"args"`
	Env     []EnvVariable `json:"env"`
	Extra
}

// McpServerHTTP is an MCP server reached over streamable HTTP.
type McpServerHTTP struct {
	Name    string       `json:"name" acp:"required"`
	URL     string       `json:"url" acp:"required"`
	Headers []HTTPHeader `json:"headers"`
	Extra
}

// McpServerSSE is an MCP server reached over server-sent events.
type McpServerSSE struct {
	Name    string       `json:"name" acp:"required"`
	URL     string       `json:"url" acp:"required"`
	Headers []HTTPHeader `json:"headers"`
	Extra
}

// HTTPHeader is a header that the agent sends to an MCP server.
type HTTPHeader struct {
	Name  string `json:"name" acp:"required"`
	Value string `json:"value" acp:"required"`
	Extra
}

// Transport returns "".
func (McpServerStdio) Transport() string { return "" }

// Transport returns "http".
func (McpServerHTTP) Transport() string { return "http" }

// Transport returns "sse".
func (McpServerSSE) Transport() string { return "sse" }
