package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// noticeOverride is the name of the notice that follows an overridden answer in a run.
const noticeOverride = "override"

// overridesOf returns the overrides of one session.
func overridesOf(all []playbook.Override) *interaction.Overrides {
	overrides := make([]interaction.Override, len(all))
	for i, o := range all {
		overrides[i] = interaction.Override{
			Tool: o.Tool, Nth: o.Nth, Output: o.Output, Error: o.Error, Position: o.Position.String(),
		}
		if o.Args != nil { // an empty map in an interface is not nil
			overrides[i].Args = o.Args
		}
	}
	return interaction.NewOverrides(overrides)
}

// override gives calls of tools in a run the answers that the playbook has for them. What the agent made of its own
// answers stays as it was.
func override(run *trajectory.Run, overrides *interaction.Overrides) {
	type answer struct {
		output any
		err    string
	}
	answered := make(map[string]bool) // calls; the others have no answer to change
	for _, e := range run.Events {
		if end, ok := e.Body.(trajectory.ToolEnd); ok {
			answered[end.ID] = true
		}
	}
	answers := make(map[string]answer) // by call
	var events []trajectory.Event
	for _, e := range run.Events {
		switch b := e.Body.(type) {
		case trajectory.ToolStart:
			if answered[b.ID] {
				if output, err, ok := overrides.Apply(b.Name, b.Args); ok {
					answers[b.ID] = answer{output, err}
				}
			}
		case trajectory.ToolEnd:
			a, ok := answers[b.ID]
			if !ok {
				break
			}
			end := trajectory.ToolEnd{ID: b.ID, Status: trajectory.Completed, Output: a.output}
			if a.err != "" {
				end.Status, end.Output = trajectory.Failed, a.err
			}
			e.Body = end
			notice := e
			notice.Body = trajectory.Notice{Name: noticeOverride, Data: map[string]any{"id": b.ID}}
			events = append(events, e, notice)
			continue
		}
		events = append(events, e)
	}
	run.Events = events
}

// unapplied returns an error for each override that changed no answer.
func unapplied(overrides *interaction.Overrides) error {
	var errs []error
	for _, o := range overrides.Unapplied() {
		what := o.Tool
		if o.Args != nil {
			args, err := json.Marshal(o.Args)
			if err != nil {
				return err
			}
			what += " " + string(args)
		}
		if o.Nth > 0 {
			what = fmt.Sprintf("call %d of %s", o.Nth, what)
		}
		errs = append(errs, fmt.Errorf("%s: the override changed nothing: "+
			"the agent made no such call, or another override answers it: %s", o.Position, what))
	}
	return errors.Join(errs...)
}
