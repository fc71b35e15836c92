package evaluator

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// Unseen returns an error if the run shows no tool call although the agent had its client write a file or run a command:
// it used tools and did not report them, so nothing is known about its calls. That it only read says nothing, since agents
// read their instructions on their own.
func Unseen(run *trajectory.Run) error {
	var unseen error
	for _, e := range run.Events {
		did := ""
		switch b := e.Body.(type) {
		case trajectory.ToolStart:
			return nil
		case trajectory.FileWrite:
			did = "write " + b.Path
		case trajectory.Terminal:
			did = "run " + strings.Join(append([]string{b.Command}, b.Args...), " ")
		default:
			continue
		}
		if unseen == nil {
			unseen = fmt.Errorf("the session shows no tool call, although the agent had its client %s", did)
		}
	}
	return unseen
}
