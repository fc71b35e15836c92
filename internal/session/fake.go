package session

import (
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/reexec"
)

// fakeKind is the agent kind that our own binary plays, so that a first run needs no agent installed.
const fakeKind = "fake-acp"

// fakeWord makes our binary the scripted agent, see [reexec.Register].
const fakeWord = "sdd-eval-" + fakeKind

func init() {
	play := func(args []string) int { return scripted.Main(args, os.Stdin, os.Stdout, os.Stderr) }
	reexec.Register(fakeWord, reexec.Any, play)
	if len(os.Args) > 0 && os.Args[0] == fakeKind { // a link of that name
		os.Exit(play(os.Args[1:]))
	}
}

// fakeCommand returns how to start the scripted agent, and its scripts, whose paths are relative to the playbook.
func (c *Config) fakeCommand() (path string, args, scripts []string, err error) {
	if path, err = os.Executable(); err != nil {
		return "", nil, nil, err
	}
	for _, script := range c.Unit.Variant.Agent.Args {
		if !filepath.IsAbs(script) {
			script = filepath.Join(c.Dirs.Playbook, filepath.FromSlash(script))
		}
		scripts = append(scripts, script)
	}
	return path, append([]string{path, fakeWord}, scripts...), scripts, nil
}
