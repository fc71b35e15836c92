package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/suite"
)

// convertOptions are the flags of `sdd-eval convert`.
type convertOptions struct {
	from, out, agent, preset, judge, ignore string
	check, scaffold, partial, force         bool
	servers                                 bool
}

func convertCommand() command {
	var names, whats []string
	for _, f := range suite.Formats() {
		names, whats = append(names, f.Name), append(whats, f.Name+", "+f.What)
	}
	return command{
		name: "convert",
		usage: "--from " + strings.Join(names, "|") + " DIR (--check | --out DIR [--force] [--partial])\n" +
			"               [--agent KIND] [--preset NAME] [--judge-model MODEL] [--scaffold]\n" +
			"               [--allow-real-servers] [--ignore KEY,...]",
		short: "make playbooks of evals that were written for another tool",
		long: `Reads the evals in DIR and writes them as playbooks. What a playbook cannot say is an error of its
case that names file and line, and then nothing is written; --partial writes the other cases. --check
only says what would be written. Nothing is run and nobody is asked. docs/import.md says what becomes
what.`,
		examples: `sdd-eval convert --from plugin-evals --check plugins/pdf
sdd-eval convert --from plugin-evals plugins/pdf --out evals/pdf --judge-model gpt-4.1
sdd-eval convert --from promptfoo prompts/promptfooconfig.yaml --agent codex-acp --out evals`,
		codes: `0  everything maps
2  the command line is wrong, DIR has no such evals, or a file is in the way
3  some cases do not map, or the tool itself failed`,
		args: arguments{min: 1, max: 1, what: "DIR", kind: kindDir},
		define: func(a *App, f *flags) action {
			o := convertOptions{agent: "claude-cli"}
			f.choice(&o.from, "from", "The `FORMAT`: "+strings.Join(whats, "; ")+".", names...)
			f.BoolVar(&o.check, "check", false, "Say what maps, and what does not; write nothing.")
			f.text(&o.out, "out", kindDir, "The `DIR` of the playbooks, unless they are only checked.")
			f.choice(&o.agent, "agent", "The `KIND` of the agents.", agent.Kinds()...)
			f.text(&o.preset, "preset", kindText, "The account preset of the agents, a `NAME`. Default: "+agent.Login+
				" for kinds that have one.")
			f.text(&o.judge, "judge-model", kindText, "The `MODEL` that decides what a model is to decide.")
			f.BoolVar(&o.scaffold, "scaffold", false,
				"Take over the author's scripts that prepare workspaces: read them first. They run confined.")
			f.BoolVar(&o.servers, "allow-real-servers", false,
				"Take over a plugin's MCP servers that have no mock, as its author's programs: read them first.")
			f.list(&o.ignore, "ignore", "Leave out these settings of sessions, `KEY,...`: "+
				strings.Join(suite.Ignorable(), ", ")+".", suite.Ignorable()...)
			f.BoolVar(&o.partial, "partial", false, "Write the cases that map, although others do not.")
			f.BoolVar(&o.force, "force", false, "Replace files that this command did not write.")
			f.require("from")
			return func(ctx context.Context, args []string) error { return a.convert(ctx, o, args[0]) }
		},
	}
}

func (a *App) convert(ctx context.Context, o convertOptions, dir string) error {
	if o.check == (o.out != "") {
		return usageError("convert: say either --check or --out DIR").hint("sdd-eval convert --help")
	}
	options := suite.Options{
		Out: a.path(o.out), Agent: o.agent, Preset: o.preset, JudgeModel: o.judge, Scripts: o.scaffold,
		Servers: o.servers, Getenv: a.Getenv,
	}
	if o.ignore != "" {
		options.Ignore = strings.Split(o.ignore, ",")
	}
	if p, ok := agent.Lookup(o.agent); ok && o.preset == "" && p.NeedsPreset {
		options.Preset = agent.Login
	}
	formats := suite.Formats()
	format := formats[slices.IndexFunc(formats, func(f suite.Format) bool { return f.Name == o.from })]
	if format.Evals == nil && (o.scaffold || o.servers || o.ignore != "") {
		return usageError("convert: --scaffold, --allow-real-servers and --ignore are for --from plugin-evals: " +
			"remove them").hint("sdd-eval convert --help")
	}
	s, err := format.Convert(ctx, a.path(dir), options)
	if err != nil {
		return usageError("convert: %w", err).hint("sdd-eval convert --help")
	}
	checkPlaybooks(s, options.Out)
	a.showSuite(a.Stdout, s)
	if len(s.Problems) > 0 && !o.partial {
		return &exitError{
			code: exitHarness, err: fmt.Errorf("convert: %s", doNotMap(s)),
			next: "mend what is named, or write the other cases with --partial",
		}
	}
	if o.check {
		return nil
	}
	if err := a.writePlaybooks(options.Out, s.Playbooks, o.force); err != nil {
		return err
	}
	if len(s.Problems) > 0 {
		return &exitError{code: exitHarness, err: fmt.Errorf("convert: the playbooks are incomplete: %s", doNotMap(s))}
	}
	return nil
}

