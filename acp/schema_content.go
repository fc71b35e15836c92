package acp

// ContentBlock is a piece of content in a prompt, a message or a tool's output: [TextContent], [ImageContent],
// [AudioContent], [ResourceLink], [EmbeddedResource], or [Other].
type ContentBlock interface {
	// BlockType returns the value of "type" on the wire, e.g. "text".
	BlockType() string
}

// TextContent is text, plain or Markdown.
type TextContent struct {
	Text        string       `json:"text" acp:"required"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Extra
}

// ImageContent is an image, in base64.
type ImageContent struct {
	Data        string       `json:"data" acp:"required"`
	MimeType    string       `json:"mimeType"`
	URI         string       `json:"uri,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Extra
}

// AudioContent is sound, in base64.
type AudioContent struct {
	Data        string       `json:"data" acp:"required"`
	MimeType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Extra
}

// ResourceLink names a resource that the agent can read by itself.
type ResourceLink struct {
	URI         string `json:"uri" acp:"required"`
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	MimeType    string `json:"mimeType,omitzero"`
	// Size is in bytes, nil if unknown.
	Size        *int64       `json:"size,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Extra
}

// EmbeddedResource is a resource with its content.
type EmbeddedResource struct {
	Resource    ResourceContents `json:"resource" acp:"required"`
	Annotations *Annotations     `json:"annotations,omitzero"`
	Extra
}

// ResourceContents is the content of a resource: one of Text and Blob is set.
type ResourceContents struct {
	URI      string  `json:"uri" acp:"required"`
	MimeType string  `json:"mimeType,omitzero"`
	Text     *string `json:"text,omitzero"`
	// Blob is in base64.
	Blob *string `json:"blob,omitzero"`
	Extra
}

// Annotations says how content is meant to be used.
type Annotations struct {
	Audience []string `json:"audience,omitzero"` // assistant, user
	// LastModified is in ISO 8601.
	LastModified string `json:"lastModified,omitzero"`
	// Priority is from 0 (optional) to 1 (required), nil if not given.
	Priority *float64 `json:"priority,omitzero"`
	Extra
}

// BlockType returns "text".
func (TextContent) BlockType() string { return "text" }

// BlockType returns "image".
func (ImageContent) BlockType() string { return "image" }

// BlockType returns "audio".
func (AudioContent) BlockType() string { return "audio" }

// BlockType returns "resource_link".
func (ResourceLink) BlockType() string { return "resource_link" }

// BlockType returns "resource".
func (EmbeddedResource) BlockType() string { return "resource" }
