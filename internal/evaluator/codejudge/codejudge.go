// Package codejudge is the evaluator kind code_judge: a script that reads what the agent did and writes a verdict. What
// the script reads and writes is defined by package judge, not here.
package codejudge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/payload"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// codeJudge implements [evaluator.Evaluator].
type codeJudge struct {
	script script.Script
	config any // from the playbook; nil: none
	target *target
	compat string
}

func (c codeJudge) Needs() evaluator.Needs {
	needs := evaluator.NeedsWorkspace | evaluator.NeedsDir | evaluator.StartsChild
	if c.target != nil {
		needs |= evaluator.AsksModel
	}
	return needs
}

func (c codeJudge) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	if c.target != nil && in.Models == nil {
		return in.NotAsked()
	}
	reply, err := c.ask(ctx, in)
	if err != nil {
		return failed(err)
	}
	parse := judge.ParseResult
	if c.compat == payload.AgentV5 {
		parse = agentV5
	}
	r, err := parse(reply)
	if err != nil {
		return evaluator.Verdict{Outcome: result.Error, Reason: err.Error(), Detail: raw(reply)}
	}
	v := verdict(r, in.Threshold)
	if v.Outcome == result.Error {
		v.Detail = raw(reply)
	}
	return v
}

// maxRaw is how many characters of an invalid reply are shown.
const maxRaw = 4000

// raw returns what a judge wrote, as text.
func raw(reply []byte) string {
	return excerpt.Head(strings.TrimRight(strings.ToValidUTF8(string(reply), "\uFFFD"), "\n"), maxRaw)
}

// ask runs the judge and returns what it wrote.
func (c codeJudge) ask(ctx context.Context, in evaluator.Input) ([]byte, error) {
	if in.Scripts == nil {
		return nil, errors.New("scripts cannot be run here")
	}
	j, err := payload.Of(ctx, in, c.config)
	if err != nil {
		return nil, err
	}
	stdin, err := payload.Encode(j, c.compat)
	if err != nil {
		return nil, fmt.Errorf("write the judge's input: %w", err)
	}
	if c.target == nil {
		return in.Scripts.Run(ctx, c.script, stdin, in.Workspace)
	}
	p, err := startProxy(ctx, proxyConfig{Models: in.Models, Model: c.target.Model, MaxCalls: c.target.MaxCalls})
	if err != nil {
		return nil, fmt.Errorf("judge's proxy: %w", err)
	}
	s := c.script
	s.Env = p.Environ()
	reply, err := in.Scripts.Run(ctx, s, stdin, in.Workspace)
	if failed := p.Close(); failed != nil { // even if the judge went on
		return nil, failed
	}
	return reply, err
}

// failed is the verdict when nothing is known about the agent.
func failed(err error) evaluator.Verdict {
	v := evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
	if e, ok := errors.AsType[*script.Error](err); ok {
		v.Reason = strings.Replace(v.Reason, e.Error(), e.Brief(), 1)
		v.Detail = strings.TrimSuffix(e.Stderr, "\n")
		if out := strings.TrimSuffix(e.Stdout, "\n"); out != "" { // SDKs of judges write there why they failed
			v.Detail = strings.TrimPrefix(v.Detail+"\non its standard output:\n"+expect.Indent(out), "\n")
		}
	}
	return v
}

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Script []string `yaml:"script,required" doc:"Program and arguments; scripts are beside or above the playbook."`

	Config  *doc.Node     `yaml:"config" doc:"Passed to the judge as it is."`
	Cwd     string        `yaml:"cwd" min:"1" doc:"Where the judge starts; default: the playbook's directory."`
	Timeout time.Duration `yaml:"timeout" min:"0.001" doc:"How long the judge may take; default: 120s."`
	Network bool          `yaml:"network" doc:"Whether the judge reaches the network; default: no."`
	Target  *target       `yaml:"target" doc:"Lets the judge ask a model through a proxy, and reach the network."`
	Compat  string        `yaml:"compat" enum:"agentv,agentv5" doc:"Be to the judge as AgentV is to its own."`
}

// target says how the judge may ask a model.
type target struct {
	MaxCalls int    `yaml:"max_calls" default:"50" min:"1" max:"10000" doc:"Questions that the judge may ask."`
	Model    string `yaml:"model" min:"1" doc:"The model that answers; default: the one that a question names."`
}

