package acp

// ReadTextFileRequest asks the client for the text of a file. Method: fs/read_text_file.
type ReadTextFileRequest struct {
	SessionID string `json:"sessionId" acp:"required"`
	// Path is absolute.
	Path string `json:"path" acp:"required"`
	// Line is the 1-based line to start at (0 counts as 1), nil: the first.
	Line *int `json:"line,omitzero"`
	// Limit is the number of lines, nil: all.
	Limit *int `json:"limit,omitzero"`
	Extra
}

// ReadTextFileResponse is the client's answer to [ReadTextFileRequest].
type ReadTextFileResponse struct {
	Content string `json:"content" acp:"required"`
	Extra
}

// WriteTextFileRequest asks the client to write a file, making its parent directories. Method: fs/write_text_file.
type WriteTextFileRequest struct {
	SessionID string `json:"sessionId" acp:"required"`
	// Path is absolute.
	Path    string `json:"path" acp:"required"`
	Content string `json:"content" acp:"required"`
	Extra
}

// WriteTextFileResponse is the client's answer to [WriteTextFileRequest].
type WriteTextFileResponse struct {
	Extra
}