// checkPlaybooks makes cases that cannot be loaded, of a playbook in a directory, cases that do not map. What loading
// notes is noted of the suite.
func checkPlaybooks(s *suite.Suite, dir string) {
	for i := 0; i < len(s.Playbooks); {
		p := s.Playbooks[i]
		// What is written is checked as the file that it becomes: positions in it would say nothing.
		read, err := plan.Read(plan.Source{Path: filepath.Join(dir, p.File), Data: p.Text}, kinds.All())
		if err != nil {
			s.Refuse(p, err)
			continue
		}
		s.Noted(p, read.Noted)
		i++
	}
}

func doNotMap(s *suite.Suite) string {
	bad := 0
	for _, c := range s.Cases {
		if !c.Mapped {
			bad++
		}
	}
	return fmt.Sprintf("%d of %s not mapped", bad, excerpt.Count(len(s.Cases), "case"))
}

// showSuite prints what maps and what does not.
func (a *App) showSuite(w io.Writer, s *suite.Suite) {
	var out strings.Builder
	cases, mapped, graders := 0, make(map[string]int), make(map[string]int)
	for _, c := range s.Cases {
		for kind, n := range c.Graders {
			graders[kind] += n
			if c.Mapped {
				mapped[kind] += n
			}
		}
		if c.Mapped {
			cases++
		}
	}
	fmt.Fprintf(&out, "%s: %d of %s map\n", s.Name, cases, excerpt.Count(len(s.Cases), "case"))
	for _, kind := range slices.Sorted(maps.Keys(graders)) {
		fmt.Fprintf(&out, "  %s: %d of %s\n", kind, mapped[kind], excerpt.Count(graders[kind], "grader"))
	}
	for _, p := range s.Playbooks {
		fmt.Fprintf(&out, "  %s: %s\n", p.File, strings.Join(p.Cases, ", "))
	}
	for _, p := range s.Problems {
		out.WriteString(a.toldOf(p))
	}
	fmt.Fprint(w, a.secrets.String(out.String()))
	a.tellNotes(w, s)
}

// tellNotes prints what is left out.
func (a *App) tellNotes(w io.Writer, s *suite.Suite) {
	for _, p := range s.Notes {
		fmt.Fprint(w, a.secrets.String("note: "+a.toldOf(p)))
	}
}

// toldOf is a line about a problem.
func (a *App) toldOf(p suite.Problem) string {
	at := fmt.Sprintf("%s:%d", a.shownFile(p.At.File), max(p.At.Line, 1))
	return strings.Join(listed(at, p.Case, p.Key, p.What), ": ") + "\n"
}

// writePlaybooks writes all files or, if one is in the way, none.
func (a *App) writePlaybooks(dir string, files []suite.Playbook, force bool) error {
	tree := disk.Tree(dir)
	for _, p := range files {
		file := filepath.Join(dir, p.File)
		there, err := tree.ReadRegular(file, doc.MaxSize)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return usageError("convert: %w", err)
		case !force && !bytes.HasPrefix(there, []byte("# "+suite.Head)):
			return usageError("convert: %s is there, and this command did not write it", a.shown(file)).
				hint("name another directory with --out, or say --force")
		}
	}
	if err := tree.MkdirAll(dir); err != nil {
		return err
	}
	for _, p := range files {
		file := filepath.Join(dir, p.File)
		if err := tree.Replace(file, a.secrets.Bytes(p.Text), 0o666); err != nil {
			return err
		}
		fmt.Fprintln(a.Stderr, "wrote "+a.shown(file))
	}
	return nil
}

// elsewhere returns an error if a path is not of a playbook but of evals that are in another format.
func (a *App) elsewhere(file string) error {
	f, dir, ok := suite.Recognise(a.path(file))
	if !ok {
		return nil
	}
	name := filepath.Base(dir)
	if ext := filepath.Ext(name); slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
		name = strings.TrimSuffix(name, ext)
	}
	if f.Later != "" {
		return usageError("%w", fault.Advise(
			fmt.Errorf("%s is no playbook but %s: %s", file, f.What, f.Later), "sdd-eval init --help"))
	}
	advice := "convert them"
	next := commandLine("convert", "--from", f.Name, a.shown(dir), "--out", "evals/"+name)
	if f.Evals != nil {
		advice, next = "run them", commandLine("run", "--from", a.shown(dir))
	}
	return usageError("%w", fault.Advise(
		fmt.Errorf("%s is no playbook but part of evals in the format %s: %s", file, f.Name, advice), next))
}
