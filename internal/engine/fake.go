package engine

import (
	"os"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// fakeKind is the agent kind that our own binary plays, so that a first run needs no agent installed.
const fakeKind = "fake-acp"

// init makes this process the scripted agent if that is what it was started as.
func init() {
	if len(os.Args) > 0 && os.Args[0] == fakeKind {
		os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
}

// fakeCommand returns how to start the scripted agent. Paths of scripts are relative to the playbook.
func (r *Runner) fakeCommand(a playbook.Agent) (path string, args []string, err error) {
	if path, err = os.Executable(); err != nil {
		return "", nil, err
	}
	args = []string{fakeKind}
	for _, script := range a.Args {
		args = append(args, r.besidePlaybook(script))
	}
	return path, args, nil
}
