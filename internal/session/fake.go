package session

import (
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// fakeKind is the agent kind that the helper plays, so that a first run needs no agent installed.
const fakeKind = helper.Agent

// fakeCommand returns how to start the scripted agent, and its scripts, whose paths are relative to the playbook.
func (c *Config) fakeCommand() (path string, args, scripts []string, err error) {
	p, err := helper.Find()
	if err != nil {
		return "", nil, nil, err
	}
	for _, script := range c.Unit.Variant.Agent.Args {
		if !filepath.IsAbs(script) {
			script = filepath.Join(c.Dirs.Playbook, filepath.FromSlash(script))
		}
		scripts = append(scripts, script)
	}
	return p.Path, append(p.Command(helper.Agent), scripts...), scripts, nil
}
