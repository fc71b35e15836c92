package judge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
)

// A judge that wants certain words in the answer, which the playbook lists: config: {words: [sum, 4]}.
func ExampleMain() {
	judge.Main(func(_ context.Context, in judge.Input) (judge.Result, error) {
		var config struct{ Words []string }
		if err := json.Unmarshal(in.Config, &config); err != nil {
			return judge.Result{}, fmt.Errorf("config: %w", err)
		}
		var r judge.Result
		for _, word := range config.Words {
			if strings.Contains(in.CandidateAnswer, word) {
				r.Hits = append(r.Hits, word)
			} else {
				r.Misses = append(r.Misses, word)
			}
		}
		r.Score = float64(len(r.Hits)) / float64(len(config.Words))
		return r, nil
	})
}

// A template that gives the model the change and not the answer.
func ExamplePromptMain() {
	judge.PromptMain(func(_ context.Context, in judge.Input) (string, error) {
		return fmt.Sprintf("Does this change do what was asked?\n\nAsked:\n%s\n\nThe change:\n%s",
			in.Question, in.FileChanges), nil
	})
}

func ExampleParseResult() {
	r, err := judge.ParseResult([]byte(`{"pass": false, "reason": "no test was added"}`))
	fmt.Println(r.Score, r.Reason, err)
	_, err = judge.ParseResult([]byte("checking...\n{\"score\": 1}"))
	fmt.Println(err)
	// Output:
	// 0 no test was added <nil>
	// the reply is not JSON: invalid character 'c' looking for beginning of value; it was "checking...\n{\"score\": 1}"
}
