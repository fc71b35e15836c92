// Package blind makes samples of a unit's work for judges, people or models, who must not know which agent did it. What
// they say about a sample belongs in packages human and aijudge.
package blind

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// Sample is the work of one unit, cut to a size, without the names in [Names].
type Sample struct {
	// Answer is the agent's last message, empty if it said nothing.
	Answer string `json:"answer"`
	// Compared reports whether the workspace was compared with the prepared one; Diff is the difference.
	Compared bool   `json:"compared"`
	Diff     string `json:"diff"`
	// Commands are the commands that were run, in order.
	Commands []Command `json:"commands"`
	// CommandsLeftOut counts the commands that are not in Commands.
	CommandsLeftOut int `json:"commands_left_out,omitempty"`
}

// Command is a command that was run.
type Command struct {
	Command string `json:"command"`
	// Exit says how it ended: "exit 0", "signal killed", or nothing if it is unknown.
	Exit string `json:"exit"`
	// Output is the end of what it printed.
	Output string `json:"output"`
	// Cut reports whether there was more output.
	Cut bool `json:"cut,omitempty"`
}

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 64 << 20

// maxCommands is how many commands a sample has.
const maxCommands = 200

// SampleOf returns the work of a unit that ended, in about limit bytes of text. A part whose file does not exist is
// empty; a file that cannot be read is an error.
func SampleOf(r *rundir.Run, u result.Unit, names *Names, limit int) (Sample, error) {
	dirs := r.UnitDirs(u.Case, u.Variant, u.Trial)
	read := func(name string) ([]byte, error) {
		data, err := r.ReadFile(dirs.File(name), maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return data, err
	}
	var e Sample
	diff, err := read(rundir.Diff)
	if err != nil {
		return Sample{}, err
	}
	e.Compared = diff != nil
	e.Diff = names.Hide(cutDiff(string(diff), limit/2))

	file, err := r.OpenFile(dirs.File(rundir.Trajectory))
	if err == nil {
		defer file.Close()
		answer, err := answerIn(file)
		if err != nil {
			return Sample{}, fmt.Errorf("read %s: %w", file.Name(), err)
		}
		e.Answer = names.Hide(head(answer, limit/4))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Sample{}, err
	}
	if u.Metrics != nil {
		e.addCommands(u.Metrics.Commands, names, limit/4)
	}
	return e, nil
}

// answerIn returns the agent's answer in a trajectory, of which it keeps the last message and what is last.
func answerIn(file io.Reader) (string, error) {
	var did trajectory.Run
	_, err := rundir.EachEvent(file, func(event json.RawMessage) error {
		var e trajectory.Event
		if err := json.Unmarshal(event, &e); err != nil {
			return err
		}
		kept := did.Events[:min(len(did.Events), 1)]
		if _, ok := e.Body.(trajectory.Message); ok {
			kept = nil
		}
		did.Events = append(kept, e)
		return nil
	})
	return did.Answer(), err
}

// addCommands fills in the commands, in about limit bytes.
func (e *Sample) addCommands(all []result.Command, names *Names, limit int) {
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

// Texts are cut between words, if they have any: a part of a name would not be hidden.
const spaces = " \t\r\n"

// head returns the beginning of text in at most limit bytes, with a note if the rest is left out.
func head(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	kept := strings.ToValidUTF8(text[:limit], "")
	if i := strings.LastIndexAny(kept, spaces); i >= 0 {
		kept = kept[:i]
	}
	return fmt.Sprintf("%s\n[%d more bytes are not shown]", kept, len(text)-len(kept))
}

// tail returns the end of text in at most limit bytes, and whether something is left out.
func tail(text string, limit int) (string, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text, false
	}
	kept := strings.ToValidUTF8(text[len(text)-limit:], "")
	if i := strings.IndexAny(kept, spaces); i >= 0 {
		kept = kept[i+1:]
	}
	return kept, true
}

// leastOfFile is the least number of bytes shown of the diff of a file.
const leastOfFile = 400

// cutDiff returns a git-style diff in about limit bytes. Files share the room: small ones are shown whole before a
// large one gets more, so that one generated file does not crowd out all others. Notes mark what is left out.
func cutDiff(diff string, limit int) string {
	diff = strings.ToValidUTF8(diff, "\uFFFD")
	if len(diff) <= limit {
		return diff
	}
	files := splitDiff(diff)
	left := 0
	if most := max(1, limit/leastOfFile); len(files) > most {
		left = len(files) - most
		files = files[:most]
	}
	share := fairShare(files, limit)
	var b strings.Builder
	for _, file := range files {
		if len(file) <= share {
			b.WriteString(file)
			continue
		}
		kept := file[:strings.LastIndexByte(file[:share], '\n')+1]
		b.WriteString(kept)
		fmt.Fprintf(&b, "[%d more bytes of this file are not shown]\n", len(file)-len(kept))
	}
	if left > 0 {
		fmt.Fprintf(&b, "[%d more changed files are not shown]\n", left)
	}
	return b.String()
}

// splitDiff splits a diff into those of its files.
func splitDiff(diff string) []string {
	const begin = "\ndiff --git "
	var files []string
	for {
		i := strings.Index(diff, begin)
		if i < 0 {
			return append(files, diff)
		}
		files = append(files, diff[:i+1])
		diff = diff[i+1:]
	}
}

// fairShare returns the greatest size to which all texts can be cut so that they fit into limit together.
func fairShare(texts []string, limit int) int {
	sizes := make([]int, len(texts))
	for i, text := range texts {
		sizes[i] = len(text)
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		share := limit / (len(sizes) - i)
		if size > share {
			return share
		}
		limit -= size
	}
	return sizes[len(sizes)-1]
}
