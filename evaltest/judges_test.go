package evaltest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// judgeModel is a model on loopback that judges: by rubrics where it is given some, else with one score.
type judgeModel struct {
	url     string
	asked   atomic.Int64
	rubrics atomic.Value // string: its reply
	score   atomic.Value // string
	last    atomic.Value // string: what it was asked last
}

const (
	meetsAll = `{"checks": [{"id": "friendly", "pass": true, "reason": "Hello."}, ` +
		`{"id": "signed", "pass": true, "reason": "An agent."}], "reason": "Good."}`
	notSigned = `{"checks": [{"id": "friendly", "pass": true, "reason": "Hello."}, ` +
		`{"id": "signed", "pass": false, "reason": "By whom?"}], "reason": "Good."}`
	scoresLow  = `{"score": 0.1, "reason": "It goes on and on.", "hits": [], "misses": ["brevity"]}`
	judgesFile = "cassettes/suite/task/a.1.judges.jsonl"
)

func newJudgeModel(t *testing.T) *judgeModel {
	t.Helper()
	m := new(judgeModel)
	m.rubrics.Store(meetsAll)
	m.score.Store(scoresLow)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
			http.Error(w, "no question", http.StatusBadRequest)
			return
		}
		m.asked.Add(1)
		m.last.Store(q.Messages[len(q.Messages)-1].Content)
		reply := m.score.Load()
		if strings.Contains(q.Messages[0].Content, "rubrics") {
			reply = m.rubrics.Load()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"model": q.Model, "choices": []any{map[string]any{
			"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply},
		}}})
	}))
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// leave is the environment in which the model may be asked.
func (m *judgeModel) leave() []string {
	return []string{"EVAL_LLM_JUDGE=1", "OPENAI_BASE_URL=" + m.url, "OPENAI_API_KEY=sk-" + "test-judges"}
}

// judged is the project of testdata/judged, with a compiled suite and its model.
type judged struct {
	module
	bin   string
	model *judgeModel
	runs  string // where its runs are kept
}

// newJudged compiles the suite once and returns what makes projects of it.
func newJudged(t *testing.T) func(*testing.T) judged {
	t.Helper()
	bin := newModule(t).compile("./evals").bin
	_, err := helper.Find() // the projects below do not require this module, so they cannot build it
	require.NoError(t, err)
	return func(t *testing.T) judged {
		t.Helper()
		m := module{t, t.TempDir()}
		require.NoError(t, os.CopyFS(m.dir, os.DirFS("testdata/judged")))
		m.write("go.mod", "module example.com/shop\n")
		return judged{m, bin, newJudgeModel(t), t.TempDir()}
	}
}

// test runs the suite, without a key unless env has one.
func (j judged) test(env ...string) (out string, code int) {
	j.t.Helper()
	env = append([]string{"OPENAI_API_KEY=", "OPENAI_BASE_URL=", "EVAL_LLM_JUDGE=", "EVALTEST_SANDBOX=none"}, env...)
	return j.run(env, j.bin, "-test.v")
}

// record records the session and what the model says of it.
func (j judged) record() (out string) {
	j.t.Helper()
	out, code := j.test(append(j.model.leave(), "EVALTEST_MODE=record", "EVALTEST_RUN_DIR="+j.runs)...)
	require.Zero(j.t, code, out)
	return out
}

// evaluations are those of the newest run that was kept.
func (j judged) evaluations() []result.Evaluation {
	j.t.Helper()
	runs, err := rundir.List(j.runs)
	require.NoError(j.t, err)
	require.NotEmpty(j.t, runs)
	r, err := rundir.Open(j.runs, runs[0].ID, nil)
	require.NoError(j.t, err)
	units, err := r.Units()
	require.NoError(j.t, err)
	require.Len(j.t, units, 1)
	require.NoError(j.t, os.RemoveAll(j.runs))
	return units[0].Evaluations
}

// TestJudges records what judges say, replays it without a key, and asks anew.
func TestJudges(t *testing.T) {
	j := newJudged(t)(t)
	out := j.record()
	require.EqualValues(t, 2, j.model.asked.Load(), "each question once: the rehearsal asks nobody")
	require.NotContains(t, out+j.read(judgesFile), "sk-"+"test")
	live := j.evaluations()

	out, code := j.test("EVALTEST_RUN_DIR=" + j.runs)
	require.Zero(t, code, out)
	require.Empty(t, cmp.Diff(live, j.evaluations(), cmpopts.IgnoreFields(result.Evaluation{}, "Duration")),
		"-live +replayed")
	out, code = j.test()
	require.Zero(t, code, out)
	golden.Equal(t, "testdata/judges/replay.txt", out)
	require.EqualValues(t, 2, j.model.asked.Load(), "a replay asks nobody")

	j.replace("suite.yaml", "It is friendly.", "It is warm.")
	out, code = j.test()
	require.NotZero(t, code, out)
	golden.Equal(t, "testdata/judges/rubric-changed.txt", out)
	out, code = j.test(j.model.leave()...)
	require.NotZero(t, code, "leave to ask is none to mix answers of two times: %s", out)
	require.EqualValues(t, 2, j.model.asked.Load())

	session, before := j.read("cassettes/suite/task/a.1.jsonl"), j.read(judgesFile)
	out, code = j.test(append(j.model.leave(), "EVALTEST_JUDGES=record")...)
	require.Zero(t, code, out)
	require.EqualValues(t, 4, j.model.asked.Load(), "all is asked anew")
	require.Equal(t, session, j.read("cassettes/suite/task/a.1.jsonl"), "the session is the recorded one")
	require.NotEqual(t, before, j.read(judgesFile))
	require.NotContains(t, j.read(judgesFile), "It is friendly.", "what nobody asks any more is dropped")
	out, code = j.test()
	require.Zero(t, code, out)
}

