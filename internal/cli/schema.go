package cli

import (
	"context"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

func schemaCommand() command {
	return command{
		name:  "schema",
		short: "print the JSON schema of playbooks and eval files",
		long: `Prints the JSON schema (draft 7) of the playbooks and eval files that this version reads, for editors. "sdd-eval init
--schema local" writes it to a file and refers to it. What passes it can still have errors: "sdd-eval validate" finds
all of them.`,
		examples: `sdd-eval schema > playbook.schema.json`,
		define: func(a *App, _ *flags) action {
			return func(context.Context, []string) error {
				_, err := a.Stdout.Write(spec.Schema(kinds.All()))
				return err
			}
		},
	}
}
