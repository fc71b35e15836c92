// Package judgment records the answers of models that judge a unit, beside the unit's cassette, so that judging is
// replayed without a key. An answer is found by the exact bytes of its question: a changed rubric needs newly recorded
// answers, and no answer is ever given to another question. Package llm asks the models, and the evaluators write the
// questions and read the answers.
//
//	config := judgment.Config{Mode: judgment.Replay, Tree: tree, Secrets: secrets, Command: command}
//	file, err := judgment.Open(judgment.Path(cassette), config)
//	in.Models = file
//	... // evaluators ask
//	err = file.Save()
package judgment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Path returns the path of the recording that belongs to a cassette: x.judges.jsonl for x.jsonl.
func Path(cassette string) string { return strings.TrimSuffix(cassette, ".jsonl") + ".judges.jsonl" }

// Mode is where answers come from.
type Mode string

const (
	// Replay answers from the recording only.
	Replay Mode = "replay"
	// Record asks the models and writes the recording anew.
	Record Mode = "record"
	// Missing asks the models the questions without a recorded answer, and writes the recording anew.
	Missing Mode = "missing"
	// Live asks the models and writes nothing.
	Live Mode = "live"
)

// Choose returns the mode for a unit's judges, given the mode of its session. False means that they are skipped.
// Rerecord asks for new answers about a recorded session, allowed says that models may be asked, and recorded that
// there is a recording. Recorded answers are used even if models may not be asked. A new session has no recorded
// answers.
func Choose(session Mode, rerecord, allowed, recorded bool) (Mode, bool) {
	switch {
	case rerecord:
		return Record, true
	case recorded && (session == Replay || session == Missing && !allowed):
		return Replay, true
	case !allowed:
		return "", false
	case session == Replay:
		return Live, true
	}
	return session, true
}

// Config says where answers come from.
type Config struct {
	Mode Mode
	// Tree is the tree that the recording is in. It must not be empty.
	Tree disk.Tree
	// Live asks the models. It may be nil only in mode [Replay].
	Live llm.Asker
	// Secrets masks questions, answers and what is written. It must not be nil: a replay must mask its questions, too,
	// to find their answers.
	Secrets *secret.Set
	// Name is the name of the recording in errors; empty: its path.
	Name string
	// Command is the command that records anew, and CommandOpen the one that records only what has no answer, for
	// errors.
	Command, CommandOpen string
}

// File is the recording of one unit. It implements [llm.Asker], is safe for concurrent use, and holds nothing open.
type File struct {
	path   string
	config Config

	mu      sync.Mutex
	calls   map[callKey]*call
	missed  map[callKey]Question
	judging *result.Judging
}

// Question is one that has no recorded answer.
type Question struct {
	Judge string // who would be asked
	Bytes int    // that it is long
	Reply int    // how many tokens the judge's recorded replies have on average, 0: that is not known
}

// callKey finds an answer.
type callKey struct {
	question string // digest
	sample   int
}

// call is a question with its answer.
type call struct {
	turn    chan struct{} // a lock, held while the call is used
	request llm.Request
	answer  *llm.Reply
	used    bool
}

// take waits until nobody else uses the call, until [call.leave].
func (c *call) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ask %s: %w", c.request.Judge(), context.Cause(ctx))
	}
}

func (c *call) leave() { <-c.turn }

// Open opens the recording at path, which must exist in mode [Replay]. If the recording was truncated or edited, the
// error names file and line, unless the mode replaces it. Open panics if the configuration lacks what the mode needs.
func Open(path string, c Config) (*File, error) {
	if c.Secrets == nil || c.Tree == "" || c.Live == nil && c.Mode != Replay {
		panic("judgment.Open: Config needs Secrets, Tree and, unless Mode is Replay, Live")
	}
	c.Name = cmp.Or(c.Name, path)
	f := &File{path: path, config: c, calls: make(map[callKey]*call), missed: make(map[callKey]Question)}
	if c.Mode != Replay && c.Mode != Missing {
		return f, nil
	}
	data, err := c.Tree.ReadRegular(path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Mode == Missing:
		return f, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: the judges' answers are not recorded", c.Name)
	case err != nil:
		return nil, fmt.Errorf("read the judges' recording: %w", err)
	}
	questions, line, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", c.Name, line, err)
	}
	for _, q := range questions {
		for _, a := range q.Answers {
			reply, _ := a.reply(q.Agent != nil) // decode has read it
			f.calls[callKey{q.Key, a.Sample}] = &call{
				turn:    make(chan struct{}, 1),
				request: q.request(), answer: reply,
			}
		}
	}
	return f, nil
}