// TestJudgesFail has judges say what must not pass, or nothing that counts.
func TestJudgesFail(t *testing.T) {
	tests := []struct {
		name, reason string
		change       func(j judged)
		env          []string
		want         string // the golden shows the rest
	}{
		{
			name:   "required-rubric",
			reason: "the mean is 0.75 and the threshold 0.7, but a required rubric does not hold",
			change: func(j judged) { j.model.rubrics.Store(notSigned) },
			want:   "suite/task/a/polite: FAIL",
		},
		{
			name: "rubric-missing", reason: "a reply without one of the rubrics says nothing of it",
			change: func(j judged) {
				j.model.rubrics.Store(
					`{"checks": [{"id": "friendly", "pass": true, "reason": "Hello."}], "reason": "Good."}`)
			},
			want: "suite/task/a/polite: ERROR",
		},
		{
			name: "contradiction", reason: "not passed, and above the threshold",
			change: func(j judged) { j.write("judge.sh", `echo '{"pass": false, "score": 0.9}'`) },
			want:   "suite/task/a/verify: ERROR",
		},
		{
			name: "report-only-error", reason: "a judge that decides nothing is an error all the same when it breaks",
			change: func(j judged) { j.model.score.Store("Score: 0.5") },
			want:   "suite/task/a/short: ERROR",
		},
		{
			name: "budget", reason: "what is beyond the budget was not judged", env: []string{"EVAL_LLM_MAX_CALLS=1"},
			want: "EVAL_LLM_MAX_CALLS",
		},
	}
	project := newJudged(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := project(t)
			if tt.change != nil {
				tt.change(j)
			}
			out, code := j.test(append(append(j.model.leave(), "EVALTEST_MODE=record"), tt.env...)...)
			require.NotZero(t, code, "%s\n%s", tt.reason, out)
			require.Contains(t, out, tt.want)
			golden.Equal(t, "testdata/judges/"+tt.name+".txt", "# "+tt.reason+"\n"+out)
			if strings.Contains(out, "ERROR") {
				require.NoFileExists(t, j.path(judgesFile), "nothing is recorded of an error")
			}
		})
	}
}

// TestJudgesSkipped replays a session that no model has judged.
func TestJudgesSkipped(t *testing.T) {
	j := newJudged(t)(t)
	j.record()
	j.remove(judgesFile)
	out, code := j.test()
	require.Zero(t, code, out)
	golden.Equal(t, "testdata/judges/skipped.txt", out)

	text := j.read("suite.yaml")
	judge := text[strings.Index(text, "  - name: polite"):strings.Index(text, "  - {name: short")]
	j.write("suite.yaml", text[:strings.Index(text, "  - {name: greets")]+judge+text[strings.Index(text, "workflow:"):])
	out, code = j.test()
	require.Zero(t, code, out)
	golden.Equal(t, "testdata/judges/all-skipped.txt", out)
	require.NotContains(t, out, "--- PASS: TestEvals/", "nothing was judged")

	out, code = j.test("CI=true")
	require.NotZero(t, code, out)
	require.Contains(t, out, "suite.yaml:4: "+judgesFile+": the judges' answers are not recorded\n")
	require.Equal(t, 1, strings.Count(out, "EVALTEST_JUDGES=record"), out)

	j.write("suite.yaml", text)
	out, code = j.test("CI=true")
	require.NotZero(t, code, out)
	golden.Equal(t, "testdata/judges/missing-in-ci.txt", out)
}

