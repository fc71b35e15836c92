// Package livetest runs the suites of evals with the real agents that fixtures/agents pins, and their judges with the
// runtimes that fixtures/runtimes pins. It is separate from them so that `go test ./evals/...` only replays.
package livetest
