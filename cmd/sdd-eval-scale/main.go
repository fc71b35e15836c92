// Command sdd-eval-scale runs a playbook by a queue: on this machine, or on many; see docs/scale.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/unit"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/helper/program"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case helper.Word:
			program.Main(os.Args[2:])
		case unit.Word:
			helper.Self()
			os.Exit(unit.Main())
		}
	}
	helper.Self()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second/2, stop) })
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
