package lint

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// answerInPrompt finds prompts that hold what a judge looks for. A prompt may say what is to stand in a file that it
// names, since then it asks for that.
func answerInPrompt(_ context.Context, s *suite, found func(Finding)) error {
	for i := range s.cases {
		c := &s.cases[i]
		for _, a := range c.answers {
			if a.asked || a.target != "" && c.names(a.target) {
				continue
			}
			for _, n := range c.prompts {
				if at := a.told("", n.Text()); at != nil {
					found(Finding{
						Position: s.positionIn(n, at[0]), Where: c.ID,
						What: fmt.Sprintf("the prompt has what is looked for, %s: %s", a.by,
							quote(n.Text()[at[0]:at[1]])),
					})
					break
				}
			}
		}
	}
	return nil
}

// positionIn returns the position of an offset of a text in the playbook. A text that is written differently, in quotes
// for example, has one position.
func (s *suite) positionIn(n *doc.Node, offset int) doc.Position {
	at := n.Position()
	text := n.Text()
	begin := 1 + strings.LastIndexByte(text[:offset], '\n')
	line, _, _ := strings.Cut(text[begin:], "\n")
	line = strings.TrimSpace(line)
	lines := strings.Split(string(s.p.Text), "\n")
	for i := at.Line - 1; i >= 0 && i < len(lines); i++ {
		if line != "" && strings.Contains(lines[i], line) {
			at.Line, at.Column = i+1, 1
			break
		}
	}
	return at
}

func quote(text string) string { return excerpt.Quote(text, 80) }

// answerInWorkspace finds files of the workspace that hold what a judge looks for, other than the file that is to hold
// it. Files that the prompt names are the agent's input, tests say what is wanted, and a file that is to lose the text
// is where the work begins.
func answerInWorkspace(ctx context.Context, s *suite, found func(Finding)) error {
	for i := range s.cases {
		c := &s.cases[i]
		for _, f := range s.startsWith(c) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(f.data) == 0 || c.names(f.path) || c.moved(f.path) || testFile.MatchString(f.path) ||
				s.isJudge(f) != nil {
				continue
			}
			for _, a := range c.answers {
				if at := s.tells(f, a); at != nil {
					p := f.at
					if f.source != "" {
						p.Line = lineOf(f.data, at[0])
					}
					found(Finding{
						Position: p, Where: f.path,
						What: fmt.Sprintf("the agent can read what is looked for, %s: %s", a.by,
							quote(string(f.data[at[0]:at[1]]))),
					})
				}
			}
			s.answerDocument(ctx, c, f, found)
		}
	}
	return nil
}

// answerDocument finds a JSON file that a field_accuracy evaluator would give a full score to, were it the answer.
func (s *suite) answerDocument(ctx context.Context, c *testCase, f file, found func(Finding)) {
	data := bytes.TrimSpace(f.data)
	if len(data) == 0 || data[0] != '{' || !json.Valid(data) {
		return
	}
	for _, e := range c.unit.Evaluators {
		if e.Type != "field_accuracy" || e.Config.(evaluator.Evaluator).Needs() != 0 {
			continue
		}
		said := &trajectory.Run{Events: []trajectory.Event{{Turn: 1, Body: trajectory.Message{Text: string(data)}}}}
		if v := judge(ctx, e, evaluator.Input{Run: said}); v.Score == nil || *v.Score < 1 {
			continue
		}
		found(Finding{
			Position: f.at, Where: f.path,
			What: fmt.Sprintf("the agent can read the whole answer: evaluator %s (line %d) would pass this file",
				e.Name, e.Position.Line),
		})
	}
}

// judge has an evaluator judge that starts nothing and asks nobody.
func judge(ctx context.Context, e plan.Evaluator, in evaluator.Input) evaluator.Verdict {
	e.Advisory = false
	if in.Metrics == nil {
		in.Metrics = &result.Metrics{ToolCalls: map[string]int{}}
	}
	return evaluator.Judge(ctx, e, in)
}
