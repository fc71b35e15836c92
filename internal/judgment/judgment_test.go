package judgment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

const command = "EVALTEST_JUDGES=record go test ./evals"

// model answers with the number of the call.
type model struct {
	calls atomic.Int64
	asked sync.Map // what was asked, by user message
	reply string   // instead of a number
	err   error
}

func (m *model) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	n := m.calls.Add(1)
	m.asked.Store(r.User, r)
	if m.err != nil {
		return llm.Reply{}, m.err
	}
	text := m.reply
	if text == "" {
		text = fmt.Sprintf(`{"score": %d}`, n)
	}
	return llm.Reply{Text: text, Model: "served", InputTokens: 10, OutputTokens: int(n)}, nil
}

func open(t *testing.T, path string, mode Mode, live llm.Asker) *File {
	t.Helper()
	f, err := Open(path, Config{Tree: "/", Mode: mode, Live: live, Secrets: new(secret.Set), Command: command})
	require.NoError(t, err)
	return f
}

func request(user string, sample int) llm.Request {
	return llm.Request{
		Model: "judge-1", System: "Judge.", User: user, Sample: sample,
		Schema: json.RawMessage(`{"type": "object"}`), SchemaName: "verdict",
	}
}

func ask(t *testing.T, f *File, r llm.Request) string {
	t.Helper()
	reply, err := f.Complete(t.Context(), r)
	require.NoError(t, err)
	return reply.Text
}

// record writes a recording with two questions, of which the first has two samples.
func record(t *testing.T) (path string, data []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "case", "v.1.judges.jsonl")
	f := open(t, path, Record, new(model))
	ask(t, f, request("one\ntwo", 0))
	ask(t, f, request("one\ntwo", 1))
	ask(t, f, request("other <b>", 0))
	require.NoError(t, f.Save())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return path, data
}

func TestPath(t *testing.T) {
	require.Equal(t, filepath.Join("c", "v.1.judges.jsonl"), Path(filepath.Join("c", "v.1.jsonl")))
}

func TestReplay(t *testing.T) {
	path, _ := record(t)
	f := open(t, path, Replay, nil)
	require.Equal(t, 3, f.Unused())
	require.Equal(t, `{"score": 2}`, ask(t, f, request("one\ntwo", 1)), "samples keep their own answers, in any order")
	require.Equal(t, `{"score": 1}`, ask(t, f, request("one\ntwo", 0)))
	require.Equal(t, `{"score": 1}`, ask(t, f, request("one\ntwo", 0)), "the same question has the same answer")
	reply, err := f.Complete(t.Context(), request("other <b>", 0))
	require.NoError(t, err)
	require.Equal(t, llm.Reply{Text: `{"score": 3}`, Model: "served", InputTokens: 10, OutputTokens: 3}, reply)
	require.Equal(t, 0, f.Unused())
}

// TestMissed: questions without an answer are told once each, with what an answer takes by those that are recorded.
func TestMissed(t *testing.T) {
	path, _ := record(t)
	f := open(t, path, Replay, nil)
	ask(t, f, request("other <b>", 0))
	require.Empty(t, f.Missed())
	agent := llm.Request{Agent: &llm.Agent{Kind: "fake"}, Checks: []llm.Check{{Text: "a"}, {Text: "b"}}}
	for _, r := range []llm.Request{request("new", 0), request("new", 0), request("new", 1), agent} {
		_, err := f.Complete(t.Context(), r)
		require.Error(t, err)
	}
	new := Question{Judge: "judge-1", Bytes: len("Judge.new"), Reply: 2}
	require.ElementsMatch(t, []Question{new, new, {Judge: "fake", Bytes: 1}, {Judge: "fake", Bytes: 1}}, f.Missed())
}

