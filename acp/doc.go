// Package acp is the client's side of the Agent Client Protocol (ACP), version 1: JSON-RPC 2.0, one JSON message a
// line, over an agent's standard input and output.
//
//	client := acp.NewClient(stdout, stdin, acp.ClientConfig{Update: show})
//	if _, err := client.Initialize(ctx); err != nil {
//		return err
//	}
//	session, err := client.NewSession(ctx, acp.NewSessionRequest{Cwd: dir})
//	if err != nil {
//		return err
//	}
//	resp, err := session.Prompt(ctx, acp.TextContent{Text: "Fix the failing test."})
//
// It is made for recording and judging agents, so it differs from an editor's client:
//
//   - The raw frame is the source of truth. [ClientConfig.Tap] receives every line of both directions before anything
//     else is done with it, including lines that are not messages.
//   - Typed views are decoded from frames leniently and without loss. A bad optional field becomes its default, a bad
//     array item is skipped, an unknown variant is an [Other]; the message survives, and everything that a type has no
//     place for is in its [Extra]. A [Decoder] makes views of recorded frames.
//   - Order is that of the wire. Updates are handled one at a time; a request of the agent is served after all updates
//     before it were handled, and concurrently with those after it; a response completes its call before the end of
//     input is noticed.
//   - Everything is bounded: the length of a line, what waits to be handled, what is served at a time, and how long an
//     agent may leave its input unread, keep a cancelled turn open, or send updates after the end of a turn.
//
// The types of the protocol's schema are generated from it, in schema_gen.go; see testdata/schema. They implement
// json.Marshaler and json.Unmarshaler, so encoding/json handles them as described.
//
// What the agent's requests do is the business of the caller's handlers: this package opens no files, starts no
// processes and decides no permissions.
package acp
