// Package evals tests coding agents: each playbook beside this file is a subtest.
package evals

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

// TestEvals replays what agents did once, and checks it again. EVALTEST_MODE=record runs the agents anew.
func TestEvals(t *testing.T) {
	evaltest.Describe(t, "*.yaml")
}