func TestMiss(t *testing.T) {
	path, data := record(t)
	with := func(change func(*llm.Request)) llm.Request {
		r := request("one\ntwo", 0)
		change(&r)
		return r
	}
	tests := []struct {
		name    string
		request llm.Request
		want    string
	}{
		{
			"prompt", request("one\nthree", 0),
			`the nearest question has another prompt: line 2 was "two" and is "three"`,
		},
		{
			"system", with(func(r *llm.Request) { r.System = "Judge!" }),
			`the nearest question has another system message: line 1 was "Judge." and is "Judge!"`,
		},
		{"model", with(func(r *llm.Request) { r.Model = "judge-2" }), "the nearest question was for model judge-1"},
		{
			"schema", with(func(r *llm.Request) { r.Schema = nil }),
			"the nearest question has other parameters or another reply schema",
		},
		{
			"parameters", with(func(r *llm.Request) { r.MaxTokens = 5 }),
			"the nearest question has other parameters or another reply schema",
		},
		{"sample", request("one\ntwo", 2), "sample 3 was not recorded"},
		{
			"long lines", request("other <b>"+strings.Repeat("x", 500), 0),
			`the nearest question has another prompt: line 1 was "other <b>" and is "other <b>` +
				strings.Repeat("x", 111) + `"…`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, path, Replay, nil)
			_, err := f.Complete(t.Context(), tt.request)
			require.Error(t, err)
			require.Equal(t, path+": there is no recorded answer of "+tt.request.Model+" to this question: "+tt.want+
				"; record it with "+command, err.Error())
			require.NoError(t, f.Save())
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, data, after, "a replay writes nothing")
		})
	}
}

func TestSameBytes(t *testing.T) {
	write := func(order ...int) []byte {
		path := filepath.Join(t.TempDir(), "x.judges.jsonl")
		f := open(t, path, Record, &model{reply: "{}"})
		for _, n := range order {
			r := request(fmt.Sprint("question ", n/2), n%2)
			reply, err := f.Complete(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, "{}", reply.Text)
		}
		for _, c := range f.calls {
			c.answer.OutputTokens = 0 // they count the calls
		}
		require.NoError(t, f.Save())
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return data
	}
	require.Equal(t, string(write(0, 1, 2, 3)), string(write(3, 1, 2, 0)), "whatever came first")
}

func TestRecordDropsUnused(t *testing.T) {
	for _, mode := range []Mode{Record, Missing} {
		path, _ := record(t)
		f := open(t, path, mode, new(model))
		ask(t, f, request("other <b>", 0))
		require.NoError(t, f.Save())
		require.Len(t, open(t, path, Replay, nil).calls, 1, mode)
	}
}

func TestRecordNothing(t *testing.T) {
	path, _ := record(t)
	f := open(t, path, Record, new(model))
	require.NoError(t, f.Save())
	require.NoFileExists(t, path, "a recording of nothing would hide that there is none")
	require.NoError(t, f.Save())
}

func TestUnsaved(t *testing.T) {
	path, data := record(t)
	f := open(t, path, Record, new(model))
	ask(t, f, request("new", 0))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, data, after, "a crash leaves the old recording")
	require.NoError(t, f.Save())
	after, err = os.ReadFile(path)
	require.NoError(t, err)
	require.NotEqual(t, data, after)
}

func TestMissing(t *testing.T) {
	path, data := record(t)
	m := new(model)
	f := open(t, path, Missing, m)
	require.Equal(t, `{"score": 1}`, ask(t, f, request("one\ntwo", 0)))
	require.Equal(t, `{"score": 2}`, ask(t, f, request("one\ntwo", 1)))
	require.Equal(t, `{"score": 3}`, ask(t, f, request("other <b>", 0)))
	require.Zero(t, m.calls.Load())
	require.NoError(t, f.Save())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(data), string(after))
	ask(t, f, request("new", 0))
	require.EqualValues(t, 1, m.calls.Load())
	require.NoError(t, f.Save())
	ask(t, open(t, path, Replay, nil), request("new", 0))

	open(t, filepath.Join(t.TempDir(), "none"), Missing, m) // as if it held nothing
}

func TestLive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.judges.jsonl")
	f := open(t, path, Live, new(model))
	require.Equal(t, ask(t, f, request("a", 0)), ask(t, f, request("a", 0)), "as it would be recorded")
	require.NoError(t, f.Save())
	require.NoFileExists(t, path)
}

