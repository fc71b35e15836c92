package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// installable are the kinds whose programs people install.
func installable() []agent.Profile {
	return slices.DeleteFunc(agent.Profiles(), func(p agent.Profile) bool {
		return p.Command == "" || p.Kind == agent.Fake
	})
}

// installed is a program that was found, with its package where npm has installed it.
type installed struct {
	command, pkg, version string
	err                   error // why the version is not known
}

// agent says which programs of a kind there are, beside the versions that were tested.
func (m *machine) agent(ctx context.Context, p agent.Profile) []Finding {
	f := Finding{Name: p.Kind, State: Well}
	var texts []string
	var programs []map[string]any
	for _, command := range commandsOf(p) {
		path, err := m.find(command)
		if err != nil {
			continue
		}
		is := m.inspect(ctx, p, command, path)
		text, next := is.compare(p)
		if next != "" {
			f.State, f.Next = Noted, next
		}
		texts = append(texts, text)
		programs = append(programs, map[string]any{
			"program": command, "path": path, "package": is.pkg, "version": is.version, "tested": is.tested(p),
		})
	}
	if len(texts) == 0 {
		f.State, f.Text, f.Next = Absent, p.Command+" is not in PATH", p.Install(p.Command)
		return []Finding{f}
	}
	f.Text, f.Facts = strings.Join(texts, "; "), map[string]any{"programs": programs}
	return []Finding{f}
}

// commandsOf returns the names of a kind's programs.
func commandsOf(p agent.Profile) []string {
	commands := []string{p.Command}
	for _, known := range p.Programs {
		if !slices.Contains(commands, known.Command) {
			commands = append(commands, known.Command)
		}
	}
	return commands
}

// inspect finds out the version of a program: by the file that npm has put beside it, or else by asking it.
func (m *machine) inspect(ctx context.Context, p agent.Profile, command, path string) installed {
	is := installed{command: command}
	if is.pkg, is.version = packageOf(path); is.version != "" &&
		slices.ContainsFunc(p.Programs, func(known agent.Program) bool { return known.Package == is.pkg }) {
		return is
	}
	is.pkg = ""
	dir, env, err := m.scratch()
	if err != nil {
		is.err = err
		return is
	}
	defer disk.RemoveAll(dir)
	var line string
	line, is.err = m.ask(ctx, supervise.Command{Path: path, Args: []string{command, "--version"}, Dir: dir, Env: env})
	if is.err != nil {
		return is
	}
	if is.version = numberIn(line); is.version == "" {
		is.err = errors.New("it prints " + excerpt.Quote(line, maxShown))
	}
	return is
}

// version matches the number of a version.
var version = lazyregexp.New(`\d+\.\d+(\.\d+)+(-[0-9A-Za-z.-]*[0-9A-Za-z])?`)

// numberIn returns the number of a version in a line, empty if there is none.
func numberIn(line string) string {
	if found := version.FindAllString(line, 1); found != nil {
		return found[0]
	}
	return ""
}

// tested returns the version of the program that was tested, empty if none was.
func (is installed) tested(p agent.Profile) string {
	tested := ""
	for _, known := range p.Programs {
		switch {
		case known.Command != is.command:
		case known.Package == is.pkg, is.pkg == "" && known.Tested == is.version:
			return known.Tested
		case tested == "":
			tested = known.Tested
		}
	}
	return tested
}

// compare says how a program differs from what was tested, and what can be done about that.
func (is installed) compare(p agent.Profile) (text, next string) {
	tested := is.tested(p)
	switch {
	case is.err != nil:
		return is.command + ": its version is not known: " + is.err.Error(), p.Install(is.command)
	case tested == "":
		return is.command + " " + is.version + "; no version was tested", "see docs/agents.md"
	case is.version == tested:
		return is.command + " " + is.version + ", as tested", ""
	}
	for _, known := range p.Programs {
		if known.Command == is.command && (is.pkg == "" || is.pkg == known.Package) {
			next = known.Install()
			break
		}
	}
	return is.command + " " + is.version + "; tested: " + tested, next
}

// How far above a program its package is looked for, and how large a package.json may be.
const (
	maxLevels  = 8
	maxPackage = 1 << 20
)

// packageOf returns the name and the version of the npm package that a program is in, empty if it is in none.
func packageOf(path string) (name, version string) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", ""
	}
	dir := path
	for range maxLevels {
		dir = filepath.Dir(dir)
		data, err := disk.ReadRegular(filepath.Join(dir, "package.json"), maxPackage)
		var is struct{ Name, Version string }
		if err == nil && json.Unmarshal(data, &is) == nil && is.Name != "" {
			return excerpt.Name(is.Name, maxShown), excerpt.Name(is.Version, maxShown)
		}
	}
	return "", ""
}
