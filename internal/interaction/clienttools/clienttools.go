// Package clienttools answers an agent's requests to its client (files, terminals and permissions) from a recording, or
// with the overrides of a playbook. The real files and terminals belong in package localtools.
//
// An engine that starts an agent with recorded answers:
//
//	cfg := clienttools.Config{
//		Normaliser: normaliser,    // the session's
//		Call:       observer.Call, // which has seen a request before it is answered
//		Diverged:   interruptTurn, // the turn then ends in that error
//	}
//	recording := interaction.NewRecording(clienttools.Interactions(recorded.Turns))
//	client := clienttools.Override(cfg, clienttools.Replay(cfg, recording, files), overrides)
//	clientConfig.Files, clientConfig.Terminals = client.Files, client.Terminals
//	clientConfig.Permission = client.Permission
//	...
//	recording.Unused(allowed), recording.Reordered(), overrides.Unapplied()
//
// An engine that records, with overrides, overrides the real client:
//
//	client := clienttools.Override(cfg, clienttools.Client{
//		Files: files.Handler(), Terminals: terminals.Handler(), Permission: policy,
//	}, overrides)
//
// Recordings are normalised. Answers get the directories of this run, but what a playbook's pattern replaced, such as a
// duration, remains a placeholder. A workspace file that is still as recorded is read itself. A terminal shows its last
// recorded output and exit at once; one whose end was not recorded runs until it is killed.
package clienttools

import (
	"context"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// Client answers what an agent asks of its client. Files and Terminals are nil where the agent is offered none.
type Client struct {
	Files      acp.FileHandler
	Terminals  acp.TerminalHandler
	Permission func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error)

	recording *interaction.Recording // what [Replay] answers from; nil: it is another client
}

// Config says how the requests of a session are read, and what is called for those that cannot be answered.
type Config struct {
	// Normaliser is the session's, by which requests become what a recording of them would be.
	Normaliser *cassette.Normaliser
	// Call returns what is known by now of the tool call with that id, which a permission request is about.
	Call func(id string) (start trajectory.ToolStart, ok bool)
	// Diverged is called with what ends the session in error: a request that was not recorded
	// (*[interaction.DivergenceError]), or an answer that cannot be given. It may be called from many goroutines, and
	// more than once.
	Diverged func(error)
}

// diverged reports an error and returns it as the agent's answer.
func (c Config) diverged(err error) error {
	c.Diverged(err)
	return &acp.Error{Code: acp.CodeInternal, Message: err.Error()}
}

// Interactions returns what an agent asked of its client in recorded turns, each with the event that holds the answer.
func Interactions(turns []cassette.Turn) []interaction.Interaction {
	var all []interaction.Interaction
	calls := make(map[string]trajectory.ToolStart)
	for t, turn := range turns {
		for e, event := range turn.Events {
			if start, ok := event.Body.(trajectory.ToolStart); ok {
				calls[start.ID] = start
			}
			if r, ok := recorded(event.Body, calls); ok {
				all = append(all, interaction.Interaction{
					Tool: r.tool, Args: r.args, Answer: event.Body,
					Position: fmt.Sprintf("turn %d, event %d", t+1, e+1),
				})
			}
		}
	}
	return all
}

// request is what tells a request from others.
type request struct {
	tool string
	args map[string]any
}

// recorded returns the request that an event is about, which may be about none. Calls are those that began before it.
func recorded(b trajectory.Body, calls map[string]trajectory.ToolStart) (r request, ok bool) {
	switch b := b.(type) {
	case trajectory.FileRead:
		return reading(b), true
	case trajectory.FileWrite:
		return writing(b), true
	case trajectory.Terminal:
		return running(b), true
	case trajectory.Permission:
		if b.Asked == nil {
			b.Asked = observe.Asked(calls[b.ID])
		}
		return asking(b), true
	}
	return request{}, false
}

func reading(e trajectory.FileRead) request {
	args := map[string]any{"path": e.Path}
	if e.Line != nil {
		args["line"] = *e.Line
	}
	if e.Limit != nil {
		args["limit"] = *e.Limit
	}
	return request{acp.MethodReadTextFile, args}
}

// writing has the names of the protocol, as all requests have.
func writing(e trajectory.FileWrite) request {
	return request{acp.MethodWriteTextFile, map[string]any{"path": e.Path, "content": e.Text}}
}

// running is known by what runs, and where. Of variables it has the names alone, as recordings have, in no order.
func running(e trajectory.Terminal) request {
	args := map[string]any{"command": e.Command}
	if len(e.Args) > 0 {
		args["args"] = e.Args
	}
	if e.Cwd != "" {
		args["cwd"] = e.Cwd
	}
	if len(e.Env) > 0 {
		args["env"] = slices.Sorted(slices.Values(e.Env))
	}
	return request{acp.MethodCreateTerminal, args}
}

// asking is known by the tool call as it was shown, and by the kinds of the answers to choose from: ids differ from run
// to run, and names are for people.
func asking(e trajectory.Permission) request {
	kinds := make([]string, len(e.Options))
	for i, o := range e.Options {
		kinds[i] = o.Kind
	}
	args := map[string]any{"tool": e.Asked.Name, "options": kinds}
	if e.Asked.Args != nil {
		args["input"] = e.Asked.Args
	} else {
		args["title"] = e.Asked.Title
	}
	return request{acp.MethodRequestPermission, args}
}

// The methods below return what is asked as it would have been recorded.

func (c Config) requestOfRead(r acp.ReadTextFileRequest) request {
	return reading(normalised(c, trajectory.FileRead{Path: r.Path, Line: r.Line, Limit: r.Limit}))
}

func (c Config) requestOfWrite(r acp.WriteTextFileRequest) request {
	return writing(normalised(c, trajectory.FileWrite{Path: r.Path, Text: r.Content}))
}

func (c Config) requestOfTerminal(r acp.CreateTerminalRequest) request {
	e := trajectory.Terminal{Command: r.Command, Args: r.Args, Cwd: r.Cwd}
	for _, v := range r.Env {
		e.Env = append(e.Env, v.Name)
	}
	return running(normalised(c, e))
}

func (c Config) requestOfPermission(r acp.RequestPermissionRequest) (request, error) {
	start, ok := c.Call(r.ToolCall.ToolCallID)
	if !ok {
		return request{}, fmt.Errorf("the agent asked for permission for the unknown tool call %q",
			r.ToolCall.ToolCallID)
	}
	e := trajectory.Permission{Asked: observe.Asked(start)}
	for _, o := range r.Options {
		e.Options = append(e.Options, trajectory.PermissionOption{Kind: string(o.Kind)})
	}
	return asking(normalised(c, e)), nil
}

func normalised[T trajectory.Body](c Config, b T) T { return c.Normaliser.Value(b).(T) }
