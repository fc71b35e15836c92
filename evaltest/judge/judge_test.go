package judge_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
)

// programs are what this test binary is when the variable JUDGE names one.
var programs = map[string]func(){
	"example":           ExampleMain,
	"example of prompt": ExamplePromptMain,
	"pass": func() {
		judge.Main(func(_ context.Context, in judge.Input) (judge.Result, error) {
			return judge.Pass(in.CandidateAnswer), nil
		})
	},
	"error": func() {
		judge.Main(func(context.Context, judge.Input) (judge.Result, error) {
			return judge.Pass("x"), errors.New("the server is gone")
		})
	},
	"nan": func() {
		judge.Main(func(context.Context, judge.Input) (judge.Result,
			error,
		) {
			return judge.Result{Score: math.NaN()}, nil
		})
	},
	"contradiction": func() {
		judge.Main(func(context.Context, judge.Input) (judge.Result, error) {
			r := judge.Pass("x")
			r.Checks = []judge.Check{{ID: "tests", Reason: "3 tests fail"}}
			return r, nil
		})
	},
	"prompt": func() {
		judge.PromptMain(func(_ context.Context, in judge.Input) (string, error) {
			return fmt.Sprintf("<%s> {{x}}\n", in.Question), nil
		})
	},
	"no prompt": func() {
		judge.PromptMain(func(context.Context, judge.Input) (string, error) { return " \n", nil })
	},
}

func TestMain(m *testing.M) {
	if program := programs[os.Getenv("JUDGE")]; program != nil {
		program()
	}
	os.Exit(m.Run())
}

func TestMains(t *testing.T) {
	const good = `{"question":"<b>","candidate_answer":"4"}`
	const asked = `{"question":"q","candidate_answer":"the sum is 5","file_changes":"+5",` +
		`"config":{"words":["sum","4"]}}`
	tests := []struct{ name, program, stdin, stdout, stderr string }{
		{"verdict", "pass", good, `{"pass":true,"score":1,"reason":"4"}`, ""},
		{
			"input without an answer", "pass", `{"question":"q"}`, "",
			"read the judge's input: candidate_answer is missing\n",
		},
		{"error", "error", good, "", "the server is gone\n"},
		{"no verdict", "nan", good, "", "not a verdict: score NaN is out of range"},
		{
			"contradiction", "contradiction", good, "",
			"not a verdict: it contradicts itself: pass is true, but all checks failed",
		},
		{"prompt", "prompt", good, "<<b>> {{x}}\n", ""},
		{"example", "example", asked, `{"score":0.5,"hits":["sum"],"misses":["4"]}`, ""},
		{
			"example of prompt", "example of prompt", asked,
			"Does this change do what was asked?\n\nAsked:\nq\n\nThe change:\n+5", "",
		},
		{"P4 empty prompt", "no prompt", good, "", "the prompt is empty\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "JUDGE="+tt.program)
			var stdout, stderr strings.Builder
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(tt.stdin), &stdout, &stderr
			err := cmd.Run()
			assert.Equal(t, tt.stdout, stdout.String())
			if tt.stderr == "" {
				require.NoError(t, err)
				return
			}
			assert.Contains(t, stderr.String(), tt.stderr)
			assert.Equal(t, 1, cmd.ProcessState.ExitCode())
		})
	}
}
