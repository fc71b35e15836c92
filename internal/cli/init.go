package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/starter"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// What the first line of a playbook is made of. Editors find its schema by that line.
const (
	schemaLine = "# yaml-language-server: $schema="
	specSchema = "https://raw.githubusercontent.com/StrayDragon/llman/main/artifacts/schema/playbooks/en/" +
		"llman-sdd-eval.schema.json"
	ownSchema  = "https://raw.githubusercontent.com/sdd-eval/sdd-eval/main/playbook/schema.json"
	schemaFile = "sdd-eval.schema.json" // beside the playbook
)

// template is a playbook that can be run as it is.
//
//go:embed init.yaml
var template string

// safeName matches names that are valid for playbooks, and for files on every system.
var safeName = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)

// initOptions are the flags of `sdd-eval init`.
type initOptions struct {
	name, schema, root, ci string
	judge                  string // the language of judges
	agents, configDir      string // of the variants
	force                  bool
}

func initCommand() command {
	return command{
		name: "init",
		usage: "[--ci github|gitlab] [--root DIR]\n" +
			"  sdd-eval init --name NAME [--agent KIND[/PRESET],...] [--force] [--schema spec|local] [--root DIR]\n" +
			"  sdd-eval init --judge ts [--force] [--root DIR]",
		short: "write a playbook to start from",
		long: `In a Go module, writes what go test needs for a first playbook: evals/evals_test.go, the playbook
evals/first.yaml with a scripted agent and a small shop for it to work on, and lines in .gitignore and
.gitattributes. Has go.mod require sdd-eval, by "go get", runs the agent, and records what it does. No
file that exists is overwritten, and after an interruption init goes on where it was. --ci also writes
a job that replays the recordings, with a Makefile for it, evals/ci.mk; where evals/evals_test.go is
there already, it writes nothing else.

With --name, writes .llman/sdd-eval/playbooks/NAME.yaml below the project's root and prints its path.
The playbook can be run as it is: with the agents of --agent, to compare them, or with a scripted one in
two workflow styles. Also has git ignore the runs, in .llman/sdd-eval/.gitignore, and test-output, in
.gitignore.

With --judge ts, writes judge.ts into the working directory and nothing else: types and functions for
judges in TypeScript, which run under bun, deno and tsx and need no package.`,
		examples: `sdd-eval init
sdd-eval init --ci github
sdd-eval init --name demo
sdd-eval init --name duel --agent claude,codex
sdd-eval init --name demo --force --schema local
sdd-eval init --judge ts`,
		codes: `0  the playbook was written and, without --name, recorded
1  the scripted agent did not do what the playbook expects
2  the usage is wrong, there is no Go module, a file is in the way, or an agent or its account is missing
3  something could not be written, required or recorded`,
		define: func(a *App, f *flags) action {
			o := initOptions{schema: "spec"}
			f.choice(&o.ci, "ci", "Also write a job for the CI of `github|gitlab`.", starter.GitHub, starter.GitLab)
			f.text(&o.name, "name", kindText,
				"The `NAME` of the playbook: a letter, then up to 63 letters, digits, _ and -.")
			f.text(&o.agents, "agent", kindText, "Compare these agents: `KIND[/PRESET],...`, where a word of its name "+
				"(claude, codex) stands for a kind, and a preset that only one kind has for both.")
			f.configDir(&o.configDir)
			f.choice(&o.judge, "judge", "Write what judges in a `LANGUAGE` import: ts.", "ts")
			f.BoolVar(&o.force, "force", false, "Overwrite an existing playbook of that name, or judge.ts.")
			f.choice(&o.schema, "schema",
				"The schema that editors check the playbook against, `spec|local`: spec is the published schema of "+
					"the original format (ours if agents are named); local is the schema of this version, in "+
					schemaFile+" beside the playbook.",
				"spec", "local")
			f.root(&o.root)
			return func(ctx context.Context, _ []string) error {
				switch {
				case o.judge != "" && (o.name != "" || o.ci != "" || f.Changed("schema") || f.Changed("agent")):
					return usageError("init: --judge goes with --force and --root alone").
						hint("sdd-eval init --judge ts")
				case o.judge != "":
					return a.initJudge(o)
				case o.name != "" && o.ci != "":
					return usageError("init: --ci is for a Go module: remove --name").hint("sdd-eval init --help")
				case o.name != "":
					return a.init(o)
				case f.Changed("force") || f.Changed("schema") || f.Changed("agent"):
					return usageError("init: --agent, --force and --schema are for --name NAME").
						hint("sdd-eval init --help")
				}
				return a.initModule(ctx, o)
			}
		},
	}
}

