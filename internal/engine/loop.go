package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// loop sends the agent up to as many prompts as the playbook's loop has iterations, all in one session. That the agent
// says it is done ends nothing: it is asked to check until the limit is reached.
func (a *attempt) loop(ctx context.Context) error {
	if err := a.ask(ctx, a.loopPrompts()); err != nil {
		return err
	}
	a.byLimit = true
	return nil
}

// loopPrompts are the prompts of the unit's loop. They are the same each time: recordings are found by them.
func (a *attempt) loopPrompts() []string {
	budget := max(a.pb.SDDLoop.MaxIterations, 1)
	prompts := []string{a.firstPrompt(budget)}
	for i := 2; i < budget; i++ {
		prompts = append(prompts, fmt.Sprintf(continuePrompt, i, budget))
	}
	if budget > 1 {
		prompts = append(prompts, fmt.Sprintf(verifyPrompt, budget, budget))
	}
	return prompts
}

func (a *attempt) firstPrompt(budget int) string {
	var b strings.Builder
	if style := a.unit.Variant.Style; style != "" {
		fmt.Fprintf(&b, "Workflow style: %s. Its rules are in AGENTS.md of this directory. Read them first and keep to them.\n\n", style)
	}
	fmt.Fprintf(&b, "This is prompt 1 of %d in this session.\n\n", budget)
	fmt.Fprintf(&b, "# Task: %s\n\n%s\n\n", cmp.Or(a.unit.Values()["task.title"], a.unit.Case.ID),
		strings.TrimSpace(strings.Join(a.unit.Case.Prompts, "\n\n")))
	b.WriteString(constraints)
	return b.String()
}

const (
	constraints = `# Constraints

- Work in this directory only. Everything outside it is out of bounds.
- Nobody answers questions. Where something is open, decide, and write down what you decided.
- Run the project's own checks before you call something finished, and report failures as they are.
- The session goes on until its last prompt, whether or not you say that you are done.`

	continuePrompt = `This is prompt %d of %d. Go on with the task: compare what there is with what was asked, do what is missing, and mend ` +
		`what does not work. If nothing is left to do, look for what you have overlooked.`

	verifyPrompt = `This is prompt %d of %d, the last one. Verify your work as a reviewer would: run the checks, read your changes once more against ` +
		`the task, mend what is wrong, and close with what is done, what is not, and how you know.`
)
