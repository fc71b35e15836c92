package clienttools

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
)

// Override returns a client that answers what the overrides say, of which [interaction.CheckOutput] has to approve, and
// everything else as client does. If that is one of [Replay], an overridden request uses its recording up, if there is
// one.
func Override(c Config, client Client, overrides *interaction.Overrides) Client {
	o := overrider{c, overrides, client.recording}
	if client.Files != nil {
		client.Files = fileOverrider{o, client.Files}
	}
	if client.Terminals != nil {
		client.Terminals = &terminalOverrider{o, client.Terminals, fakeTerminals{prefix: "override-"}}
	}
	if decide := client.Permission; decide != nil {
		client.Permission = func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse,
			error,
		) {
			return o.decide(ctx, r, decide)
		}
	}
	return client
}

// printed returns the terminal that an override shows.
func printed(output any) (trajectory.Terminal, error) {
	p, err := interaction.TerminalResult(output)
	return trajectory.Terminal{Output: p.Output, ExitCode: &p.ExitCode}, err
}

// overrider answers what overrides say.
type overrider struct {
	Config
	overrides *interaction.Overrides
	recording *interaction.Recording // of the client; nil: it does not replay
}

// apply returns the answer that an override has for a request, as of decodes it, or its error.
func apply[T any](o overrider, r request, of func(output any) (T, error)) (answer T, ok bool, err error) {
	output, text, ok := o.overrides.Apply(r.tool, r.args)
	if !ok {
		return answer, false, nil
	}
	if o.recording != nil {
		_, _ = o.recording.Take(r.tool, r.args) // an overridden call need not have been recorded
	}
	if text != "" {
		return answer, true, &acp.Error{Code: acp.CodeInternal, Message: text}
	}
	answer, err = of(output)
	return answer, true, err
}

type fileOverrider struct {
	overrider
	inner acp.FileHandler
}

// ReadTextFile implements [acp.FileHandler].
func (o fileOverrider) ReadTextFile(ctx context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	text, ok, err := apply(o.overrider, o.requestOfRead(r), interaction.FileText)
	if !ok {
		return o.inner.ReadTextFile(ctx, r)
	}
	return acp.ReadTextFileResponse{Content: o.Normaliser.Restore(text)}, err
}

// WriteTextFile implements [acp.FileHandler].
func (o fileOverrider) WriteTextFile(
	ctx context.Context, r acp.WriteTextFileRequest,
) (acp.WriteTextFileResponse, error) {
	_, ok, err := apply(o.overrider, o.requestOfWrite(r), func(any) (struct{}, error) { return struct{}{}, nil })
	if !ok {
		return o.inner.WriteTextFile(ctx, r)
	}
	return acp.WriteTextFileResponse{}, err
}

func (o overrider) decide(
	ctx context.Context, r acp.RequestPermissionRequest,
	otherwise func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error),
) (acp.RequestPermissionResponse, error) {
	asked, err := o.requestOfPermission(r)
	if err != nil {
		return acp.Cancelled(), o.diverged(err)
	}
	decision, ok, err := apply(o, asked, interaction.PermissionDecision)
	switch {
	case !ok:
		return otherwise(ctx, r)
	case err != nil || decision == interaction.Cancelled:
		return acp.Cancelled(), err
	}
	for _, option := range r.Options {
		if string(option.Kind) == decision {
			return acp.Selected(option.OptionID), nil
		}
	}
	return acp.Cancelled(), o.diverged(fmt.Errorf(
		"an override answers %s with %s, which the agent does not offer: %q", asked.tool, decision,
		asked.args["options"],
	))
}

// terminalOverrider serves the terminals of overrides, and passes on what is of others.
type terminalOverrider struct {
	overrider
	inner acp.TerminalHandler
	own   fakeTerminals
}

// Create implements [acp.TerminalHandler].
func (o *terminalOverrider) Create(
	ctx context.Context, r acp.CreateTerminalRequest,
) (acp.CreateTerminalResponse, error) {
	terminal, ok, err := apply(o.overrider, o.requestOfTerminal(r), printed)
	switch {
	case !ok:
		return o.inner.Create(ctx, r)
	case err != nil:
		return acp.CreateTerminalResponse{}, err
	}
	terminal.Output = o.Normaliser.Restore(terminal.Output)
	return acp.CreateTerminalResponse{TerminalID: o.own.show(terminal, r.OutputByteLimit)}, nil
}

// Output implements [acp.TerminalHandler].
func (o *terminalOverrider) Output(
	ctx context.Context, r acp.TerminalOutputRequest,
) (acp.TerminalOutputResponse, error) {
	if o.own.has(r.TerminalID) {
		return o.own.Output(ctx, r)
	}
	return o.inner.Output(ctx, r)
}

// WaitForExit implements [acp.TerminalHandler].
func (o *terminalOverrider) WaitForExit(
	ctx context.Context, r acp.WaitForTerminalExitRequest,
) (acp.WaitForTerminalExitResponse, error) {
	if o.own.has(r.TerminalID) {
		return o.own.WaitForExit(ctx, r)
	}
	return o.inner.WaitForExit(ctx, r)
}

// Kill implements [acp.TerminalHandler].
func (o *terminalOverrider) Kill(ctx context.Context, r acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	if o.own.has(r.TerminalID) {
		return o.own.Kill(ctx, r)
	}
	return o.inner.Kill(ctx, r)
}

// Release implements [acp.TerminalHandler].
func (o *terminalOverrider) Release(
	ctx context.Context, r acp.ReleaseTerminalRequest,
) (acp.ReleaseTerminalResponse, error) {
	if o.own.has(r.TerminalID) {
		return o.own.Release(ctx, r)
	}
	return o.inner.Release(ctx, r)
}
