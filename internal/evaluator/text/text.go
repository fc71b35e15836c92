// Package text is the evaluator kind text: it looks for texts and regular expressions in the agent's last message, or
// in files that it left, and tells of each check. Other expectations on files belong in package files.
package text

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/mock/mockdir"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// judge implements [evaluator.Evaluator].
type judge struct{ checks []check }

// check is one thing that must hold.
type check struct {
	id   string
	text string // what must hold, in words
	file string // clean, below the workspace, or created; empty: it is about the agent's last message
	turn int    // of the message; 0: the last one
	rule rule
}

func (j judge) Needs() evaluator.Needs {
	for _, c := range j.checks {
		if c.file != "" && c.file != mocked {
			return evaluator.NeedsWorkspace
		}
	}
	return 0
}

// Evaluate makes the checks. One of a message or a file that is not there does not hold; a file that cannot be read is
// an error.
func (j judge) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	var t expect.Tally
	var checks []result.Check
	type place struct {
		file string
		turn int
	}
	sources := make(map[place]source)
	for _, c := range j.checks {
		s, read := sources[place{c.file, c.turn}]
		if !read {
			err := ctx.Err()
			if err == nil {
				s, err = open(ctx, in, c.file, c.turn)
			}
			if err != nil {
				return evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
			}
			sources[place{c.file, c.turn}] = s
		}
		done := result.Check{ID: c.id, Text: c.text, Outcome: result.Fail, Evidence: s.missing}
		what, holds := excerpt.Line(c.text, maxText), false
		if s.missing == "" {
			done.Evidence, holds = c.rule.judge(s)
		}
		if holds {
			done.Outcome = result.Pass
			t.Hold(1, what)
		} else {
			t.Miss(1, what, done.Evidence)
		}
		checks = append(checks, done)
	}
	v := t.Verdict()
	v.Checks = checks
	return v
}

// created stands for the paths of the files that the agent made, where a file could. It is no clean path.
const created = "the list of created files/"

// mocked stands for the calls of MCP servers that were played.
const mocked = "the calls of mocked servers/"

// open returns the message, the file or the list that a check is about.
func open(ctx context.Context, in evaluator.Input, file string, turn int) (source, error) {
	switch file {
	case "":
		if turn > 0 {
			return ofTurn(in.Run, turn), nil
		}
		s := source{text: in.Run.Answer()}
		if strings.TrimSpace(s.text) == "" {
			s.missing = "the agent said nothing in its last turn"
		}
		return s, nil
	case mocked:
		s := source{name: strings.TrimSuffix(mocked, "/")}
		if len(in.Mocks) == 0 {
			s.missing = "no MCP server of the variant is mocked"
			return s, nil
		}
		var err error
		s.text, err = mockdir.Lines(in.Mocks.Calls(in.Run))
		return s, err
	case created:
		if in.Changes == nil {
			return source{}, errors.New("no workspace")
		}
		diff, err := in.Changes(ctx)
		return source{name: strings.TrimSuffix(created, "/"), text: strings.Join(createdFiles(diff), "\n")}, err
	}
	left, err := expect.OpenTree(in)
	if err != nil {
		return source{}, err
	}
	data, missing, err := left.Read(file)
	if missing != "" {
		missing = file + ": " + missing
	}
	return source{file, string(data), missing}, err
}

// ofTurn returns the agent's last message in a turn.
func ofTurn(run *trajectory.Run, turn int) source {
	s := source{name: messageOf(turn), text: run.AnswerOf(turn)}
	if n := run.Turns(); turn > n {
		s.missing = fmt.Sprintf("there is no turn %d: the session has %d", turn, n)
	} else if strings.TrimSpace(s.text) == "" {
		s.missing = fmt.Sprintf("the agent said nothing in turn %d", turn)
	}
	return s
}

func messageOf(turn int) string { return fmt.Sprintf("the last message of turn %d", turn) }

// createdFiles returns the paths of the files that a diff, as [evaluator.Input] has it, says are new.
func createdFiles(diff string) []string {
	var files []string
	before := ""
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if mode, ok := strings.CutPrefix(line, "new file mode "); ok && mode != "040000" && before != "" {
			// The name stands there twice, as a/NAME and b/NAME, with quotes if it has unusual characters.
			name := before[:len(before)/2]
			if unquoted, err := strconv.Unquote(name); err == nil {
				name = unquoted
			}
			files = append(files, strings.TrimPrefix(name, "a/"))
		}
		before, _ = strings.CutPrefix(line, "diff --git ")
		if before == line {
			before = ""
		}
	}
	return files
}

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Checks []checkKeys `yaml:"checks,required" doc:"What must hold, each on its own."`
}

