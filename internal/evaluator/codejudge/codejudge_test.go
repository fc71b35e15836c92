package codejudge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/codejudge"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// load returns the evaluator with those keys of a playbook in dir, a directory of the project at root.
func load(root, dir, keys string) (plan.Evaluator, error) {
	text := strings.Join([]string{
		"task: {title: t, prompt: 'What is 2+2?'}",
		"variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}",
		"workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}",
		"evaluators:",
		"  - {type: code_judge, " + keys + "}",
	}, "\n")
	source := plan.Source{Path: filepath.Join(root, dir, "p.yaml"), Root: root, Data: []byte(text)}
	pb, err := plan.Read(source, plan.Kinds{"code_judge": codejudge.Kind()})
	if err != nil {
		return plan.Evaluator{}, err
	}
	return pb.Evaluators[0], nil
}

// auto is one sandbox of the default kind for all tests: to try what it holds takes time.
var auto = sync.OnceValues(func() (*confine.Sandbox, error) {
	s, err := confine.New(confine.Auto, nil)
	if err == nil {
		_, err = s.Properties(context.Background())
	}
	return s, err
})

// project is a directory with a copy of the judges in testdata, and what runs them.
func project(tb testing.TB, kind confine.Kind) (dir string, r *script.Runner) {
	sandbox, err := confine.New(confine.None, nil)
	if kind == confine.Auto {
		if sandbox, err = auto(); err != nil {
			tb.Skip(err)
		}
	}
	require.NoError(tb, err)
	dir, err = filepath.EvalSymlinks(tb.TempDir())
	require.NoError(tb, err)
	require.NoError(tb, os.CopyFS(filepath.Join(dir, "judges"), os.DirFS("testdata/judges")))
	require.NoError(tb, os.MkdirAll(filepath.Join(dir, "evals"), 0o755))
	return dir, &script.Runner{Sandbox: sandbox, Environ: os.Environ(), Root: dir, TempDir: tb.TempDir()}
}

// input is the unit of the case table.
func input(r *script.Runner) evaluator.Input {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return evaluator.Input{
		Case: plan.Case{
			ID: "task", Prompt: "What is 2+2?", Prompts: []string{"What is 2+2?"}, ReferenceAnswer: "The sum is 4",
		},
		Run: &trajectory.Run{Events: []trajectory.Event{
			{Turn: 1, Body: trajectory.Prompt{Text: "What is 2+2?"}},
			{
				Turn: 1, At: ms(10),
				Body: trajectory.ToolStart{
					ID: "1", Name: "search", Args: map[string]any{"query": "weather Paris", "limit": 10},
				},
			},
			{Turn: 1, At: ms(55), Body: trajectory.ToolEnd{ID: "1", Status: trajectory.Completed, Output: "rain"}},
			{
				Turn: 1, At: ms(60),
				Body: trajectory.ToolStart{
					ID: "2", Name: "get_weather", Args: map[string]any{"location": "Paris", "unitSystem": "metric"},
				},
			},
			{Turn: 1, At: ms(180), Body: trajectory.ToolEnd{ID: "2", Status: trajectory.Completed}},
			{Turn: 1, At: ms(1400), Body: trajectory.Message{Text: "The answer is 4"}},
			{Turn: 1, At: ms(1500), Body: trajectory.Stop{Reason: "end_turn"}},
		}},
		Scripts: r,
	}
}

// says returns the keys of a judge that prints a text and then runs more of a shell's program.
func says(reply, then string) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	return "script: [sh, -c, " + quote(`printf '%s' "$1"; `+then) + ", judge, " + quote(reply) + "]"
}

