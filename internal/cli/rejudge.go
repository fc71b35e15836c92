package cli

import (
	"context"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/engine"
)

func rejudgeCommand() command {
	return command{
		name:  "rejudge",
		usage: "[RUN_ID] [--llm-judge] [--parallel N] [--root DIR] [--sandbox KIND] [--open]",
		short: "judge a run anew, without agents",
		long: `Judges what the agents of a run did by the evaluators that its playbook has now: after a rubric, a
threshold or an expectation was edited. No agent runs, no cassette is read, and no step is carried
out again: what the agents said, called and left is taken from the run's directory. It makes a new
run that names the other, whose results stay.

What did not pass for another reason than the evaluators, such as a step that failed, stays as it
was. Replays are not judged anew by this command, since each run of a replay does that.`,
		examples: `sdd-eval rejudge
sdd-eval rejudge 20260131-101500-demo-k3v9 --llm-judge`,
		codes: strings.Replace(runCodes, "continue with --resume", "begin it again", 1),
		args:  arguments{max: 1, what: "RUN_ID", kind: kindRun},
		define: func(a *App, f *flags) action {
			o := runOptions{mode: string(engine.Replay)}
			o.define(f)
			o.defineEnd(f)
			return func(ctx context.Context, args []string) error {
				o.rejudge = append(args, latest)[0]
				return a.run(ctx, o)
			}
		},
	}
}
