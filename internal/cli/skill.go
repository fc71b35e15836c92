package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/git"
	"github.com/sdd-eval/sdd-eval/internal/skill"
)

// skillOptions are the flags of `sdd-eval skill`.
type skillOptions struct {
	dir                string
	check, all, asJSON bool
	suggest            bool
	changed            string
	triggers, plugin   bool
	arms, cases        string
	trials             int
	// mode is empty if it was not given.
	mode string
	// agent and judge are words for agents, and command is the program of the agent, with its arguments; empty: not
	// given.
	agent, preset, model, judge        string
	command                            []string
	yes, bless, useAPIKey              bool
	gate, wait                         string
	budget, assume, configDir, sandbox string
	parallel                           int
	resume                             string
}

func skillCommand() command {
	return command{
		name: "skill",
		usage: "[DIR] [--agent KIND[/PRESET]] [--preset NAME] [--model M] [--judge KIND[/PRESET]]\n" +
			"                 [--arms with,without | with,old=REV] [--trials N] [--triggers | --plugin]\n" +
			"                 [--case CASES]\n" +
			"                 [--mode missing|replay|record|live] [--all | --changed REF] [--yes]\n" +
			"                 [--bless | --gate worse|not-worse|better|none]\n" +
			"                 [--use-api-key] [--wait TIME] [--budget-usd USD] [--assume-cost USD]\n" +
			"                 [--parallel N] [--sandbox KIND] [--config-dir DIR] [-- COMMAND ARG...]\n" +
			"  sdd-eval skill [DIR] --resume RUN_ID [FLAGS]\n" +
			"  sdd-eval skill [DIR] --check [--all | --changed REF] [--json | --suggest-checks]",
		short: "run the evals that a skill brings, with the skill and without",
		long: `Finds the skill in DIR (default: the working directory) and its evals, evals/evals.json, and runs each
case with the skill and without, confined. It says what it will do and what that took before, asks,
records what has no recording or a stale one, judges, and shows each check in each arm. A model decides
what code cannot: it is asked through the same agent, so that no key is needed.

--triggers asks the queries of a file of triggers, such as evals/trigger-eval.json, and counts how often
the skill fires where it should, and where it should not.

--plugin installs the plugin around the skill in its place, and runs the cases, too, whose prompt begins
with a /command. What was recorded so is replayed so.

With CI set, or where no agent has a login, it replays the recordings: no agent, no network, no key.
They are in .sdd-eval beside evals.json: commit them.

--bless keeps how each check came out, as a baseline beside the recordings. Then replays under the same
skill must come out as it says, and --gate decides for another skill, as in sdd-eval compare.

--check only reads, and says what is found and what is wrong; docs/skills.md says what is read.`,
		examples: `sdd-eval skill
sdd-eval skill skills/pdf --agent claude --trials 3
sdd-eval skill --arms with,old=main
sdd-eval skill --changed origin/main --mode replay
sdd-eval skill plugins/pdf --check --json`,
		codes: `0    all checks hold with the skill, in the cases that could be run; or the baseline is met
1    a check does not hold with the skill; or with a baseline, one is not as it says, or the gate is lost;
     or --check warns that a verdict would mean nothing
2    the command line is wrong, there are no evals, several skills and no --all, or nobody agreed
3    something ended in an error, is stale, or cannot be run or judged; or the tool itself failed
4    the difference to the baseline is inconclusive, and checks were lost or the gate wants more
130  interrupted; continue with --resume`,
		args: arguments{max: -1, what: "DIR", kind: kindDir},
		define: func(a *App, f *flags) action {
			var o skillOptions
			o.define(f)
			return func(ctx context.Context, args []string) error {
				if err := o.complete(f, args); err != nil {
					return err
				}
				return a.skill(ctx, o)
			}
		},
	}
}

