package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

const commandsDir = "commands"

var (
	commandCall = lazyregexp.New(`^/([A-Za-z0-9_:.-]+)(?:\s+([\s\S]*))?$`)
	placeholder = lazyregexp.New(`(\\*)\$(ARGUMENTS\[([0-9]+)\]|ARGUMENTS|([0-9]+))`)
	wordByte    = lazyregexp.New(`^\w`)
	shellPart   = lazyregexp.New("(?m)(?:^|\\s)!`|```!")
	filePart    = lazyregexp.New(`(?m)(?:^|\s)@[^\s@]`)
	headKey     = lazyregexp.New(`(?m)^(agent|arguments|context|hooks|shell)\s*:`)
)

// callCommand makes a prompt that calls a command of a plugin the text that Claude Code would send, and reports whether
// it was one. Plugin is the name of the one in dir, as its manifest has it.
func (r *pluginReader) callCommand(c *pluginCase, dir, plugin string) bool {
	call := commandCall.FindStringSubmatch(c.execution.Prompt)
	if call == nil {
		return false
	}
	name := strings.ReplaceAll(strings.TrimPrefix(call[1], plugin+":"), ":", "/")
	file := path.Join(dir, commandsDir, name+".md")
	switch {
	case !fs.ValidPath(name):
		return false
	case r.has(path.Join(dir, "skills", name, plan.SkillFile)):
		c.cannot("prompt", "/%s is a skill: agents of the kind %s are asked for it in words", call[1], r.Agent)
		return true
	case !r.exists(file):
		return false
	}
	data, err := r.tree.ReadRegular(r.path(file), doc.MaxSize)
	if err != nil {
		c.problem(r.place(file), "", err.Error())
		return true
	}
	head, body, err := doc.CutHead(data)
	if err == nil {
		c.execution.Prompt, err = fillCommand(head, strings.TrimSpace(body), strings.TrimSpace(call[2]))
	}
	if err != nil {
		c.problem(r.place(file), "/"+call[1], err.Error())
	}
	return true
}

// fillCommand returns the text of a command that is called with arguments.
func fillCommand(head, body, arguments string) (string, error) {
	if key := headKey.FindStringSubmatch(head); key != nil {
		return "", fmt.Errorf("%s: only Claude Code does what it says", key[1])
	}
	switch {
	case shellPart.MatchString(body):
		return "", errors.New("a part that begins with ! is what a shell prints, which only Claude Code fills in")
	case strings.Contains(body, "${CLAUDE_"):
		return "", errors.New("${CLAUDE_...} is known to Claude Code alone")
	}
	list, listErr := words.Split(arguments)
	var out strings.Builder
	filled, rest := false, body
	for {
		m := placeholder.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		slashes, shown := rest[m[2]:m[3]], rest[m[3]:m[1]]
		out.WriteString(rest[:m[0]])
		rest = rest[m[1]:]
		number := ""
		if m[6] >= 0 {
			number = strings.TrimSuffix(strings.TrimPrefix(shown, "$ARGUMENTS["), "]")
		} else if m[8] >= 0 {
			number = shown[1:]
		}
		switch i, err := strconv.Atoi(number); {
		case slashes == `\`:
			out.WriteString(shown)
		case number == "":
			filled = true
			out.WriteString(slashes + arguments)
		case m[8] >= 0 && wordByte.MatchString(rest):
			out.WriteString(slashes + shown)
		case listErr != nil:
			return "", fmt.Errorf("%s: the arguments %q are no words: %w", shown, arguments, listErr)
		case err != nil || i >= len(list):
			out.WriteString(slashes + shown)
		default:
			filled = true
			out.WriteString(slashes + list[i])
		}
	}
	out.WriteString(rest)
	if !filled && arguments != "" {
		out.WriteString("\n\nARGUMENTS: " + arguments)
	}
	text := strings.TrimSpace(out.String())
	switch {
	case text == "":
		return "", errors.New("the command has no text")
	case filePart.MatchString(text):
		return "", errors.New("a word that begins with @ is a file, which only Claude Code shows to the model")
	}
	return text, nil
}
