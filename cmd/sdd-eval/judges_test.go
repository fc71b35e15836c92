package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// judged is a project whose units models judge: that of package evaltest, which tests the same through go test.
type judged struct {
	t     *testing.T
	dir   string
	url   string
	asked atomic.Int64
	stern atomic.Bool // the model finds nothing friendly
}

func newJudged(t *testing.T) *judged {
	t.Helper()
	j := &judged{t: t, dir: t.TempDir()}
	require.NoError(t, os.CopyFS(j.dir, os.DirFS("../../evaltest/testdata/judged")))
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question bytes.Buffer
		_, _ = question.ReadFrom(r.Body)
		j.asked.Add(1)
		reply := `{"score": 0.1, "reason": "It goes on and on.", "hits": [], "misses": ["brevity"]}`
		if strings.Contains(question.String(), "rubrics") {
			reply = `{"checks": [{"id": "friendly", "pass": true, "reason": "Hello."},
				{"id": "signed", "pass": true, "reason": "An agent."}], "reason": "Good."}`
		}
		if j.stern.Load() {
			reply = strings.Replace(reply, "true", "false", 1)
		}
		if strings.Contains(question.String(), "You score how well a coding task was done") { // the AI judge
			reply = `{"score": 7, "reason": "A greeting."}`
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply},
		}}})
	}))
	t.Cleanup(model.Close)
	j.url = model.URL
	return j
}

// allowed returns the environment in which the model may be asked.
func (j *judged) allowed() []string {
	return []string{"EVAL_LLM_JUDGE=1", "OPENAI_BASE_URL=" + j.url, "OPENAI_API_KEY=sk-" + "test-judges"}
}

// run runs a command, without a key unless env has one.
func (j *judged) run(code int, env []string, args ...string) (stderr, stdout string) {
	j.t.Helper()
	c := command(j.dir, args...)
	c.Env = append(append(c.Env, "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "EVAL_LLM_JUDGE="), env...)
	var out, messages bytes.Buffer
	c.Stdout, c.Stderr = &out, &messages
	_ = c.Run()
	require.Equal(j.t, code, c.ProcessState.ExitCode(), "%s", &messages)
	require.NotContains(j.t, messages.String()+out.String(), "test-judges")
	return messages.String(), out.String()
}

func (j *judged) read(name string) string {
	j.t.Helper()
	data, err := os.ReadFile(filepath.Join(j.dir, filepath.FromSlash(name)))
	require.NoError(j.t, err)
	return string(data)
}

func (j *judged) replace(old, new string) {
	j.t.Helper()
	text := j.read("suite.yaml")
	require.Contains(j.t, text, old)
	text = strings.Replace(text, old, new, 1)
	require.NoError(j.t, os.WriteFile(filepath.Join(j.dir, "suite.yaml"), []byte(text), 0o644))
}

// verdicts are those of a run's one unit, without what differs each time.
func verdicts(t *testing.T, run string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(run), "results.jsonl"))
	require.NoError(t, err)
	var u struct{ Evaluations []map[string]any }
	require.NoError(t, json.Unmarshal(data, &u))
	require.Len(t, u.Evaluations, 4)
	for _, e := range u.Evaluations {
		delete(e, "duration_ms")
	}
	return u.Evaluations
}

const judgesFile = "cassettes/suite/task/a.1.judges.jsonl"

// TestMutateAsks: mutate says what it takes to ask models what no recording answers, and asks only if it is told to, no
// more than is allowed; what they say is not recorded.
func TestMutateAsks(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	j.run(0, j.allowed(), "run", "--playbook", "suite.yaml", "--mode", "record")
	recorded := j.read(judgesFile)
	price := regexp.MustCompile(`suite\.yaml: questions that no recording answers, (.*): gpt-test: questions: (\d+), ` +
		`tokens to read: about (\d+)\n`)

	stderr, stdout := j.run(0, j.allowed(), "mutate", "suite.yaml")
	told := price.FindStringSubmatch(stderr)
	require.NotNil(t, told, stderr)
	require.Equal(t, "--llm-judge asks them", told[1])
	require.Contains(t, stdout, "NOT ALL IS KNOWN")
	require.Greater(t, len(told[3]), 2, "some hundred tokens")

	few := append(j.allowed(), "EVAL_LLM_MAX_CALLS=1")
	stderr, _ = j.run(3, few, "mutate", "--llm-judge", "suite.yaml")
	require.Contains(t, stderr, "models would be asked "+told[2]+" questions, and EVAL_LLM_MAX_CALLS allows 1")
	stderr, _ = j.run(3, nil, "mutate", "--llm-judge", "suite.yaml")
	require.Contains(t, stderr, "OPENAI_API_KEY is empty")
	require.EqualValues(t, 2, j.asked.Load(), "nobody was asked so far")

	j.stern.Store(true)
	stderr, stdout = j.run(0, j.allowed(), "mutate", "--llm-judge", "suite.yaml")
	require.Equal(t, []string{"which are asked now", told[2], told[3]}, price.FindStringSubmatch(stderr)[1:])
	require.NotContains(t, stdout, "NOT ALL IS KNOWN")
	require.Regexp(t, `polite killed [1-9]`, stdout)
	n, err := strconv.Atoi(told[2])
	require.NoError(t, err)
	require.EqualValues(t, 2+n, j.asked.Load(), "each question once, and none whose answer decides nothing")
	require.Equal(t, recorded, j.read(judgesFile))

	require.NoError(t, os.Remove(filepath.Join(j.dir, filepath.FromSlash(judgesFile))))
	stderr, _ = j.run(3, j.allowed(), "mutate", "--llm-judge", "suite.yaml")
	require.Contains(t, stderr, "what models say of its mutants tells nothing while it is not known what")
	require.Contains(t, stderr, "EVALTEST_JUDGES=record sdd-eval run")
	require.EqualValues(t, 2+n, j.asked.Load())
}

