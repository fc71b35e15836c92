// Package codejudge is the evaluator kind code_judge: a script that reads what the agent did and writes a verdict, by the
// rules of package judge.
package codejudge

import (
	"os"
	"path/filepath"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Script  []string      `yaml:"script,required" doc:"The program and its arguments, without a shell. The first argument that names a file is looked for beside the playbook, then above it."`
	Config  *doc.Node     `yaml:"config" doc:"What the judge is told, word for word."`
	Cwd     string        `yaml:"cwd" min:"1" doc:"Where the judge starts, relative to the playbook's directory; default: there."`
	Timeout time.Duration `yaml:"timeout" min:"0.001" doc:"How long the judge may take; default: 120s."`
	Network bool          `yaml:"network" doc:"Whether the judge reaches the network; default: no."`
	Target  *target       `yaml:"target" doc:"Lets the judge ask a model through a proxy, and reach the network."`
	Compat  string        `yaml:"compat" enum:"agentv" doc:"Give the judge what AgentV gives its own."`
}

// target says how the judge may ask a model.
type target struct {
	MaxCalls int    `yaml:"max_calls" default:"50" min:"1" max:"10000" doc:"How many questions the judge may ask; default: 50."`
	Model    string `yaml:"model" min:"1" doc:"The model that answers; default: the one that a question names."`
}

// Kind returns the kind of evaluator.
func Kind() spec.Kind { return spec.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	if !n.Decode(&k) {
		return codeJudge{}
	}
	if k.Script[0] == "" {
		n.Errorf("script[0]", "must not be empty")
	}
	argv, _ := script.Locate(n, k.Script)
	c := codeJudge{
		script: script.Script{
			Argv: argv, Cwd: spec.Dir(n), Timeout: k.Timeout,
			// The proxy listens on our loopback. A script without network has only one of its own.
			Network: k.Network || k.Target != nil,
		},
		target: k.Target, compat: k.Compat,
	}
	if k.Config != nil {
		c.config = k.Config.Value()
	}
	if k.Cwd != "" {
		c.script.Cwd = directory(n, k.Cwd)
	}
	return c
}

// directory returns the absolute path of the directory under the key cwd.
func directory(n *doc.Node, cwd string) string {
	dir := filepath.FromSlash(cwd)
	if !filepath.IsAbs(dir) {
		if spec.Dir(n) == "" {
			n.Errorf("cwd", "a playbook that is not a file has no directories beside it")
			return ""
		}
		dir = filepath.Join(spec.Dir(n), dir)
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		n.Errorf("cwd", "%v", err)
	case !info.IsDir():
		n.Errorf("cwd", "%s is not a directory", cwd)
	}
	return dir
}
