// Command sdd-eval runs playbooks for coding agents and reports what came of it; `sdd-eval help` tells the rest.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/sdd-eval/sdd-eval/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends the command in order, the second one at once
	// A run makes much garbage and keeps little. This is never written to and takes no memory, but the collector waits
	// until as much again was allocated: small heaps would be gone through every few milliseconds.
	ballast := make([]byte, 32<<20)
	code := cli.Main(ctx)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}