// TestJudges records what judges say, replays it without a key, and asks again.
func TestJudges(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	_, recorded := j.run(0, j.allowed(), "run", "--playbook", "suite.yaml", "--mode", "record")
	require.NotContains(t, j.read(judgesFile), "test-judges")
	_, replayed := j.run(0, nil, "run", "--playbook", "suite.yaml", "--mode", "replay")
	require.Equal(t, verdicts(t, recorded), verdicts(t, replayed))
	require.EqualValues(t, 2, j.asked.Load(), "a replay asks nobody")

	j.replace("It is friendly.", "It is warm.")
	stderr, _ := j.run(3, nil, "run", "--playbook", "suite.yaml", "--mode", "replay")
	require.Contains(t, stderr,
		"suite.yaml:5: polite: "+judgesFile+": there is no recorded answer of gpt-test to this question: ")
	require.Contains(t, stderr,
		"record it with EVALTEST_JUDGES=record sdd-eval run --playbook suite.yaml --mode replay")
	session := j.read("cassettes/suite/task/a.1.jsonl")
	j.run(0, append(j.allowed(), "EVALTEST_JUDGES=record"), "run", "--playbook", "suite.yaml", "--mode", "replay")
	require.EqualValues(t, 4, j.asked.Load())
	require.Equal(t, session, j.read("cassettes/suite/task/a.1.jsonl"))
	j.run(0, nil, "run", "--playbook", "suite.yaml", "--mode", "replay")

	for _, env := range []string{"EVALTEST_JUDGES=recrod", "EVAL_LLM_JUDGE=yes"} {
		stderr, _ = j.run(2, []string{env}, "run", "--playbook", "suite.yaml")
		name, value, _ := strings.Cut(env, "=")
		require.Contains(t, stderr, name+`: unknown value "`+value+`"`)
	}
	stderr, _ = j.run(2, append(j.allowed(), "EVALTEST_JUDGES=record", "CI=1"),
		"run", "--playbook", "suite.yaml", "--mode", "replay")
	require.Contains(t, stderr, "refused because CI is set")
	stderr, _ = j.run(3, append(j.allowed(), "EVAL_LLM_MAX_CALLS=1"), "run", "--playbook", "suite.yaml")
	require.Contains(t, stderr, "EVAL_LLM_MAX_CALLS")
}

// TestJudgesBudget has evaluators and the AI judge of a run share one budget: there are two questions of evaluators,
// and the report asks a third, once for all the jobs that make it.
func TestJudgesBudget(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	j.replace("workflow:\n  jobs:\n", `report: {ai_judge: {enabled: true, model: gpt-test}}
workflow:
  jobs:
    first: {needs: [eval], steps: [{uses: builtin:sdd-eval/report.generate}]}
    second: {needs: [eval], steps: [{uses: builtin:sdd-eval/report.generate}]}
`)
	stderr, _ := j.run(3, append(j.allowed(), "EVAL_LLM_MAX_CALLS=2"), "run", "--playbook", "suite.yaml")
	require.Contains(t, stderr, "the run's budget of 2 calls to models is used up")
	require.EqualValues(t, 2, j.asked.Load())
	j.run(0, append(j.allowed(), "EVAL_LLM_MAX_CALLS=3"), "run", "--playbook", "suite.yaml")
	require.EqualValues(t, 2+3, j.asked.Load())
}

