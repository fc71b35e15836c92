//go:build sdd_eval_never

// This file is never built. For it, `go mod vendor` copies the helper's sources, which tests have built when they need it.

package evaltest

import _ "github.com/sdd-eval/sdd-eval/cmd/sdd-eval-helper"