func TestVerdicts(t *testing.T) {
	dir, r := project(t, confine.None)
	pass, fail, broken := result.Pass, result.Fail, result.Error
	tests := []struct {
		name, keys string
		outcome    result.Outcome
		score      float64
		reason     string // is in it
	}{
		{"full score", says(`{"score":1,"hits":["a"]}`, ""), pass, 1, ""},
		{"score below the threshold", says(`{"score":0.5,"misses":["b","c"]}`, ""), fail, 0.5, "b (and 1 more)"},
		{
			"score just below the threshold", "threshold: 0.8, " + says(`{"score":0.79999999}`, ""), fail, 0.79999999,
			"score 0.79999999",
		},
		{"score just below the full one", says(`{"score":0.99999}`, ""), fail, 0.99999, "score 0.99999"},
		{"J3 score at the threshold", "threshold: 0.6, " + says(`{"score":0.6}`, ""), pass, 0.6, ""},
		{"the word pass", says(`{"pass":true,"reason":"good"}`, ""), pass, 1, ""},
		{
			"the word fail", says(` {"pass":false,"checks":[{"id":"x","pass":false,"reason":"no"}]}`+"\n", ""), fail, 0,
			"x: no",
		},
		{
			"no pass with a score at the threshold", "threshold: 0.5, " + says(`{"pass":false,"score":0.5}`, ""),
			broken, 0,
			"the judge says pass: false with a score of 0.5, which reaches the threshold of 0.5",
		},
		{"J6 no pass with a full score", says(`{"pass":false,"score":1}`, ""), broken, 0, "contradicts itself"},
		{"J6 neither", says(`{"reason":"completely wrong"}`, ""), broken, 0, "pass is missing"},
		{
			"pass with every check failed", says(`{"pass":true,"checks":[{"id":"tests","pass":false}]}`, ""), broken, 0,
			"contradicts itself",
		},
		{
			"a failed check of a pass",
			says(`{"pass":true,"checks":[{"id":"a","pass":true},{"id":"b","pass":false,"reason":"no"}]}`, ""),
			pass, 1, "1 of 2 checks failed: b: no",
		},
		{
			"a failed check of a pass with less",
			"threshold: 0.8, " +
				says(`{"pass":true,"score":0.9,"checks":[{"id":"a","pass":true},{"id":"b","pass":false}]}`, ""),
			pass, 0.9, "1 of 2 checks failed: b",
		},
		{
			"misses of a full score", says(`{"score":1,"reasoning":"fine","hits":["a"],"misses":["b"]}`, ""), pass, 1,
			"missed: b",
		},
		{
			"misses of a full score and no hits", says(`{"score":1,"reasoning":"fine","misses":["b"]}`, ""), broken, 0,
			"the judge gives the full score, and says only what was missed: b",
		},
		{"a byte order mark", says("\ufeff"+`{"score":1}`, ""), pass, 1, ""},
		{"C1 out of range", says(`{"score":1.7,"hits":["a"," ",1,null]}`, ""), broken, 0, "score 1.7 is out of range"},
		{
			"C1 hits that are no texts", says(`{"score":1,"hits":["a"," ",1,null]}`, ""), broken, 0,
			"hits must be a list of strings",
		},
		{"C2 not JSON", says("looks good", ""), broken, 0, `"looks good"`},
		{"C2 a list", says("[1,2]", ""), broken, 0, `"[1,2]"`},
		{"C2 a text", says(`"0.9"`, ""), broken, 0, "not a JSON object"},
		{"C2 a debug line before", says("debug\n"+`{"score":1}`, ""), broken, 0, `debug {\"score\":1}`},
		{"a debug line around a fail", says("debug\n"+`{"pass":false}`, ""), broken, 0, "debug"},
		{"a line behind", says(`{"score":1}`+"\nbye", ""), broken, 0, "text after it"},
		{"a second object", says(`{"score":0}{"score":1}`, ""), broken, 0, "has text after its JSON object"},
		{"a key twice", says(`{"score":0,"score":1}`, ""), broken, 0, `has a duplicate key "score"`},
		{"NaN", says(`{"score":NaN}`, ""), broken, 0, "not JSON"},
		{"nothing", says("", ""), broken, 0, "not JSON"},
		{"C3 a verdict and exit code 1", says(`{"score":1}`, "exit 1"), broken, 0, "exit code 1"},
		{"C4 a verdict and SIGKILL", says(`{"score":1}`, "kill -KILL $$"), broken, 0, "killed by SIGKILL"},
		{"C4 a verdict and SIGSEGV", says(`{"score":1}`, "kill -SEGV $$"), broken, 0, "killed by SIGSEGV"},
		{"C5 not installed", "script: [no-such-judge]", broken, 0, "no-such-judge"},
		{"P6 timeout", "timeout: 200ms, " + says("", "sleep 30"), broken, 0, "within its timeout of 200ms"},
		{"C8 endless output", "script: [yes]", broken, 0, "exceeds the 10 MiB limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := load(dir, ".", tt.keys)
			require.NoError(t, err)
			v := evaluator.Judge(t.Context(), e, input(r))
			require.Equal(t, tt.outcome, v.Outcome, v.Reason)
			assert.Contains(t, v.Reason, tt.reason)
			assert.NotContains(t, v.Reason, "\n")
			if tt.outcome == broken {
				assert.Nil(t, v.Score, "an error is no score")
			} else {
				require.NotNil(t, v.Score)
				assert.InDelta(t, tt.score, *v.Score, 1e-9)
			}
		})
	}
}

