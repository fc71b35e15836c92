package playbook

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Task is the one thing that a playbook without cases asks for. Its case has the id "task".
type Task struct {
	Title    string   `yaml:"title" min:"1" doc:"A line for people, and for the first prompt of a loop."`
	Prompt   string   `yaml:"prompt,required" doc:"What the agent is asked."`
	Position Position `yaml:",position"`
}

// Case is one thing that the variants are asked to do.
type Case struct {
	ID string `yaml:"id,required" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$" doc:"Unique in the playbook; part of names and paths."`

	// Prompt is the only prompt. A case has either a prompt or prompts.
	Prompt string `yaml:"prompt" min:"1" doc:"What the agent is asked, verbatim. Either prompt or prompts."`

	// Prompts are what the agent is asked, one per turn. A single prompt is its only element.
	Prompts []string `yaml:"prompts" min:"1" doc:"What the agent is asked, one turn each, verbatim. Either prompt or prompts."`

	ExpectedOutcome string `yaml:"expected_outcome" doc:"What a good session comes to, for judges."`
	ReferenceAnswer string `yaml:"reference_answer" doc:"An answer that is known to be right, for judges."`

	// Files are written into the workspace before the agent starts: path below the workspace, with slashes, to text.
	Files map[string]string `yaml:"files" doc:"Files to write into the workspace first, by path."`

	// Evaluators judge this case, in addition to the playbook's.
	Evaluators []Evaluator `yaml:"evaluators" min:"1" doc:"What must hold for this case, added to the playbook's evaluators."`

	// ExpectedMessages are what a good session says and calls, for judges. Only eval files have them.
	ExpectedMessages []Message

	// Variants are the ids of the variants that are asked; nil: all that the matrix lists. Only eval files set it.
	Variants []string

	Position Position `yaml:",position"`
}

func (c *Case) decode(n *doc.Node) {
	n.Decode(c)
	if n.Kind() != doc.Map {
		return // reported
	}
	if (n.Get("prompt") != nil) == (n.Get("prompts") != nil) {
		n.Errorf("", "a case has exactly one of `prompt` and `prompts`")
	}
	for i, prompt := range n.Get("prompts").Items() {
		if prompt.Kind() == doc.String && strings.TrimSpace(prompt.Text()) == "" {
			n.Errorf(fmt.Sprintf("prompts[%d]", i), "must not be empty")
		}
	}
	if c.Prompt != "" {
		c.Prompts = []string{c.Prompt}
	}
	checkFiles(n.Get("files"))
}

func checkFiles(files *doc.Node) {
	for _, file := range files.Entries() {
		if !fs.ValidPath(file.Key) || file.Key == "." || strings.ContainsAny(file.Key, `\:`) {
			file.Value.Errorf("", "%q must be a path below the workspace, with slashes", file.Key)
		}
	}
}
