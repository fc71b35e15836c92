// Package livetest runs the suites of evals with the real agents that fixtures/agents pins, and their judges with the
// runtimes that fixtures/runtimes pins. It is separate from them so that `go test ./evals/...` only replays.
//
// Its tests are named TestReal, as all tests are that need programs which npm installs: `make test-live` runs these,
// and `make test` does not.
package livetest