// initModule writes a first playbook into the Go module that the user is in, and records it.
func (a *App) initModule(ctx context.Context, o initOptions) error {
	root, err := project.ModuleRoot(a.path(o.root))
	if err != nil {
		return usageError("init: %w", err).hint("go mod init example.com/NAME, then: sdd-eval init; " +
			"or without Go: sdd-eval init --name demo")
	}
	if root, err = a.projectRoot(root); err != nil {
		return err
	}
	repository, err := a.projectRoot("")
	if err == nil && o.ci != "" && repository != root {
		return usageError("init: --ci: %s reads its file at the root of the repository, %s, and the module is in %s",
			o.ci, repository, root).hint("sdd-eval init, then copy the files as docs/ci.md says")
	}
	if o.root = root; repository == root {
		o.root = "" // the same without it
	}
	s := starter.Starter{Root: root, Environ: a.Environ, Version: released(), CI: o.ci, Wrote: func(name string) {
		fmt.Fprintln(a.Stdout, a.shown(filepath.Join(root, filepath.FromSlash(name))))
	}}
	begun := s.Begun()
	if err := s.Write(ctx); err != nil {
		e := &exitError{code: exitCode(ctx, err), err: fmt.Errorf("init: %w", err), next: fault.Advice(err)}
		if _, inTheWay := errors.AsType[*starter.InTheWayError](err); inTheWay {
			e.code = exitUsage
		}
		return e
	}
	if begun && o.ci != "" {
		fmt.Fprintln(a.Stderr, "next: make -f evals/ci.mk ci  # what the job does")
		return nil
	}
	run := runOptions{mode: "missing", root: o.root}
	run.playbook = filepath.Join(root, filepath.FromSlash(starter.Playbook))
	if runtime.GOOS != "linux" && a.Getenv("EVALTEST_SANDBOX") == "" {
		run.sandbox = "none" // there is none, and the script is ours
	}
	if err := a.run(ctx, run); err != nil {
		return err
	}
	pkg := a.shown(filepath.Join(root, "evals"))
	if !filepath.IsAbs(pkg) {
		pkg = "." + string(filepath.Separator) + pkg
	}
	test := "go test " + words.Join(pkg)
	for _, next := range [][2]string{
		{"next: " + test, "replays the recording: no agent, no network"},
		{"      " + commandLine("show", "--root", o.root), "what the agent did, and where its files are"},
		{"      EVALTEST_MODE=record " + test + " -count=1", "records again, after you change the prompt or the agent"},
	} {
		fmt.Fprintf(a.Stderr, "%s  # %s\n", next[0], next[1])
	}
	return nil
}

// released returns the version of this program's module; empty: it was built from a checkout.
func released() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" || strings.Contains(info.Main.Version, "+") {
		return ""
	}
	return info.Main.Version
}

func (a *App) init(o initOptions) error {
	if !safeName.MatchString(o.name) {
		return usageError("init: --name %q does not match %s", o.name, safeName).hint("sdd-eval init --name demo")
	}
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	text, schema := template, specSchema
	if o.agents != "" {
		if text, err = a.comparing(o.agents, o.configDir); err != nil {
			return err
		}
		schema = ownSchema
	}
	dir := filepath.Join(root, ".llman", "sdd-eval", "playbooks")
	tree := disk.Tree(root)
	if o.schema == "local" {
		schema = "./" + schemaFile
		if err := tree.Replace(filepath.Join(dir, schemaFile), plan.Schema(kinds.All()), 0o644); err != nil {
			return fmt.Errorf("init: %w", err)
		}
	}
	file := filepath.Join(dir, o.name+".yaml")
	text = schemaLine + schema + "\n" + strings.ReplaceAll(text, "{{name}}", o.name)
	write := tree.Create
	if o.force {
		write = tree.Replace
	}
	switch err := write(file, []byte(text), 0o644); {
	case errors.Is(err, fs.ErrExist):
		return usageError("init: %s already exists", a.shown(file)).hint(o.overwriting() + " # overwrites it")
	case err != nil:
		return fmt.Errorf("init: %w", err)
	}
	if err := rundir.EnsureIgnored(root); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	fmt.Fprintln(a.Stdout, a.shown(file))
	next := []string{"run", "--playbook", a.shown(file), "--root", o.root}
	if o.agents != "" {
		next = append(next, "--config-dir", o.configDir, "--open")
	}
	fmt.Fprintf(a.Stderr, "next: %s\n", commandLine(next...))
	return nil
}

// initJudge writes what judges in TypeScript import.
func (a *App) initJudge(o initOptions) error {
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	write := disk.Tree(root).Create
	if o.force {
		write = disk.Tree(root).Replace
	}
	file := a.path("judge.ts")
	switch err := write(file, starter.Judge, 0o644); {
	case errors.Is(err, fs.ErrExist):
		return usageError("init: %s already exists", a.shown(file)).
			hint("sdd-eval init --judge ts --force # overwrites it")
	case err != nil:
		return fmt.Errorf("init: %w", err)
	}
	fmt.Fprintln(a.Stdout, a.shown(file))
	return nil
}

// overwriting returns the command line that overwrites the playbook.
func (o initOptions) overwriting() string {
	line := []string{
		"init", "--name", o.name, "--agent", o.agents, "--force", "--root", o.root, "--config-dir", o.configDir,
	}
	if o.schema == "local" {
		line = append(line, "--schema", "local")
	}
	return commandLine(line...)
}
