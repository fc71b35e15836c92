package program

import (
	"github.com/sdd-eval/sdd-eval/internal/confine/probe"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

var systemPrograms = map[string]func(args []string) int{
	helper.Supervisor: supervise.Main, helper.Prober: probe.Main,
}
