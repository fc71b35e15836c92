package judgment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// version is the version of the format. Recordings without answers of agents are still written as the first.
const version = 2

// line is a line of a recording: its header, a question or its end.
type line struct {
	Header   *header   `json:"judgments,omitempty"`
	Question *question `json:"question,omitempty"`
	End      *end      `json:"end,omitempty"`
	// Sum is a digest of all lines up to this one, so that an error can name an edited line.
	Sum string `json:"sum"`
}

type header struct {
	Version int `json:"version"`
}

// end is the last line of a recording. A file without it was truncated.
type end struct {
	Questions int `json:"questions"`
	Answers   int `json:"answers"`
}

// question is a question to a model, with the answers by sample, or to an agent about one check.
type question struct {
	Key        string          `json:"key"`
	Agent      *llm.Agent      `json:"agent,omitempty"`
	Model      string          `json:"model"`
	MaxTokens  int             `json:"max_tokens,omitempty"`
	SchemaName string          `json:"schema_name,omitempty"`
	Schema     json.RawMessage `json:"schema,omitempty"`
	System     string          `json:"system"`
	User       string          `json:"user"`
	Check      string          `json:"check,omitempty"`
	Answers    []answer        `json:"answers"`
}

type answer struct {
	Sample       int    `json:"sample"`
	Agent        string `json:"agent,omitempty"` // by its own word, with its version
	Model        string `json:"model,omitempty"` // as named by the server, or the agent
	InputTokens  int    `json:"input_tokens,omitempty"`
	OutputTokens int    `json:"output_tokens,omitempty"`
	// Text is the verdict of an agent as JSON.
	Text string `json:"text"`
}

// answerOf returns a sample's answer.
func answerOf(sample int, r llm.Reply) answer {
	a := answer{
		Sample: sample, Model: r.Model, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, Text: r.Text,
	}
	for _, v := range r.Verdicts {
		a.Agent, a.Model, a.Text = v.Program, v.Model, string(marshal(v))
	}
	return a
}

// reply returns what a model said, or an agent.
func (a answer) reply(ofAgent bool) (*llm.Reply, error) {
	r := &llm.Reply{Text: a.Text, Model: a.Model, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens}
	if !ofAgent {
		return r, nil
	}
	v := llm.Verdict{Program: a.Agent, Model: a.Model}
	if err := jsonvalue.DecodeStrict([]byte(a.Text), &v, jsonvalue.AllKeys); err != nil {
		return nil, fmt.Errorf("the verdict of an agent: %w", err)
	}
	r.Text, r.Model, r.Verdicts = "", "", []llm.Verdict{v}
	return r, nil
}

// questionOf returns the question of a request, which does not include the sample. That of an agent has one check.
func questionOf(r llm.Request) question {
	q := question{
		Agent: r.Agent, Model: r.Model, MaxTokens: r.MaxTokens, SchemaName: r.SchemaName, Schema: r.Schema,
		System: r.System, User: r.User,
	}
	for _, c := range r.Checks {
		q.Check = c.Text
	}
	return q
}

func (q question) request() llm.Request {
	r := llm.Request{
		Agent: q.Agent, Model: q.Model, MaxTokens: q.MaxTokens, SchemaName: q.SchemaName, Schema: q.Schema,
		System: q.System, User: q.User,
	}
	if q.Agent != nil {
		r.Checks = []llm.Check{{Text: q.Check}}
	}
	return r
}

// digest returns the key of a question: a digest of model, messages, schema and parameters.
func digest(r llm.Request) string {
	sum := sha256.Sum256(marshal(questionOf(r)))
	return hex.EncodeToString(sum[:16])
}

// marshal returns JSON without a final newline. It can only fail if a schema is not JSON, which is a mistake in the
// program.
func marshal(v any) []byte {
	data, err := jsonvalue.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("judgment: %v", err))
	}
	return data
}

// chain makes lines, each with a digest of all lines up to it.
type chain struct{ sum string }

