package observe

import (
	"strings"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/localtools"
)

// ErrorCode returns the code of a refusal that an event keeps as a text and a code. The code of most refusals follows
// from the text, and the event then has 0.
func ErrorCode(text string, code int) int {
	switch _, denied := localtools.ParseDenied(text); {
	case code != 0:
		return code
	case denied:
		return acp.CodeInvalidParams
	case strings.HasPrefix(text, "Resource not found: "):
		return acp.CodeResourceNotFound
	}
	return acp.CodeInternal
}

// failure returns what an answer refuses with, as events keep it; both are empty if it does not.
func failure(m acp.Message) (text string, code int) {
	if m.Error == nil {
		return "", 0
	}
	if m.Error.Code == ErrorCode(m.Error.Message, 0) {
		return m.Error.Message, 0
	}
	return m.Error.Message, m.Error.Code
}
