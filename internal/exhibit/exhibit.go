// Package exhibit shows a unit's work to a judge, a person or a model, who must not know which agent did it.
package exhibit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// Exhibit is the work of one unit, cut to a size, with the names of [Names] hidden.
type Exhibit struct {
	// Answer is the agent's last message, empty if it said nothing.
	Answer string `json:"answer"`
	// Compared tells whether the workspace was compared with what had been prepared; Diff is the difference.
	Compared bool   `json:"compared"`
	Diff     string `json:"diff"`
	// Commands are what was run, in order.
	Commands []Command `json:"commands"`
	// CommandsLeftOut is how many more there were.
	CommandsLeftOut int `json:"commands_left_out,omitempty"`
}

// Command is a command that was run.
type Command struct {
	Command string `json:"command"`
	// Exit says how it ended: "exit 0", "signal killed", or nothing if it is unknown.
	Exit string `json:"exit"`
	// Output is the end of what it printed.
	Output string `json:"output"`
	// Cut tells that there was more output.
	Cut bool `json:"cut,omitempty"`
}

// maxFile bounds each file that is read, in bytes.
const maxFile = 64 << 20

// maxCommands is how many commands an exhibit has.
const maxCommands = 200

// Of returns the work of a unit that ended, in about limit bytes of text. Files that are not there leave their part of it
// empty; those that cannot be read are an error.
func Of(r *rundir.Run, u result.Unit, names *Names, limit int) (Exhibit, error) {
	place, err := filepath.Rel(r.Dir(), r.Place(u.Case, u.Variant, u.Trial).Artifacts)
	if err != nil {
		return Exhibit{}, fmt.Errorf("unit %s: %w", u.ID, err)
	}
	read := func(name string) ([]byte, error) {
		data, err := r.ReadFile(filepath.ToSlash(filepath.Join(place, name)), maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return data, err
	}
	var e Exhibit
	diff, err := read(rundir.Diff)
	if err != nil {
		return Exhibit{}, err
	}
	e.Compared = diff != nil
	e.Diff = names.Hide(cutDiff(string(diff), limit/2))

	events, err := read(rundir.Trajectory)
	if err != nil {
		return Exhibit{}, err
	}
	if events != nil {
		var did trajectory.Run
		if err := json.Unmarshal(events, &did); err != nil {
			return Exhibit{}, fmt.Errorf("read %s: %w", filepath.Join(r.Dir(), place, rundir.Trajectory), err)
		}
		e.Answer = names.Hide(head(did.Answer(), limit/4))
	}
	if u.Metrics != nil {
		e.addCommands(u.Metrics.Commands, names, limit/4)
	}
	return e, nil
}

// addCommands fills in the commands, in about limit bytes.
func (e *Exhibit) addCommands(all []result.Command, names *Names, limit int) {
	shown := all[:min(len(all), maxCommands, 1+limit/200)]
	e.CommandsLeftOut = len(all) - len(shown)
	for _, c := range shown {
		share := limit / len(shown)
		output, cut := tail(c.Output, share*3/4)
		e.Commands = append(e.Commands, Command{
			Command: names.Hide(head(c.Command, max(100, share/4))),
			Exit:    exit(c),
			Output:  names.Hide(output),
			Cut:     c.Cut || cut,
		})
	}
}

func exit(c result.Command) string {
	switch {
	case c.Signal != "":
		return "signal " + c.Signal
	case c.ExitCode != nil:
		return "exit " + strconv.Itoa(*c.ExitCode)
	}
	return ""
}