// append appends a line and sets its sum.
func (c *chain) append(b []byte, l line) []byte {
	l.Sum = c.sum
	sum := sha256.Sum256(marshal(l))
	l.Sum = hex.EncodeToString(sum[:16])
	c.sum = l.Sum
	return append(append(b, marshal(l)...), '\n')
}

// encode returns the bytes of a recording, nil if there are no calls. The same calls have the same bytes.
func encode(calls map[callKey]*call) ([]byte, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	var questions []question
	format := 1
	for _, key := range slices.SortedFunc(maps.Keys(calls), compareKeys) {
		if n := len(questions); n == 0 || questions[n-1].Key != key.question {
			q := questionOf(calls[key].request)
			q.Key = key.question
			questions = append(questions, q)
		}
		q := &questions[len(questions)-1]
		q.Answers = append(q.Answers, answerOf(key.sample, *calls[key].answer))
		if q.Agent != nil {
			format = version
		}
	}
	var c chain
	data := c.append(nil, line{Header: &header{format}})
	for _, q := range questions {
		data = c.append(data, line{Question: &q})
	}
	data = c.append(data, line{End: &end{len(questions), len(calls)}})
	if _, at, err := decode(data); err != nil {
		return nil, fmt.Errorf("it could not be read back: line %d: %w", at, err)
	}
	return data, nil
}

// decode reads a recording. An error comes with its line.
func decode(data []byte) (questions []question, at int, err error) {
	var c chain
	answers, ended := 0, false
	for text := range bytes.Lines(data) {
		at++
		l, err := decodeLine(text)
		switch {
		case err != nil:
			return nil, at, err
		case (at == 1) != (l.Header != nil):
			return nil, at, errors.New("not a recording of judges: the first line, and no other, must be a header")
		case l.Header != nil && (l.Header.Version < 1 || l.Header.Version > version):
			return nil, at, fmt.Errorf("the recording has format version %d, but this program reads versions up to %d",
				l.Header.Version, version)
		case ended:
			return nil, at, errors.New("the recording was edited: there is a line after its end")
		}
		if !bytes.Equal(c.append(nil, l), text) {
			return nil, at, errors.New("the recording was edited: this line is not the one that was recorded")
		}
		if l.Question != nil {
			if n := len(questions); n > 0 && questions[n-1].Key >= l.Question.Key {
				return nil, at, errors.New("the questions are not sorted by key")
			}
			if err := l.Question.check(); err != nil {
				return nil, at, err
			}
			questions = append(questions, *l.Question)
			answers += len(l.Question.Answers)
		}
		if l.End != nil {
			ended = true
			if *l.End != (end{len(questions), answers}) {
				return nil, at, errors.New("the counts in the last line do not match the questions and answers")
			}
		}
	}
	if !ended {
		return nil, max(at, 1), errors.New("the recording is truncated: its last line is missing")
	}
	return questions, 0, nil
}

func decodeLine(text []byte) (line, error) {
	var l line
	if !bytes.HasSuffix(text, []byte("\n")) {
		return l, errors.New("the recording is truncated: the line has no line break")
	}
	if err := jsonvalue.DecodeStrict(text, &l, 0); err != nil {
		return l, fmt.Errorf("the recording was edited: %w", err)
	}
	n := 0
	for _, set := range []bool{l.Header != nil, l.Question != nil, l.End != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return l, errors.New("the recording was edited: the line must be one of header, question and end")
	}
	return l, nil
}

// check returns an error if the question is not as it was written.
func (q *question) check() error {
	if digest(q.request()) != q.Key {
		return errors.New("the question's key does not match its text")
	}
	last := -1
	for _, a := range q.Answers {
		if a.Sample <= last || a.Text == "" {
			return errors.New("the question's answers are empty or not sorted by sample")
		}
		if a.InputTokens < 0 || a.OutputTokens < 0 {
			return errors.New("the question's answers have a negative count of tokens")
		}
		if _, err := a.reply(q.Agent != nil); err != nil {
			return err
		}
		last = a.Sample
	}
	if last < 0 {
		return errors.New("the question has no answer")
	}
	return nil
}
