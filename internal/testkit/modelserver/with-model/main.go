// Command with-model runs a command while a scripted model answers on loopback, with presets that point agents at it:
//
//	with-model -scripts fixtures/models -- env EVALTEST_MODE=record go test ./evals/...
//
// The presets are called "loopback" and are in a temporary directory, to which LLMAN_CONFIG_DIR points. OPENAI_BASE_URL
// and OPENAI_API_KEY point model judges at the same server. The exit code is the command's, or 1 if the model received
// a request that its scripts do not answer. Do not trust what the command recorded then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testkit/modelserver"
)

// Exit codes of our own.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// grace is how long the command may take to end after an interruption: it may have to stop agents first.
const grace = 15 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run does everything; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("with-model", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: with-model -scripts DIR -- COMMAND [ARG...]")
		flags.PrintDefaults()
	}
	scripts := flags.String("scripts", "", "directory with the model's scripts")
	latency := flags.Duration("latency", 500*time.Millisecond,
		"how long the model thinks before each answer; half of that between an answer's parts")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	case *scripts == "" || flags.NArg() == 0:
		flags.Usage()
		return exitUsage
	}
	code, err := withModel(ctx, *scripts, *latency, flags.Args(), stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "with-model:", err)
	}
	return code
}

// withModel runs the command beside a model server. The code is not 0 if the error is not nil.
func withModel(
	ctx context.Context, scripts string, latency time.Duration, command []string, stdout, stderr io.Writer,
) (code int, err error) {
	loaded, err := modelserver.Load(scripts)
	if err != nil {
		return exitUsage, err
	}
	server, err := modelserver.New(loaded)
	if err != nil {
		return exitUsage, err
	}
	server.Latency, server.Pause = latency, latency/2
	address, err := server.Start()
	if err != nil {
		return exitFailed, err
	}
	presets, err := os.MkdirTemp("", "with-model-")
	if err == nil {
		err = modelserver.WritePresets(presets, address)
	}
	if err == nil {
		env := append(modelserver.Environ(address), "LLMAN_CONFIG_DIR="+presets)
		code, err = runCommand(ctx, command, env, stdout, stderr)
	}
	if asked := server.Err(); asked != nil {
		asked = fmt.Errorf("the scripted model could not answer all requests:\n%w", asked)
		code, err = max(code, exitFailed), errors.Join(err, asked)
	}
	if failed := errors.Join(server.Close(), os.RemoveAll(presets)); failed != nil {
		err = errors.Join(err, failed)
	}
	if err != nil {
		code = max(code, exitFailed)
	}
	return code, err
}

// runCommand runs the command with these variables in place of the user's, and returns its exit code.
func runCommand(ctx context.Context, command, variables []string, stdout, stderr io.Writer) (int, error) {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return slices.ContainsFunc(variables, func(own string) bool { return name(own) == name(kv) })
	})
	p, err := supervise.Start(ctx, supervise.Command{
		Path: command[0], Args: command, Env: append(env, variables...),
		Stdin: os.Stdin, Stdout: stdout, Stderr: stderr, Grace: grace,
	})
	if err != nil {
		return exitUsage, err
	}
	exit, err := p.Wait()
	switch {
	case ctx.Err() != nil:
		return exitInterrupted, errors.New("interrupted")
	case err != nil:
		return exitFailed, err
	case exit.Code < 0:
		return exitFailed, fmt.Errorf("%s: %s", command[0], exit)
	}
	return exit.Code, nil
}

// name returns the name of a variable NAME=value.
func name(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}
