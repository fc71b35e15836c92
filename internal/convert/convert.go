// Package convert reads and writes the formats of other tools. It turns what agents keep of their own sessions into
// cassettes: transcripts of Claude Code, rollouts of Codex, logs of other agents and trajectories in ATIF; and it
// writes a cassette as a trajectory in ATIF. Package atif has that format. Package agentevals has cases of AgentEvals
// with their judgement, which are no row here because they convert no session. Messages of chat models are converted by
// the public package evaltest/trajectory/chat. How a session is judged belongs in package evaluator.
//
// Such a file has less than a recording: the agent's messages, its calls with their results, and mostly their times. It
// lacks the changes of the workspace, the requests to the client, and what the session depended on. Unknown content is
// an error, and so is a session that did not end in the file, or that is partly in a missing file: missing tool calls
// cannot be judged.
package convert

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Session is a session as recorded in a file.
type Session struct {
	// Format is the name of the format it comes from, and Version that of the program that wrote it, or of the format.
	Format  string
	Version string
	// ID is the agent's own name for the session, and Cwd the directory it ran in, absolute; both may be empty.
	ID, Cwd string
	// Agent says who acted. Kind is empty; Model is the one that answered first.
	Agent trajectory.Agent
	// Start is when the session began; zero: the file has no times.
	Start time.Time
	// Turns are the events of each turn, numbered from 1, with one prompt and one stop each.
	Turns [][]trajectory.Event
	// Left describes, a line each, what the file has and the turns do not.
	Left []string
}

// Options say how a file is read.
type Options struct {
	// Stop is the stop reason of the last turn, as in the Agent Client Protocol, for a file that does not give it. If
	// it is empty, such a file is an error: one that was cut after a message looks like one that is whole.
	Stop string
	// Ignore lists unknown types of lines to skip.
	Ignore []string
	// Prompts is what the user asked, as far as it is known. An agent may have written it down in another way.
	Prompts []string
}

// The names of formats.
const (
	Claude   = "claude"
	Codex    = "codex"
	Copilot  = "copilot"
	Qwen     = "qwen"
	Gemini   = "gemini"
	OpenCode = "opencode"
	ATIF     = "atif"
)

// Format is a kind of file that another tool reads or writes. The command line, its help and the tests derive from the
// table of formats.
type Format struct {
	// Name is the format's name on the command line and of its directory of samples in testdata.
	Name string
	// Holds describes such a file, for example "a transcript of Claude Code".
	Holds string

	// mark matches the beginning of such a file, and of no other format's.
	mark *lazyregexp.Regexp
	// read reads a session from a file, write writes a cassette as one; nil: it cannot be read, or written.
	read  func(path string, o Options) (*Session, error)
	write func(c *cassette.Cassette) ([]byte, error)
}

var formats = []Format{
	{ // ~/.claude/projects/*/*.jsonl
		Name: Claude, Holds: "a transcript of Claude Code", read: readClaude,
		mark: lazyregexp.New(`"isSidechain": ?(?:true|false)`),
	},
	{ // ~/.codex/sessions/*/*/*/rollout-*.jsonl
		Name: Codex, Holds: "a rollout of Codex", read: readCodex,
		mark: lazyregexp.New(`^[^\n]*"type": ?"session_meta"`),
	},
	{ // ~/.copilot/session-state/*/events.jsonl
		Name: Copilot, Holds: "a log of Copilot", read: readCopilot,
		mark: lazyregexp.New(`^[^\n]*"type": ?"session\.start"`),
	},
	{ // ~/.qwen/projects/*/chats/*.jsonl
		Name: Qwen, Holds: "a log of Qwen Code", read: readQwen,
		mark: lazyregexp.New(`^[^\n]*"parentUuid":[^\n]*"(?:parts|systemPayload)":`),
	},
	{ // ~/.gemini/tmp/*/chats/session-*
		Name: Gemini, Holds: "a log of Gemini CLI", read: readGemini,
		mark: lazyregexp.New(`^\s*{\s*"sessionId":[^{]*"projectHash":`),
	},
	{ // opencode export SESSION
		Name: OpenCode, Holds: "an export of OpenCode", read: readOpenCode,
		mark: lazyregexp.New(`^\s*{\s*"info":\s*{\s*"id":\s*"ses_`),
	},
	{
		Name: ATIF, Holds: "a trajectory in ATIF", read: readATIF, write: writeATIF,
		mark: lazyregexp.New(`^\s*{(?s:.*)"schema_version":\s*"ATIF-v`),
	},
}

// Readable returns the formats that sessions are read from.
func Readable() []Format {
	return slices.DeleteFunc(slices.Clone(formats), func(f Format) bool { return f.read == nil })
}