func (o *skillOptions) define(f *flags) {
	f.BoolVar(&o.check, "check", false, "Check the evals; nothing is run.")
	f.BoolVar(&o.all, "all", false, "Take all skills with evals in DIR and below it, in turn.")
	f.text(&o.changed, "changed", kindText,
		"Of all skills, take those that have changed since the commit `REF`, or whose evals have.")
	f.BoolVar(&o.asJSON, "json", false, "Print what --check found as one JSON object.")
	f.BoolVar(&o.suggest, "suggest-checks", false, "Print what --check found, and checks that ask a model and that "+
		"code could decide, as they would be written. They are guesses: read each. Nothing is changed.")
	f.text(&o.agent, "agent", kindText, "The agent: `KIND[/PRESET]`, where a word of its name (claude, codex) stands "+
		"for a kind; default: the one that made the recordings, else the one that has a login here.")
	f.text(&o.preset, "preset", kindText,
		"The account preset `NAME` of the agent; default: login, the machine's own.")
	f.text(&o.model, "model", kindText, "The `MODEL` that the agent uses; default: its own.")
	f.text(&o.judge, "judge", kindText, "The agent that judges: `KIND[/PRESET]`; default: the agent itself. Another "+
		"vendor's gets what the agent made.")
	f.text(&o.arms, "arms", kindText, "The `ARMS` to run, separated by commas: with, without, and old=REV, the skill "+
		"of a commit; default: with,without.")
	f.BoolVar(&o.triggers, "triggers", false, "Ask the queries that say whether the skill fires, in the place of the "+
		"cases: each three times, with the skill alone, until that is sure.")
	f.BoolVar(&o.plugin, "plugin", false, "Install the plugin around the skill in its place, and run the cases, too, "+
		"whose prompt begins with a /command.")
	f.number(&o.trials, "trials", 1, "Run each case `N` times in each arm; default: 1.")
	f.text(&o.cases, "case", kindText, "Only these `CASES`, separated by commas.")
	f.choice(&o.mode, "mode", "The `MODE`: missing, the default, records what has no recording or a stale one, and "+
		"replays the rest; replay starts no agent; record records all anew; live records nothing.",
		"missing", "replay", "record", "live")
	f.BoolVar(&o.bless, "bless", false, "Keep what the run comes to as the skill's baseline.")
	f.choice(&o.gate, "gate", "Which `VERDICT` on the difference to the baseline fails, as in `sdd-eval compare`; "+
		"default: worse. none: only errors fail.", "worse", "not-worse", "better", "none")
	f.BoolVar(&o.yes, "yes", false, "Do not ask before agents are started.")
	f.BoolVar(&o.useAPIKey, "use-api-key", false, "Use the API key in the environment, the preset api-key, for the "+
		"judge, too; default: no key reaches an agent that has a login.")
	f.Var(&patience{&o.wait}, "wait", "The `TIME` to wait in all for a rate limit of an account, until a session "+
		"ends; then the run ends, to be resumed. Default: 10m.")
	f.Var(&dollars{p: &o.budget, positive: true}, "budget-usd",
		"End before all agents together cost more than `USD`.")
	f.Var(&dollars{p: &o.assume}, "assume-cost", "Count `USD` for a session whose agent does not say what it cost; "+
		"without, such a session ends a run with a budget.")
	f.number(&o.parallel, "parallel", 1,
		"Run up to `N` sessions at the same time; default: as `sdd-eval run` does.")
	f.choice(&o.sandbox, "sandbox", "The `KIND` of sandbox that confines the agent; default: EVALTEST_SANDBOX, else "+
		"auto, the strongest that works here.", "auto", "bwrap", "landlock", "command", "none")
	f.configDir(&o.configDir)
	f.text(&o.resume, "resume", kindRun, "The `RUN_ID` of the run to continue, the beginning of one, or latest.")
}

// complete takes over the arguments, and returns an error for flags that do not go together.
func (o *skillOptions) complete(f *flags, args []string) error {
	o.dir = "."
	if dash := f.ArgsLenAtDash(); dash >= 0 {
		args, o.command = args[:dash], args[dash:]
	}
	if len(args) > 0 {
		o.dir, args = args[0], args[1:]
	}
	var err *exitError
	switch {
	case len(args) > 0:
		err = usageError("skill: unexpected argument %q", args[0])
	case o.triggers && (o.arms != "" || o.trials > 0 || o.judge != ""):
		err = usageError("skill: --triggers asks each query three times, with the skill alone, and nobody judges: " +
			"remove --arms, --trials and --judge")
	case o.triggers && o.plugin:
		err = usageError("skill: --triggers asks its queries with the skill alone: remove --plugin")
	case o.asJSON && !o.check:
		err = usageError("skill: --json is for --check")
	case o.suggest && (!o.check || o.asJSON):
		err = usageError("skill: --suggest-checks is for --check without --json")
	case o.all && o.changed != "":
		err = usageError("skill: give either --all or --changed")
	case o.bless && (o.gate != "" || o.cases != "" || o.mode == "live"):
		err = usageError("skill: --bless is of all cases and of recordings: remove --gate, --case and --mode live")
	case o.resume != "" && (o.all || o.changed != "" || o.mode != "" || o.cases != ""):
		err = usageError("skill: --resume continues the run of one skill as it began: remove --all, --changed, " +
			"--mode and --case")
	case o.useAPIKey && o.preset != "":
		err = usageError("skill: give either --preset or --use-api-key")
	case o.agent == "" && len(o.command) > 0:
		err = usageError("skill: name the kind of the agent %q: --agent acp", o.command[0])
	default:
		if o.useAPIKey {
			o.preset = agent.APIKey
		}
		return nil
	}
	return err.hint("sdd-eval skill --help")
}

