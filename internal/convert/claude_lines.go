package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/claude"
)

// claudeOther are the types of lines that are about the program and not about the session: titles, queues, what was
// sent to the model, copies of files for taking edits back. As of Claude Code 2.1.316.
var claudeOther = []string{
	"progress", "file-history-snapshot", "file-history-delta", "last-prompt", "continued-in", "content-replacement",
	"api-request-shape", "api-request-blob", "api-request", "fork-context-ref", "frame-link", "summary", "custom-title",
	"ended-by-model", "ai-title", "tag", "relocated", "agent-name", "agent-color", "agent-setting", "pr-link",
	"artifact-comment-monitor", "artifact-autoreact-ledger", "bridge-session", "history-suppression",
	"attribution-snapshot", "mode", "permission-mode", "isolation-latch", "dev-mods", "memory-mode", "atis-latch",
	"tools-used", "worktree-state",
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

// talks reports whether a line belongs to the conversation.
func (l *claudeLine) talks() bool {
	return l.Type == "user" || l.Type == "assistant" || l.Type == "system"
}

// Beginnings of texts that the program writes in the user's name.
const (
	claudeInterrupted = "[Request interrupted by user"
	claudeCommand     = "<command-"
	claudeLocal       = "<local-command-"
)

// prompts reports whether the line is a prompt of the user.
func (l *claudeLine) prompts() bool {
	if l.Type != "user" || l.Sidechain || l.Meta || l.CompactSummary ||
		l.Origin.Kind != "" && l.Origin.Kind != "human" {
		return false
	}
	if l.answers() {
		return false
	}
	text := l.Message.Content.Text()
	for _, mark := range []string{
		claudeInterrupted, claudeLocal, "<bash-", "<task-notification>", "<user-memory-input>",
	} {
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

// claudeCommandLine returns a slash command as the user typed it; the program writes it in tags.
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

// tagged returns the text between the tags of that name.
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

// check returns an error if the line lacks what every line needs.
func (l *claudeLine) check() error {
	if !l.talks() {
		return nil
	}
	if l.UUID == "" {
		return fmt.Errorf("the line of type %s has no uuid", l.Type)
	}
	for _, b := range l.Message.Content {
		if _, err := b.ResultContent(); err != nil {
			return formatError(err)
		}
	}
	var err error
	l.time, err = parseTime(l.Timestamp)
	return err
}

// unknownType returns the error for a type of line that may or may not belong to the session.
func unknownType(name string) error {
	if name == "" {
		return errors.New("the line has no type: this is not a session file")
	}
	return fmt.Errorf("unknown line type %q; if such lines do not belong to the session, "+
		"skip them with --ignore %[1]s", fmt.Sprintf("%.60s", name))
}

// Users take prompts back and ask something else in their place. The lines of both stay in the file, each naming the
// line that it follows.

// claudeThread returns the lines without those of turns that were taken back, and the number of such turns.
func claudeThread(lines []*claudeLine) (thread []*claudeLine, left int) {
	byID := make(map[string]*claudeLine, len(lines))
	parent := make(map[*claudeLine]*claudeLine, len(lines))
	prompt := make(map[*claudeLine]*claudeLine, len(lines)) // of the turn that a line is of
	var last *claudeLine                                    // what was said last
	for _, l := range lines {
		if l.UUID == "" || l.Sidechain {
			continue
		}
		if id := cmp.Or(l.Parent, l.LogicalParent); id != "" {
			if parent[l] = byID[id]; parent[l] == nil {
				parent[l] = last // the line that it follows is not in the file
			}
		}
		if prompt[l] = prompt[parent[l]]; l.prompts() {
			prompt[l] = l
		}
		byID[l.UUID] = l
		if l.talks() {
			last = l
		}
	}
	kept := make(map[*claudeLine]bool)
	for l := last; l != nil; l = parent[l] {
		kept[l] = true
	}
	for _, l := range lines {
		p := prompt[l]
		if p == nil || kept[p] {
			thread = append(thread, l)
		} else if p == l {
			left++
		}
	}
	return thread, left
}

// delegates are Claude's tools that start a subagent, whose lines are in a file of its own.
var delegates = []string{"Agent", "Task"}

// claudeSubagents returns the lines of the session's subagents, which are in files of their own. Thread has the
// session's lines without the turns that were taken back, all has them too.
func claudeSubagents(path string, all, thread []*claudeLine, ignore []string) ([]*claudeLine, error) {
	dir := filepath.Join(strings.TrimSuffix(path, filepath.Ext(path)), "subagents")
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "agent-*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("list the session's subagents: %w", err)
	}
	asked, ever := claudeDelegated(thread), claudeDelegated(all)
	var lines []*claudeLine
	read := make(map[string]bool)
	for _, file := range files {
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "agent-"), ".jsonl")
		if asked[id] == nil && ever[id] != nil {
			continue // its turn was taken back
		}
		sub, err := readClaudeLines(file, ignore)
		if err != nil {
			return nil, err
		}
		for _, l := range sub {
			l.Sidechain = true
		}
		lines, read[id] = append(lines, sub...), true
	}
	inline := slices.ContainsFunc(thread, func(l *claudeLine) bool { return l.Sidechain })
	for id, l := range asked {
		if !read[id] && !inline {
			at := filepath.Join(dir, "agent-"+id+".jsonl")
			return nil, lineError(l.file, l.number, fmt.Errorf("the file of subagent %s is missing: %w", id,
				&fs.PathError{Op: "open", Path: at, Err: fs.ErrNotExist}))
		}
	}
	return lines, nil
}

// claudeDelegated returns the lines with the results of other agents, by the agents' ids.
func claudeDelegated(lines []*claudeLine) map[string]*claudeLine {
	asked := make(map[string]*claudeLine)
	for _, l := range lines {
		if id := l.agent(); id != "" {
			asked[id] = l
		}
	}
	return asked
}

// agent returns the id of the other agent whose result the line has, empty if it has none.
func (l *claudeLine) agent() string {
	var result struct {
		AgentID string `json:"agentId"`
	}
	if json.Unmarshal(l.ToolUseResult, &result) != nil {
		return "" // a text, or nothing
	}
	return result.AgentID
}

func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // nothing can be escaped there
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// interleave merges the lines of subagents into those of the session by their times. The session's own lines keep their
// order.
func interleave(thread, sub []*claudeLine) []*claudeLine {
	slices.SortStableFunc(sub, func(a, b *claudeLine) int { return a.time.Compare(b.time) })
	var all []*claudeLine
	for _, l := range thread {
		for len(sub) > 0 && !l.time.IsZero() && sub[0].time.Before(l.time) {
			all, sub = append(all, sub[0]), sub[1:]
		}
		all = append(all, l)
	}
	return append(all, sub...)
}