// Writable returns the formats that cassettes are written in.
func Writable() []Format {
	return slices.DeleteFunc(slices.Clone(formats), func(f Format) bool { return f.write == nil })
}

// Names returns the names of formats.
func Names(all []Format) []string {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	return names
}

// Read reads the session in a file. Errors name the file and, where it is known, the line; and the format that the file
// looks like, if it is another one. It panics if the format is not [Readable].
func Read(format, path string, o Options) (*Session, error) {
	f := lookup(format, Readable())
	s, err := f.read(path, o)
	if err == nil {
		s.ask(o.Prompts)
	}
	return s, explain(f, path, err)
}

// ask gives prompts that differ from those asked only in the space around them, which agents take away, their text.
func (s *Session) ask(prompts []string) {
	for _, events := range s.Turns {
		for i, e := range events {
			p, ok := e.Body.(trajectory.Prompt)
			if !ok || len(prompts) == 0 {
				continue
			}
			if strings.TrimSpace(p.Text) == strings.TrimSpace(prompts[0]) {
				events[i].Body = trajectory.Prompt{Text: prompts[0]}
			}
			prompts = prompts[1:]
		}
	}
}

// Write returns a cassette in a format. It panics if that is not [Writable].
func Write(format string, c *cassette.Cassette) ([]byte, error) {
	return lookup(format, Writable()).write(c)
}

func lookup(name string, among []Format) Format {
	i := slices.IndexFunc(among, func(f Format) bool { return f.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("convert: no such format: %q", name))
	}
	return among[i]
}

// Unit is the unit that a session becomes the cassette of.
type Unit struct {
	// ID is playbook/case/variant/trial, and Kind that of the variant's agent.
	ID, Kind string
	// Dir is the directory that the session ran in, absolute, if its file does not say.
	Dir string
	// Patterns and Volatile are what the playbook and the kind of agent normalise, see [cassette.NewNormaliser].
	Patterns []*regexp.Regexp
	Volatile []string
	// Secrets are masked in the cassette.
	Secrets *secret.Set
	// ClientVersion is our own version.
	ClientVersion string
	// Now is the time of recording if the file has no times.
	Now time.Time
}

// Cassette returns the session as the cassette of a unit, normalised and with secrets masked. Its header has no
// fingerprints, which the caller adds, and no sandbox and endpoint, which are unknown. Masked reports whether there
// were secrets.
func (s *Session) Cassette(u Unit) (c *cassette.Cassette, masked bool, err error) {
	c = &cassette.Cassette{Header: cassette.Header{
		Level: cassette.LevelRun, Unit: u.ID,
		Origin: fmt.Sprintf("%s from %s %s", cassette.OriginImported, s.Format, s.Version), Agent: s.Agent,
		ClientVersion: u.ClientVersion, RecordedAt: s.Start.UTC().Truncate(time.Second),
	}}
	c.Header.Agent.Kind = u.Kind
	if s.Start.IsZero() {
		c.Header.RecordedAt = u.Now.UTC().Truncate(time.Second)
	}
	if masked, err = mask(u.Secrets, &c.Header); err != nil {
		return nil, false, err
	}
	dir := s.Cwd
	if dir == "" {
		dir = u.Dir
	}
	n := cassette.NewNormaliser(map[string]string{dir: "$WORKSPACE"}, u.Patterns, u.Volatile)
	n.Session(s.ID)
	for _, events := range s.Turns {
		if len(events) == 0 {
			continue
		}
		shown, err := mask(u.Secrets, &events)
		if err != nil {
			return nil, false, err
		}
		masked = masked || shown
		c.Turns = append(c.Turns, cassette.Turn{Events: n.Events(events)})
	}
	return c, masked, nil
}

// Prompts returns what was asked, a turn each.
func (s *Session) Prompts() []string {
	var prompts []string
	for _, events := range s.Turns {
		for _, e := range events {
			if p, ok := e.Body.(trajectory.Prompt); ok {
				prompts = append(prompts, p.Text)
			}
		}
	}
	return prompts
}

// mask masks the secrets in a value that can be written as JSON, and reports whether there were any.
func mask[T any](secrets *secret.Set, v *T) (bool, error) {
	data, err := json.Marshal(*v)
	if err != nil {
		return false, fmt.Errorf("look for secrets in the session: %w", err)
	}
	clean := secrets.GuessJSON(data)
	if string(clean) == string(data) {
		return false, nil
	}
	var masked T
	if err := json.Unmarshal(clean, &masked); err != nil {
		return false, fmt.Errorf("mask the secrets in the session: %w", err)
	}
	*v = masked
	return true, nil
}
