// Package scripted is an agent that follows a script instead of a model: the server's side of the Agent Client Protocol
// over an io.Reader and an io.Writer, in this process or as the main function of one of its own.
//
// It stands in for a real agent at no cost: as a test double for clients, including faults, and as the agent kind
// "fake-acp", with which a first run works without a key. A script is a Go value or a JSON file:
//
//	{"turns": [{"actions": [
//	  {"tool": {"name": "Read", "kind": "read", "title": "Read go.mod", "do": [{"read": {"path": "go.mod"}}]}},
//	  {"say": {"text": "It is a Go module.", "chunks": 3}}
//	]}]}
//
// The n-th prompt of a session is answered by the n-th turn, whatever it says. A prompt past the last turn is an error
// unless the script says "repeat".
//
// The package encodes its messages itself and does not use package acp, so that a mistake in one is not hidden by the
// same mistake in the other.
package scripted
