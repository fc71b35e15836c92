package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doctor"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/suite"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// suiteOptions are the flags of `sdd-eval run --from`.
type suiteOptions struct {
	dir                      string // empty: a playbook is run
	agent, judge, judgeModel string
	ignore, tags             string
	trials                   int
	threshold                float64
	scaffold, partial        bool
	servers                  bool     // real ones
	command                  []string // the program of the agent, with its arguments
}

// suiteFlags are the names of flags that only --from takes.
var suiteFlags = []string{
	"agent", "judge", "judge-model", "tag", "trials", "threshold", "ignore", "scaffold", "allow-real-servers",
	"partial",
}

func (o *suiteOptions) define(f *flags) {
	f.text(&o.dir, "from", kindDir, "The `DIR` of a plugin of Claude Code, whose evals are run as they are.")
	f.text(&o.agent, "agent", kindText, "With --from the agent: `KIND[/PRESET]`, where a word of its name (claude, "+
		"codex) stands for a kind; default: the one that was recorded, else claude-cli.")
	f.text(&o.judge, "judge", kindText,
		"With --from the agent that judges: `KIND[/PRESET]`; default: the agent itself.")
	f.text(&o.judgeModel, "judge-model", kindText, "With --from the `MODEL` that judges in the place of an agent.")
	f.text(&o.tags, "tag", kindText, "With --from only cases with one of these `TAGS`, separated by commas.")
	f.number(&o.trials, "trials", 1, "With --from try each case `N` times; default: as often as the evals say.")
	f.Var(&portion{&o.threshold}, "threshold", "With --from fail a case only if its score with the plugin, the "+
		"mean over its trials, is below `X`, above 0 and up to 1; default: 1.")
	f.list(&o.ignore, "ignore", "With --from leave out these settings of sessions, `KEY,...`: "+
		strings.Join(suite.Ignorable(), ", ")+".", suite.Ignorable()...)
	f.BoolVar(&o.scaffold, "scaffold", false,
		"With --from run the author's scripts that prepare workspaces, confined: read them first.")
	f.BoolVar(&o.servers, "allow-real-servers", false,
		"With --from start a plugin's MCP servers that have no mock, as its author's programs: read them first.")
	f.BoolVar(&o.partial, "partial", false, "With --from run the cases that can be, although others cannot.")
}

// take takes the program of the agent from the arguments, and returns the others.
func (o *suiteOptions) take(f *flags, args []string) []string {
	if dash := f.ArgsLenAtDash(); dash >= 0 {
		args, o.command = args[:dash], args[dash:]
	}
	return args
}

// given names what was given that is for --from alone; empty: nothing.
func (o *suiteOptions) given(f *flags) string {
	for _, name := range suiteFlags {
		if f.Changed(name) {
			return "--" + name
		}
	}
	if len(o.command) > 0 {
		return "-- COMMAND"
	}
	return ""
}

// options are what these flags say to the reader of the evals.
func (o *suiteOptions) options() suite.Options {
	return suite.Options{
		JudgeModel: o.judgeModel, Scripts: o.scaffold, Servers: o.servers, Trials: o.trials, Threshold: o.threshold,
		Tags: listed(strings.Split(o.tags, ",")...), Ignore: listed(strings.Split(o.ignore, ",")...),
	}
}

// fromLine returns the command line of the same evals in a mode.
func (o runOptions) fromLine(mode string) string {
	s := o.from
	args := []string{"run", "--from", s.dir, "--agent", s.agent, "--judge", s.judge, "--mode", mode}
	args = append(args, s.options().Flags()...)
	if s.partial {
		args = append(args, "--partial")
	}
	args = append(args, o.selection.flags()...)
	args = append(args, "--root", o.root, "--config-dir", o.configDir, "--sandbox", o.sandbox)
	if len(s.command) > 0 {
		args = append(append(args, "--"), s.command...)
	}
	return commandLine(args...)
}

// runSuite runs evals that were written for another tool: a run for each playbook that they become.
func (a *App) runSuite(ctx context.Context, o runOptions) error {
	format, dir, ok := suite.Recognise(a.path(o.from.dir))
	switch {
	case !ok:
		return usageError("run: --from: %s has no evals of another tool", o.from.dir).hint("sdd-eval convert --help")
	case format.Name == "skill":
		return usageError("run: --from: %s has the evals of a skill", o.from.dir).
			hint(commandLine("skill", a.shown(dir)))
	case format.Evals == nil:
		return a.elsewhere(o.from.dir)
	case o.dryRun || o.ablate != "":
		return usageError("run: --dry-run and --ablate are for playbooks: remove them").hint("sdd-eval run --help")
	}
	root, err := rundir.ProjectRoot(dir, o.root, a.Getenv)
	if err != nil {
		return usageError("run: %w", err)
	}
	if rel, err := filepath.Rel(root, dir); err != nil || !filepath.IsLocal(rel) {
		return usageError("run: --from: %s is outside of the project %s: name its root with --root", o.from.dir, root)
	}
	if here, err := a.projectRoot(o.root); err != nil || here != root {
		o.root = a.shown(root)
	}
	s, err := a.writeSuite(ctx, &o, format, root, dir)
	if err != nil {
		return err
	}
	var worst error
	var ids []string
	for i, p := range s.Playbooks {
		if i > 0 {
			fmt.Fprintln(a.Stderr)
		}
		one := o
		one.playbook = a.shown(p.File)
		one.cite = func(planned *plan.Plan) {
			p.Cite(planned, func(file string) string { return nameBelow(root, file) })
		}
		cfg, err := a.runConfig(root, one)
		if err != nil {
			return usageError("run: %w", err)
		}
		cfg.Command = func(m engine.Mode, _ plan.Unit) string { return o.fromLine(string(m)) }
		if err := one.divide(&cfg, a); err != nil {
			return err
		}
		if cfg.Shard.Of > 0 {
			return usageError("run: %s: --from runs on one machine: convert the evals to divide them", cfg.Shard.From).
				hint("sdd-eval convert --help")
		}
		done, err := a.runOnce(ctx, one, former{}, cfg)
		if worst = worse(worst, err); ctx.Err() != nil {
			break
		}
		if done.ID != "" && done.Verdict.Outcome != "" {
			ids = append(ids, done.ID)
		}
		if err != nil && len(s.Playbooks) > 1 {
			a.tellError(err)
		}
	}
	a.compareSuite(root, ids)
	if len(s.Problems) > 0 {
		err := &exitError{
			code: exitHarness, err: fmt.Errorf("run: the run is incomplete: %s", doNotMap(s)),
			next: "mend what is named before the run, or move those cases out of the suite",
		}
		return worse(worst, err)
	}
	if len(s.Playbooks) > 1 {
		return told(worst)
	}
	return worst
}

