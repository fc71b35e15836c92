package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/convert"
)

func cassetteExportCommand() command {
	formats := convert.Names(convert.Writable())
	return command{
		name:  "cassette export",
		usage: "--to " + strings.Join(formats, "|") + " FILE",
		short: "print a recording in the format of another tool",
		long: `Prints a cassette as a trajectory in ATIF v1.7, the Agent Trajectory Interchange Format. What that has no field for is
under extra.sdd_eval; what the agent changed in its workspace is left out.`,
		examples: `sdd-eval cassette export --to atif cassettes/evals/demo/demo/task/claude.1.jsonl > trajectory.json`,
		codes: `0  the recording is printed
2  the command line is wrong, or there is no such file
3  the file is not a cassette, or not what was recorded`,
		args: arguments{min: 1, max: 1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			format := ""
			f.choice(&format, "to", "The `FORMAT`: "+strings.Join(formats, ", ")+".", formats...)
			f.require("to")
			return func(_ context.Context, args []string) error { return a.exportCassette(format, args[0]) }
		},
	}
}

func (a *App) exportCassette(format, file string) error {
	c, err := a.readCassette(file)
	if err != nil {
		return err
	}
	data, err := convert.Write(format, c)
	if err != nil {
		return fmt.Errorf("cassette export: %s: %w", file, err)
	}
	_, _ = a.Stdout.Write(a.secrets.JSON(data)) // App tells of errors
	return nil
}
