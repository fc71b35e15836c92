package engine

import (
	"context"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
)

// session is a conversation with an agent. A live one and a replayed one hand over the same turns and leave the same
// files; nothing above them can tell which it is.
type session interface {
	// Prompt runs one turn.
	Prompt(ctx context.Context, text string) (cassette.Turn, error)
	// Agent says who answers and what stands behind it, "real" or "scripted".
	Agent() (agent trajectory.Agent, endpoint string)
	// Close ends the session. A replayed one complains about turns that nobody asked for.
	Close(ctx context.Context) error
}
