// Package acp is the client's side of the Agent Client Protocol (ACP), version 1: JSON-RPC 2.0, one JSON message a line,
// over an agent's standard input and output. It is made for recording: the raw frame is the truth, and typed views are
// decoded from it leniently and without loss.
package acp
