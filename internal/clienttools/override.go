package clienttools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
)

// Override returns a client that answers what the overrides say, of which [Check] has to approve, and everything else as
// client does. In a replay, an overridden request uses its recording up, if there is one.
func Override(c Config, client Client, overrides *interaction.Overrides) Client {
	o := overrider{c, overrides}
	if client.Files != nil {
		client.Files = fileOverrider{o, client.Files}
	}
	if client.Terminals != nil {
		client.Terminals = &terminalOverrider{o, client.Terminals, screens{prefix: "override-"}}
	}
	if decide := client.Permission; decide != nil {
		client.Permission = func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			return o.decide(ctx, r, decide)
		}
	}
	return client
}

// Check returns an error that names the overrides of the client's tools whose output is none that the tool could have:
//
//   - fs/read_text_file: the text
//   - fs/write_text_file: an empty text; nothing is written
//   - terminal/create: what is printed, by a command that exits with 0, or {output, exit_code}
//   - session/request_permission: allow_once, allow_always, reject_once, reject_always or cancelled
func Check(overrides *interaction.Overrides) error {
	var errs []error
	for _, o := range overrides.All() {
		if o.Error != "" {
			continue
		}
		var err error
		switch o.Tool {
		case acp.MethodReadTextFile:
			_, err = textOf(o.Output)
		case acp.MethodWriteTextFile:
			err = checkWritten(o.Output)
		case acp.MethodCreateTerminal:
			_, err = terminalOf(o.Output)
		case acp.MethodRequestPermission:
			_, err = decisionOf(o.Output)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: the override of %s: %w", o.Position, o.Tool, err))
		}
	}
	return errors.Join(errs...)
}

func textOf(output any) (string, error) {
	text, ok := output.(string)
	if !ok {
		return "", fmt.Errorf("its output has to be the text, not %s", shown(output))
	}
	return text, nil
}

func checkWritten(output any) error {
	if output != nil && output != "" {
		return fmt.Errorf(`its output has to be "", as nothing is written, not %s`, shown(output))
	}
	return nil
}

// terminalOf returns the terminal that an override shows.
func terminalOf(output any) (trajectory.Terminal, error) {
	if text, ok := output.(string); ok {
		return trajectory.Terminal{Output: text, ExitCode: new(0)}, nil
	}
	var answer struct {
		Output   string `json:"output"`
		ExitCode int    `json:"exit_code"`
	}
	data, err := json.Marshal(output)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		err = d.Decode(&answer)
	}
	if _, object := output.(map[string]any); !object || err != nil {
		return trajectory.Terminal{}, fmt.Errorf("its output has to be what is printed, or {output, exit_code}, not %s", shown(output))
	}
	return trajectory.Terminal{Output: answer.Output, ExitCode: &answer.ExitCode}, nil
}

// cancelled is the decision that chooses no option.
const cancelled = "cancelled"

var decisions = []string{
	string(acp.AllowOnce), string(acp.AllowAlways), string(acp.RejectOnce), string(acp.RejectAlways), cancelled,
}

func decisionOf(output any) (string, error) {
	decision, ok := output.(string)
	if !ok || !slices.Contains(decisions, decision) {
		return "", fmt.Errorf("its output has to be one of %s, not %s", strings.Join(decisions, ", "), shown(output))
	}
	return decision, nil
}

// shown shows a value of the wrong type.
func shown(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("a %T", v)
	}
	return string(data)
}

// overrider answers what overrides say.
type overrider struct {
	Config
	overrides *interaction.Overrides
}

// apply returns the answer that an override has for a request, as of decodes it, or its error.
func apply[T any](o overrider, r request, of func(output any) (T, error)) (answer T, ok bool, err error) {
	output, text, ok := o.overrides.Apply(r.tool, r.args)
	if !ok {
		return answer, false, nil
	}
	if o.Book != nil {
		_, _ = o.Book.Take(r.tool, r.args) // an overridden call need not have been recorded
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
	text, ok, err := apply(o.overrider, o.reading(r), textOf)
	if !ok {
		return o.inner.ReadTextFile(ctx, r)
	}
	return acp.ReadTextFileResponse{Content: o.Normaliser.Restore(text)}, err
}

// WriteTextFile implements [acp.FileHandler].
func (o fileOverrider) WriteTextFile(ctx context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	_, ok, err := apply(o.overrider, o.writing(r), func(any) (struct{}, error) { return struct{}{}, nil })
	if !ok {
		return o.inner.WriteTextFile(ctx, r)
	}
	return acp.WriteTextFileResponse{}, err
}

func (o overrider) decide(
	ctx context.Context, r acp.RequestPermissionRequest,
	otherwise func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error),
) (acp.RequestPermissionResponse, error) {
	asked, err := o.asking(r)
	if err != nil {
		return acp.Cancelled(), o.diverged(err)
	}
	decision, ok, err := apply(o, asked, decisionOf)
	switch {
	case !ok:
		return otherwise(ctx, r)
	case err != nil || decision == cancelled:
		return acp.Cancelled(), err
	}
	for _, option := range r.Options {
		if string(option.Kind) == decision {
			return acp.Selected(option.OptionID), nil
		}
	}
	return acp.Cancelled(), o.diverged(fmt.Errorf(
		"an override answers %s with %s, which the agent does not offer: %s", asked.tool, decision, shown(asked.args["options"]),
	))
}

// terminalOverrider serves the terminals of overrides, and passes on what is of others.
type terminalOverrider struct {
	overrider
	inner acp.TerminalHandler
	own   screens
}

// Create implements [acp.TerminalHandler].
func (o *terminalOverrider) Create(ctx context.Context, r acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	terminal, ok, err := apply(o.overrider, o.running(r), terminalOf)
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
func (o *terminalOverrider) Output(ctx context.Context, r acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	if o.own.has(r.TerminalID) {
		return o.own.Output(ctx, r)
	}
	return o.inner.Output(ctx, r)
}

// WaitForExit implements [acp.TerminalHandler].
func (o *terminalOverrider) WaitForExit(ctx context.Context, r acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
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
func (o *terminalOverrider) Release(ctx context.Context, r acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	if o.own.has(r.TerminalID) {
		return o.own.Release(ctx, r)
	}
	return o.inner.Release(ctx, r)
}