// maxFile is the largest recording that is read or written, in bytes.
const maxFile = 64 << 20

// Asked returns the first question of the recording at path that an agent was asked; false: there is none.
func Asked(tree disk.Tree, path string) (llm.Request, bool) {
	data, err := tree.ReadRegular(path, maxFile)
	if err != nil {
		return llm.Request{}, false
	}
	questions, _, err := decode(data)
	for _, q := range questions {
		if r := q.request(); err == nil && r.Agent != nil {
			return r, true
		}
	}
	return llm.Request{}, false
}

// Complete answers a request. Equal requests get the same answer: for several answers to a question, number the
// samples. Each check of an agent is a question of its own, and those without an answer are asked at once.
func (f *File) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	r.Model, r.System, r.User = f.clean(r.Model), f.clean(r.System), f.clean(r.User)
	if r.Agent != nil {
		return f.judge(ctx, r)
	}
	c := f.call(r)
	if err := c.take(ctx); err != nil {
		return llm.Reply{}, err
	}
	defer c.leave()
	if c.answer == nil {
		if f.config.Mode == Replay {
			return llm.Reply{}, f.miss(r)
		}
		reply, err := f.config.Live.Complete(ctx, r)
		if err != nil {
			return llm.Reply{}, err
		}
		reply.Text, reply.Model = f.clean(reply.Text), f.clean(reply.Model)
		c.answer = &reply
	}
	c.used = true
	return *c.answer, nil
}

// clean returns the text as valid UTF-8, which JSON needs, without secrets.
func (f *File) clean(text string) string {
	return f.config.Secrets.String(strings.ToValidUTF8(text, "\uFFFD"))
}

// call returns the call of a request and creates it if needed.
func (f *File) call(r llm.Request) *call {
	key := callKey{digest(r), r.Sample}
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.calls[key]
	if ok {
		return c
	}
	c = &call{turn: make(chan struct{}, 1), request: r}
	if f.config.Mode == Replay { // there will be no answer, and there may be many questions
		f.missed[key] = Question{Judge: r.Judge(), Bytes: len(r.System) + len(r.User) + len(questionOf(r).Check)}
	} else {
		f.calls[key] = c
	}
	return c
}

// Missed returns the questions that were asked in mode [Replay] and have no recorded answer, each once.
func (f *File) Missed() []Question {
	f.mu.Lock()
	defer f.mu.Unlock()
	replies := make(map[string][]int)
	for _, c := range f.calls {
		if c.answer != nil && c.answer.OutputTokens > 0 {
			replies[c.request.Judge()] = append(replies[c.request.Judge()], c.answer.OutputTokens)
		}
	}
	all := make([]Question, 0, len(f.missed))
	for _, key := range slices.SortedFunc(maps.Keys(f.missed), compareKeys) {
		q := f.missed[key]
		if n := replies[q.Judge]; n != nil {
			sum := 0
			for _, tokens := range n {
				sum += tokens
			}
			q.Reply = sum / len(n)
		}
		all = append(all, q)
	}
	return all
}

// Save writes the questions that were asked, and their answers, in modes [Record] and [Missing]; in other modes it does
// nothing. If nothing was asked, it removes the recording. Call it after the unit was judged: until then, and after a
// crash, the recording is the old one.
func (f *File) Save() error {
	if f.config.Mode != Record && f.config.Mode != Missing {
		return nil
	}
	data, err := encode(f.used())
	if err == nil {
		err = f.replace(data)
	}
	if err != nil {
		return fmt.Errorf("write the judges' recording %s: %w", f.config.Name, err)
	}
	return nil
}

