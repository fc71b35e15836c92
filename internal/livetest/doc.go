// Package livetest runs the suites of evals with the real agents that fixtures/agents pins. It stands apart from them so
// that `go test ./evals/...` replays and does nothing else.
package livetest
