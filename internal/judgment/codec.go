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

// version is that of the format.
const version = 1

// line is a line of a recording: its header, a question or its end.
type line struct {
	Header   *header   `json:"judgments,omitempty"`
	Question *question `json:"question,omitempty"`
	End      *end      `json:"end,omitempty"`
	// Sum is a digest of everything before and of this line, by which an edited line is named.
	Sum string `json:"sum"`
}

type header struct {
	Version int `json:"version"`
}

// end ends a recording. A file without it was cut.
type end struct {
	Questions int `json:"questions"`
	Answers   int `json:"answers"`
}

// question is what a model was asked, with its answers by sample.
type question struct {
	Key        string          `json:"key"`
	Model      string          `json:"model"`
	MaxTokens  int             `json:"max_tokens,omitempty"`
	SchemaName string          `json:"schema_name,omitempty"`
	Schema     json.RawMessage `json:"schema,omitempty"`
	System     string          `json:"system"`
	User       string          `json:"user"`
	Answers    []answer        `json:"answers"`
}

type answer struct {
	Sample       int    `json:"sample"`
	Model        string `json:"model,omitempty"` // as the server names it
	InputTokens  int    `json:"input_tokens,omitempty"`
	OutputTokens int    `json:"output_tokens,omitempty"`
	Text         string `json:"text"`
}

func (a answer) reply() *llm.Reply {
	return &llm.Reply{Text: a.Text, Model: a.Model, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens}
}

// questionOf returns a request without its sample.
func questionOf(r llm.Request) question {
	return question{
		Model: r.Model, MaxTokens: r.MaxTokens, SchemaName: r.SchemaName, Schema: r.Schema, System: r.System, User: r.User,
	}
}

func (q question) request() llm.Request {
	return llm.Request{
		Model: q.Model, MaxTokens: q.MaxTokens, SchemaName: q.SchemaName, Schema: q.Schema, System: q.System, User: q.User,
	}
}

// digest is the key of a question: model, messages, schema and parameters.
func digest(r llm.Request) string {
	sum := sha256.Sum256(marshal(questionOf(r)))
	return hex.EncodeToString(sum[:16])
}

// marshal returns JSON without a final newline. Nothing that is marshalled here can fail to be, but for a schema that is not
// JSON, which is a mistake in the program.
func marshal(v any) []byte {
	data, err := jsonvalue.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("judgment: %v", err))
	}
	return data
}

// chain makes lines, each with a digest of all before it.
type chain struct{ sum string }

// append appends a line, with the sum that belongs to it.
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
	for _, key := range slices.SortedFunc(maps.Keys(calls), compareKeys) {
		if n := len(questions); n == 0 || questions[n-1].Key != key.question {
			q := questionOf(calls[key].request)
			q.Key = key.question
			questions = append(questions, q)
		}
		q, a := &questions[len(questions)-1], calls[key].answer
		q.Answers = append(q.Answers, answer{key.sample, a.Model, a.InputTokens, a.OutputTokens, a.Text})
	}
	var c chain
	data := c.append(nil, line{Header: &header{version}})
	for _, q := range questions {
		data = c.append(data, line{Question: &q})
	}
	data = c.append(data, line{End: &end{len(questions), len(calls)}})
	if _, at, err := decode(data); err != nil {
		return nil, fmt.Errorf("it could not be read: line %d: %w", at, err)
	}
	return data, nil
}

// decode reads a recording. On an error it returns its line.
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
			return nil, at, errors.New("this is not a recording of judges: its first line, and no other, is a header")
		case l.Header != nil && l.Header.Version != version:
			return nil, at, fmt.Errorf("the recording has format version %d, and this program reads version %d", l.Header.Version, version)
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
				return nil, at, errors.New("the end counts other questions or answers than there are")
			}
		}
	}
	if !ended {
		return nil, max(at, 1), errors.New("the recording is cut: it has no end")
	}
	return questions, 0, nil
}

func decodeLine(text []byte) (line, error) {
	var l line
	if !bytes.HasSuffix(text, []byte("\n")) {
		return l, errors.New("the recording is cut: the line has no end")
	}
	if err := jsonvalue.DecodeStrict(text, &l, 0); err != nil {
		return l, fmt.Errorf("the recording was edited: %w", err)
	}
	n := 0
	for _, there := range []bool{l.Header != nil, l.Question != nil, l.End != nil} {
		if there {
			n++
		}
	}
	if n != 1 {
		return l, errors.New("the recording was edited: the line is neither a header nor a question nor the end")
	}
	return l, nil
}

// check reports what a question cannot have been recorded with.
func (q *question) check() error {
	if digest(q.request()) != q.Key {
		return errors.New("the question's key is not that of its text")
	}
	last := -1
	for _, a := range q.Answers {
		if a.Sample <= last || a.Text == "" {
			return errors.New("the question's answers are not those of samples in order")
		}
		last = a.Sample
	}
	if last < 0 {
		return errors.New("the question has no answer")
	}
	return nil
}
