// Package llmjudge is the evaluator kind llm_judge: a model reads what the agent did and scores it. A model's reply
// must be exactly what was asked for: anything else is an error, never a score.
package llmjudge

import (
	"time"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Prompt  *doc.Node     `yaml:"prompt" doc:"What the judge is asked: a text, a file (.md, .txt or ./...), or {script: [...], config: {...}}; default: a prompt of our own."`
	Model   string        `yaml:"model" min:"1" doc:"The model that judges. Either model or judges."`
	Judges  []string      `yaml:"judges" min:"1" max:"9" doc:"Several models that judge; the median of their scores counts."`
	Samples int           `yaml:"samples" default:"1" min:"1" max:"25" doc:"How often each model is asked; the median of its scores counts."`
	Rubrics []rubricKeys  `yaml:"rubrics" min:"1" doc:"What is judged, one by one."`
	Config  *doc.Node     `yaml:"config" doc:"Values for templates, as {{config.KEY}}, and for the prompt's script."`
	Timeout time.Duration `yaml:"timeout" min:"0.001" doc:"How long the prompt's script may take; default: 120s."`
	Network bool          `yaml:"network" doc:"Whether the prompt's script may reach the network."`
	Compat  string        `yaml:"compat" enum:"agentv" doc:"Give the prompt's script what AgentV gives its own."`
}

// Kind returns the kind of evaluator.
func Kind() spec.Kind { return spec.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	n.Decode(&k)
	r := compileRubrics(n.Get("rubrics").Items(), k.Rubrics)
	return panel{prompt: compilePrompt(n, k), models: models(n, k), samples: k.Samples, rubrics: r, form: formOf(r)}
}

// models returns the models that judge.
func models(n *doc.Node, k keys) []string {
	if (n.Get("model") == nil) == (n.Get("judges") == nil) {
		n.Errorf("", "a judge has exactly one of `model` and `judges`")
	}
	if k.Judges == nil {
		return []string{k.Model}
	}
	items := n.Get("judges").Items()
	seen := make(map[string]bool)
	for i, name := range k.Judges {
		switch {
		case name == "":
			items[i].Errorf("", "must not be empty")
		case seen[name]:
			items[i].Errorf("", "%q is there twice: `samples` asks a model several times", name)
		}
		seen[name] = true
	}
	return k.Judges
}