// What a judge wrote before it failed says why: SDKs of judges write it to their standard output.
func TestOutputOfFailure(t *testing.T) {
	dir, r := project(t, confine.None)
	for _, tt := range []struct{ name, script, reason, detail string }{
		{
			"standard output alone", `echo '{"score":0,"reasoning":"no key x"}'; exit 1`,
			`: exit code 1: {"score":0,"reasoning":"no key x"}`,
			"on its standard output:\n    {\"score\":0,\"reasoning\":\"no key x\"}",
		},
		{
			"both", "echo out; echo err >&2; exit 3", ": exit code 3: err",
			"err\non its standard output:\n    out",
		},
		{"nothing", "exit 2", ": exit code 2", ""},
		{
			"a traceback, which is told once", `printf 'Traceback:\n  File x\nValueError: no\n' >&2; exit 1`,
			": exit code 1: ValueError: no", "Traceback:\n  File x\nValueError: no",
		},
		{
			"a stack below the error", `printf 'j.js:1\nTypeError: no\n  at x\nNode.js\n' >&2; exit 1`,
			": exit code 1: TypeError: no", "j.js:1\nTypeError: no\n  at x\nNode.js",
		},
		{
			"lines of another kind", `printf 'no key\nbye\n' >&2; exit 1`, ": exit code 1: no key", "no key\nbye",
		},
		{"a timeout", "echo out; sleep 30", "within its timeout of 3s: out", "on its standard output:\n    out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := load(dir, ".", fmt.Sprintf("timeout: 3s, script: [sh, -c, %q]", tt.script))
			require.NoError(t, err)
			v := evaluator.Judge(t.Context(), e, input(r))
			require.Equal(t, result.Error, v.Outcome)
			assert.True(t, strings.HasSuffix(v.Reason, tt.reason), v.Reason)
			assert.Equal(t, tt.detail, v.Detail)
		})
	}
}

// TestReasons holds what is said of a verdict to the character.
func TestReasons(t *testing.T) {
	dir, r := project(t, confine.None)
	for _, tt := range []struct{ name, keys, reason, detail string }{
		{"nothing to say", says(`{"score":1}`, ""), "", ""},
		{"no failed check", says(`{"pass":true,"checks":[{"id":"a","pass":true}]}`, ""), "", "✓ a"},
		{"a score", says(`{"score":0.5}`, ""), "score 0.5", ""},
		{"a pass with less", "threshold: 0.8, " + says(`{"pass":true,"score":0.9}`, ""), "score 0.9", ""},
		{
			"misses of a full score", says(`{"score":1,"hits":["h"],"misses":["a","b"]}`, ""),
			"missed: a (and 1 more)", "✓ h\n✗ a\n✗ b",
		},
		{"one miss", says(`{"score":0.5,"misses":["a"]}`, ""), "a", "✗ a"},
		{"a reason before misses", says(`{"score":0.5,"reasoning":"slow","misses":["a"]}`, ""), "slow", "✗ a\nslow"},
		{
			"checks", says(`{"pass":false,"checks":[{"id":"a","pass":false},{"id":"b","pass":false}]}`, ""),
			"a (and 1 more)", "✗ a\n✗ b",
		},
		{"a check's score", says(`{"pass":true,"checks":[{"id":"a","pass":true,"score":0.5}]}`, ""), "", "✓ a (0.5)"},
		{
			"a contradiction", "threshold: 0.5, " + says(`{"pass":false,"score":0.5}`, ""),
			"which reaches the threshold", `{"pass":false,"score":0.5}`,
		},
		{"what is no verdict", says("looks good", ""), "the reply is not JSON", "looks good"},
		{"what was said before it failed", says("", "echo because >&2; exit 1"), "exit code 1", "because"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := load(dir, ".", tt.keys)
			require.NoError(t, err)
			v := evaluator.Judge(t.Context(), e, input(r))
			if v.Outcome == result.Error {
				assert.Contains(t, v.Reason, tt.reason)
			} else {
				assert.Equal(t, tt.reason, v.Reason)
			}
			assert.Equal(t, tt.detail, v.Detail)
		})
	}
}

