// Command sdd-eval-helper works beside agents in tests: it supervises children, relays to MCP servers and the like. Tests
// find it or build it themselves; see docs/confinement.md for those that cannot.
package main

import (
	"os"

	"github.com/sdd-eval/sdd-eval/internal/helper/program"
)

func main() { program.Main(os.Args[1:]) }
