// Package evaltest turns evaluations of coding agents into go test.
//
// A playbook says what an agent is asked to do and what is expected of it; [Describe] makes subtests of it:
//
//	func TestEvals(t *testing.T) {
//		evaltest.Describe(t, "*/*.yaml")
//	}
//
// [Suite] is the same in Go, for agents and for any other function, and [RunAgent] runs an agent once.
//
// By default the agents' recorded sessions are replayed from cassettes, and every expectation is checked again: no agent
// runs, no network and no key is needed. The environment variable EVALTEST_MODE changes that:
//
//	replay   play the cassettes; a missing or stale one is an error (the default)
//	record   run the agents and write the cassettes anew
//	missing  record what has no cassette, replay the rest
//	live     run the agents, write no cassette
//
// EVALTEST_STALE=warn lets stale cassettes pass with a warning.
//
// A unit passes, fails or ends in error. Fail says that the agent failed. Error says that nothing is known about the
// agent, because the harness, a cassette or the network failed; it is as red as a failure.
package evaltest
