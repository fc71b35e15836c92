package transcript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/claude"
)

// claudeOther are the types of lines that are about the program and not about the session: titles, queues, what was sent
// to the model, copies of files for taking edits back. As of Claude Code 2.1.316.
var claudeOther = []string{
	"progress", "file-history-snapshot", "file-history-delta", "last-prompt", "continued-in", "content-replacement",
	"api-request-shape", "api-request-blob", "api-request", "fork-context-ref", "frame-link", "summary", "custom-title",
	"ended-by-model", "ai-title", "tag", "relocated", "agent-name", "agent-color", "agent-setting", "pr-link",
	"artifact-comment-monitor", "artifact-autoreact-ledger", "bridge-session", "history-suppression", "attribution-snapshot", "mode",
	"permission-mode", "isolation-latch", "dev-mods", "memory-mode", "atis-latch", "tools-used", "worktree-state",
	"queue-operation", "observer-ref",
}

// claudeLine is a line of a transcript.
type claudeLine struct {
	file   string
	number int
	time   time.Time // zero: the line has none

	Type           string          `json:"type"`
	Subtype        string          `json:"subtype"`
	UUID           string          `json:"uuid"`
	Parent         string          `json:"parentUuid"`
	LogicalParent  string          `json:"logicalParentUuid"`
	Timestamp      string          `json:"timestamp"`
	Sidechain      bool            `json:"isSidechain"`
	Meta           bool            `json:"isMeta"`
	CompactSummary bool            `json:"isCompactSummary"`
	APIError       bool            `json:"isApiErrorMessage"`
	AgentID        string          `json:"agentId"`
	SessionID      string          `json:"sessionId"`
	Cwd            string          `json:"cwd"`
	Version        string          `json:"version"`
	ToolUseResult  json.RawMessage `json:"toolUseResult"`
	Content        json.RawMessage `json:"content"` // of a system's line
	Cost           *float64        `json:"totalCostUSD"`
	CostUnknown    bool            `json:"hasUnknownModelCost"`
	Origin         struct {
		Kind string `json:"kind"`
	} `json:"origin"`
	Attachment struct {
		Type    string `json:"type"`
		Command string `json:"commandMode"`
	} `json:"attachment"`
	Message claude.Message `json:"message"`
}

// talks reports whether a line is one of the conversation.
func (l *claudeLine) talks() bool {
	return l.Type == "user" || l.Type == "assistant" || l.Type == "system"
}

// parent returns the line that this one follows, across the place where the context was compacted.
func (l *claudeLine) parent() string { return cmp.Or(l.Parent, l.LogicalParent) }

// Marks in text that the program writes in the user's name.
const (
	claudeInterrupted = "[Request interrupted by user"
	claudeCommand     = "<command-"
	claudeLocal       = "<local-command-"
)

// prompts reports whether a line is what the user asked.
func (l *claudeLine) prompts() bool {
	if l.Type != "user" || l.Sidechain || l.Meta || l.CompactSummary || l.Origin.Kind != "" && l.Origin.Kind != "human" {
		return false
	}
	if l.answers() {
		return false
	}
	text := l.Message.Content.Text()
	for _, mark := range []string{claudeInterrupted, claudeLocal, "<bash-", "<task-notification>", "<user-memory-input>"} {
		if strings.HasPrefix(text, mark) {
			return false
		}
	}
	return true
}

// answers reports whether a line has results of tools.
func (l *claudeLine) answers() bool {
	return slices.ContainsFunc(l.Message.Content, func(b claude.Block) bool { return b.Type == "tool_result" })
}

// claudeCommandLine returns a slash command as the user typed it, where the program has it in tags.
func claudeCommandLine(text string) string {
	if !strings.HasPrefix(text, claudeCommand) {
		return text
	}
	name, args := tagged(text, "command-name"), tagged(text, "command-args")
	if name == "" {
		return text
	}
	return strings.TrimSpace(name + " " + args)
}

// tagged returns what stands between the tags of that name.
func tagged(text, name string) string {
	_, rest, _ := strings.Cut(text, "<"+name+">")
	inner, _, _ := strings.Cut(rest, "</"+name+">")
	return strings.TrimSpace(inner)
}

// readClaudeLines reads the lines of a file that matter.
func readClaudeLines(path string, ignore []string) ([]*claudeLine, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []*claudeLine
	err = eachLine(path, f, func(number int, data []byte) error {
		var head struct {
			Type string `json:"type"`
		}
		if err := decode(data, &head); err != nil {
			return err
		}
		switch {
		case slices.Contains(claudeOther, head.Type), slices.Contains(ignore, head.Type):
			return nil
		case !slices.Contains([]string{"user", "assistant", "system", "attachment", "cost-state"}, head.Type):
			return unknownType(head.Type)
		}
		l := &claudeLine{file: path, number: number}
		if err := decode(data, l); err != nil {
			return err
		}
		lines = append(lines, l)
		return l.check()
	})
	return lines, err
}

// check makes sure that a line has what later work rests on.
func (l *claudeLine) check() error {
	if !l.talks() {
		return nil
	}
	if l.UUID == "" {
		return fmt.Errorf("a line of type %s without a uuid", l.Type)
	}
	for _, b := range l.Message.Content {
		if _, err := b.Told(); err != nil {
			return formatError(err)
		}
	}
	var err error
	l.time, err = parseTime(l.Timestamp)
	return err
}

// unknownType is the error of a type of line that may or may not be part of the session.
func unknownType(name string) error {
	if name == "" {
		return errors.New("a line without a type: this is not a line of a session")
	}
	return fmt.Errorf("lines of type %q are not known; if they are no part of the session, leave them out with --ignore %[1]s", fmt.Sprintf("%.60s", name))
}
