// Command mutants changes packages in small ways, one at a time, and shows which changes their tests do not notice:
//
//	go run ./internal/testkit/mutants [-n 300] ./internal/result ./internal/rundir
//
// A mutant is a function with one change. All mutants of a package are in one test binary: each function begins with a
// switch that runs the mutant which the environment names. So a package is compiled once, and a mutant costs what its
// tests cost. The tests are the package's own, then those in [exercisedBy] and [builtBy], which only run with what is
// left. Marks before the statements say which of them reach a mutant. Everything happens in a copy of the tree, since a
// mutant may remove the wrong files.
//
// Tests that take too long run again when nothing else of this command does: first without the mutant, then with it,
// for several times as long. If they end without it only, they have noticed it; if they do not end without it either,
// there is no figure.
//
// Results are appended to a file for each package. What is known there is not run again, as long as the mutant's
// function is the same: a mutant that was killed, and tests that it survived, unless they changed. Which mutants are
// chosen depends on the seed and their own text only, so a change elsewhere in the package leaves them.
//
// Constants, and values of package variables outside functions, are not changed: a switch cannot reach them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// exercisedBy has packages whose tests exercise another package, too, the quickest first: a directory, and after a
// blank a regular expression of tests, if only those count.
var exercisedBy = map[string][]string{
	"evaltest/trajectory":              {"evaltest/trajectory/chat", "internal/evaluator/tooltrajectory"},
	"internal/engine":                  {"evaltest " + inProcess},
	"internal/evaluator/expect":        {"internal/evaluator/files", "internal/evaluator/tooltrajectory"},
	"internal/evaluator/payload":       {"internal/evaluator/codejudge"},
	"internal/interaction":             {"internal/interaction/clienttools", "internal/interaction/mcpproxy"},
	"internal/interaction/clienttools": {"internal/interaction"},
	"internal/result":                  {"internal/rundir", "internal/report"},
	"internal/rundir":                  {"internal/report"},
	"internal/session":                 {"internal/engine", "evaltest " + inProcess},
	"playbook":                         {"internal/plan"},
}

// inProcess are the tests of evaltest that run suites in their own process.
const inProcess = "^(TestRunAgent|TestOverride|Example)"

// builtBy has tests that build a program with the package and run it, as exercisedBy has others. They run last.
var builtBy = map[string][]string{
	"internal/engine":               builders,
	"internal/session":              builders,
	"internal/interaction/mcpproxy": {"cmd/sdd-eval ^TestScript$"},
}

// builders build the command, or the suites of a user's module.
var builders = []string{"cmd/sdd-eval ^TestScript$", "evaltest " + suites}

// suites are the tests of evaltest that run suites of a module that they have built once.
const suites = "^Test(Scenarios|FalseGreen|Judges.*|RunDir|Agent|StepsAroundTheAgent|TooLarge|Leak|Leaks|Trials|" +
	"Rehearsal|SecretsInTexts|WorkspaceIsTheModule|IgnoredFixture|Jobs)$"

// options are what the command line says.
type options struct {
	root  string // of the tree
	work  string // directory for the copy, binaries and results
	seed  string
	count int  // mutants of a package
	procs int  // how many run at a time
	list  bool // only list the mutants
	built bool // try those that are left on what builtBy has
	grace time.Duration

	goDirs []string // variables with the directories of the go command
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run does everything; it returns the exit code: 1 if something could not be done, 2 for a wrong command line.
// Survivors are no error.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var opts options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.root, "root", ".", "root of the tree")
	flags.StringVar(&opts.work, "work", filepath.Join(os.TempDir(), "sdd-eval-mutants"),
		"directory for a copy of the tree, binaries and results")
	flags.StringVar(&opts.seed, "seed", "1", "what chooses the mutants")
	flags.IntVar(&opts.count, "n", 300, "mutants of a package")
	flags.IntVar(&opts.procs, "j", 2, "mutants that run at a time")
	flags.DurationVar(&opts.grace, "grace", 5*time.Second,
		"how long tests may take beyond twice what they take without a mutant, until they are run again, alone")
	flags.BoolVar(&opts.built, "built", true, "try what is left on tests that build the command, too, which takes long")
	flags.BoolVar(&opts.list, "list", false, "list the mutants, and run none")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(stderr, "usage: mutants [flags] PACKAGE-DIRECTORY...")
		return 2
	}
	if err := all(ctx, opts, flags.Args(), stdout); err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 1
	}
	return 0
}

// all tries the packages one after another and prints a report on each.
func all(ctx context.Context, opts options, dirs []string, stdout io.Writer) error {
	var err error
	if opts.root, err = filepath.Abs(opts.root); err != nil {
		return err
	}
	if opts.work, err = filepath.Abs(opts.work); err != nil {
		return err
	}
	equivalents, err := readEquivalents(filepath.Join(opts.root, equivalentsFile))
	if err != nil {
		return err
	}
	tree, err := copyTree(ctx, opts.root, filepath.Join(opts.work, "tree"))
	if err != nil {
		return fmt.Errorf("copying the tree: %w", err)
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // tests build programs, and have another home
		out, err := command(ctx, tree, nil, "go", "env", name)
		if err != nil {
			return err
		}
		opts.goDirs = append(opts.goDirs, name+"="+strings.TrimSpace(string(out)))
	}
	for _, dir := range dirs {
		dir = filepath.ToSlash(filepath.Clean(dir))
		b := &bench{options: opts, tree: tree, dir: dir, out: filepath.Join(opts.work, filepath.FromSlash(dir))}
		r, err := b.try(ctx, equivalents[dir])
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		r.print(stdout)
	}
	return nil
}
