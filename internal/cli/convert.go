package cli

import (
	"context"
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
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// importOptions are the flags of `sdd-eval cassette import`.
type importOptions struct {
	from, playbook, unit string
	dir, stop, ignore    string
	force                bool
	where                recordingsFlags
}

func cassetteImportCommand() command {
	return command{
		name: "cassette import",
		usage: "--from " + strings.Join(convert.Names(convert.Readable()), "|") + " --playbook FILE [--unit ID] [--dir DIR] [--stop REASON]\n" +
			"               [--ignore TYPE,...] [--force] [--root DIR] [--cassettes DIR] FILE",
		short: "make a recording of an agent's own transcript",
		long: `Reads a session that an agent or another tool kept, and writes it as the recording of a unit, so that it can be judged
without the agent: a transcript of Claude Code (with those of its subagents beside it), a rollout of Codex, or a
trajectory in ATIF up to version 1.7. What was asked in it has to be what the unit asks. The file does not hold what
became of the workspace: evaluators and steps that look at files cannot judge such a recording.`,
		examples: `sdd-eval cassette import --from claude --playbook evals/demo.yaml ~/.claude/projects/-src-demo/2f0c.jsonl
sdd-eval cassette import --from codex --playbook evals/demo.yaml --unit demo/task/codex/1 rollout-2026-01-01.jsonl
sdd-eval cassette import --from atif --playbook evals/demo.yaml --dir /app trajectory.json`,
		codes: `0  the recording is written
2  the command line or the playbook is wrong, or the session is not one of the unit
3  the file is not what it should be, or the tool itself failed`,
		args: arguments{min: 1, max: 1, what: "FILE", kind: kindFile},
		define: func(a *App, f *flags) action {
			var o importOptions
			f.choice(&o.from, "from", "What the file is, `FORMAT`: "+whatFilesHold()+".",
				convert.Names(convert.Readable())...)
			f.text(&o.playbook, "playbook", kindFile, "The playbook `FILE` of the unit.")
			f.text(&o.unit, "unit", kindText, "The `ID` of the unit, such as demo/task/claude/1; not needed if there is but one.")
			f.text(&o.dir, "dir", kindText, "The `DIR` that the session ran in, if the file does not say: paths below it are paths of the workspace.")
			f.choice(&o.stop, "stop", "The `REASON` why the last turn ended, if the file does not say.",
				"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
			f.text(&o.ignore, "ignore", kindText, "`TYPES` of lines that are not known here and are to be left out, with commas between.")
			f.BoolVar(&o.force, "force", false, "Replace a recording that is there.")
			f.require("from", "playbook")
			o.where.define(f)
			return func(_ context.Context, args []string) error { return a.importCassette(args[0], o) }
		},
	}
}

// whatFilesHold lists what the files are that sessions are read from.
func whatFilesHold() string {
	var all []string
	for _, f := range convert.Readable() {
		all = append(all, f.Holds)
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + ", or " + all[last]
}

// importCassette writes the session in a file as the recording of a unit.
func (a *App) importCassette(file string, o importOptions) error {
	path, unit, err := a.unitToImport(o)
	if err != nil {
		return err
	}
	if cassette.Exists(path) && !o.force {
		return usageError("cassette import: there is a recording of %s already: %s; --force replaces it", unit.ID(), a.shown(cassette.File(path)))
	}
	opts := convert.Options{Stop: o.stop}
	if o.ignore != "" {
		opts.Ignore = strings.Split(o.ignore, ",")
	}
	session, err := convert.Read(o.from, a.path(file), opts)
	if errors.Is(err, fs.ErrNotExist) && !exists(a.path(file)) {
		return usageError("%s: there is no such file", file)
	}
	if err != nil {
		return fmt.Errorf("cassette import: %w", err)
	}
	if err := ofUnit(session, unit); err != nil {
		return usageError("cassette import: %s: %w", file, err)
	}
	pb, profile := unit.pb, unit.profile
	c, masked, err := session.Cassette(convert.Unit{
		ID: unit.ID(), Kind: profile.Kind, Dir: o.dir, Patterns: pb.Cassette.Normalise, Volatile: profile.Volatile,
		Secrets: a.secrets, ClientVersion: engine.Version, Now: a.Now(),
	})
	if err != nil {
		return fmt.Errorf("cassette import: %w", err)
	}
	if err := cassette.Write(path, c); err != nil {
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

// importedUnit is a unit with what else is to know of it.
type importedUnit struct {
	spec.Unit
	pb      *spec.Playbook
	profile agent.Profile
}

// unitToImport returns the unit that the flags name, and where its recording is.
func (a *App) unitToImport(o importOptions) (path string, unit importedUnit, err error) {
	root, err := a.projectRoot(o.where.root)
	if err != nil {
		return "", importedUnit{}, err
	}
	runner, plan, err := a.recordings(root, o.where, o.playbook)
	if err != nil {
		return "", importedUnit{}, err
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
		return "", importedUnit{}, usageError("cassette import: %s has %d units: give one of them with --unit, such as %s", o.playbook, len(ids), ids[0])
	case i < 0:
		return "", importedUnit{}, usageError("cassette import: %s has no unit %q%s", o.playbook, o.unit, doc.DidYouMean(o.unit, ids))
	}
	unit = importedUnit{Unit: units[i], pb: plan.Playbook}
	unit.profile, _ = agent.Lookup(unit.Variant.Agent.Kind)
	unit.profile.Kind = unit.Variant.Agent.Kind
	if want := kindOf(o.from); want != "" && want != unit.profile.Kind {
		return "", importedUnit{}, usageError("cassette import: the agent of %s is of kind %s, and --from %s is of kind %s", unit.ID(), unit.profile.Kind, o.from, want)
	}
	return runner.CassettePath(unit.Unit), unit, nil
}

// kindOf returns the kind of the agents that keep their sessions in a format, "" if that is anybody's.
func kindOf(format string) string {
	for _, p := range agent.Profiles() {
		if p.Transcript == format {
			return p.Kind
		}
	}
	return ""
}

// ofUnit returns an error if what was asked in the session is not what the unit asks.
func ofUnit(s *convert.Session, u importedUnit) error {
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
			return fmt.Errorf("the session is not one of %s: prompt %d is %s, and in the session it is %s", u.ID(), i+1, of[0], of[1])
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
