package capture

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// The phases of a call that lines are about.
const (
	phasePre     = "pre"
	phasePost    = "post"
	phaseFailure = "failure"
)

// maxMillis keeps a duration within what a time.Duration can hold.
const maxMillis = float64(1 << 43)

// line is a line of a capture: those of its fields that are read.
type line struct {
	Time      time.Time `json:"timestamp"`
	Phase     string    `json:"phase"`
	Tool      string    `json:"tool_name"`
	ID        string    `json:"tool_use_id"`
	Session   string    `json:"session_id"`
	Agent     string    `json:"agent_id"`
	Prompt    string    `json:"prompt_id"`
	Cwd       string    `json:"cwd"`
	Input     any       `json:"tool_input"`
	Denied    string    `json:"denied"`
	Rewritten any       `json:"rewritten_input"`
	Output    any       `json:"tool_output"`
	ExitCode  *int      `json:"exit_code"`
	Error     any       `json:"error"`
	Millis    *float64  `json:"duration_ms"`

	number int
}

// decodeLine decodes a line, and is strict where calls depend on it.
func decodeLine(data []byte) (line, error) {
	var l line
	if err := jsonvalue.DecodeStrict(data, &l, jsonvalue.UnknownKeys); err != nil {
		if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return line{}, fmt.Errorf("%s is of type %s", cmp.Or(other.Field, "the line"), other.Value)
		}
		return line{}, fmt.Errorf("this is not a line of a capture: %w", err)
	}
	switch {
	case l.Phase != phasePre && l.Phase != phasePost && l.Phase != phaseFailure:
		return line{}, fmt.Errorf("unknown phase %.60q", l.Phase)
	case l.Tool == "":
		return line{}, errors.New("tool_name is missing")
	case l.ID == "":
		return line{}, errors.New("tool_use_id is missing")
	case l.Time.IsZero():
		return line{}, errors.New("timestamp is missing")
	case l.Millis != nil && (*l.Millis < 0 || *l.Millis > maxMillis):
		return line{}, fmt.Errorf("duration_ms is %v", *l.Millis)
	}
	return l, nil
}

// begin returns the call that the line is the first of.
func (l *line) begin() Call {
	return Call{
		ID: l.ID, Tool: l.Tool, Session: l.Session, Agent: l.Agent, Prompt: l.Prompt, Cwd: l.Cwd,
		State: Pending, Input: l.Input, Start: l.Time,
	}
}

// decide takes what a policy decided before the call.
func (c *Call) decide(l *line) {
	if l.Rewritten != nil {
		c.Rewritten = l.Rewritten
	}
	if l.Denied != "" {
		c.State, c.Error, c.Denied = Error, l.Denied, true
	}
}

// finish takes what is known after the call.
func (c *Call) finish(l *line) {
	c.end = l.Time
	c.Duration = max(0, l.Time.Sub(c.Start))
	if l.Millis != nil {
		c.Duration = time.Duration(*l.Millis * float64(time.Millisecond))
	}
	c.Output, c.ExitCode = l.Output, l.ExitCode
	switch {
	case l.Phase == phasePost:
		c.State, c.Error, c.Denied = OK, "", false
	case !c.Denied:
		c.State, c.Error = Error, errorText(l.Error)
	}
}

// errorText returns an error as text, whatever the agent gave.
func errorText(v any) string {
	switch v := v.(type) {
	case nil:
		return "the agent does not say why"
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}
