package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/convert"
	"github.com/sdd-eval/sdd-eval/internal/convert/agentevals"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// importOptions are the flags of `sdd-eval cassette import`.
type importOptions struct {
	from, playbook, unit string
	dir, stop, ignore    string
	force                bool
	where                recordingsFlags
}

func cassetteImportCommand() command {
	formats := convert.Names(convert.Readable())
	return command{
		name: "cassette import",
		usage: "--from " + strings.Join(formats, "|") + " --playbook FILE [--unit ID] [--dir DIR]\n" +
			"               [--stop REASON] [--ignore TYPE,...] [--force] [--root DIR] [--cassettes DIR] FILE",
		short: "make a recording from an agent's own transcript",
		long: `Reads a session that an agent or another tool recorded, and writes it as the recording of a unit, so
that it can be judged without the agent. FILE is a transcript of Claude Code (with those of its
subagents beside it), a rollout of Codex, a log of Copilot, Qwen Code or Gemini CLI, an export of
OpenCode, or a trajectory in ATIF up to version 1.8. Its prompts must be those of the unit. It does
not contain the files that the agent left, so evaluators and steps that look at files cannot judge
such a recording.`,
		examples: `sdd-eval cassette import --from claude --playbook evals/demo.yaml ~/.claude/projects/demo/2f0c.jsonl
sdd-eval cassette import --from codex --playbook evals/demo.yaml --unit demo/task/codex/1 rollout-2026-01-01.jsonl
sdd-eval cassette import --from atif --playbook evals/demo.yaml --dir /app trajectory.json`,
		codes: `0  the recording was written
2  the command line or the playbook is wrong, or the session does not match the unit
3  the file is not in that format, or the tool itself failed`,
		args: arguments{min: 1, max: 1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			var o importOptions
			f.choice(&o.from, "from", "The `FORMAT` of the file: "+readableFormats()+".", formats...)
			f.text(&o.playbook, "playbook", kindFile, "The `FILE` with the unit's playbook.")
			f.text(&o.unit, "unit", kindText,
				"The `ID` of the unit, such as demo/task/claude/1; not needed if the playbook has only one.")
			f.text(&o.dir, "dir", kindText,
				"The `DIR` that the session ran in, if the file does not say. Paths below it become workspace paths.")
			f.choice(&o.stop, "stop", "The `REASON` why the last turn ended, if the file does not say.",
				"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
			f.text(&o.ignore, "ignore", kindText, "The unknown `TYPES` of lines to leave out, separated by commas.")
			f.BoolVar(&o.force, "force", false, "Replace an existing recording.")
			f.require("from", "playbook")
			o.where.define(f)
			return func(ctx context.Context, args []string) error { return a.importCassette(ctx, args[0], o) }
		},
	}
}

// readableFormats describes the formats that sessions are read from.
func readableFormats() string {
	var all []string
	for _, f := range convert.Readable() {
		all = append(all, f.Name+" is "+f.Holds)
	}
	return strings.Join(all, ", ")
}

// importCassette writes the session in a file as the recording of a unit.
func (a *App) importCassette(ctx context.Context, file string, o importOptions) error {
	unit, err := a.unitToImport(o)
	if err != nil {
		return err
	}
	path := unit.runner.CassettePath(unit.Unit)
	if cassette.Exists(path) && !o.force {
		return usageError("cassette import: %s already has a recording, %s: --force replaces it",
			unit.ID(), a.shown(cassette.File(path)))
	}
	opts := convert.Options{Stop: o.stop, Prompts: unit.Prompts()}
	if o.ignore != "" {
		opts.Ignore = strings.Split(o.ignore, ",")
	}
	session, err := convert.Read(o.from, a.path(file), opts)
	if errors.Is(err, fs.ErrNotExist) && !exists(a.path(file)) {
		return usageError("%s: no such file", file)
	}
	if err != nil {
		return fmt.Errorf("cassette import: %w", err)
	}
	if err := checkPrompts(session, unit); err != nil {
		return usageError("cassette import: %s: %w", file, err)
	}
	pb, profile := unit.pb, unit.profile
	c, masked, err := session.Cassette(convert.Unit{
		ID: unit.ID(), Kind: profile.Kind, Dir: o.dir,
		Patterns: profile.Patterns(pb.Cassette.Normalise), Volatile: profile.Volatile,
		Secrets: a.secrets, ClientVersion: engine.Version, Now: a.Now(),
	})
	if err != nil {
		return fmt.Errorf("cassette import: %w", err)
	}
	if err := a.addFingerprints(ctx, c, unit); err != nil {
		return fmt.Errorf("cassette import: %w", err)
	}
	if err := cassette.Write(unit.tree, path, c); err != nil {
		return fmt.Errorf("cassette import: %w", err)
	}
	if masked {
		session.Left = append(session.Left, "secrets, which are masked")
	}
	for _, left := range session.Left {
		fmt.Fprintf(a.Stderr, "left out: %s\n", printable(a.secrets.String(left)))
	}
	fmt.Fprintln(a.Stdout, a.shown(cassette.File(path)))
	return nil
}

// importedUnit is a unit with its playbook and the profile of its agent.
type importedUnit struct {
	plan.Unit
	pb      *plan.Playbook
	profile agent.Profile
	runner  *engine.Runner
	tree    disk.Tree // that its recording is in
}

// addFingerprints adds what the playbook is now, so that a replay notices when it changes.
func (a *App) addFingerprints(ctx context.Context, c *cassette.Cassette, unit importedUnit) error {
	now, err := unit.runner.Fingerprints(ctx, unit.Unit)
	if err != nil {
		return err
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if name, found := a.secrets.Contains(text); found {
		return fmt.Errorf("%s contains the value of %s, or a file's name in its workspace does: take it out",
			unit.pb.File, name)
	}
	c.Header.Fingerprints = now.OfImport()
	return nil
}

// unitToImport returns the unit that the flags name.
func (a *App) unitToImport(o importOptions) (unit importedUnit, err error) {
	root, err := a.projectRoot(o.where.root)
	if err != nil {
		return importedUnit{}, err
	}
	runner, plan, err := a.recordings(root, o.where, o.playbook)
	if err != nil {
		return importedUnit{}, err
	}
	units := plan.Units
	ids := make([]string, len(units))
	for i, u := range units {
		ids[i] = u.ID()
	}
	i := slices.Index(ids, o.unit)
	switch {
	case o.unit == "" && len(ids) == 1:
		i = 0
	case o.unit == "":
		return importedUnit{}, usageError("cassette import: %s has %d units: choose one with --unit, such as %s",
			o.playbook, len(ids), ids[0])
	case i < 0:
		return importedUnit{}, usageError("cassette import: %s has no unit %q%s",
			o.playbook, o.unit, doc.DidYouMean(o.unit, ids))
	}
	unit = importedUnit{Unit: units[i], pb: plan.Playbook, runner: runner, tree: o.where.tree(root)}
	unit.profile, _ = agent.Lookup(unit.Variant.Agent.Kind)
	unit.profile.Kind = unit.Variant.Agent.Kind
	if want := kindOf(o.from); want != "" && want != unit.profile.Kind {
		return importedUnit{}, usageError("cassette import: --from %s is for agents of kind %s, but %s has kind %s",
			o.from, want, unit.ID(), unit.profile.Kind)
	}
	return unit, nil
}

// kindOf returns the kind of the agents that write their sessions in a format, "" if it is no agent's own format.
func kindOf(format string) string {
	for _, p := range agent.Profiles() {
		if p.Transcript == format {
			return p.Kind
		}
	}
	return ""
}

// checkPrompts returns an error if the prompts of the session are not those of the unit.
func checkPrompts(s *convert.Session, u importedUnit) error {
	want := u.Prompts()
	got := s.Prompts()
	for i := range max(len(want), len(got)) {
		var of [2]string
		for j, prompts := range [][]string{want, got} {
			if i < len(prompts) {
				of[j] = fmt.Sprintf("%.200q", prompts[i])
			} else {
				of[j] = "nothing"
			}
		}
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			return fmt.Errorf("the session does not match %s: prompt %d is %s in the playbook, and %s in the session",
				u.ID(), i+1, of[0], of[1])
		}
	}
	return nil
}

func cassetteExportCommand() command {
	formats := convert.Names(convert.Writable())
	return command{
		name:  "cassette export",
		usage: "--to " + strings.Join(formats, "|") + " FILE",
		short: "print a recording in the format of another tool",
		long: `Prints a cassette as a trajectory in ATIF v1.8, the Agent Trajectory Interchange Format. Data that
ATIF has no field for goes to extra.sdd_eval; changes to the workspace are left out.`,
		examples: `sdd-eval cassette export --to atif cassettes/evals/demo/demo/task/claude.1.jsonl > trajectory.json`,
		codes: `0  the recording was printed
2  the command line is wrong, or the file does not exist
3  the file is not a cassette, or was changed after it was recorded`,
		args: arguments{min: 1, max: 1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			format := ""
			f.choice(&format, "to", "The `FORMAT` to print: "+strings.Join(formats, ", ")+".", formats...)
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
	exported, err := convert.Write(format, c)
	if err != nil {
		return fmt.Errorf("cassette export: %s: %w", file, err)
	}
	_, _ = inJSON{a.Stdout}.Write(a.secrets.JSON(exported)) // App reports errors
	return nil
}

func matchCommand() command {
	return command{
		name:  "match",
		usage: "[--compat agentevals] [--check] FILE|-",
		short: "compare trajectories that are given as messages",
		long: `Reads cases as tests of AgentEvals have them, one JSON object per line: "outputs" and
"reference_outputs" (or "referenceOutputs", as npm's agentevals has it) are messages with tool calls,
"mode" is strict, unordered, subset or superset. Prints one JSON object per case, with its name, score
and value, and the missing and extra calls. A case that cannot be judged has an "error" instead of a
score. The file - is standard input.`,
		examples: `sdd-eval match --check cases.jsonl
sdd-eval match --compat agentevals -`,
		codes: `0  every case was judged; with --check: and every score is true
1  with --check: a score is false
2  the command line is wrong, or the file does not exist
3  a case could not be judged`,
		args: arguments{min: 1, max: 1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			compat, check := "", false
			f.choice(&compat, "compat",
				"Give the same answers as another `TOOL`: agentevals is npm's agentevals 0.0.7.", "agentevals")
			f.BoolVar(&check, "check", false, "Exit with 1 if a score is false.")
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
		return usageError("match: no standard input")
	}
	sum, err := agentevals.Run(in, inJSON{a.Stdout}, agentevals.Options{Compat: compat})
	switch {
	case err != nil:
		return fmt.Errorf("match: %w", err)
	case sum.Errors > 0:
		return fmt.Errorf("match: %s could not be judged", excerpt.Count(sum.Errors, "case"))
	case sum.True+sum.False == 0:
		return errors.New("match: no cases")
	case check && sum.False > 0:
		err := fmt.Errorf("match: %d of %s did not match", sum.False, excerpt.Count(sum.True+sum.False, "case"))
		return &exitError{code: exitFailed, err: err}
	}
	return nil
}
