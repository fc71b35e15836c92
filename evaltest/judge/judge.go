// Package judge is for writing judges and prompt templates: programs named in a playbook that read what an agent did
// from standard input and write a verdict, or a prompt for a model, to standard output.
//
//	func main() {
//		judge.Main(func(ctx context.Context, in judge.Input) (judge.Result, error) {
//			if strings.Contains(in.CandidateAnswer, "4") {
//				return judge.Pass("the answer has the sum"), nil
//			}
//			return judge.Fail("the sum is not in the answer"), nil
//		})
//	}
//
// In the playbook it is run with go, or as a binary:
//
//	evaluators:
//	  - type: code_judge
//	    script: [go, run, ./judges/sum.go]
//
// A judge that cannot judge returns an error, which becomes exit code 1: the unit's outcome is then error, neither pass
// nor fail. [ParseResult] documents the rules for judges in other languages.
package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Main is the main function of a judge: it reads the input from standard input, runs the judge and writes its verdict
// to standard output. If the judge returns an error or an invalid verdict, the error goes to standard error and the
// exit code is 1. The context ends when the judge is asked to end. Main does not return.
//
// The judge must not print to standard output: that would be taken for a part of the verdict, and refused.
func Main(run func(context.Context, Input) (Result, error)) {
	serve(func(ctx context.Context, in Input) ([]byte, error) {
		r, err := run(ctx, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(r)
	})
}

// PromptMain is the main function of a prompt template: it reads the input from standard input, runs the template and
// writes the prompt to standard output, as it is. If the template returns an error or an empty prompt, the error goes
// to standard error and the exit code is 1. PromptMain does not return.
func PromptMain(run func(context.Context, Input) (string, error)) {
	serve(func(ctx context.Context, in Input) ([]byte, error) {
		prompt, err := run(ctx, in)
		if err == nil && strings.TrimSpace(prompt) == "" {
			err = errors.New("the prompt is empty")
		}
		return []byte(prompt), err
	})
}

// serve ends the process.
func serve(run func(context.Context, Input) ([]byte, error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := answer(ctx, os.Stdin, os.Stdout, run)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// answer writes nothing unless all went well.
func answer(ctx context.Context, r io.Reader, w io.Writer, run func(context.Context, Input) ([]byte, error)) error {
	in, err := ReadInput(r)
	if err != nil {
		return err
	}
	reply, err := run(ctx, in)
	if err != nil {
		return err
	}
	if _, err = w.Write(reply); err != nil {
		return fmt.Errorf("write the reply: %w", err)
	}
	return nil
}
