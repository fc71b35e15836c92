// Package judgment keeps models' answers about a unit beside the unit's cassette, so that judging is replayed without a
// key. An answer is found by the exact bytes of its question: a changed rubric needs newly recorded answers, and no
// answer is ever given to another question.
//
//	file, err := judgment.Open(judgment.Path(cassette), judgment.Config{Mode: judgment.Replay, Secrets: secrets, Command: command})
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
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Path returns where the judgements of the unit with that cassette are: x.jsonl has x.judges.jsonl.
func Path(cassette string) string { return strings.TrimSuffix(cassette, ".jsonl") + ".judges.jsonl" }

// Mode is where answers come from.
type Mode string

const (
	// Replay answers from the recording alone.
	Replay Mode = "replay"
	// Record asks the models and writes the recording anew.
	Record Mode = "record"
	// Missing asks the models what has no recorded answer, and writes the recording anew.
	Missing Mode = "missing"
	// Live asks the models and writes nothing.
	Live Mode = "live"
)

// Choose returns how a unit's judges are asked, given where its session comes from; false: not at all, which skips them.
// Rerecord is the user's wish to have new answers to an old session, allowed that models may be asked, and recorded tells
// whether there is a recording. A recorded judgement needs no leave, and a new session has none.
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
	// Live asks the models. Only [Replay] does without.
	Live llm.Asker
	// Secrets masks what is asked, answered and written. It must not be nil: a replay masks, too, to ask the same.
	Secrets *secret.Set
	// Name is what errors call the recording; empty: its path.
	Name string
	// Command is the command that records, for errors.
	Command string
}

// File is the recording of one unit. It implements [llm.Asker], is safe for concurrent use, and holds nothing open.
type File struct {
	path   string
	config Config

	mu    sync.Mutex
	calls map[callKey]*call
}

// callKey is what an answer is found by.
type callKey struct {
	question string // digest
	sample   int
}

// call is a question with its answer.
type call struct {
	turn    chan struct{} // is held while the call is looked at
	request llm.Request
	answer  *llm.Reply
	used    bool
}

// Open opens the recording at path. In mode [Replay] there must be one. A recording that was cut or edited is an error with
// file and line, unless it is to be replaced. It panics if the configuration lacks what the mode needs.
func Open(path string, c Config) (*File, error) {
	if c.Secrets == nil || c.Live == nil && c.Mode != Replay {
		panic("judgment.Open: Config needs Secrets and, but for Replay, Live")
	}
	c.Name = cmp.Or(c.Name, path)
	f := &File{path: path, config: c, calls: make(map[callKey]*call)}
	if c.Mode != Replay && c.Mode != Missing {
		return f, nil
	}
	data, err := disk.ReadRegular(path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Mode == Missing:
		return f, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no recording of the judges", c.Name)
	case err != nil:
		return nil, fmt.Errorf("read the judges' recording: %w", err)
	}
	questions, line, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", c.Name, line, err)
	}
	for _, q := range questions {
		for _, a := range q.Answers {
			f.calls[callKey{q.Key, a.Sample}] = &call{turn: make(chan struct{}, 1), request: q.request(), answer: a.reply()}
		}
	}
	return f, nil
}

// maxFile is the largest recording that is read or written, in bytes.
const maxFile = 64 << 20

// Complete answers a request. The same request is answered once, whoever asks again: to get several answers, number the
// samples.
func (f *File) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	r.Model, r.System, r.User = f.clean(r.Model), f.clean(r.System), f.clean(r.User)
	c := f.call(r)
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return llm.Reply{}, fmt.Errorf("ask %s: %w", r.Model, context.Cause(ctx))
	}
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

// clean returns the text as JSON can keep it, without secrets.
func (f *File) clean(text string) string {
	return f.config.Secrets.String(strings.ToValidUTF8(text, "\uFFFD"))
}

// call returns the call of a request, a new one if need be.
func (f *File) call(r llm.Request) *call {
	key := callKey{digest(r), r.Sample}
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.calls[key]
	if !ok {
		c = &call{turn: make(chan struct{}, 1), request: r}
		f.calls[key] = c
	}
	return c
}

// Save writes what was asked and answered, and nothing else, in modes [Record] and [Missing]; in the others it does
// nothing. Where nothing was asked no recording remains. It is for the end of the unit's judging: until then, and after a
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

// replace puts data in the place of the recording; nil removes it.
func (f *File) replace(data []byte) error {
	if data == nil {
		if err := os.Remove(f.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if len(data) > maxFile {
		return fmt.Errorf("it has %d bytes, more than the %d that one may have", len(data), maxFile)
	}
	if name, found := f.config.Secrets.Contains(data); found {
		return fmt.Errorf("it would hold the secret %s", name)
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	return disk.Replace(f.path, data, 0o644)
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

// Unused returns how many recorded answers were not asked for. They decide nothing: the next recording drops them.
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
