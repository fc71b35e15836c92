// Package transcript turns what agents keep of their own sessions into cassettes: transcripts of Claude Code, rollouts of
// Codex and trajectories in ATIF. It also writes a cassette as a trajectory in ATIF.
//
// Such a file has less than a recording: what the agent said and called, the results of the calls, and mostly when. It
// does not have the changes of the workspace, the requests to the client, or what the session depended on. Unknown
// content is an error, and so is a session that did not end in the file, or part of which is in a missing file: tool
// calls that are not there cannot be judged.
package transcript

import (
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// Session is a session as recorded in a file.
type Session struct {
	// Format is the kind of file it comes from, and Version that of the program that wrote it, or of the format.
	Format  Format
	Version string
	// ID is the agent's own name for the session, and Cwd the directory it ran in, absolute; both may be empty.
	ID, Cwd string
	// Agent says who acted. Kind is empty; Model is the one that answered first.
	Agent trajectory.Agent
	// Start is when the session began; zero: the file has no times.
	Start time.Time
	// Turns are the events of each turn, numbered from 1, with one prompt and one stop each.
	Turns [][]trajectory.Event
	// Left tells, a line each, of what is in the file and is not in the turns.
	Left []string
}

// Format is a kind of file that sessions are read from.
type Format string

// The formats.
const (
	Claude Format = "claude" // a transcript of Claude Code, ~/.claude/projects/*/*.jsonl
	Codex  Format = "codex"  // a rollout of Codex, ~/.codex/sessions/*/*/*/rollout-*.jsonl
	ATIF   Format = "atif"   // a trajectory in the Agent Trajectory Interchange Format
)

// Formats returns all formats.
func Formats() []Format { return []Format{Claude, Codex, ATIF} }

// Options say how a file is read.
type Options struct {
	// Stop is why the last turn ended, after the Agent Client Protocol, for a file that does not say; empty: such a file is
	// an error.
	Stop string
	// Ignore are unknown types of lines to leave out.
	Ignore []string
}

// Read reads the session in a file. Errors name the file and, where it is known, the line.
func Read(format Format, path string, o Options) (*Session, error) {
	switch format {
	case Claude:
		return readClaude(path, o)
	case Codex:
		return readCodex(path, o)
	case ATIF:
		return readATIF(path, o)
	}
	panic(fmt.Sprintf("transcript.Read: unknown format %q", format))
}
