package lint

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/words"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// The command lines that run tests, and what defines them beside the files with the tests.
var runners = []struct {
	line    *lazyregexp.Regexp
	defined []string // files that say what the command does
	tests   *lazyregexp.Regexp
}{
	{lazyregexp.New(`^go test\b`), nil, lazyregexp.New(`_test\.go$`)},
	{lazyregexp.New(`^cargo (test|nextest)\b`), nil, lazyregexp.New(`(^|/)tests/.+\.rs$`)},
	{
		lazyregexp.New(`^(pytest|python3? -m (pytest|unittest))\b`), nil,
		lazyregexp.New(`(^|/)(test_\w+|\w+_test|conftest)\.py$`),
	},
	{lazyregexp.New(`^(npm|pnpm|yarn) (t|test|run test\S*)\b`), []string{"package.json"}, testFile},
	{lazyregexp.New(`^node --test\b`), nil, testFile},
	{lazyregexp.New(`^make( \S+)* (test|check|verify)`), []string{"Makefile", "makefile", "GNUmakefile"}, testFile},
	{lazyregexp.New(`^just( \S+)* (test|check|verify)`), []string{"justfile", "Justfile"}, testFile},
}

// checker matches names of programs that check something.
var checker = lazyregexp.New(`(?i)(^|[^a-z])(tests?|spec|checks?|checker|verif(y|ier)|validator?|grad(e|er)|judge|` +
	`asserts?|score|expected|golden)([^a-z]|$)`)

// command is a command that decides whether the agent did well.
type command struct {
	name string
	args []string
	cwd  string
	at   doc.Position
}

// writableJudge finds commands that judge by files that the agent can change: tests of the workspace, and scripts.
// Nothing is found if an evaluator or a rule of `permissions` looks after one of these files, or a code_judge may, nor
// where there are no evaluators: such units complete, and do not pass.
func writableJudge(_ context.Context, s *suite, found func(Finding)) error {
	for i := range s.cases {
		c := &s.cases[i]
		codeJudge := func(e evaluatorNode) bool { return e.kind == "code_judge" }
		if len(c.evaluators) == 0 || slices.ContainsFunc(c.evaluators, codeJudge) {
			continue
		}
		for _, cmd := range c.commands() {
			files, decides := s.judgedBy(c, cmd)
			if !decides || slices.ContainsFunc(files, func(f string) bool { return s.guarded(c, f) }) {
				continue
			}
			if len(files) == 0 {
				if len(c.evaluators) != 1 || len(c.unit.Evaluators) != 1 {
					continue
				}
				found(Finding{
					Position: cmd.at, Where: cmd.name,
					What: fmt.Sprintf("%q runs tests, nothing else judges, and the workspace has no tests: "+
						"the agent is judged by what it writes itself", cmd.name),
					Remedy: "add tests to the workspace and look after them, or have a `code_judge` bring its own",
				})
				continue
			}
			found(Finding{
				Position: cmd.at, Where: cmd.name,
				What: fmt.Sprintf("%q judges by %s, which the agent can change", cmd.name, list(files)),
			})
		}
	}
	return nil
}

// list returns the first files of a list.
func list(files []string) string {
	const shown = 3
	if len(files) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(files[:shown], ", "), len(files)-shown)
	}
	return strings.Join(files, ", ")
}

// commands returns the commands that run after the agent.
func (c *testCase) commands() (all []command) {
	asked := false
	for _, step := range c.unit.Steps {
		if asked = asked || step.Prompts(); asked && len(step.Args) > 0 {
			name := step.Name
			if name == "" {
				name = step.Run
			}
			all = append(all, command{name: name, args: step.Args, cwd: step.Cwd, at: step.Position})
		}
	}
	for _, e := range c.evaluators {
		if e.kind == "command" {
			if args, err := words.Split(e.node.Get("run").Text()); err == nil {
				all = append(all, command{e.name, args, e.node.Get("cwd").Text(), e.node.Position()})
			}
		}
	}
	return all
}

// judgedBy returns the files of the workspace that decide how a command ends. decides is false if it only runs the
// agent's work, or builds it.
func (s *suite) judgedBy(c *testCase, cmd command) (files []string, decides bool) {
	line := path.Base(cmd.args[0]) + " " + strings.Join(cmd.args[1:], " ")
	below := func(p string) bool {
		return cmd.cwd == "" || path.Clean(cmd.cwd) == "." || strings.HasPrefix(p, path.Clean(cmd.cwd)+"/")
	}
	start := s.startsWith(c)
	for _, r := range runners {
		if !r.line.MatchString(line) {
			continue
		}
		decides = true
		for _, f := range start {
			p := strings.TrimPrefix(f.path, path.Clean(cmd.cwd)+"/")
			if below(f.path) && (r.tests.MatchString(f.path) || slices.Contains(r.defined, p)) {
				files = append(files, f.path)
			}
		}
	}
	for _, arg := range cmd.args[1:] {
		p := path.Join(cmd.cwd, arg)
		if checker.MatchString(path.Base(p)) && slices.ContainsFunc(start, func(f file) bool { return f.path == p }) {
			decides = true
			if !slices.Contains(files, p) {
				files = append(files, p)
			}
		}
	}
	return files, decides
}

// guarded reports whether a change of a file does not go unnoticed.
func (s *suite) guarded(c *testCase, file string) bool {
	if !s.p.Permissions.AllowUnasked && s.p.Decide("", []string{file}) != playbook.DecideAllow {
		return true
	}
	for _, e := range c.evaluators {
		for _, x := range e.node.Get("expect").Items() {
			if path.Clean(x.Get("path").Text()) != file {
				continue
			}
			for _, key := range []string{"contains", "equals", "matches", "golden", "json_path"} {
				if x.Get(key) != nil {
					return true
				}
			}
		}
	}
	return false
}
