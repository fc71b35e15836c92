// Command sdd-eval runs playbooks for coding agents and reports the results; see `sdd-eval help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/helper/program"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == helper.Word {
		program.Main(os.Args[2:])
	}
	helper.Self()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends the command in order, the second one at once
	os.Exit(cli.Main(ctx))
}