// TestJudgesReported: an evaluator that only reports is shown wherever a run is shown, and decides nothing.
func TestJudgesReported(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	stderr, out := j.run(0, j.allowed(), "run", "--playbook", "suite.yaml", "--llm-judge")
	require.Contains(t, stderr, "suite.yaml:12: short: reported: scored 0.1: brevity\n")
	require.Contains(t, stderr, "\n1 passed\n")
	_, shown := j.run(0, nil, "show", "latest")
	require.Contains(t, shown, "suite.yaml:12: short: reported: scored 0.1: brevity")

	j.run(0, nil, "report", "--run", "latest")
	run := strings.TrimSpace(out)
	const note = "evaluator short only reports its score"
	for _, name := range []string{"report.json", "report.md", "report.html"} {
		data, err := os.ReadFile(filepath.Join(run, name))
		require.NoError(t, err)
		require.Contains(t, string(data), note, name)
	}
	data, err := os.ReadFile(filepath.Join(run, "report.junit.xml"))
	require.NoError(t, err)
	var junit struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	require.NoError(t, xml.Unmarshal(data, &junit))
	require.Equal(t, 5, junit.Tests)
	require.Zero(t, junit.Failures+junit.Errors, "%s", data)
	require.Contains(t, string(data), `<skipped message="reported: scored 0.1: brevity">`)
}

// TestJudgesSkipped: without a model the judges are skipped. That is shown, and it is no success if nothing else
// judges.
func TestJudgesSkipped(t *testing.T) {
	t.Parallel()
	const why = ": skip: not asked: it needs EVAL_LLM_JUDGE=1 or --llm-judge"
	j := newJudged(t)
	stderr, out := j.run(0, nil, "run", "--playbook", "suite.yaml")
	require.Contains(t, stderr, "suite.yaml:5: polite"+why)
	j.run(0, nil, "report", "--run", "latest")
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(out), "report.md"))
	require.NoError(t, err)
	require.Contains(t, string(data), "evaluator polite was skipped")
	require.Contains(t, string(data), "1 passed. Not asked: 2 judges, see the notes.")

	for _, mode := range []string{"live", "record"} {
		stderr, _ = j.run(3, []string{"CI=1", "EVALTEST_RECORD_IN_CI=1"},
			"run", "--playbook", "suite.yaml", "--mode", mode)
		require.Contains(t, stderr,
			`suite.yaml:5: evaluator "polite" needs a model, but model calls are disabled; CI is set`)
		require.Contains(t, stderr, "next: set EVAL_LLM_JUDGE=1, or give sdd-eval run --llm-judge")
	}
	j.run(0, append(j.allowed(), "CI=1"), "run", "--playbook", "suite.yaml", "--llm-judge")

	j.replace("  - {name: greets, type: files, expect: [{path: hello.txt, exists: true}]}\n", "")
	j.replace("  - {name: verify, type: code_judge, script: [sh, judge.sh], threshold: 0.8}\n", "")
	stderr, _ = j.run(3, nil, "run", "--playbook", "suite.yaml")
	require.Contains(t, stderr, "polite"+why)
	require.Contains(t, stderr, "\n1 skipped; judges not asked: 2\n")
	require.Contains(t, stderr, "\nsdd-eval: nothing was judged, and no job ran a command\n")
}

// TestJudgesFlaws: the failed checks of a judge that passes the agent are shown, and a pass is refused if all checks
// failed.
func TestJudgesFlaws(t *testing.T) {
	t.Parallel()
	j := newJudged(t)
	says := func(verdict string) {
		require.NoError(t, os.WriteFile(filepath.Join(j.dir, "judge.sh"), []byte("echo '"+verdict+"'\n"), 0o644))
	}
	says(`{"pass": true, "reason": "Fine.", "checks": [{"id": "builds", "pass": true}, ` +
		`{"id": "tests", "pass": false, "reason": "3 fail"}]}`)
	j.run(0, nil, "run", "--playbook", "suite.yaml")
	_, shown := j.run(0, nil, "show", "latest")
	require.Contains(t, shown, ": verify: pass: 1 of 2 checks failed: tests: 3 fail\n")

	says(`{"pass": true, "checks": [{"id": "tests", "pass": false, "reason": "3 fail"}]}`)
	stderr, _ := j.run(3, nil, "run", "--playbook", "suite.yaml")
	require.Contains(t, stderr,
		": verify: the reply is not a verdict: it contradicts itself: pass is true, but all checks failed; it was ")
}

// langfuseScore is a score as Langfuse gets it.
type langfuseScore struct {
	ID, TraceID, Name, Comment string
	Value                      any
}

