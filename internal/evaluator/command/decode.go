// Package command is the evaluator kind command: a command that is run in the workspace after the agent, and expectations
// on its exit code and its output.
//
// The command runs in a copy of the workspace that is thrown away, so that it may build and write as it likes without
// changing what other evaluators and people see. It cannot reach the project, since it runs the agent's code.
package command

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/spec"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Run      string        `yaml:"run,required" doc:"One command, without a shell, in a copy of the workspace."`
	Cwd      string        `yaml:"cwd" min:"1" doc:"Where it starts, relative to the workspace; default: the workspace."`
	ExitCode int           `yaml:"exit_code" default:"0" min:"0" max:"255" doc:"The expected exit code; default: 0."`
	Stdout   *textKeys     `yaml:"stdout" doc:"What is expected of its standard output."`
	Stderr   *textKeys     `yaml:"stderr" doc:"What is expected of its standard error."`
	Timeout  time.Duration `yaml:"timeout" min:"0.001" doc:"How long it may take; default: 120s."`
	Network  bool          `yaml:"network" doc:"Whether it reaches the network; default: no."`
}

// textKeys are what is expected of a text. Each is a check of its own.
type textKeys struct {
	Contains    *string `yaml:"contains" min:"1" doc:"A text that is in it."`
	NotContains *string `yaml:"not_contains" min:"1" doc:"A text that is not in it."`
	Equals      *string `yaml:"equals" doc:"All of it, but for line ends at the end."`
	Matches     *string `yaml:"matches" min:"1" doc:"A regular expression (Go) found in it; (?m) for ^ and $ at lines."`
}

// Kind returns the kind of evaluator.
func Kind() spec.Kind { return spec.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	if !n.Decode(&k) {
		return evaluation{}
	}
	args, err := words.Split(k.Run)
	if err == nil {
		err = checkArgs(n, args)
	}
	if err != nil {
		n.Errorf("run", "%v", err)
	}
	if k.Cwd != "" && !filepath.IsLocal(filepath.FromSlash(k.Cwd)) {
		n.Errorf("cwd", "%q must be a directory below the workspace", k.Cwd)
	}
	return evaluation{
		args: args, cwd: path.Clean(k.Cwd), timeout: k.Timeout, network: k.Network, exitCode: k.ExitCode,
		stdout: k.Stdout.compile(n, "stdout"), stderr: k.Stderr.compile(n, "stderr"),
	}
}

// checkArgs refuses what no run step may start, either.
func checkArgs(n *doc.Node, args []string) error {
	for _, a := range args {
		if strings.Contains(a, "${{") {
			return fmt.Errorf("placeholders are not replaced here: %s", a)
		}
	}
	return spec.CheckCommand(n, args)
}
