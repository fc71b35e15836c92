package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sdd-eval/sdd-eval/internal/convert/agentevals"
)

func matchCommand() command {
	return command{
		name:  "match",
		usage: "[--compat agentevals] [--check] FILE|-",
		short: "compare trajectories that are given as messages",
		long: `Reads cases, a JSON object on each line, as tests of AgentEvals have them: "outputs" and "reference_outputs" are
messages with tool calls, "mode" is strict, unordered, subset or superset. Prints a line of JSON for each: name, score,
value, and the calls that are missing and extra. A case that cannot be judged has an "error" and no score. The file -
is standard input.`,
		examples: `sdd-eval match --check cases.jsonl
sdd-eval match --compat agentevals -`,
		codes: `0  every case has an answer; with --check: and every answer is true
1  with --check: an answer is false
2  the command line is wrong, or there is no such file
3  a case has no answer`,
		args: arguments{min: 1, max: 1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			compat, check := "", false
			f.choice(&compat, "compat", "Judge as another `TOOL` does, answer for answer: agentevals is npm's agentevals 0.0.7.", "agentevals")
			f.BoolVar(&check, "check", false, "Exit with 1 if an answer is false.")
			return func(_ context.Context, args []string) error { return a.match(args[0], compat != "", check) }
		},
	}
}

// match judges the cases in a file, "-" being standard input.
func (a *App) match(file string, compat, check bool) error {
	in := a.Stdin
	if file != "-" {
		f, err := os.Open(a.path(file))
		if err != nil {
			return usageError("match: %w", err)
		}
		defer f.Close()
		in = f
	}
	if in == nil {
		return usageError("match: there is no standard input")
	}
	sum, err := agentevals.Run(in, a.Stdout, agentevals.Options{Compat: compat})
	switch {
	case err != nil:
		return fmt.Errorf("match: %w", err)
	case sum.Errors > 0:
		return fmt.Errorf("match: no answer to %s", count(sum.Errors, "case"))
	case sum.True+sum.False == 0:
		return errors.New("match: there are no cases")
	case check && sum.False > 0:
		return &exitError{code: exitFailed, err: fmt.Errorf("match: %s of %d not as expected", count(sum.False, "case"), sum.True+sum.False)}
	}
	return nil
}