func TestNeeds(t *testing.T) {
	dir, r := project(t, confine.None)
	needs := evaluator.NeedsWorkspace | evaluator.NeedsDir | evaluator.StartsChild
	for keys, want := range map[string]evaluator.Needs{
		"script: [true-judge]": needs, "script: [true-judge], target: {}": needs | evaluator.AsksModel,
	} {
		e, err := load(dir, ".", keys)
		require.NoError(t, err)
		assert.Equal(t, want, e.Config.(evaluator.Evaluator).Needs(), keys)
	}
	e, err := load(dir, ".", says(`{"score":1}`, ""))
	require.NoError(t, err)
	in := input(r)
	in.Scripts = nil
	v := e.Config.(evaluator.Evaluator).Evaluate(t.Context(), in)
	assert.Equal(t, evaluator.Verdict{Outcome: result.Error, Reason: "scripts cannot be run here"}, v)
}

func TestLoadErrors(t *testing.T) {
	dir, _ := project(t, confine.None)
	tests := []struct{ name, keys, want string }{
		{"without script", "config: {}", "`evaluators[0].script` is required"},
		{"P7 missing file", "script: [python3, judges/missing.py]", "evaluators[0].script: no word of it names a file"},
		{"P7 missing program", "script: [./judge]", "evaluators[0].script[0]:"},
		{"P9 empty", "script: []", "evaluators[0].script: must not be empty"},
		{"P9 a text", "script: python3 x.py", "script: must be a list, not a string"},
		{"P9 a number", "script: [1]", "script[0]: must be a string, not a number"},
		{"P9 no program", `script: [""]`, "script[0]: must not be empty"},
		{
			"no such directory", "script: [true-judge], cwd: none",
			"evaluators[0].cwd: stat " + filepath.Join(dir, "none"),
		},
		{
			"not a directory", "script: [true-judge], cwd: judges/sum.py",
			"evaluators[0].cwd: judges/sum.py is not a directory",
		},
		{"compat", "script: [true-judge], compat: agentevals", `must be one of agentv, agentv5`},
		{"no calls", "script: [true-judge], target: {max_calls: 0}", "must be at least 1"},
		{"timeout", "script: [true-judge], timeout: 0s", "timeout: must be at least 1ms"},
		{"misspelt", "script: [true-judge], confg: 1", `did you mean "config"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(dir, ".", tt.keys)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// A playbook that is only a text has no directory.
func TestWithoutFile(t *testing.T) {
	for cwd, want := range map[string]string{
		"": "", ", cwd: /": "", ", cwd: x": "evaluators[0].cwd: a relative directory needs a playbook that is a file",
	} {
		_, err := plan.Parse("p.yaml", []byte("variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}\n"+
			"task: {title: t, prompt: p}\n"+
			"workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, "+
			"steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}\n"+
			"evaluators: [{type: code_judge, script: [true-judge]"+cwd+"}]\n"),
			plan.Kinds{"code_judge": codejudge.Kind()})
		if want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
}

// An argument that is not a file name is passed on unchanged.
func TestLoads(t *testing.T) {
	dir, _ := project(t, confine.None)
	for _, keys := range []string{
		"script: [my-judge, --rate, '0.5', --out=a/b.json]",
		"script: [go, run, ./judges]", // a directory
		"script: [sh, -c, 'cat judges/missing.sh']",
		"script: [node, judges/answer.mjs, judges/missing.json]",
	} {
		_, err := load(dir, ".", keys)
		assert.NoError(t, err, keys)
	}
}

// Scripts are found beside the playbook and above it, and start in the playbook's directory.
func TestResolution(t *testing.T) {
	for _, kind := range []confine.Kind{confine.None, confine.Auto} {
		t.Run(string(kind), func(t *testing.T) {
			dir, r := project(t, kind)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "judges", "where.sh"), []byte(
				`printf '{"score":1,"reasoning":"%s %s %s"}' "$PWD" "$0" "$1"`), 0o755))
			evals, where := filepath.Join(dir, "evals"), filepath.Join(dir, "judges", "where.sh")
			tests := []struct{ name, keys, cwd, arg string }{
				{"beside", "script: [sh, ../judges/where.sh]", evals, ""},
				{"above", "script: [sh, judges/where.sh]", evals, ""},
				{"P10 arguments behind", "script: [sh, judges/where.sh, --flag]", evals, "--flag"},
				{"cwd", "script: [sh, judges/where.sh], cwd: ../judges", filepath.Join(dir, "judges"), ""},
				{"absolute cwd", "script: [sh, judges/where.sh], cwd: " + dir, dir, ""},
			}
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					e, err := load(dir, "evals", tt.keys)
					require.NoError(t, err)
					v := evaluator.Judge(t.Context(), e, input(r))
					require.Equal(t, result.Pass, v.Outcome, v.Reason)
					assert.Equal(t, strings.TrimSpace(tt.cwd+" "+where+" "+tt.arg), v.Detail)
				})
			}
		})
	}
}

// Judges that were written for AgentV run as they are.
func TestCompatAgentV(t *testing.T) {
	for _, kind := range []confine.Kind{confine.None, confine.Auto} {
		t.Run(string(kind), func(t *testing.T) {
			dir, r := project(t, kind)
			tests := []struct{ name, keys, detail string }{
				{
					"python",
					"script: [python3, judges/sum.py], config: {numbers: ['4'], tools: [search, get_weather]}",
					"✓ the number 4\n✓ calls search, get_weather\n✓ counted\nlooked",
				},
				{
					"node", "script: [node, judges/answer.mjs], config: {must_contain: '4'}",
					"✓ the answer has 4\n✓ there is a reference\n✓ calls are counted\n✓ calls are timed\n" +
						"checked\ndetails: {\n      \"hits\": 4\n    }",
				},
				{"sh", "script: [sh, judges/exact.sh]", "✓ answer\nthe answer is literal"},
			}
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					e, err := load(dir, ".", "compat: agentv, "+tt.keys)
					require.NoError(t, err)
					v := evaluator.Judge(t.Context(), e, input(r))
					require.Equal(t, result.Pass, v.Outcome, "%s\n%s", v.Reason, v.Detail)
					assert.Equal(t, tt.detail, v.Detail)
				})
			}
		})
	}
}

// models answers every question, or with an error.
type models struct {
	err error

	mu    sync.Mutex
	asked []llm.Request
}

func (m *models) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r)
	return llm.Reply{Text: "yes", InputTokens: 2, OutputTokens: 1}, m.err
}

func TestTarget(t *testing.T) {
	for _, kind := range []confine.Kind{confine.None, confine.Auto} {
		t.Run(string(kind), func(t *testing.T) {
			dir, r := project(t, kind)
			e, err := load(dir, ".",
				"script: [node, judges/ask.mjs], compat: agentv, target: {max_calls: 3, model: m1}")
			require.NoError(t, err)
			assert.NotZero(t, e.Config.(evaluator.Evaluator).Needs()&evaluator.AsksModel)
			in, m := input(r), &models{}
			in.Models = m
			v := evaluator.Judge(t.Context(), e, in)
			require.Equal(t, result.Pass, v.Outcome, "%s\n%s", v.Reason, v.Detail)
			assert.Contains(t, v.Detail, `"callCount": 3`)
			assert.Equal(t, []llm.Request{
				{Model: "m1", System: "Say yes or no.", User: "Is The answer is 4 right? What is 2+2?"},
				{Model: "m1", User: "again"},
				{Model: "m1", User: "again", Sample: 1},
			}, m.asked)

			in.Models = &models{err: errors.New("the server is gone")}
			v = evaluator.Judge(t.Context(), e, in)
			assert.Equal(t, result.Error, v.Outcome)
			assert.Equal(t, "ask the judge's model: the server is gone", v.Reason)

			broken, err := load(dir, ".", "target: {model: m1}, "+says(`{"score":1}`, "exit 1"))
			require.NoError(t, err)
			in.Models = m
			v = evaluator.Judge(t.Context(), broken, in)
			assert.Equal(t, result.Error, v.Outcome, "the judge failed behind its verdict")
			assert.Contains(t, v.Reason, "exit code 1")

			in.Models = nil
			v = evaluator.Judge(t.Context(), e, in)
			assert.Equal(t, result.Skip, v.Outcome, "nobody said that models may be asked")
		})
	}
}

// A judge that was written for AgentV finds the proxy without compat, too: one that does not may give a score of 0.
func TestTargetNames(t *testing.T) {
	dir, r := project(t, confine.None)
	for _, compat := range []string{"", "compat: agentv, ", "compat: agentv5, "} {
		e, err := load(dir, ".", compat+"target: {model: m}, script: [sh, -c, '"+
			`[ "$AGENTV_TARGET_PROXY_URL" = "$EVALTEST_TARGET_PROXY_URL" ] && `+
			`[ "$AGENTV_TARGET_PROXY_TOKEN" = "$EVALTEST_TARGET_PROXY_TOKEN" ] && `+
			`[ "$AGENTV_PROVIDER_PROXY_URL" = "$EVALTEST_TARGET_PROXY_URL" ] && `+
			`[ "$AGENTV_PROVIDER_PROXY_TOKEN" = "$EVALTEST_TARGET_PROXY_TOKEN" ] && `+
			`[ -n "$EVALTEST_TARGET_PROXY_TOKEN" ] && echo "{\"score\": 1}"'`+"]")
		require.NoError(t, err)
		in := input(r)
		in.Models = &models{}
		v := evaluator.Judge(t.Context(), e, in)
		assert.Equal(t, result.Pass, v.Outcome, "%s: %s", compat, v.Reason)
	}
}

func TestAgentV5(t *testing.T) {
	dir, r := project(t, confine.None)
	checks := `"checks": [{"text": "sum", "pass": true, "reason": "ok", "evidence": "4"}, ` +
		`{"id": "w", "text": "words", "pass": false, "reason": "none", "evidence": "The"}]`
	const assertions = `"assertions": [{"text": "sum", "passed": true}, ` +
		`{"text": "words", "passed": false, "evidence": "The"}]`
	for _, tt := range []struct {
		name, reply string
		outcome     result.Outcome
		score       float64
		want        string
	}{
		{"all", `{"pass": true, "score": 1, "reason": "fine", "checks": []}`, result.Pass, 1, "fine"},
		{
			"evidence", `{"pass": false, "score": 0.5, "reason": "half", ` + checks + `}`, result.Fail, 0.5,
			"w words: none; evidence: The",
		},
		{"without score", `{"pass": false, "reason": "half", ` + checks + `}`, result.Fail, 0.5, "half"},
		{"without pass", `{` + checks + `}`, result.Fail, 0.5, "words: none; evidence: The"},
		{"reason", `{"score": 1, "reason": "fine"}`, result.Pass, 1, "fine"},
		{"pass alone", `{"pass": true}`, result.Pass, 1, ""},
		{"nothing", `{}`, result.Error, 0, "score is missing"},
		{"a reason alone", `{"reason": "x"}`, result.Error, 0, "it has none of pass, score and checks"},
		{"text", `fine`, result.Error, 0, "is not a verdict of AgentV 5"},
		{"null", `null`, result.Error, 0, "is not a JSON object"},
		{"checks", `{"checks": 1}`, result.Error, 0, "checks must be a list of objects"},
		{"no pass", `{"checks": [{"text": "x", "reason": "y"}]}`, result.Error, 0, "checks[0]: pass is missing"},
		{"null check", `{"checks": [null]}`, result.Error, 0, "checks[0]: pass is missing"},
		{
			"evidence", `{"checks": [{"text": "", "pass": true, "reason": "y", "evidence": 1}]}`, result.Error, 0,
			"checks[0]: evidence must be a string",
		},
		{"assertions", `{"score": 0.5, ` + assertions + `}`, result.Fail, 0.5, "words: evidence: The"},
		{"assertions, pass", `{"pass": false, "score": 0.5, ` + assertions + `}`, result.Fail, 0.5, "evidence: The"},
		{"no assertions", `{"score": 1, "assertions": []}`, result.Pass, 1, ""},
		{"null for assertions", `{"score": 1, "assertions": null}`, result.Pass, 1, ""},
		{"assertions alone", `{` + assertions + `}`, result.Error, 0, "assertions alone decide nothing"},
		{"assertions, checks", `{"pass": true, "assertions": [], ` + checks + `}`, result.Error, 0, "both checks and"},
		{"no list", `{"score": 1, "assertions": {}}`, result.Error, 0, "assertions must be a list of objects"},
		{"no text", `{"score": 1, "assertions": [{"passed": true}]}`, result.Error, 0, "text is missing"},
		{"not passed", `{"score": 1, "assertions": [{"pass": true}]}`, result.Error, 0, "passed is missing"},
		{"null assertion", `{"score": 1, "assertions": [null]}`, result.Error, 0, "passed is missing"},
		{"passed", `{"passed": false, "score": 0, "reasoning": "no JSON"}`, result.Fail, 0, "no JSON"},
		{"passed, reason alone", `{"passed": true, "reasoning": "JSON"}`, result.Pass, 1, "JSON"},
		{"passed, and pass", `{"pass": true, "passed": true}`, result.Error, 0, `unknown key "passed"`},
		{"contradiction", `{"passed": false, "score": 1}`, result.Error, 0, "contradict"},
		{"other key", `{"score": 1, "results": []}`, result.Error, 0, `unknown key "results"`},
		{"range", `{"checks": [{"text": "x", "pass": true, "reason": "", "score": 7}]}`, result.Error, 0, "0 to 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := load(dir, ".", "compat: agentv5, "+says(tt.reply, ""))
			require.NoError(t, err)
			v := evaluator.Judge(t.Context(), e, input(r))
			assert.Equal(t, tt.outcome, v.Outcome, v.Reason)
			assert.Contains(t, v.Reason+v.Detail, tt.want)
			if v.Score != nil {
				assert.InDelta(t, tt.score, *v.Score, 0)
			}
		})
	}
}