func TestFailures(t *testing.T) {
	path, data := record(t)
	m := &model{err: errors.New("status 500")}
	f := open(t, path, Record, m)
	_, err := f.Complete(t.Context(), request("a", 0))
	require.EqualError(t, err, "status 500")
	m.err = nil
	require.Equal(t, `{"score": 2}`, ask(t, f, request("a", 0)), "a failure is no answer")

	_, err = Open(filepath.Join(t.TempDir(), "x"),
		Config{Tree: "/", Mode: Replay, Secrets: new(secret.Set), Command: command})
	require.Regexp(t, `/x: the judges' answers are not recorded$`, err.Error(), "who knows the command names it, once")
	_, err = Open(t.TempDir(), Config{Tree: "/", Mode: Replay, Secrets: new(secret.Set)})
	require.ErrorContains(t, err, "not a regular file")
	require.Panics(t, func() { _, _ = Open(path, Config{Tree: "/", Mode: Live, Secrets: new(secret.Set)}) })
	require.Panics(t, func() { _, _ = Open(path, Config{Tree: "/", Mode: Replay}) })

	require.NoError(t, os.WriteFile(path, data[:len(data)-3], 0o644))
	open(t, path, Record, m) // what is replaced may be broken
	_, err = Open(path, Config{Tree: "/", Mode: Missing, Live: m, Secrets: new(secret.Set)})
	require.Error(t, err, "what is broken is not missing")
}

func TestWaiting(t *testing.T) {
	f := open(t, "", Live, new(model))
	c := f.call(request("a", 0))
	c.turn <- struct{}{} // as if it were being asked
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	_, err := f.Complete(ctx, request("a", 0))
	require.ErrorContains(t, err, "interrupted")
}

func TestTogether(t *testing.T) {
	m := new(model)
	f := open(t, "", Live, m)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = f.Complete(t.Context(), request("a", 0)) })
	}
	wg.Wait()
	require.EqualValues(t, 1, m.calls.Load())
}

func TestSecrets(t *testing.T) {
	key := "sk-" + "test-0123456789abcdef"
	var secrets secret.Set
	secrets.Mark("TOKEN", key)
	path := filepath.Join(t.TempDir(), "x.judges.jsonl")
	m := &model{reply: `{"reason": "it prints ` + key + `"}`}
	f, err := Open(path, Config{Tree: "/", Mode: Record, Live: m, Secrets: &secrets})
	require.NoError(t, err)
	require.Equal(t, `{"reason": "it prints [REDACTED:TOKEN]"}`, ask(t, f, request("the key is "+key+"\xff", 0)))
	_, asked := m.asked.Load("the key is [REDACTED:TOKEN]\uFFFD")
	require.True(t, asked, "the model does not see it either")
	require.NoError(t, f.Save())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(data), key)
	// On another machine the run comes from the cassette, masked, and the secret is unknown.
	ask(t, open(t, path, Replay, nil), request("the key is [REDACTED:TOKEN]\xff", 0))
}

// TestEveryEdit changes each byte of a recording, and cuts it everywhere.
func TestEveryEdit(t *testing.T) {
	_, data := record(t)
	_, _, err := decode(data)
	require.NoError(t, err)
	for i := range data {
		line := 1 + bytes.Count(data[:i], []byte("\n"))
		edited := bytes.Clone(data)
		edited[i] ^= 1
		_, at, err := decode(edited)
		require.Error(t, err, "byte %d", i)
		require.LessOrEqual(t, at, line+1, "byte %d", i)
		require.GreaterOrEqual(t, at, line, "byte %d", i)
		_, _, err = decode(data[:i])
		require.ErrorContains(t, err, "the recording is truncated", "cut at byte %d", i)
	}
	for i, line := range bytes.SplitAfter(data[:len(data)-1], []byte("\n")) {
		_, _, err := decode(bytes.Replace(data, line, nil, 1))
		require.Error(t, err, "without line %d", i+1)
		_, _, err = decode(bytes.Replace(data, line, append(bytes.Clone(line), line...), 1))
		require.Error(t, err, "with line %d twice", i+1)
	}
}