// checkKeys are the keys of a check: exactly one of ops.
type checkKeys struct {
	ID          string    `yaml:"id,required" pattern:"check" doc:"Unique in the evaluator."`
	Text        string    `yaml:"text" min:"1" doc:"What must hold, in words; default: what is looked for."`
	Contains    []string  `yaml:"contains" min:"1" doc:"Texts, all of which are there."`
	NotContains []string  `yaml:"not_contains" min:"1" doc:"Texts, none of which is there."`
	Matches     []string  `yaml:"matches" min:"1" doc:"Go regular expressions, all found; (?m): ^ and $ at lines."`
	NotMatches  []string  `yaml:"not_matches" min:"1" doc:"Go regular expressions, none of which is found."`
	Ordered     []string  `yaml:"ordered" min:"1" doc:"Texts, each of them after the one before."`
	JSON        string    `yaml:"json" enum:"whole,object" doc:"The text is JSON, or a JSON object is in it."`
	Schema      *doc.Node `yaml:"schema" doc:"JSON schema, draft 2020-12, of what json finds."`
	MinCount    int       `yaml:"min_count" default:"1" min:"1" max:"10000" doc:"How often contains, matches hold."`
	MaxCount    int       `yaml:"max_count" min:"1" max:"10000" doc:"How often at most; default: any number of times."`
	File        string    `yaml:"file" min:"1" doc:"File in the workspace; default: the agent's last message."`
	Turn        int       `yaml:"turn" min:"1" max:"1000" doc:"The message that ends this turn; default: the last."`
	Target      string    `yaml:"target" enum:"created_files,mock_calls" doc:"Files made, or calls of mocks."`
}

// Kind returns the kind of evaluator.
func Kind() plan.Kind { return plan.Kind{Decode: decode, Keys: keys{}} }

func decode(n *doc.Node) any {
	var k keys
	n.Decode(&k)
	items := n.Get("checks").Items()
	var j judge
	seen := make(map[string]int)
	for i, c := range k.Checks {
		if line, twice := seen[c.ID]; twice {
			items[i].Errorf("id", "duplicate check %q, first on line %d", c.ID, line)
		} else if c.ID != "" {
			seen[c.ID] = items[i].Position().Line
		}
		j.checks = append(j.checks, c.compile(items[i]))
	}
	return j
}

// ops are the keys that say what is looked for.
var ops = []string{"contains", "not_contains", "matches", "not_matches", "ordered", "json"}

// compile returns the check, and reports what is wrong with it.
func (k checkKeys) compile(item *doc.Node) check {
	c := check{id: k.ID, text: k.Text}
	if k.File != "" {
		var err error
		if c.file, err = expect.CleanPath(k.File); err != nil {
			item.Errorf("file", "%v", err)
		}
	}
	if k.Target != "" {
		if c.file = map[string]string{"created_files": created, "mock_calls": mocked}[k.Target]; k.File != "" {
			item.Errorf("target", "give either `file` or `target`")
		}
	}
	if c.turn = k.Turn; k.Turn > 0 && c.file != "" {
		item.Errorf("turn", "is about messages: a file is looked at as the agent left it")
	}
	var given []string
	for _, op := range ops {
		if item.Get(op) != nil {
			given = append(given, op)
		}
	}
	if len(given) != 1 {
		item.Errorf("", "exactly one of `contains`, `not_contains`, `matches`, `not_matches`, `ordered` and `json` "+
			"is required")
		return c
	}
	c.rule = rule{op: given[0], count: k.MinCount, most: k.MaxCount}
	if k.MaxCount > 0 && k.MaxCount < k.MinCount {
		item.Errorf("max_count", "is less than the %d of min_count", k.MinCount)
	}
	if c.rule.op != "contains" && c.rule.op != "matches" {
		expect.Meaningless(item, "with `"+c.rule.op+"`", "min_count", "max_count")
	}
	if c.rule.op == "json" {
		c.rule.json = k.shape(item)
	} else {
		expect.Meaningless(item, "without `json`", "schema")
	}
	for _, p := range item.Get(c.rule.op).Items() {
		c.rule.patterns = append(c.rule.patterns, compilePattern(p, strings.HasSuffix(c.rule.op, "matches")))
	}
	if c.text == "" {
		s := source{name: strings.TrimSuffix(c.file, "/")}
		if c.turn > 0 {
			s.name = messageOf(c.turn)
		}
		c.text = s.String() + " " + c.rule.String()
	}
	return c
}

func compilePattern(n *doc.Node, expression bool) pattern {
	p := pattern{text: n.Text()}
	switch {
	case p.text == "":
		n.Errorf("", "is found in every text: write the text to find")
	case expression:
		var err error
		if p.expression, err = expect.CompilePattern(p.text); err != nil {
			n.Errorf("", "%v", err)
		}
	}
	return p
}
