// Package command is the evaluator kind command: a command that runs in the workspace after the agent, and expectations
// on its exit code and its output. A script that decides by itself is a code_judge and does not belong here.
//
// The command runs in a copy of the workspace, which is removed afterwards. It may build and write there without
// changing what other evaluators and people see. It cannot reach the project, since it runs the agent's code.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/script"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/words"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// evaluation implements [evaluator.Evaluator].
type evaluation struct {
	args           []string
	cwd            string // clean, below the workspace
	timeout        time.Duration
	network        bool
	exitCode       int
	stdout, stderr []check
}

func (evaluation) Needs() evaluator.Needs {
	return evaluator.NeedsWorkspace | evaluator.NeedsDir | evaluator.StartsChild
}

func (e evaluation) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	out, err := e.run(ctx, in)
	if err != nil {
		v := evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
		if s, ok := errors.AsType[*script.Error](err); ok {
			v.Reason, v.Detail = strings.Replace(v.Reason, s.Error(), s.Brief(), 1), s.Stderr
		}
		return v
	}
	return e.judge(out)
}

// run runs the command in a copy of the workspace.
func (e evaluation) run(ctx context.Context, in evaluator.Input) (out script.Output, err error) {
	switch {
	case in.Scripts == nil:
		return out, errors.New("commands cannot be run here")
	case in.Workspace == "":
		return out, errors.New("no workspace")
	}
	dir, err := copyOf(ctx, in.Workspace, in.Scripts.TempDir)
	if err != nil {
		return out, fmt.Errorf("copy the workspace: %w", err)
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(filepath.Dir(dir))) }()
	cwd := filepath.Join(dir, filepath.FromSlash(e.cwd))
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
		return out, fmt.Errorf("cwd: the workspace has no directory %s", e.cwd)
	}
	return in.Scripts.Exec(ctx, script.Script{
		Argv: e.args, Cwd: cwd, Write: []string{dir}, Timeout: e.timeout, Network: e.network, Apart: true,
	}, nil, dir)
}

// everything is a glob that matches every file, including those that workspaces are prepared without, such as installed
// modules and .git: the agent may have made them.
const everything = "**/?*"

// copyOf returns the path of a copy of the workspace, alone in its directory. Links that lead out of the workspace are
// not copied: the command could not read what they lead to.
func copyOf(ctx context.Context, dir, parent string) (copied string, err error) {
	base, err := os.MkdirTemp(parent, "sdd-eval-command-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, disk.RemoveAll(base))
		}
	}()
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return "", err
	}
	copied = filepath.Join(base, "workspace")
	_, _, err = workspace.Prepare(ctx, workspace.Source{Dir: dir, Include: []string{everything}}, copied)
	return copied, err
}

// judge compares the command's result with what was expected.
func (e evaluation) judge(out script.Output) evaluator.Verdict {
	if out.StderrCut && len(e.stderr) > 0 {
		return evaluator.Verdict{
			Outcome: result.Error,
			Reason:  strings.Join(e.args, " ") + " wrote more to its standard error than is kept",
		}
	}
	var t expect.Tally
	what := fmt.Sprintf("%s ends with exit code %d", strings.Join(e.args, " "), e.exitCode)
	if out.Exit == (supervise.Exit{Code: e.exitCode}) {
		t.Hold(1, what)
	} else {
		t.Miss(1, what,
			fmt.Sprintf("%s\n%s\n%s", out.Exit, shown("stdout", string(out.Stdout)), shown("stderr", out.Stderr)))
	}
	for _, stream := range []struct {
		name, text string
		checks     []check
	}{{"stdout", string(out.Stdout), e.stdout}, {"stderr", out.Stderr, e.stderr}} {
		for _, c := range stream.checks {
			if c.holds(stream.text) {
				t.Hold(1, stream.name+" "+c.what)
			} else {
				t.Miss(1, stream.name+" "+c.what, "it does not\n"+shown(stream.name, stream.text))
			}
		}
	}
	return t.Verdict()
}

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Run      string        `yaml:"run,required" doc:"One command, without a shell, in a copy of the workspace."`
	Cwd      string        `yaml:"cwd" min:"1" doc:"Where it starts; default: the root of the workspace."`
	ExitCode int           `yaml:"exit_code" default:"0" min:"0" max:"255" doc:"The expected exit code; default: 0."`
	Stdout   *textKeys     `yaml:"stdout" doc:"What is expected of its standard output."`
	Stderr   *textKeys     `yaml:"stderr" doc:"What is expected of its standard error."`
	Timeout  time.Duration `yaml:"timeout" min:"0.001" doc:"How long it may take; default: 120s."`
	Network  bool          `yaml:"network" doc:"Whether it reaches the network; default: no."`
}

