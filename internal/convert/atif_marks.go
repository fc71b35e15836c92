package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/convert/atif"
)

// extraKey is the key under extra of a cassette's data that ATIF has no field for.
const extraKey = "sdd_eval"

// marksVersion is the version of the data under that key.
const marksVersion = 1

// position is the position of an event in a run: its number, from 0, its turn and its time.
type position struct {
	Index int   `json:"i"`
	Turn  int   `json:"turn"`
	At    int64 `json:"at_us"` // microseconds
}

// rootMark has the fields of a cassette's header.
type rootMark struct {
	Version  int    `json:"version"`
	Unit     string `json:"unit"`
	Origin   string `json:"origin"`
	Endpoint string `json:"endpoint"`
	Kind     string `json:"agent_kind"`
	// Modes are the modes of the session, as in the header.
	Modes []string `json:"agent_modes,omitempty"`
}

// stepMark has the positions of a step's texts, and events that ATIF has no field for.
type stepMark struct {
	Message *position     `json:"message,omitempty"`
	Thought *position     `json:"thought,omitempty"`
	Events  []markedEvent `json:"events,omitempty"`
}

// markedEvent is an event with its number.
type markedEvent struct {
	Index int              `json:"i"`
	Event trajectory.Event `json:"event"`
}

// callMark has the data of a call.
type callMark struct {
	position
	Parent    string                `json:"parent,omitempty"`
	Name      string                `json:"name"`
	Kind      string                `json:"kind,omitempty"`
	Title     string                `json:"title,omitempty"`
	Locations []trajectory.Location `json:"locations,omitempty"`
	// Input is the input if it is not an object.
	Input json.RawMessage `json:"input,omitempty"`
	// NoInput is true if there was no input.
	NoInput bool `json:"no_input,omitempty"`
}

// What the content of a result is.
const (
	contentOutput  = ""        // the output, a text
	contentJSON    = "json"    // the output, as JSON
	contentPrinted = "printed" // what the command printed
	contentNone    = "none"    // there is neither
)

// resultMark has the data of a result.
type resultMark struct {
	position
	Status   trajectory.Status `json:"status"`
	Content  string            `json:"content,omitempty"`
	Printed  string            `json:"printed,omitempty"` // unless it is the content
	Diffs    []trajectory.Diff `json:"diffs,omitempty"`
	ExitCode *int              `json:"exit_code,omitempty"`
}

// readMark decodes sdd-eval's own data under extra.
func readMark(extra atif.Extra, mark any) error {
	if extra[extraKey] == nil {
		return fmt.Errorf("extra.%s is missing, which sdd-eval wrote: to read the file as any other trajectory, "+
			"remove it from the root too", extraKey)
	}
	data, err := json.Marshal(extra[extraKey])
	if err == nil {
		err = decode(data, mark)
	}
	if err != nil {
		return fmt.Errorf("extra.%s: %w", extraKey, err)
	}
	return nil
}

// exportedReader reads a trajectory that [Write] wrote.
type exportedReader struct{ events []markedEvent }

func (r *exportedReader) add(at position, body trajectory.Body) {
	r.events = append(r.events, markedEvent{at.Index, at.event(body)})
}

func readExported(t *atif.Trajectory, _ Options) (*Session, error) {
	var root rootMark
	if err := readMark(t.Extra, &root); err != nil {
		return nil, err
	}
	if root.Version != marksVersion {
		return nil, fmt.Errorf("extra.%s has version %d, want %d", extraKey, root.Version,
			marksVersion)
	}
	var r exportedReader
	for i := range t.Steps {
		if err := r.step(&t.Steps[i]); err != nil {
			return nil, fmt.Errorf("steps[%d].%w", i, err)
		}
	}
	turns, err := r.turns()
	if err != nil {
		return nil, err
	}
	s := &Session{
		// In the cassette the session has its number: were it to get another one, so would what the agent named by it.
		Turns: turns, Cwd: "$WORKSPACE", ID: "s1",
		Agent: trajectory.Agent{
			Name: t.Agent.Name, Version: t.Agent.Version, Model: t.Agent.ModelName, Modes: root.Modes,
		},
	}
	if first := t.Steps[0].Timestamp; first != "" {
		if s.Start, err = atif.Time(first); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (r *exportedReader) step(s *atif.Step) error {
	var mark stepMark
	if err := readMark(s.Extra, &mark); err != nil {
		return err
	}
	r.events = append(r.events, mark.Events...)
	if mark.Thought != nil {
		r.add(*mark.Thought, trajectory.Thought{Text: s.ReasoningContent})
	}
	if mark.Message != nil {
		if s.Source == atif.User {
			r.add(*mark.Message, trajectory.Prompt{Text: contentText(&s.Message)})
		} else {
			r.add(*mark.Message, trajectory.Message{Text: contentText(&s.Message)})
		}
	}
	for i, c := range s.ToolCalls {
		if err := r.call(c); err != nil {
			return fmt.Errorf("tool_calls[%d]: %w", i, err)
		}
	}
	if s.Observation == nil {
		return nil
	}
	for i, res := range s.Observation.Results {
		if err := r.result(res); err != nil {
			return fmt.Errorf("observation.results[%d]: %w", i, err)
		}
	}
	return nil
}

func (r *exportedReader) call(c atif.ToolCall) error {
	var mark callMark
	if err := readMark(c.Extra, &mark); err != nil {
		return err
	}
	start := trajectory.ToolStart{
		ID: c.ID, Parent: mark.Parent, Name: mark.Name, Kind: mark.Kind, Title: mark.Title,
		Locations: mark.Locations,
	}
	switch {
	case mark.Input != nil:
		if err := decode(mark.Input, &start.Args); err != nil {
			return err
		}
	case !mark.NoInput:
		start.Args = c.Arguments
	}
	r.add(mark.position, start)
	return nil
}

func (r *exportedReader) result(res atif.Result) error {
	var mark resultMark
	if err := readMark(res.Extra, &mark); err != nil {
		return err
	}
	end := trajectory.ToolEnd{
		ID: res.CallID, Status: mark.Status, Printed: mark.Printed, Diffs: mark.Diffs, ExitCode: mark.ExitCode,
	}
	switch text := contentText(res.Content); mark.Content {
	case contentOutput:
		end.Output = text
	case contentJSON:
		if err := decode([]byte(text), &end.Output); err != nil {
			return err
		}
	case contentPrinted:
		end.Printed = text
	case contentNone:
	default:
		return fmt.Errorf("extra.%s: unknown content %q", extraKey, mark.Content)
	}
	r.add(mark.position, end)
	return nil
}

// turns returns the events in their order.
func (r *exportedReader) turns() ([][]trajectory.Event, error) {
	slices.SortStableFunc(r.events, func(a, b markedEvent) int { return cmp.Compare(a.Index, b.Index) })
	var turns [][]trajectory.Event
	for i, e := range r.events {
		if e.Index != i {
			return nil, fmt.Errorf("event %d is missing or duplicate: extra.%s was changed", i, extraKey)
		}
		switch e.Event.Turn {
		case len(turns) + 1:
			turns = append(turns, nil)
		case len(turns):
		}
		if e.Event.Turn != len(turns) || len(turns) == 0 {
			return nil, fmt.Errorf("event %d belongs to turn %d: extra.%s was changed", i, e.Event.Turn, extraKey)
		}
		turns[len(turns)-1] = append(turns[len(turns)-1], e.Event)
	}
	if len(turns) == 0 {
		return nil, errors.New("the trajectory has no events")
	}
	return turns, nil
}