const judgedPlaybook = `name: judged
task: {title: Greet, prompt: Write a greeting.}
variants:
  claude-opus-fast: {agent: {kind: fake-acp}}
report: {ai_judge: {enabled: true, model: gpt-test}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [claude-opus-fast]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
    report: {needs: [eval], steps: [{uses: builtin:sdd-eval/report.generate}]}
`

// TestAIJudge has a model score a run: once, blind, and again only with --rejudge, not when a person's scores come in.
func TestAIJudge(t *testing.T) {
	var asked atomic.Int64
	var request atomic.Value
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request.Store(string(body))
		asked.Add(1)
		reply, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{
			"message": map[string]any{
				"role": "assistant", "content": `{"score": 7, "reason": "a plain greeting"}`,
			},
			"finish_reason": "stop",
		}}})
		w.Header().Set("Content-Type", "application/json")
		w.Write(reply)
	}))
	defer model.Close()
	var mu sync.Mutex
	var sent []langfuseScore
	langfuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/public/ingestion" {
			return
		}
		var batch struct {
			Batch []struct{ Body langfuseScore }
		}
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&batch))
		mu.Lock()
		defer mu.Unlock()
		for _, e := range batch.Batch {
			sent = append(sent, e.Body)
		}
		_, _ = w.Write([]byte(`{"successes": [], "errors": []}`))
	}))
	defer langfuse.Close()
	dir := project(t, judgedPlaybook)
	run := func(args ...string) string {
		t.Helper()
		c := command(dir, args...)
		c.Env = append(c.Env, "OPENAI_API_KEY=sk-"+"test-judge-key-0000", "OPENAI_BASE_URL="+model.URL,
			"LANGFUSE_PUBLIC_KEY=pk-lf-"+"test", "LANGFUSE_SECRET_KEY=sk-lf-"+"test", "LANGFUSE_BASE_URL="+langfuse.URL)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NotContains(t, string(out), "judge-key")
		return string(out)
	}

	run("run", "--playbook", "p.yaml")
	require.EqualValues(t, 1, asked.Load(), "the report is made twice, the model asked once")
	require.Contains(t, request.Load(), "Write a greeting.")
	require.Contains(t, request.Load(), "hello.txt", "the diff")
	require.NotContains(t, request.Load(), "claude-opus-fast", "the judge does not know whose work it is")
	dirs := runs(t, dir)
	require.Len(t, dirs, 1)
	scores, err := os.ReadFile(filepath.Join(dirs[0], "ai-scores.json"))
	require.NoError(t, err)
	require.Contains(t, string(scores), "a plain greeting")
	page, err := os.ReadFile(filepath.Join(dirs[0], "report.json"))
	require.NoError(t, err)
	require.Contains(t, string(page), "a plain greeting")

	// Langfuse has what the judge and people say in the unit's trace, once, however often it is sent.
	byID := make(map[string]langfuseScore)
	told := func() map[string]any {
		mu.Lock()
		defer mu.Unlock()
		all := make(map[string]any)
		for _, s := range sent {
			byID[s.ID] = s
			require.Equal(t, sent[0].TraceID, s.TraceID)
			require.Empty(t, s.Comment, "content is off unless asked for")
			all[s.Name] = s.Value
		}
		require.Len(t, byID, len(all))
		return all
	}
	require.Equal(t, map[string]any{"outcome": "completed", "ai_score": 7.0}, told())

	run("report", "--run", "latest")
	require.EqualValues(t, 1, asked.Load(), "no score is missing")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scores.json"), []byte(`{
		"variants": {"claude-opus-fast": {"score": 4, "notes": "meh"}},
		"units": {"task/claude-opus-fast/1": {"solved": true}}
	}`), 0o644))
	run("import-human", "--run", "latest", "--file", "scores.json")
	require.Equal(t, map[string]any{
		"outcome": "completed", "ai_score": 7.0, "human_score": 4.0, "human_solved": 1.0,
	}, told())
	langfuse.Close()
	require.Contains(t, run("import-human", "--run", "latest", "--file", "scores.json"),
		"/api/public/otel/v1/traces: 3 of 3 scores were not sent: ")
	require.EqualValues(t, 1, asked.Load(), "a person's scores are no reason to ask a model")
	run("report", "--run", "latest", "--rejudge")
	require.EqualValues(t, 2, asked.Load())

	leaks, err := filepath.Glob(filepath.Join(dirs[0], "*"))
	require.NoError(t, err)
	for _, file := range leaks {
		if data, err := os.ReadFile(file); err == nil {
			require.False(t, strings.Contains(string(data), "judge-key"), file)
		}
	}
}