// textKeys are what is expected of a text. Each is a check of its own.
type textKeys struct {
	Contains    *string `yaml:"contains" min:"1" doc:"A text that is in it."`
	NotContains *string `yaml:"not_contains" min:"1" doc:"A text that is not in it."`
	Equals      *string `yaml:"equals" doc:"All of it, but for line ends at the end."`
	Matches     *string `yaml:"matches" min:"1" doc:"A regular expression (Go) found in it; (?m) for ^ and $ at lines."`
}

// Kind returns the kind of evaluator.
func Kind() plan.Kind { return plan.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	if !n.Decode(&k) {
		return evaluation{}
	}
	args, err := words.Split(k.Run)
	if err == nil {
		err = checkArgs(n, args)
	}
	if err != nil {
		n.Errorf("run", "%v", err)
	}
	if k.Cwd != "" && !filepath.IsLocal(filepath.FromSlash(k.Cwd)) {
		n.Errorf("cwd", "%q must be a directory below the workspace", k.Cwd)
	}
	return evaluation{
		args: args, cwd: path.Clean(k.Cwd), timeout: k.Timeout, network: k.Network, exitCode: k.ExitCode,
		stdout: k.Stdout.compile(n, "stdout"), stderr: k.Stderr.compile(n, "stderr"),
	}
}

// checkArgs refuses the commands that run steps may not start either.
func checkArgs(n *doc.Node, args []string) error {
	for _, a := range args {
		if strings.Contains(a, "${{") {
			return fmt.Errorf("placeholders are not supported here: %s", a)
		}
	}
	return plan.CheckCommand(n, args)
}

// check is one expectation on a text.
type check struct {
	what  string // e.g. `contains "x"`
	holds func(text string) bool
}

// compile returns the checks in the order of the keys. It reports errors on n, where key has the checks.
func (k *textKeys) compile(n *doc.Node, key string) []check {
	if k == nil {
		return nil
	}
	if len(n.Get(key).Entries()) == 0 {
		n.Errorf(key, "expects nothing: write `contains`, or another check")
	}
	var checks []check
	add := func(what, want string, holds func(string) bool) {
		checks = append(checks, check{what + " " + strconv.Quote(want), holds})
	}
	if k.Contains != nil {
		add("contains", *k.Contains, func(text string) bool { return strings.Contains(text, *k.Contains) })
	}
	if k.NotContains != nil {
		add("does not contain", *k.NotContains, func(text string) bool {
			return !strings.Contains(text, *k.NotContains)
		})
	}
	if k.Equals != nil {
		want := trim(*k.Equals)
		add("equals", want, func(text string) bool { return trim(text) == want })
	}
	if k.Matches != nil {
		if re, err := expect.CompilePattern(*k.Matches); err != nil {
			n.Errorf(key+".matches", "%v", err)
		} else {
			add("matches", *k.Matches, re.MatchString)
		}
	}
	return checks
}

// trim removes line ends at the end of a text.
func trim(text string) string { return strings.TrimRight(text, "\r\n") }

// maxShown is how much of the end of an output is shown, in bytes.
const maxShown = 2000

// shown returns the end of an output for people.
func shown(name, text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return name + " is empty"
	}
	if len(text) > maxShown {
		text = "..." + strings.ToValidUTF8(text[len(text)-maxShown:], "")
	}
	return fmt.Sprintf("%s:\n%s", name, text)
}
