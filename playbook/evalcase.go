package playbook

import (
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// evalCase is one entry of an eval file's evalcases.
type evalCase struct {
	ID   string `yaml:"id,required" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"Unique in the file; part of names and paths."`
	Note string `yaml:"note" doc:"For people."`

	Question      string `yaml:"question" min:"1" doc:"What the agent is asked, verbatim. One of question, input and input_messages."`
	Input         input  `yaml:"input" doc:"The same as question or, if it is a list, as input_messages."`
	InputMessages input  `yaml:"input_messages" doc:"What the agent is asked, a turn each."`

	ExpectedOutcome  string      `yaml:"expected_outcome" doc:"What a good session comes to, for judges."`
	ReferenceAnswer  string      `yaml:"reference_answer" doc:"An answer that is known to be right, for judges; default: the last expected message."`
	ExpectedOutput   expectation `yaml:"expected_output" doc:"The same as expected_messages; a text is the answer's."`
	ExpectedMessages expectation `yaml:"expected_messages" doc:"What a good session says and calls, for judges."`

	Files     map[string]string `yaml:"files" doc:"Files to write into the workspace first, by path."`
	Execution execution         `yaml:"execution" doc:"Who is asked, and what must hold for this case besides."`
	Position  Position          `yaml:",position"`

	// Case is the resulting case, without its variants.
	Case Case
}

// questions are the keys of which a case has one.
var questions = []string{"question", "input", "input_messages"}

func (c *evalCase) decode(n *doc.Node) {
	n.Decode(c)
	if n.Kind() != doc.Map {
		return // reported
	}
	given := slices.DeleteFunc(slices.Clone(questions), func(key string) bool { return n.Get(key) == nil })
	if len(given) != 1 {
		n.Errorf("", "a case has exactly one of `%s`", strings.Join(questions, "`, `"))
	}
	if n.Get("expected_output") != nil && n.Get("expected_messages") != nil {
		n.Errorf("expected_output", "give either `expected_output` or `expected_messages`")
	}
	checkFiles(n.Get("files"))

	prompts := slices.Concat(c.Input, c.InputMessages)
	if c.Question != "" {
		prompts = []string{c.Question}
	}
	c.Case = Case{
		ID: c.ID, Prompts: prompts, ExpectedOutcome: c.ExpectedOutcome, ReferenceAnswer: c.ReferenceAnswer,
		ExpectedMessages: slices.Concat(c.ExpectedOutput, c.ExpectedMessages), Files: c.Files,
		Evaluators: c.Execution.Evaluators, Position: c.Position,
	}
	if len(prompts) == 1 {
		c.Case.Prompt = prompts[0]
	}
	if m := c.Case.ExpectedMessages; n.Get("reference_answer") == nil && len(m) > 0 {
		c.Case.ReferenceAnswer = m[len(m)-1].Content
	}
}