// writeSuite reads evals and writes the playbooks that they become, which then are named by their absolute paths. It
// sets where their recordings are.
func (a *App) writeSuite(
	ctx context.Context, o *runOptions, format suite.Format, root, dir string,
) (*suite.Suite, error) {
	options, err := a.suiteOptions(o, format, root, dir)
	if err != nil {
		return nil, err
	}
	s, err := format.Convert(ctx, dir, options)
	if err != nil {
		return nil, usageError("run: %w", err)
	}
	checkPlaybooks(s, options.Out)
	if len(s.Problems) > 0 {
		a.showSuite(a.Stderr, s)
	} else {
		a.tellNotes(a.Stderr, s)
	}
	if len(s.Problems) > 0 && !o.from.partial || len(s.Playbooks) == 0 {
		next := "mend what is named"
		if len(s.Playbooks) > 0 {
			o.from.partial = true
			next += ", or run the other cases: " + o.fromLine(o.mode)
		} else if slices.ContainsFunc(s.Problems, func(p suite.Problem) bool {
			return slices.Contains(suite.Ignorable(), p.Key)
		}) {
			next += "; settings of sessions that these agents need not have can be left out with --ignore KEY,..."
		}
		return nil, &exitError{code: exitHarness, err: fmt.Errorf("run: %s", doNotMap(s)), next: next}
	}
	generated := filepath.Join(root, filepath.FromSlash(suite.Generated))
	if err := project.MakeIgnored(disk.Tree(root), generated); err != nil {
		return nil, err
	}
	if err := disk.Tree(root).MkdirAll(options.Out); err != nil {
		return nil, err
	}
	for i, p := range s.Playbooks {
		s.Playbooks[i].File = filepath.Join(options.Out, p.File)
		if err := disk.Tree(root).Replace(s.Playbooks[i].File, a.secrets.Bytes(p.Text), 0o644); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// suiteOptions returns how playbooks are written for evals in a directory.
func (a *App) suiteOptions(o *runOptions, format suite.Format, root, dir string) (suite.Options, error) {
	from := &o.from
	out, cassettes, err := format.Places(root, dir)
	if err != nil {
		return suite.Options{}, usageError("run: %w", err)
	}
	if o.cassettes == "" {
		o.cassettes = cassettes
	}
	options := from.options()
	options.Out = out
	chosen := playbook.Agent{Kind: "claude-cli"}
	switch recorded, was := suite.RecordedAgent(disk.Tree(root), filepath.Join(root, o.cassettes)); {
	case from.agent != "":
		if chosen, err = doctor.Choose(from.agent, o.configDir); err != nil {
			return options, usageError("run: --agent: %w", err).hint("sdd-eval doctor")
		}
	case len(from.command) > 0:
		return options, usageError("run: name the kind of the agent %q: --agent acp", from.command[0])
	case was:
		if chosen = recorded; recorded.Command != "" && o.mode != "replay" {
			return options, usageError("run: only the recordings say to start %s: what runs under your account is "+
				"yours to name", commandWords(recorded)).hint("sdd-eval run --help")
		}
	}
	if len(from.command) > 0 {
		chosen.Command, chosen.Args = a.agentCommand(from.command, out)
	}
	if profile, ok := agent.Lookup(chosen.Kind); ok && chosen.Preset == "" && profile.NeedsPreset {
		chosen.Preset = agent.Login
	}
	options.Agent, options.Preset = chosen.Kind, chosen.Preset
	options.Command, options.Args = chosen.Command, chosen.Args
	if from.judge != "" {
		if options.Judge, err = doctor.Choose(from.judge, o.configDir); err != nil {
			return options, usageError("run: --judge: %w", err).hint("sdd-eval doctor")
		}
	}
	return options, nil
}

// compareSuite prints whether the arms with the plugin do better than those without it, over all runs.
func (a *App) compareSuite(root string, ids []string) {
	var all *compare.Arms
	for _, id := range ids {
		arms, err := a.find(root).One(id, "without", "with")
		if err != nil {
			continue // there is one arm
		}
		if all == nil {
			all = &arms[0]
			continue
		}
		// The calls of a trial are those of one run.
		all.Base.Calls, all.Head.Calls = nil, nil
		all.Base.Cases = append(all.Base.Cases, arms[0].Base.Cases...)
		all.Head.Cases = append(all.Head.Cases, arms[0].Head.Cases...)
	}
	if all != nil {
		a.tellComparison([]compare.Arms{*all})
	}
}
