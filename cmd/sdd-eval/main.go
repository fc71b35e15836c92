// Command sdd-eval runs playbooks for coding agents and reports the results; see `sdd-eval help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sdd-eval/sdd-eval/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends the command in order, the second one at once
	os.Exit(cli.Main(ctx))
}
