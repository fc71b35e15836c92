package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// The first lines of playbooks, by which editors find their schema.
const (
	schemaLine = "# yaml-language-server: $schema="
	specSchema = "https://raw.githubusercontent.com/StrayDragon/llman/main/artifacts/schema/playbooks/en/llman-sdd-eval.schema.json"
	schemaFile = "sdd-eval.schema.json" // beside the playbook
)

// template is a playbook that runs at once.
//
//go:embed init.yaml
var template string

// safeName matches what is a playbook's name and a file's name everywhere.
var safeName = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)

// initOptions are the flags of `sdd-eval init`.
type initOptions struct {
	name, schema, root string
	force              bool
}

func initCommand() command {
	return command{
		name:  "init",
		usage: "--name NAME [--force] [--schema spec|local] [--root DIR]",
		short: "write a playbook to begin with",
		long: `Writes .llman/sdd-eval/playbooks/NAME.yaml below the project's root and prints its path. The playbook runs at once, with
a scripted agent in two workflow styles; comments in it show how to put real agents in its place. Git is told to ignore
runs, by .llman/sdd-eval/.gitignore, and test-output, by .gitignore.`,
		examples: `sdd-eval init --name demo
sdd-eval init --name demo --force --schema local`,
		codes: `0  the playbook is written
2  the name is not safe, or the playbook exists and --force is not given
3  the playbook cannot be written`,
		define: func(a *App, f *flags) action {
			o := initOptions{schema: "spec"}
			f.text(&o.name, "name", kindText, "The playbook's `NAME`: a letter, then up to 63 letters, digits, _ and -.")
			f.BoolVar(&o.force, "force", false, "Overwrite a playbook of that name.")
			f.choice(&o.schema, "schema", "Which schema editors check the playbook against, `spec|local`: spec is the published "+
				"one of the original format; local is that of this version, in "+schemaFile+" beside the playbook.", "spec", "local")
			f.root(&o.root)
			f.require("name")
			return func(context.Context, []string) error { return a.init(o) }
		},
	}
}

func (a *App) init(o initOptions) error {
	if !safeName.MatchString(o.name) {
		return usageError("init: --name %q does not match %s", o.name, safeName).hint("sdd-eval init --name demo")
	}
	root, err := a.projectRoot(o.root)
	if err != nil {
		return err
	}
	dir := filepath.Join(root, ".llman", "sdd-eval", "playbooks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	schema := specSchema
	if o.schema == "local" {
		schema = "./" + schemaFile
		if err := disk.Replace(filepath.Join(dir, schemaFile), spec.Schema(kinds.All()), 0o644); err != nil {
			return fmt.Errorf("init: %w", err)
		}
	}
	file := filepath.Join(dir, o.name+".yaml")
	text := schemaLine + schema + "\n" + strings.ReplaceAll(template, "{{name}}", o.name)
	write := disk.Create
	if o.force {
		write = disk.Replace
	}
	switch err := write(file, []byte(text), 0o644); {
	case errors.Is(err, fs.ErrExist):
		return usageError("init: %s exists", a.shown(file)).hint(o.overwriting() + " # overwrites it")
	case err != nil:
		return fmt.Errorf("init: %w", err)
	}
	if err := rundir.EnsureIgnored(root); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	fmt.Fprintln(a.Stdout, a.shown(file))
	fmt.Fprintf(a.Stderr, "next: %s\n", commandLine("run", "--playbook", a.shown(file), "--root", o.root))
	return nil
}

// overwriting returns the command line that takes the place of what is there.
func (o initOptions) overwriting() string {
	line := []string{"init", "--name", o.name, "--force", "--root", o.root}
	if o.schema == "local" {
		line = append(line, "--schema", "local")
	}
	return commandLine(line...)
}

// shown returns a path as the user would write it: relative to the working directory if it is below.
func (a *App) shown(path string) string {
	rel, err := filepath.Rel(a.Dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}
