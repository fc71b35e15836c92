package cli

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
)

func importHumanCommand() command {
	return command{
		name:  "import-human",
		usage: "--run RUN_ID --file FILE [--root DIR]",
		short: "add a person's scores to a run",
		long: `Adds the scores that a person gave, as human-pack.html saves them or as written into human-scores.template.json, to a
run and writes its reports anew. Scores of the same rater are replaced. A file with an error changes nothing.`,
		examples: `sdd-eval import-human --run latest --file scores.json`,
		define: func(a *App, f *flags) action {
			var run, file, root string
			f.text(&run, "run", kindRun, "The `RUN_ID`, the beginning of one, or latest.")
			f.text(&file, "file", kindFile, "The `FILE` with the scores.")
			f.root(&root)
			f.require("run", "file")
			return func(ctx context.Context, _ []string) error { return a.importHuman(ctx, root, run, file) }
		},
	}
}

func (a *App) importHuman(ctx context.Context, rootFlag, run, file string) error {
	r, err := a.openRun(rootFlag, run)
	if err != nil {
		return err
	}
	defer r.Close()
	scores, err := human.Import(r, a.path(file))
	if err != nil {
		return usageError("%w", err)
	}
	added := "added"
	if scores.Replaced {
		added = "replaced"
	}
	fmt.Fprintf(a.Stderr, "%s: scores of %s for %s\n", added, printable(scores.Rater), count(len(scores.Variants), "variant"))
	return rebuildReport(ctx, a, r, reportOptions{})
}
