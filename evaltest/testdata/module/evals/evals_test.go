package evals

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

func TestEvals(t *testing.T) {
	evaltest.Describe(t, "*.yaml")
}