func TestCorrupt(t *testing.T) {
	path, data := record(t)
	lines := strings.SplitAfter(string(data), "\n")
	tests := []struct {
		name, text, want string
	}{
		{"empty", "", ":1: the recording is truncated: its last line is missing"},
		{"cassette", "{\"sdd_eval_cassette\":1}\n", `:1: the recording was edited: unknown key "sdd_eval_cassette"`},
		{
			"other version", strings.Replace(string(data), `"version":1`, `"version":3`, 1),
			":1: the recording has format version 3, but this program reads versions up to 2",
		},
		{
			"answer", strings.Replace(string(data), `"score\": 3`, `"score\": 9`, 1),
			":%d: the recording was edited: this line is not the one that was recorded",
		},
		{"without end", strings.Join(lines[:3], ""), ":3: the recording is truncated: its last line is missing"},
		{"half a line", string(data[:len(data)-2]), ":4: the recording is truncated: the line has no line break"},
		{"line too many", string(data) + lines[1], ":5: the recording was edited: there is a line after its end"},
		{
			"no header", strings.Join(lines[1:], ""),
			":1: not a recording of judges: the first line, and no other, must be a header",
		},
		{"nothing known", "{}\n", ":1: the recording was edited: the line must be one of header, question and end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.NotEqual(t, string(data), tt.text)
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o644))
			_, err := Open(path, Config{Tree: "/", Mode: Replay, Secrets: new(secret.Set)})
			want := tt.want
			if strings.Contains(want, "%d") {
				want = fmt.Sprintf(want, 1+strings.Count(tt.text[:strings.Index(tt.text, `"score\": 9`)], "\n"))
			}
			require.EqualError(t, err, path+want)
		})
	}
}

// TestForged reads recordings whose digests are right but that Save does not write.
func TestForged(t *testing.T) {
	asked := func(user string, change func(*question)) question {
		q := questionOf(request(user, 0))
		q.Key = digest(q.request())
		q.Answers = []answer{{Sample: 0, Text: "{}"}, {Sample: 1, Text: "{}"}}
		if change != nil {
			change(&q)
		}
		return q
	}
	first, second := asked("a", nil), asked("b", nil)
	if first.Key > second.Key {
		first, second = second, first
	}
	tests := []struct {
		name      string
		questions []question
		end       end
		line      int
		want      string // empty: it can be read
	}{
		{"as it should be", []question{first, second}, end{2, 4}, 0, ""},
		{"order", []question{second, first}, end{2, 4}, 3, "the questions are not sorted by key"},
		{"twice", []question{first, first}, end{2, 4}, 3, "the questions are not sorted by key"},
		{"fewer questions", []question{first}, end{2, 2}, 3, "the counts in the last line do not match"},
		{"more answers", []question{first}, end{1, 1}, 3, "the counts in the last line do not match"},
		{
			"another prompt",
			[]question{asked("a", func(q *question) { q.User = "Is it good?" })},
			end{1, 2},
			2,
			"the question's key does not match its text",
		},
		{
			"no answer",
			[]question{asked("a", func(q *question) { q.Answers = nil })},
			end{1, 0},
			2,
			"the question has no answer",
		},
		{
			"empty answer",
			[]question{asked("a", func(q *question) { q.Answers[1].Text = "" })},
			end{1, 2},
			2,
			"the question's answers are empty or not sorted by sample",
		},
		{
			"a sample twice",
			[]question{asked("a", func(q *question) { q.Answers[1].Sample = 0 })},
			end{1, 2},
			2,
			"the question's answers are empty or not sorted by sample",
		},
		{
			"a sample below 0",
			[]question{asked("a", func(q *question) { q.Answers[0].Sample = -1 })},
			end{1, 2},
			2,
			"the question's answers are empty or not sorted by sample",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c chain
			data := c.append(nil, line{Header: &header{version}})
			for _, q := range tt.questions {
				data = c.append(data, line{Question: &q})
			}
			questions, at, err := decode(c.append(data, line{End: &tt.end}))
			if tt.want == "" {
				require.NoError(t, err)
				require.Len(t, questions, len(tt.questions))
				require.Zero(t, at)
				return
			}
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, tt.line, at)
			require.Empty(t, questions)
		})
	}
	require.Len(t, first.Key, 32)
}

