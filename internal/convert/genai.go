package convert

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// genaiPart is a part of a message as Google's models have them, and the agents that descend from Gemini CLI.
type genaiPart struct {
	Text     string         `json:"text"`
	Thought  bool           `json:"thought"`
	Call     *genaiCall     `json:"functionCall"`
	Response *genaiResponse `json:"functionResponse"`
	Inline   any            `json:"inlineData"`
	File     any            `json:"fileData"`
}

type genaiCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// args returns the arguments, nil if there are none.
func (c *genaiCall) args() any {
	if c.Args == nil {
		return nil
	}
	return c.Args
}

type genaiResponse struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
}

// text returns what the tool returned: its output, its error, or else all of it as JSON.
func (r *genaiResponse) text() string {
	for _, key := range []string{"output", "error"} {
		if text, ok := r.Response[key].(string); ok {
			return text
		}
	}
	if len(r.Response) == 0 {
		return ""
	}
	data, _ := json.Marshal(r.Response) // it was JSON
	return string(data)
}

// genaiText returns the texts of a message. Parts that are no text are named by what they are.
func genaiText(parts []genaiPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.Inline != nil:
			b.WriteString("\n[image]")
		case p.File != nil:
			b.WriteString("\n[file]")
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// genaiContent is a text, a part or a list of those.
type genaiContent []genaiPart

// UnmarshalJSON implements [json.Unmarshaler].
func (c *genaiContent) UnmarshalJSON(data []byte) error {
	*c = nil
	switch {
	case len(data) > 0 && data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*c = genaiContent{{Text: text}}
		return nil
	case len(data) > 0 && data[0] == '{':
		var part genaiPart
		err := json.Unmarshal(data, &part)
		*c = genaiContent{part}
		return err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, raw := range list {
		var part genaiPart
		if len(raw) > 0 && raw[0] == '"' {
			if err := json.Unmarshal(raw, &part.Text); err != nil {
				return err
			}
		} else if err := json.Unmarshal(raw, &part); err != nil {
			return err
		}
		*c = append(*c, part)
	}
	return nil
}

// genaiDisplay is what people are shown of a result: of a command, an edit, or a subagent.
type genaiDisplay struct {
	Type     string  `json:"type"`
	ExitCode *int    `json:"exitCode"`
	Output   string  `json:"output"`
	Path     string  `json:"filePath"`
	Diff     string  `json:"fileDiff"`
	Old      *string `json:"originalContent"`
	New      *string `json:"newContent"`
	Subagent bool    `json:"isSubagentProgress"`
}

// diffs returns the change of a file.
func (d genaiDisplay) diffs() []trajectory.Diff {
	switch {
	case d.Path == "":
		return nil
	case d.New != nil:
		return []trajectory.Diff{{Path: d.Path, Old: d.Old, New: *d.New}}
	}
	return patchDiffs(d.Path, d.Diff)
}

// What a shell tool tells the model: fields, of which one is the output. Older versions have more fields.
var (
	genaiOutput = lazyregexp.New(
		`(?s)(?:^|\n)Output: (.*?)(?:\n(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): |\n</|$)`)
	genaiExit = lazyregexp.New(`(?:^|\n)Exit Code: (-?\d+)(?:\n|$)`)
)

// genaiPrinted returns what a command printed, and its exit code, nil if it is not known.
func genaiPrinted(text string) (printed string, code *int) {
	printed = text
	if m := genaiOutput.FindStringSubmatch(text); m != nil {
		printed = m[1]
	}
	// The last one: a command may print such a line, too.
	if all := genaiExit.FindAllStringSubmatch(text, -1); len(all) > 0 {
		if n, err := strconv.Atoi(all[len(all)-1][1]); err == nil {
			code = &n
		}
	}
	return printed, code
}
