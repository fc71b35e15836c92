// Command sdd-eval-helper works beside agents in tests: it supervises children, relays to MCP servers and the like.
// Tests find it, or have the go command build it; docs/confinement.md says what to do where they cannot.
package main

import (
	"os"

	"github.com/sdd-eval/sdd-eval/internal/helper/program"
)

func main() { program.Main(os.Args[1:]) }
