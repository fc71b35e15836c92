// Package judge is for writing judges and prompt templates: programs named in a playbook that read what an agent did
// from standard input and write a verdict, or a prompt for a model, to standard output. It does not run judges:
// evaluators of kind code_judge do.
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
// A playbook runs the judge with go, or as a binary:
//
//	evaluators:
//	  - type: code_judge
//	    script: [go, run, ./judges/sum.go]
//
// A judge that cannot judge returns an error, which becomes exit code 1. The unit's outcome is then error, neither pass
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

// Main is the main function of a judge: it reads the input from standard input, calls run and writes the verdict to
// standard output. If run returns an error or an invalid verdict, the error goes to standard error and the exit code is
// 1. The context ends on SIGTERM or an interrupt. Main does not return.
//
// The judge must not print to standard output: the text would be read as a part of the verdict and rejected.
func Main(run func(context.Context, Input) (Result, error)) {
	serve(func(ctx context.Context, in Input) ([]byte, error) {
		r, err := run(ctx, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(r)
	})
}

// PromptMain is the main function of a prompt template: it reads the input from standard input, calls run and writes
// the prompt to standard output, unchanged. If run returns an error or an empty prompt, the error goes to standard
// error and the exit code is 1. PromptMain does not return.
func PromptMain(run func(context.Context, Input) (string, error)) {
	serve(func(ctx context.Context, in Input) ([]byte, error) {
		prompt, err := run(ctx, in)
		if err == nil && strings.TrimSpace(prompt) == "" {
			err = errors.New("the prompt is empty")
		}
		return []byte(prompt), err
	})
}

// serve runs a judge or a template and ends the process.
func serve(run func(context.Context, Input) ([]byte, error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := reply(ctx, os.Stdin, os.Stdout, run)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// reply reads the input, calls run and writes its reply. It writes nothing on an error.
func reply(ctx context.Context, r io.Reader, w io.Writer, run func(context.Context, Input) ([]byte, error)) error {
	in, err := ReadInput(r)
	if err != nil {
		return err
	}
	text, err := run(ctx, in)
	if err != nil {
		return err
	}
	if _, err = w.Write(text); err != nil {
		return fmt.Errorf("write the reply: %w", err)
	}
	return nil
}