// Kind returns the kind of evaluator.
func Kind() plan.Kind { return plan.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	if !n.Decode(&k) {
		return codeJudge{}
	}
	if k.Script[0] == "" {
		n.Errorf("script[0]", "must not be empty")
	}
	argv, _ := script.Locate(n, k.Script)
	c := codeJudge{
		script: script.Script{
			Argv: argv, Cwd: plan.Dir(n), Timeout: k.Timeout,
			// The proxy listens on our loopback. A script without network has only one of its own.
			Network: k.Network || k.Target != nil,
		},
		target: k.Target, compat: k.Compat,
	}
	if k.Config != nil {
		c.config = k.Config.Value()
	}
	if k.Cwd != "" {
		c.script.Cwd = directory(n, k.Cwd)
	}
	return c
}

// directory returns the absolute path of the directory under the key cwd.
func directory(n *doc.Node, cwd string) string {
	dir := filepath.FromSlash(cwd)
	if !filepath.IsAbs(dir) {
		if plan.Dir(n) == "" {
			n.Errorf("cwd", "a relative directory needs a playbook that is a file")
			return ""
		}
		dir = filepath.Join(plan.Dir(n), dir)
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		n.Errorf("cwd", "%v", err)
	case !info.IsDir():
		n.Errorf("cwd", "%s is not a directory", cwd)
	}
	return dir
}

// verdict turns the judge's result into a verdict. A judge that gives a passing score and says "pass": false
// contradicts itself.
func verdict(r judge.Result, threshold float64) evaluator.Verdict {
	if r.Pass != nil && !*r.Pass && r.Score >= threshold {
		score, least := result.FormatScores(r.Score, threshold)
		return evaluator.Verdict{
			Outcome: result.Error,
			Reason: fmt.Sprintf("the judge says pass: false with a score of %s, which reaches the threshold of %s",
				score, least),
		}
	}
	if r.Score == 1 && len(r.Misses) > 0 && len(r.Hits) == 0 {
		return evaluator.Verdict{
			Outcome: result.Error,
			Reason: "the judge gives the full score, and says only what was missed: " +
				more(r.Misses[0], len(r.Misses)-1),
		}
	}
	v := evaluator.Verdict{Outcome: result.Pass, Score: &r.Score, Detail: detail(r)}
	switch {
	case r.Score < 1 || r.Pass != nil && !*r.Pass:
		v.Outcome, v.Reason = result.Fail, reason(r, threshold)
	case len(failedChecks(r.Checks)) > 0 || len(r.Misses) > 0:
		v.Reason = reason(r, threshold)
	}
	return v
}

// reason returns in one line why the score is less than 1, or what is wrong although the unit passes.
func reason(r judge.Result, threshold float64) string {
	score, _ := result.FormatScores(r.Score, threshold)
	text := "score " + score
	switch failed := failedChecks(r.Checks); {
	case r.Pass != nil && *r.Pass && len(failed) > 0:
		text = fmt.Sprintf("%d of %d checks failed: %s", len(failed), len(r.Checks), failed[0])
	case r.Score == 1 && len(r.Misses) > 0:
		text = "missed: " + more(r.Misses[0], len(r.Misses)-1)
	case r.Reason != "":
		text = r.Reason
	case len(r.Misses) > 0:
		text = more(r.Misses[0], len(r.Misses)-1)
	case len(failed) > 0:
		text = more(failed[0], len(failed)-1)
	}
	return strings.Join(strings.Fields(text), " ")
}

func failedChecks(checks []judge.Check) []string {
	var failed []string
	for _, c := range checks {
		if !c.Pass {
			failed = append(failed, describe(c))
		}
	}
	return failed
}

func more(text string, others int) string {
	if others == 0 {
		return text
	}
	return fmt.Sprintf("%s (and %d more)", text, others)
}

// describe returns a check without its outcome: "id text (0.5): reason".
func describe(c judge.Check) string {
	text := strings.TrimSpace(c.ID + " " + c.Text)
	if c.Score != nil {
		text += " (" + result.FormatScore(*c.Score) + ")"
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// detail returns everything that the judge said.
func detail(r judge.Result) string {
	var lines []string
	add := func(mark, text string) {
		if text = strings.TrimSpace(text); text != "" {
			first, rest, _ := strings.Cut(text, "\n")
			lines = append(lines, mark+first)
			if rest != "" {
				lines = append(lines, expect.Indent(rest))
			}
		}
	}
	for _, hit := range r.Hits {
		add("✓ ", hit)
	}
	for _, miss := range r.Misses {
		add("✗ ", miss)
	}
	for _, c := range r.Checks {
		mark := "✗ "
		if c.Pass {
			mark = "✓ "
		}
		add(mark, describe(c))
	}
	add("", r.Reason)
	if r.Details != nil {
		var text bytes.Buffer
		_ = json.Indent(&text, r.Details, "", "  ") // it was parsed
		add("details: ", text.String())
	}
	return strings.Join(lines, "\n")
}
