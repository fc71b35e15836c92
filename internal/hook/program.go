package hook

import (
	"os"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Main is the program [helper.Hook], for agents that sdd-eval drives. Its argument is the phase.
func Main(args []string) int {
	var secrets secret.Set
	secrets.AddEnvironment(os.Environ())
	dir, err := os.Getwd()
	var phase Phase
	if len(args) > 0 {
		phase = Phase(args[0])
	}
	return Hook{
		Phase: phase, Fault: err, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Dir: dir, Now: time.Now, Secrets: &secrets,
	}.Run()
}
