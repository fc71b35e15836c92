package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp/syntax"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// Handlers are the hooks to write into settings.
type Handlers struct {
	// Command is how a shell starts sdd-eval; see [words.Quote] for the path of a program. Empty: sdd-eval.
	Command string
	// Matcher selects the tools for which hooks run, as in Claude Code's settings, for example "Bash|mcp__.*". Empty:
	// all tools.
	Matcher string
	// Policy is applied by the hook before calls.
	Policy Policy
}

// timeout is how long Claude Code waits for a hook, in seconds. This one takes milliseconds; if a file system hangs,
// the agent goes on after the timeout.
const timeout = 60

// handler is one command in Claude Code's settings.
type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

// handlerGroup has the commands for the tools that match.
type handlerGroup struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []handler `json:"hooks"`
}

// group returns the group for a phase.
func (h Handlers) group(phase claude.Phase) handlerGroup {
	command := h.Command
	if command == "" {
		command = "sdd-eval"
	}
	command += " hook " + string(phase)
	if phase == claude.Pre {
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

// lookarounds replaces groups that only JavaScript's regular expressions have.
var lookarounds = strings.NewReplacer("(?=", "(?:", "(?!", "(?:", "(?<=", "(?:", "(?<!", "(?:")

// CheckMatcher returns an error if a matcher is not a regular expression. Claude Code uses those of JavaScript, so what
// only Go refuses, such as a backreference, is not an error.
func CheckMatcher(matcher string) error {
	if matcher == "*" { // stands for all tools
		return nil
	}
	_, err := syntax.Parse(lookarounds.Replace(matcher), syntax.Perl)
	bad, ok := errors.AsType[*syntax.Error](err)
	if !ok || bad.Code == syntax.ErrInvalidEscape || bad.Code == syntax.ErrInvalidPerlOp ||
		bad.Code == syntax.ErrInvalidRepeatSize {
		return nil
	}
	return fmt.Errorf("%q is not a regular expression: %s", matcher, bad.Code)
}

// Settings returns settings for Claude Code that have only these hooks, for `claude --settings FILE`.
func Settings(h Handlers) []byte {
	data, err := Merge([]byte("{}"), h)
	if err != nil {
		panic(fmt.Sprintf("hook: settings of our own: %v", err))
	}
	return append(data, '\n')
}

// Merge returns settings with these hooks instead of our earlier ones. It keeps everything else byte for byte, and
// returns settings that have these hooks unchanged.
func Merge(settings []byte, h Handlers) ([]byte, error) {
	e, err := newEditor(settings, h.Command)
	if err != nil {
		return nil, err
	}
	for _, phase := range claude.Phases {
		want := h.group(phase)
		same, err := e.has(phase.Event(), want)
		if err != nil {
			return nil, err
		}
		if same {
			continue
		}
		if err := e.remove(phase.Event()); err != nil {
			return nil, err
		}
		if err := e.add(phase.Event(), want); err != nil {
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
	for _, phase := range claude.Phases {
		if err := e.remove(phase.Event()); err != nil {
			return nil, err
		}
	}
	return e.text, nil
}

// isOurs reports whether a command is one of our hooks: it calls sdd-eval at any path, or begins with the command.
func isOurs(text, command string) bool {
	for _, phase := range claude.Phases {
		call := " hook " + string(phase)
		before, after, found := strings.Cut(text, call)
		if !found || after != "" && after[0] != ' ' {
			continue
		}
		program := strings.TrimRight(before, `'"`)
		program = strings.TrimSuffix(program, ".exe")
		if command != "" && before == command || program == "sdd-eval" ||
			strings.HasSuffix(program, "/sdd-eval") || strings.HasSuffix(program, `\sdd-eval`) ||
			strings.HasSuffix(program, " sdd-eval") {
			return true
		}
	}
	return false
}

// render returns a value as indented JSON.
func render(v any, prefix, indent string) []byte {
	data, err := jsonvalue.MarshalIndent(v, prefix, indent)
	if err != nil {
		panic(fmt.Sprintf("hook: settings of our own: %v", err))
	}
	return data
}

// maxSettings is the largest file of settings that is read, in bytes.
const maxSettings = 16 << 20

// Edit changes the settings in a file, for example by [Merge], and reports whether they changed. A missing file counts
// as empty settings; if there is something to write, Edit makes the file and its directory. It replaces the file whole
// and keeps a link to it. On an error the file is unchanged.
func Edit(path string, change func(settings []byte) ([]byte, error)) (changed bool, err error) {
	f, err := readSettings(path)
	if err != nil {
		return false, err
	}
	after, err := f.changed(change)
	if err != nil || bytes.Equal(f.text, after) {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return false, err
	}
	return true, disk.Replace(f.path, after, f.perm)
}

// Preview returns what [Edit] would leave in the file.
func Preview(path string, change func(settings []byte) ([]byte, error)) ([]byte, error) {
	f, err := readSettings(path)
	if err != nil {
		return nil, err
	}
	return f.changed(change)
}

// settingsFile is a file of settings. A missing one has no text.
type settingsFile struct {
	path string // not a link
	text []byte
	perm fs.FileMode
}

func readSettings(path string) (settingsFile, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return settingsFile{}, err
		}
	}
	f, err := disk.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return settingsFile{path: path, perm: 0o644}, nil
	}
	if err != nil {
		return settingsFile{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return settingsFile{}, err
	}
	text, err := disk.ReadAll(f, maxSettings)
	if err != nil {
		return settingsFile{}, fmt.Errorf("%s: %w", path, err)
	}
	if len(text) == 0 {
		return settingsFile{}, fmt.Errorf("%s: the file is empty, which is not JSON", path)
	}
	return settingsFile{path, text, info.Mode().Perm()}, nil
}

// changed returns the text after a change, none if a missing file would only get empty settings.
func (f settingsFile) changed(change func([]byte) ([]byte, error)) ([]byte, error) {
	const none = "{}\n"
	before := f.text
	if len(before) == 0 {
		before = []byte(none)
	}
	after, err := change(before)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.path, err)
	case len(f.text) == 0 && string(after) == none:
		return nil, nil
	}
	return after, nil
}
