package hook

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// Handlers are the hooks that settings are to have.
type Handlers struct {
	// Command is how a shell starts sdd-eval; see [words.Quote] for the path of a program. Empty: sdd-eval.
	Command string
	// Matcher says for which tools hooks run, as Claude Code's settings have it, such as "Bash|mcp__.*". Empty: for all.
	Matcher string
	// Policy is for the hook before calls.
	Policy Policy
}

// timeout is how long Claude Code waits for a hook, in seconds. Ours takes milliseconds; where a file system hangs the
// agent goes on.
const timeout = 60

// handler is one command in Claude Code's settings.
type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

// handlerGroup are the commands for the tools that match.
type handlerGroup struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []handler `json:"hooks"`
}

// group returns what settings have for a phase.
func (h Handlers) group(phase Phase) handlerGroup {
	command := h.Command
	if command == "" {
		command = "sdd-eval"
	}
	command += " hook " + string(phase)
	if phase == Pre {
		for _, r := range h.Policy.Deny {
			command += " --deny " + words.Quote(r.text)
		}
		for _, r := range h.Policy.Allow {
			command += " --allow " + words.Quote(r.text)
		}
		for _, r := range h.Policy.Rewrite {
			command += " --rewrite " + words.Quote(r.text)
		}
	}
	return handlerGroup{Matcher: h.Matcher, Hooks: []handler{{Type: "command", Command: command, Timeout: timeout}}}
}

// lookarounds are what expressions of JavaScript have in front of those of Go.
var lookarounds = strings.NewReplacer("(?=", "(?:", "(?!", "(?:", "(?<=", "(?:", "(?<!", "(?:")

// CheckMatcher returns an error if a matcher is no regular expression. Claude Code's are those of JavaScript, so that what only
// Go refuses, such as a number that refers to a group, is none.
func CheckMatcher(matcher string) error {
	if matcher == "*" { // stands for all tools
		return nil
	}
	_, err := syntax.Parse(lookarounds.Replace(matcher), syntax.Perl)
	bad, ok := errors.AsType[*syntax.Error](err)
	if !ok || bad.Code == syntax.ErrInvalidEscape || bad.Code == syntax.ErrInvalidPerlOp || bad.Code == syntax.ErrInvalidRepeatSize {
		return nil
	}
	return fmt.Errorf("%q is not a regular expression: %s", matcher, bad.Code)
}

// Settings returns settings for Claude Code with these hooks and nothing else, for `claude --settings FILE`.
func Settings(h Handlers) []byte {
	data, err := Merge([]byte("{}"), h)
	if err != nil {
		panic(fmt.Sprintf("hook: settings of our own: %v", err))
	}
	return append(data, '\n')
}

// Merge returns settings with these hooks in the place of ours that they have. Everything else in them stays as it is, to
// the byte, and settings that have these hooks stay as they are altogether.
func Merge(settings []byte, h Handlers) ([]byte, error) {
	e, err := newEditor(settings, h.Command)
	if err != nil {
		return nil, err
	}
	for _, phase := range phases {
		want := h.group(phase)
		same, err := e.has(events[phase], want)
		if err != nil {
			return nil, err
		}
		if same {
			continue
		}
		if err := e.remove(events[phase]); err != nil {
			return nil, err
		}
		if err := e.add(events[phase], want); err != nil {
			return nil, err
		}
	}
	return e.text, nil
}

// Without returns settings without our hooks: those of sdd-eval and those that the command starts, if it is not empty.
func Without(settings []byte, command string) ([]byte, error) {
	e, err := newEditor(settings, command)
	if err != nil {
		return nil, err
	}
	for _, phase := range phases {
		if err := e.remove(events[phase]); err != nil {
			return nil, err
		}
	}
	return e.text, nil
}

// isOurs reports whether a command is one of our hooks: it calls sdd-eval, wherever that is, or begins with the command.
func isOurs(text, command string) bool {
	for _, phase := range phases {
		call := " hook " + string(phase)
		before, after, found := strings.Cut(text, call)
		if !found || after != "" && after[0] != ' ' {
			continue
		}
		program := strings.TrimRight(before, `'"`)
		program = strings.TrimSuffix(program, ".exe")
		if command != "" && before == command || program == "sdd-eval" ||
			strings.HasSuffix(program, "/sdd-eval") || strings.HasSuffix(program, `\sdd-eval`) || strings.HasSuffix(program, " sdd-eval") {
			return true
		}
	}
	return false
}

// render returns a value as settings have it that are indented like these.
func render(v any, prefix, indent string) []byte {
	data, err := jsonvalue.MarshalIndent(v, prefix, indent)
	if err != nil {
		panic(fmt.Sprintf("hook: settings of our own: %v", err))
	}
	return data
}
