package acp

import "encoding/json"

// InitializeRequest opens a connection: version and capabilities of the client. Method: initialize.
type InitializeRequest struct {
	ProtocolVersion int `json:"protocolVersion" acp:"required"`
	// ClientCapabilities says what the agent may ask of the client.
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         *Implementation    `json:"clientInfo,omitzero"`
	Extra
}

// Implementation names a client or an agent.
type Implementation struct {
	// Name is for programs.
	Name string `json:"name" acp:"required"`
	// Title is for people; empty: use Name.
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
	Extra
}

// ClientCapabilities says what a client offers to agents. The zero value offers nothing.
type ClientCapabilities struct {
	FS FileSystemCapabilities `json:"fs"`
	// Terminal means that all terminal methods are served.
	Terminal bool                       `json:"terminal"`
	Session  *ClientSessionCapabilities `json:"session,omitzero"`
	Auth     *ClientAuthCapabilities    `json:"auth,omitzero"`
	// Elicitation means that the agent may ask the user for input.
	Elicitation *ElicitationCapabilities `json:"elicitation,omitzero"`
	Extra
}

// FileSystemCapabilities says which file methods a client serves.
type FileSystemCapabilities struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
	Extra
}

// ClientSessionCapabilities says which additional session updates a client understands; nil: not supported.
type ClientSessionCapabilities struct {
	// Compaction allows [CompactionUpdate] and [CompactionSummaryChunk].
	Compaction *Supported `json:"compaction,omitzero"`
	// ConfigOptions says which config options beyond "select" the client can set.
	ConfigOptions *ClientConfigOptionCapabilities `json:"configOptions,omitzero"`
	// Notices allows [Notice].
	Notices *Supported `json:"notices,omitzero"`
	Extra
}

// ClientConfigOptionCapabilities says which types of config options a client can set; nil: not supported.
type ClientConfigOptionCapabilities struct {
	Boolean *Supported `json:"boolean,omitzero"`
	Extra
}

// ClientAuthCapabilities says which ways to authenticate a client can offer.
type ClientAuthCapabilities struct {
	// Terminal means that the client can run the agent's binary for an interactive login.
	Terminal bool `json:"terminal"`
	Extra
}

// ElicitationCapabilities says in which ways a client can ask its user for input; nil: not supported.
type ElicitationCapabilities struct {
	Form *Supported `json:"form,omitzero"`
	URL  *Supported `json:"url,omitzero"`
	Extra
}

// Supported is a capability without settings: a pointer to it that is not nil means "supported".
type Supported struct {
	Extra
}

// InitializeResponse is the agent's answer: the version to speak and what it can do.
type InitializeResponse struct {
	ProtocolVersion   int               `json:"protocolVersion" acp:"required"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	// AgentInfo is nil if the agent does not say who it is.
	AgentInfo *Implementation `json:"agentInfo,omitzero"`
	// AuthMethods are the ways to authenticate; empty: none is needed.
	AuthMethods []AuthMethod `json:"authMethods"`
	Extra
}

// AgentCapabilities says what an agent can do beyond the baseline. The zero value is the baseline.
type AgentCapabilities struct {
	// LoadSession means that the agent serves session/load.
	LoadSession         bool                  `json:"loadSession"`
	PromptCapabilities  PromptCapabilities    `json:"promptCapabilities"`
	McpCapabilities     McpCapabilities       `json:"mcpCapabilities"`
	SessionCapabilities SessionCapabilities   `json:"sessionCapabilities"`
	Auth                AgentAuthCapabilities `json:"auth"`
	Extra
}

// PromptCapabilities says which content a prompt may have beyond text and resource links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
	Extra
}

// McpCapabilities says to which MCP servers an agent can connect beyond those over stdio.
type McpCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
	Extra
}

// SessionCapabilities says which session methods an agent serves beyond the baseline; nil: not supported.
type SessionCapabilities struct {
	List                  *Supported `json:"list,omitzero"`
	Delete                *Supported `json:"delete,omitzero"`
	AdditionalDirectories *Supported `json:"additionalDirectories,omitzero"`
	Resume                *Supported `json:"resume,omitzero"`
	Close                 *Supported `json:"close,omitzero"`
	Extra
}

// AgentAuthCapabilities says which authentication methods an agent serves beyond the baseline; nil: not supported.
type AgentAuthCapabilities struct {
	Logout *Supported `json:"logout,omitzero"`
	Extra
}

// AuthMethod is one way to authenticate with an agent.
type AuthMethod struct {
	ID          string `json:"id" acp:"required"`
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	// Type is empty if the agent does all of it when it is asked to authenticate, "terminal" if the client has to run
	// the agent's binary with Args and Env, else an extension's name.
	Type string            `json:"type,omitzero"`
	Args []string          `json:"args,omitzero"`
	Env  map[string]string `json:"env,omitzero"`
	Extra
}

// AuthenticateRequest asks the agent to authenticate. Method: authenticate.
type AuthenticateRequest struct {
	MethodID string `json:"methodId" acp:"required"`
	Extra
}

// AuthenticateResponse is the agent's answer once it is authenticated.
type AuthenticateResponse struct {
	Extra
}

// LogoutRequest asks the agent to forget its authentication. Method: logout.
type LogoutRequest struct {
	Extra
}

// LogoutResponse is the agent's answer to [LogoutRequest].
type LogoutResponse struct {
	Extra
}

// CancelRequestNotification tells that the sender no longer needs the answer to a request of its own.
// Method: $/cancel_request.
type CancelRequestNotification struct {
	RequestID ID `json:"requestId" acp:"required"`
	Extra
}

// CreateElicitationRequest asks the client for input of its user. Method: elicitation/create.
type CreateElicitationRequest struct {
	// Mode is "form", "url" or an extension's name.
	Mode    string `json:"mode" acp:"required"`
	Message string `json:"message"`
	// SessionID and ToolCallID say what it is about, or RequestID does.
	SessionID  string `json:"sessionId,omitzero"`
	ToolCallID string `json:"toolCallId,omitzero"`
	RequestID  ID     `json:"requestId,omitzero"`
	// RequestedSchema is the JSON Schema of a form.
	RequestedSchema json.RawMessage `json:"requestedSchema,omitzero"`
	// ElicitationID and URL belong to mode "url".
	ElicitationID string `json:"elicitationId,omitzero"`
	URL           string `json:"url,omitzero"`
	Extra
}

// CreateElicitationResponse is the client's answer to [CreateElicitationRequest].
type CreateElicitationResponse struct {
	// Action is "accept", "decline" or "cancel".
	Action string `json:"action" acp:"required"`
	// Content is the object of the form's values.
	Content json.RawMessage `json:"content,omitzero"`
	Extra
}

// CompleteElicitationNotification tells the client that the user has done what a URL asked for.
// Method: elicitation/complete.
type CompleteElicitationNotification struct {
	ElicitationID string `json:"elicitationId" acp:"required"`
	Extra
}
