package playbook

import "github.com/sdd-eval/sdd-eval/internal/doc"

// Report says who scores the variants, besides the evaluators. It does not affect outcomes.
type Report struct {
	AIJudge AIJudge `yaml:"ai_judge" doc:"A model that scores what each variant did."`
	Human   Human   `yaml:"human" doc:"People who score what each variant did."`
}

// AIJudge is a model that scores what each variant did, 0 to 10.
type AIJudge struct {
	Enabled bool   `yaml:"enabled" doc:"Whether to ask the model; default: false."`
	Model   string `yaml:"model" min:"1" doc:"The model to ask, e.g. gpt-4.1; required if enabled."`
}

// Human says whether people are asked for scores: they get a pack of material to look at, and a template.
type Human struct {
	Enabled bool `yaml:"enabled" default:"true" doc:"Whether to write the pack and the template; default: true."`
}

func (j *AIJudge) decode(n *doc.Node) {
	if n.Decode(j) && j.Enabled && j.Model == "" {
		n.Errorf("", "an AI judge that is enabled needs a `model`")
	}
}
