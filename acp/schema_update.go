package acp

// SessionNotification tells the client what happens in a session. Method: session/update.
type SessionNotification struct {
	SessionID string `json:"sessionId" acp:"required"`
	// Update is nil only if the agent sent none, or one without a kind; it is then in Unknown.
	Update SessionUpdate `json:"update,omitzero"`
	Extra
}

// SessionUpdate is one of [UserMessageChunk], [AgentMessageChunk], [AgentThoughtChunk], [ToolCall], [ToolCallUpdate],
// [Plan], [AvailableCommandsUpdate], [CurrentModeUpdate], [ConfigOptionUpdate], [SessionInfoUpdate], [UsageUpdate],
// [Notice], [CompactionUpdate], [CompactionSummaryChunk], or [Other] for every other kind.
type SessionUpdate interface {
	// UpdateKind returns the value of "sessionUpdate" on the wire, e.g. "tool_call".
	UpdateKind() string
}

// ContentChunk is a piece of a message as it streams.
type ContentChunk struct {
	Content ContentBlock `json:"content" acp:"required"`
	// MessageID is the same for all chunks of a message; empty if the agent gives none.
	MessageID string `json:"messageId,omitzero"`
	Extra
}

// UserMessageChunk is a piece of the user's message, seen when a session is loaded.
type UserMessageChunk ContentChunk

// AgentMessageChunk is a piece of the agent's message to the user.
type AgentMessageChunk ContentChunk

// AgentThoughtChunk is a piece of the agent's reasoning.
type AgentThoughtChunk ContentChunk

// Plan is the agent's complete plan; it replaces the one before.
type Plan struct {
	Entries []PlanEntry `json:"entries"`
	Extra
}

// PlanEntry is one step of a [Plan].
type PlanEntry struct {
	Content  string `json:"content" acp:"required"`
	Priority string `json:"priority"` // high, medium, low
	Status   string `json:"status"`   // pending, in_progress, completed
	Extra
}

// AvailableCommandsUpdate is the complete list of the commands that a prompt may begin with.
type AvailableCommandsUpdate struct {
	AvailableCommands []AvailableCommand `json:"availableCommands"`
	Extra
}

// AvailableCommand is a command that a prompt may begin with, after a slash.
type AvailableCommand struct {
	Name        string        `json:"name" acp:"required"`
	Description string        `json:"description"`
	Input       *CommandInput `json:"input,omitzero"`
	Extra
}

// CommandInput says what text may follow a command.
type CommandInput struct {
	Hint string `json:"hint"`
	Extra
}

// CurrentModeUpdate tells that the session's mode has changed.
type CurrentModeUpdate struct {
	CurrentModeID string `json:"currentModeId" acp:"required"`
	Extra
}

// ConfigOptionUpdate is the complete list of the session's options with their current values.
type ConfigOptionUpdate struct {
	ConfigOptions []ConfigOption `json:"configOptions"`
	Extra
}

// SessionInfoUpdate changes what is known of the session.
type SessionInfoUpdate struct {
	Title Patch[string] `json:"title,omitzero"`
	// UpdatedAt is the time of the last activity, in ISO 8601.
	UpdatedAt Patch[string] `json:"updatedAt,omitzero"`
	Extra
}

// UsageUpdate tells how full the context window is and what the session has cost. A nil count was not reported.
type UsageUpdate struct {
	// Used and Size are in tokens.
	Used *int64 `json:"used,omitzero"`
	Size *int64 `json:"size,omitzero"`
	// Cost is cumulative over the session; nil if not reported.
	Cost *Cost `json:"cost,omitzero"`
	Extra
}

// Cost is an amount of money.
type Cost struct {
	Amount   float64 `json:"amount" acp:"required"`
	Currency string  `json:"currency"` // ISO 4217
	Extra
}

// Notice is something the agent wants the user to know that is not part of the conversation.
type Notice struct {
	Severity    string `json:"severity"` // info, warning, error
	Title       string `json:"title"`
	Description string `json:"description,omitzero"`
	Extra
}

// CompactionUpdate tells about the compaction of a session's context, identified by its id.
type CompactionUpdate struct {
	CompactionID string `json:"compactionId" acp:"required"`
	// Status is in_progress, completed, failed or cancelled.
	Status string `json:"status"`
	// Summary replaces the whole summary.
	Summary Patch[[]ContentBlock] `json:"summary,omitzero"`
	Error   Patch[string]         `json:"error,omitzero"`
	Extra
}

// CompactionSummaryChunk adds to the summary of a compaction.
type CompactionSummaryChunk struct {
	CompactionID string       `json:"compactionId" acp:"required"`
	Content      ContentBlock `json:"content" acp:"required"`
	Extra
}

// UpdateKind returns "user_message_chunk".
func (UserMessageChunk) UpdateKind() string { return "user_message_chunk" }

// UpdateKind returns "agent_message_chunk".
func (AgentMessageChunk) UpdateKind() string { return "agent_message_chunk" }

// UpdateKind returns "agent_thought_chunk".
func (AgentThoughtChunk) UpdateKind() string { return "agent_thought_chunk" }

// UpdateKind returns "tool_call".
func (ToolCall) UpdateKind() string { return "tool_call" }

// UpdateKind returns "tool_call_update".
func (ToolCallUpdate) UpdateKind() string { return "tool_call_update" }

// UpdateKind returns "plan".
func (Plan) UpdateKind() string { return "plan" }

// UpdateKind returns "available_commands_update".
func (AvailableCommandsUpdate) UpdateKind() string { return "available_commands_update" }

// UpdateKind returns "current_mode_update".
func (CurrentModeUpdate) UpdateKind() string { return "current_mode_update" }

// UpdateKind returns "config_option_update".
func (ConfigOptionUpdate) UpdateKind() string { return "config_option_update" }

// UpdateKind returns "session_info_update".
func (SessionInfoUpdate) UpdateKind() string { return "session_info_update" }

// UpdateKind returns "usage_update".
func (UsageUpdate) UpdateKind() string { return "usage_update" }

// UpdateKind returns "notice".
func (Notice) UpdateKind() string { return "notice" }

// UpdateKind returns "compaction_update".
func (CompactionUpdate) UpdateKind() string { return "compaction_update" }

// UpdateKind returns "compaction_summary_chunk".
func (CompactionSummaryChunk) UpdateKind() string { return "compaction_summary_chunk" }