// A judge whose model failed has judged nothing, even if it goes on.
func TestTargetFailedUnnoticed(t *testing.T) {
	dir, r := project(t, confine.None)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "judges", "careless.mjs"), []byte(`
import { createTargetClient } from './define.mjs';
await createTargetClient().invoke({ question: 'q' }).catch(() => {});
console.log('{"score": 1}');
`), 0o644))
	e, err := load(dir, ".", "script: [node, judges/careless.mjs], compat: agentv, target: {model: m}")
	require.NoError(t, err)
	in := input(r)
	in.Models = &models{err: errors.New("the server is gone")}
	v := evaluator.Judge(t.Context(), e, in)
	assert.Equal(t, result.Error, v.Outcome)
	assert.Equal(t, "ask the judge's model: the server is gone", v.Reason)
	in.Models = &models{}
	v = evaluator.Judge(t.Context(), e, in)
	assert.Equal(t, result.Pass, v.Outcome, v.Reason)
}

// TestDocs holds the section about code_judge to what is read: its YAML loads, and it has every key.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/judges.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(data), "\n## code_judge\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## llm_judge")
	dir, _ := project(t, confine.None)
	for _, name := range []string{"verify.py", "precision.mjs"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "judges", name), nil, 0o644))
	}
	blocks := regexp.MustCompile("(?s)```yaml\nevaluators:\n  - (.*?)```").FindAllStringSubmatch(section, -1)
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		keys := regexp.MustCompile(`(?m)^ +`).ReplaceAllString(strings.TrimSpace(block[1]), "")
		keys = strings.Replace(keys, "type: code_judge\n", "", 1)
		_, err := load(dir, ".", strings.ReplaceAll(keys, "\n", ", "))
		assert.NoError(t, err, block[1])
	}
	kind := reflect.TypeOf(codejudge.Kind().Keys)
	for field := range kind.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		assert.Regexp(t, key+"[`:]", section, "key %s", key)
	}
}
