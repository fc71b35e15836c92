package action

import (
	"fmt"
	"strings"
)

// Task is what a unit's agent is asked to do.
type Task struct {
	// Title is what the task is called.
	Title string
	// Prompts are those of the unit's case.
	Prompts []string
	// Style is the workflow style that was written into the workspace; empty: none.
	Style string
	// Iterations is how many prompts a loop may send; less than 1 means 1.
	Iterations int
}

func casePrompts(t Task) []string { return t.Prompts }

// loopPrompts are those of a loop, all of one session. That the agent says it is done ends nothing: it is asked to
// check until the budget is used up. They are the same each time: recordings are found by them.
func loopPrompts(t Task) []string {
	budget := max(t.Iterations, 1)
	prompts := []string{firstPrompt(t, budget)}
	for i := 2; i < budget; i++ {
		prompts = append(prompts, fmt.Sprintf(continuePrompt, i, budget))
	}
	if budget > 1 {
		prompts = append(prompts, fmt.Sprintf(verifyPrompt, budget, budget))
	}
	return prompts
}

func firstPrompt(t Task, budget int) string {
	var b strings.Builder
	if t.Style != "" {
		fmt.Fprintf(&b, "Workflow style: %s. Its rules are in AGENTS.md of this directory. "+
			"Read them first and keep to them.\n\n", t.Style)
	}
	fmt.Fprintf(&b, "This is prompt 1 of %d in this session.\n\n", budget)
	fmt.Fprintf(&b, "# Task: %s\n\n%s\n\n", t.Title, strings.TrimSpace(strings.Join(t.Prompts, "\n\n")))
	b.WriteString(constraints)
	return b.String()
}

const (
	constraints = `# Constraints

- Work in this directory only. Everything outside it is out of bounds.
- Nobody answers questions. Where something is open, decide, and write down what you decided.
- Run the project's own checks before you call something finished, and report failures as they are.
- The session goes on until its last prompt, whether or not you say that you are done.`

	continuePrompt = `This is prompt %d of %d. Go on with the task: compare what there is with what was asked, ` +
		`do what is missing, and mend what does not work. If nothing is left to do, look for what you have overlooked.`

	verifyPrompt = `This is prompt %d of %d, the last one. Verify your work as a reviewer would: run the checks, ` +
		`read your changes once more against the task, mend what is wrong, ` +
		`and close with what is done, what is not, and how you know.`
)