// replace replaces the recording by data; nil removes it.
func (f *File) replace(data []byte) error {
	if data == nil {
		if err := f.config.Tree.Remove(f.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if len(data) > maxFile {
		return fmt.Errorf("%d bytes exceed the limit of %d", len(data), maxFile)
	}
	if name, found := f.config.Secrets.Contains(data); found {
		return fmt.Errorf("it would contain the secret %s", name)
	}
	return f.config.Tree.Replace(f.path, data, 0o644)
}

// used returns the calls that were made.
func (f *File) used() map[callKey]*call {
	f.mu.Lock()
	defer f.mu.Unlock()
	used := make(map[callKey]*call)
	for key, c := range f.calls {
		if c.used {
			used[key] = c
		}
	}
	return used
}

// Others says which answers that were used came from other models than those that were asked, see [llm.Another].
func (f *File) Others() []string {
	others := make(map[string]bool)
	for _, c := range f.used() {
		if c.request.Agent != nil { // then it is an error
			continue
		}
		if text := llm.Another(c.request.Model, c.answer.Model); text != "" {
			others[text] = true
		}
	}
	return slices.Sorted(maps.Keys(others))
}

// Judging returns what agents took that were asked, nil if none was.
func (f *File) Judging() *result.Judging {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.judging
}

// Unused returns the number of recorded answers that were not asked for. The next recording drops them.
func (f *File) Unused() int {
	used := f.used()
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for key, c := range f.calls {
		if used[key] == nil && c.answer != nil {
			n++
		}
	}
	return n
}

// miss returns the error for a question without a recorded answer. It shows how the nearest recorded question differs.
func (f *File) miss(r llm.Request) error {
	return fmt.Errorf("%s: there is no recorded answer of %s to this question: %s; record it with %s",
		f.config.Name, r.Judge(), f.difference(r), f.config.Command)
}

// difference says how the recorded question that is most like r differs from it.
func (f *File) difference(r llm.Request) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var recorded []*call
	for _, key := range slices.SortedFunc(maps.Keys(f.calls), compareKeys) {
		if c := f.calls[key]; c.answer != nil {
			recorded = append(recorded, c)
		}
	}
	if len(recorded) == 0 {
		return "no answers are recorded"
	}
	nearest := slices.MaxFunc(recorded, func(a, b *call) int {
		return cmp.Compare(likeness(a.request, r), likeness(b.request, r))
	})
	n := nearest.request
	switch {
	case n.Judge() != r.Judge() && n.Agent == nil:
		return fmt.Sprintf("the nearest question was for model %s", n.Model)
	case n.Judge() != r.Judge():
		return fmt.Sprintf("the nearest question was for %s", n.Judge())
	case n.System != r.System:
		return "the nearest question has another system message: " + firstDifference(n.System, r.System)
	case n.User != r.User:
		return "the nearest question has another prompt: " + firstDifference(n.User, r.User)
	case digest(n) == digest(r):
		return fmt.Sprintf("sample %d was not recorded", r.Sample+1)
	case questionOf(n).Check != questionOf(r).Check:
		return "the nearest question has another check: " + firstDifference(questionOf(n).Check, questionOf(r).Check)
	}
	return "the nearest question has other parameters or another reply schema"
}

func compareKeys(a, b callKey) int {
	return cmp.Or(cmp.Compare(a.question, b.question), cmp.Compare(a.sample, b.sample))
}

// likeness is larger for questions that are more alike: with the same model first, then the same system message, then
// the longest common beginning of the prompts.
func likeness(a, b llm.Request) int {
	n, _ := excerpt.Common([]byte(a.User), []byte(b.User))
	check, _ := excerpt.Common([]byte(questionOf(a).Check), []byte(questionOf(b).Check))
	n += check
	if a.System == b.System {
		n += 1 << 40
	}
	if a.Judge() == b.Judge() {
		n += 1 << 50
	}
	return n
}

// firstDifference shows the first line in which two different texts differ.
func firstDifference(recorded, asked string) string {
	line, was, is := excerpt.FirstLines(recorded, asked)
	was, is = strings.TrimSuffix(was, "\n"), strings.TrimSuffix(is, "\n")
	quote := func(text string) string { return excerpt.Quote(text, maxShown) }
	was, is = excerpt.Apart(was, is, maxShown, maxShown/2, quote)
	return fmt.Sprintf("line %d was %s and is %s", line, was, is)
}

// maxShown is how many characters of a line an error shows.
const maxShown = 120
