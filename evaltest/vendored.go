//go:build sdd_eval_never

// This file is never built. It makes `go mod vendor` copy the sources of the helper, which tests have the go command
// build when they need it.

package evaltest

import _ "github.com/sdd-eval/sdd-eval/cmd/sdd-eval-helper"
