package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

func validateCommand() command {
	return command{
		name:  "validate",
		usage: "FILE...",
		short: "check playbooks and eval files",
		long: `Reads playbooks and eval files and runs nothing. All errors of all files are printed, each as file:line:column: path:
reason; a line "ok FILE" tells what a file without any comes to. A job outside the matrix runs once, a unit is one trial
of one case with one variant.`,
		examples: `sdd-eval validate .llman/sdd-eval/playbooks/demo.yaml
sdd-eval validate evals/*/*.yaml`,
		codes: `0  all files are valid
2  a file has errors or cannot be read`,
		args: arguments{min: 1, max: -1, what: "FILE", kind: kindFile},
		define: func(a *App, _ *flags) action {
			return func(_ context.Context, files []string) error { return a.validate(files) }
		},
	}
}

// validate goes on after a file with errors, so that one call shows all there is to mend.
func (a *App) validate(files []string) error {
	bad := 0
	for _, file := range files {
		line, err := a.validateFile(file)
		if err != nil {
			bad++
			fmt.Fprintln(a.Stderr, a.secrets.String(err.Error()))
			continue
		}
		fmt.Fprintln(a.Stdout, line)
	}
	if bad > 0 {
		return usageError("validate: %d of %s not valid", bad, count(len(files), "file"))
	}
	return nil
}

// validateFile returns the line about a valid playbook.
func (a *App) validateFile(file string) (string, error) {
	if file == "" {
		return "", errors.New("the name of a file is empty")
	}
	root, err := rundir.ProjectRoot(a.Dir, "", a.Getenv)
	if err != nil {
		root = "" // a playbook needs none unless its scripts stand above it
	}
	p, err := spec.Read(spec.Source{Path: a.path(file), Name: file, Root: root}, kinds.All())
	if err != nil {
		return "", err
	}
	plan, err := p.Plan()
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	for _, note := range plan.Notes() {
		fmt.Fprintln(a.Stderr, a.secrets.String(note))
	}
	return fmt.Sprintf("ok %s: %s, %s", file, count(len(plan.Jobs), "job"), count(len(plan.Units), "unit")), nil
}

// count returns "1 unit", "2 units".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
