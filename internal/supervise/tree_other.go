//go:build !linux

package supervise

import (
	"errors"
	"fmt"
	"os/exec"
)

// tree is a child and, where there are process groups, the descendants that stay in its group.
type tree struct {
	cmd  *exec.Cmd
	used Usage // unknown
}

// startTree runs the command. DirFile is used by its name, which is a weaker promise than on Linux.
func startTree(cmd *exec.Cmd, path string, c *Command) (*tree, error) {
	if c.Rules != nil || len(c.Enclosure) > 0 {
		return nil, errors.New("processes can be confined only on Linux")
	}
	cmd.Path, cmd.Args, cmd.Dir = path, c.argv(), c.Dir
	cmd.Env = append([]string{}, c.Env...) // not nil, which would mean our own environment
	if c.DirFile != nil {
		cmd.Dir = c.DirFile.Name()
	}
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, execError(path, err)
	}
	return &tree{cmd: cmd}, nil
}

func (t *tree) childID() int { return t.cmd.Process.Pid }

// terminate asks the child's process group to end.
func (t *tree) terminate() { terminateGroup(t.cmd.Process) }

// kill ends the child's process group.
func (t *tree) kill() { killGroup(t.cmd.Process) }

// wait returns when the child has ended and its group was killed.
func (t *tree) wait() (Exit, error) {
	err := t.cmd.Wait()
	killGroup(t.cmd.Process)
	exit := Exit{Code: -1}
	if t.cmd.ProcessState != nil {
		exit = exitOf(t.cmd.ProcessState)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok || err == nil {
		return exit, nil
	}
	return exit, fmt.Errorf("streams: %w", err)
}
