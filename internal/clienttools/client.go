package clienttools

import (
	"context"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
)

// Client answers what an agent asks of its client. Files and Terminals are nil where the agent is offered none.
type Client struct {
	Files      acp.FileHandler
	Terminals  acp.TerminalHandler
	Permission func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error)

	book *interaction.Book // what [Replay] answers from; nil: it is another client
}

// Config says how the requests of a session are read, and who is told of those that cannot be answered.
type Config struct {
	// Normaliser is the session's, by which requests become what a recording of them would be.
	Normaliser *cassette.Normaliser
	// Call returns what is known by now of the tool call with that id, which a permission request is about.
	Call func(id string) (start trajectory.ToolStart, ok bool)
	// Diverged is told of what ends the session in error: a request that was not recorded (*[interaction.DivergenceError]),
	// or an answer that cannot be given. It may be called from many goroutines, and more than once.
	Diverged func(error)
}

// diverged reports an error and returns it as the agent's answer.
func (c Config) diverged(err error) error {
	c.Diverged(err)
	return &acp.Error{Code: acp.CodeInternal, Message: err.Error()}
}
