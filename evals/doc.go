// Package evals evaluates real coding agents on a small Go project, fixtures/inventory. It is both a test of sdd-eval
// and the example to copy: a directory a suite, with a playbook that says what is asked and what is expected. One suite
// is in Go: search_test.go.
//
// `go test ./evals/...` replays the recorded sessions in cassettes/evals. The agents were real; the model behind them
// was scripted, so that anyone can record them anew: `make record`. The suites in judges are about judges: their agent
// follows a script, and what they show is how its work is judged. offloader tests a skill, and has a package for the
// tool behind it. changelog asks whether a skill helps.
package evals