// TestJudgesRecordedLater records a session where no model may be asked, which says how its judges' answers are
// recorded, and a failure that repeats without recording.
func TestJudgesRecordedLater(t *testing.T) {
	j := newJudged(t)(t)
	out, code := j.test("EVALTEST_MODE=record")
	require.Zero(t, code, out)
	const command = "EVALTEST_JUDGES=record EVALTEST_MODE=replay go test . -run " +
		"'^TestEvals$/^suite$/^task$/^a$' -count=1"
	require.Contains(t, out, "not asked: it needs EVAL_LLM_JUDGE=1 or --llm-judge, or a recording: "+command)
	out, code = j.test(append(j.model.leave(), "EVALTEST_JUDGES=record", "EVALTEST_MODE=replay")...)
	require.Zero(t, code, out)
	require.FileExists(t, j.path(judgesFile))

	j.model.rubrics.Store(notSigned)
	for _, mode := range []string{"record", "missing"} {
		if mode == "missing" {
			j.remove("cassettes/suite/task/a.1.jsonl")
		}
		out, code = j.test(append(j.model.leave(), "EVALTEST_MODE="+mode)...)
		require.NotZero(t, code, out)
		require.Contains(t, out, "reproduce: EVALTEST_MODE=replay go test", "the session was recorded")
		require.NotContains(t, out, "EVALTEST_MODE="+mode, "it would be lost")
	}
	j.model.score.Store("Score: 0.5")
	out, code = j.test(append(j.model.leave(), "EVALTEST_MODE=record")...)
	require.NotZero(t, code, out)
	require.Contains(t, out, "reproduce: EVALTEST_MODE=live go test", "nothing is recorded of an error")
}

// TestJudgesUnseen runs agents in CI where no model may be asked: what decides must not be skipped there.
func TestJudgesUnseen(t *testing.T) {
	const unseen = `evaluator "polite" needs a model, but model calls are disabled; CI is set, so this is an error`
	const next = "next: set EVAL_LLM_JUDGE=1"
	project := newJudged(t)
	j := project(t)
	out, code := j.test("EVALTEST_MODE=live")
	require.Zero(t, code, "elsewhere a skip is seen: %s", out)
	require.Contains(t, out, "--- SKIP: TestEvals/suite/task/a/polite")
	for _, env := range [][]string{
		{"EVALTEST_MODE=live"},
		{"EVALTEST_MODE=record", "EVALTEST_RECORD_IN_CI=1"},
		{"EVALTEST_MODE=missing", "EVALTEST_RECORD_IN_CI=1"},
	} {
		out, code = j.test(append(env, "CI=true")...)
		require.NotZero(t, code, out)
		require.Contains(t, out, unseen)
		require.Contains(t, out, next)
		require.NotContains(t, out, "greets: PASS", "the agent was not started")
		require.NoDirExists(t, j.path("cassettes"))
	}
	out, code = j.test(append(j.model.leave(), "EVALTEST_MODE=live", "CI=true")...)
	require.Zero(t, code, out)
	j.record()
	out, code = j.test("EVALTEST_MODE=live", "CI=true")
	require.NotZero(t, code, "what was said of another session says nothing of this one: %s", out)
	require.Contains(t, out, unseen)

	j = project(t)
	j.replace("suite.yaml", "name: polite", "name: polite\n    required: false")
	out, code = j.test("EVALTEST_MODE=live", "CI=true")
	require.Zero(t, code, "what only reports may be skipped: %s", out)

	j = project(t)
	j.replace("suite.yaml", "workflow:", "cassette: {level: client}\nworkflow:")
	j.record()
	j.remove(judgesFile)
	out, code = j.test("CI=true")
	require.NotZero(t, code, "a replay that starts the agent is one, too: %s", out)
	require.Contains(t, out, judgesFile+": the judges' answers are not recorded\n")
}

// TestJudgesVariables refuses what would be ignored, and what CI must not do.
func TestJudgesVariables(t *testing.T) {
	tests := []struct {
		name, reason string
		env          []string
		want         string
	}{
		{
			"misspelt", "it would replay",
			[]string{"EVALTEST_JUDGES=recrod"},
			`EVALTEST_JUDGES: unknown value "recrod": use record`,
		},
		{"yes", "it would skip", []string{"EVAL_LLM_JUDGE=yes"}, `EVAL_LLM_JUDGE: unknown value "yes": use 1 or 0`},
		{
			"ci", "nobody reads what CI records",
			[]string{"EVALTEST_JUDGES=record", "CI=true"},
			"refused because CI is set",
		},
		{
			"live", "nothing is recorded",
			[]string{"EVALTEST_JUDGES=record", "EVALTEST_MODE=live"},
			"in mode live nothing is recorded",
		},
		{
			"no key", "leave to ask, and nobody to ask",
			[]string{"EVAL_LLM_JUDGE=1", "EVALTEST_MODE=live"},
			"OPENAI_API_KEY is empty",
		},
		{"budget", "no number", []string{
			"EVAL_LLM_JUDGE=1", "EVALTEST_MODE=live", "OPENAI_API_KEY=x",
			"EVAL_LLM_MAX_CALLS=many",
		}, `EVAL_LLM_MAX_CALLS: got "many", want a number`},
	}
	j := newJudged(t)(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, code := j.test(tt.env...)
			require.NotZero(t, code, tt.reason)
			require.Contains(t, out, tt.want, tt.reason)
			require.NoDirExists(t, j.path("cassettes"))
		})
	}
}