// TestNearest holds that a miss names the recorded question that is most alike: the model counts more than the system
// message, and that more than the prompt.
func TestNearest(t *testing.T) {
	of := func(model, system, user string) llm.Request {
		return llm.Request{Model: model, System: system, User: user}
	}
	asked := of("m", "s", "prompt")
	for _, tt := range []struct {
		recorded []llm.Request
		want     string
	}{
		{nil, "no answers are recorded"},
		{[]llm.Request{of("n", "s", "prompt")}, "the nearest question was for model n"},
		{[]llm.Request{of("n", "s", "prompt"), of("m", "x", "y")}, `another system message: line 1 was "x" and is "s"`},
		{[]llm.Request{of("m", "x", "prompt"), of("m", "s", "y")}, `another prompt: line 1 was "y" and is "prompt"`},
		{[]llm.Request{of("m", "s", "pro"), of("m", "s", "prom")}, `another prompt: line 1 was "prom" and is "prompt"`},
		{[]llm.Request{of("m", "s", "xrompt"), of("m", "s", "pa")}, `another prompt: line 1 was "pa" and is "prompt"`},
		{[]llm.Request{of("m", "s", "x\n")}, `another prompt: line 1 was "x" and is "prompt"`},
	} {
		for range 2 {
			path := filepath.Join(t.TempDir(), "x.judges.jsonl")
			f := open(t, path, Record, new(model))
			for _, r := range tt.recorded {
				ask(t, f, r)
			}
			require.Contains(t, f.difference(asked), tt.want)
			slices.Reverse(tt.recorded)
		}
	}
	f := open(t, "", Live, new(model))
	ask(t, f, of("m", "s", "x"))
	require.Contains(t, f.difference(of("m", "s", "y\n")), `line 1 was "x" and is "y"`)
}

// A recording that cannot be written is an error, and the old one stays.
func TestSaveFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	f := open(t, filepath.Join(file, "x.judges.jsonl"), Record, new(model))
	ask(t, f, request("a", 0))
	require.ErrorContains(t, f.Save(), "write the judges' recording "+f.config.Name+": ")

	dir := filepath.Join(t.TempDir(), "x.judges.jsonl") // where the recording should be removed
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "y"), 0o755))
	f = open(t, dir, Record, new(model))
	require.ErrorContains(t, f.Save(), "write the judges' recording ")

	path, data := record(t)
	f = open(t, path, Record, &model{reply: "a token: late-0123456789"})
	ask(t, f, request("a", 0))
	f.config.Secrets.Mark("LATE", "late-0123456789")
	require.ErrorContains(t, f.Save(), "it would contain the secret LATE")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, data, after)
}

func TestChoose(t *testing.T) {
	tests := []struct {
		name, reason string
		session      Mode
		rerecord     bool
		allowed      bool
		recorded     bool
		want         Mode
		ok           bool
	}{
		{"replay", "", Replay, false, false, true, Replay, true},
		{"replay, allowed", "the recording comes first", Replay, false, true, true, Replay, true},
		{"replay without a recording", "skipped, visibly", Replay, false, false, false, "", false},
		{"replay without a recording, allowed", "", Replay, false, true, false, Live, true},
		{"rerecord", "new answers to an old session", Replay, true, false, true, Record, true},
		{"record", "", Record, false, true, true, Record, true},
		{"record, not allowed", "the old answers are to an old session", Record, false, false, true, "", false},
		{"missing", "", Missing, false, true, true, Missing, true},
		{"missing, not allowed", "", Missing, false, false, true, Replay, true},
		{"missing, neither", "", Missing, false, false, false, "", false},
		{"live", "the recording is of another session", Live, false, true, true, Live, true},
		{"live, not allowed", "", Live, false, false, true, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Choose(tt.session, tt.rerecord, tt.allowed, tt.recorded)
			require.Equal(t, tt.want, got, tt.reason)
			require.Equal(t, tt.ok, ok, tt.reason)
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("{\"judgments\":{\"version\":1},\"sum\":\"\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		questions, _, err := decode(data)
		if err == nil && len(questions) > 0 {
			for _, q := range questions {
				require.NoError(t, q.check())
			}
		}
	})
}