// line returns the command line of the same with more arguments.
func (o skillOptions) line(more ...string) string {
	args := []string{"skill"}
	if o.dir != "." {
		args = append(args, o.dir)
	}
	if o.triggers {
		args = append(args, "--triggers")
	}
	if o.plugin {
		args = append(args, "--plugin")
	}
	args = append(args, more...)
	args = append(args, "--agent", o.agent, "--preset", o.preset, "--model", o.model, "--judge", o.judge,
		"--arms", o.arms, "--wait", o.wait)
	if o.trials > 0 {
		args = append(args, "--trials", strconv.Itoa(o.trials))
	}
	if !slices.Contains(more, "--bless") { // which takes no gate
		args = append(args, "--gate", o.gate)
	}
	args = append(args, "--config-dir", o.configDir, "--sandbox", o.sandbox)
	if len(o.command) > 0 {
		args = append(append(args, "--"), o.command...)
	}
	return commandLine(args...)
}

// skill checks the evals of skills, or runs them.
func (a *App) skill(ctx context.Context, o skillOptions) error {
	suites, others, err := a.findSkills(ctx, o)
	if err != nil {
		return err
	}
	if o.check {
		return a.checkSkills(suites, others, o)
	}
	return a.runSkills(ctx, o, suites)
}

// findSkills reads the evals of the skills that the options mean. Others are directories evals that have no file that
// is read.
func (a *App) findSkills(ctx context.Context, o skillOptions) (suites []*skill.Suite, others []string, err error) {
	several := o.all || o.changed != ""
	places, others, err := skill.Find(a.path(o.dir), several)
	switch {
	case err != nil:
		return nil, nil, usageError("skill: %w", err)
	case len(places) == 0:
		next := "sdd-eval skill --help"
		for _, other := range others {
			next = cmp.Or(a.runsOther(other), next)
		}
		return nil, nil, usageError("skill: %s has no evals: there is no evals/evals.json, and no file of triggers in "+
			"evals%s", o.dir, notRead(others)).hint(next)
	case len(places) > 1 && !several:
		var list strings.Builder
		for _, p := range places {
			fmt.Fprintf(&list, "\n  %s", a.shown(filepath.Join(p.Root, filepath.FromSlash(p.Dir))))
		}
		more := []string{"--all"}
		if o.check {
			more = []string{"--check", "--all"}
		}
		return nil, nil, usageError("skill: there are %d skills with evals, name one:%s", len(places), list.String()).
			hint(o.line(more...))
	}
	changed := func(*skill.Suite) bool { return true }
	if o.changed != "" {
		if changed, err = changedSince(ctx, places[0].Root, o.changed); err != nil {
			return nil, nil, err
		}
	}
	plugins := false
	for _, p := range places {
		s, err := skill.Load(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		if !o.triggers {
			if err := s.TakePlugin(ctx, o.plugin); err != nil {
				return nil, nil, usageError("skill: %w", err).hint(fault.Advice(err))
			}
		}
		plugins = plugins || s.Plugin != nil
		if changed(s) {
			suites = append(suites, s)
		}
	}
	if o.plugin && !plugins {
		return nil, nil, usageError("skill: no case has a prompt that begins with a /command, which is what --plugin " +
			"is for").hint("remove --plugin")
	}
	if len(suites) == 0 {
		fmt.Fprintf(a.Stderr, "of %s none has changed since %s\n", excerpt.Count(len(places), "skill"),
			printable(o.changed))
	}
	return suites, others, nil
}

// changedSince returns what tells whether a skill or its evals differ from what they were in a commit.
func changedSince(ctx context.Context, root, ref string) (func(*skill.Suite) bool, error) {
	commit, err := git.Commit(ctx, root, ref)
	if err != nil {
		return nil, usageError("skill: --changed: %w", err)
	}
	tracked, err := git.Output(ctx, root, "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", commit)
	if err != nil {
		return nil, err
	}
	added, err := git.Output(ctx, root, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	files := listed(strings.Split(tracked+"\x00"+added, "\x00")...)
	return func(s *skill.Suite) bool { return s.Concerns(files) }, nil
}
