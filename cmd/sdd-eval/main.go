// Command sdd-eval runs playbooks for coding agents and reports the results; see `sdd-eval help`.
package main

import (
	"os"

	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/helper/program"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == helper.Word {
		program.Main(os.Args[2:])
	}
	helper.Self()
	os.Exit(cli.Main())
}
