// Package answer says which answers an override may give to a client's tool: the output of each tool, as decoded JSON,
// and what it means.
package answer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// The tools that an agent asks its client for, by the names of the protocol's methods.
const (
	readFile       = "fs/read_text_file"
	writeFile      = "fs/write_text_file"
	askPermission  = "session/request_permission"
	createTerminal = "terminal/create"
)

// Tools are the names of what an agent can ask of its client, sorted.
var Tools = []string{readFile, writeFile, askPermission, createTerminal}

// Cancelled is the decision that chooses no option.
const Cancelled = "cancelled"

var decisions = []string{"allow_once", "allow_always", "reject_once", "reject_always", Cancelled}

// Check returns why a tool cannot have an output, nil if it can. A tool that is none of [Tools] can have any:
//
//   - fs/read_text_file: the text
//   - fs/write_text_file: an empty text; nothing is written
//   - terminal/create: what is printed, by a command that exits with 0, or {output, exit_code}
//   - session/request_permission: allow_once, allow_always, reject_once, reject_always or cancelled
func Check(tool string, output any) error {
	var err error
	switch tool {
	case readFile:
		_, err = Text(output)
	case writeFile:
		if output != "" {
			err = fmt.Errorf(`must be "", as nothing is written, not %s`, shown(output))
		}
	case createTerminal:
		_, err = Terminal(output)
	case askPermission:
		_, err = Decision(output)
	}
	return err
}

// Text returns a file's text.
func Text(output any) (string, error) {
	text, ok := output.(string)
	if !ok {
		return "", fmt.Errorf("must be the file's text, not %s", shown(output))
	}
	return text, nil
}

// Printed is the result of a command in a terminal.
type Printed struct {
	Output   string `json:"output"`
	ExitCode int    `json:"exit_code"`
}

// Terminal returns the result of a command.
func Terminal(output any) (Printed, error) {
	if text, ok := output.(string); ok {
		return Printed{Output: text}, nil
	}
	var p Printed
	data, err := json.Marshal(output)
	if err == nil {
		err = jsonvalue.DecodeStrict(data, &p, 0)
	}
	if _, object := output.(map[string]any); !object || err != nil {
		return Printed{}, fmt.Errorf("must be what is printed, or {output, exit_code}, not %s", shown(output))
	}
	return p, nil
}

// Decision returns the kind of the option that is chosen, or [Cancelled].
func Decision(output any) (string, error) {
	decision, ok := output.(string)
	if !ok || !slices.Contains(decisions, decision) {
		return "", fmt.Errorf("must be one of %s, not %s", strings.Join(decisions, ", "), shown(output))
	}
	return decision, nil
}

// shown shows a value of the wrong type.
func shown(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("a %T", v)
	}
	return string(data)
}
