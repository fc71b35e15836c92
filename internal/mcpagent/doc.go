// Package mcpagent is for tests: an agent that asks the MCP servers which it is told of, and a server for it to ask. The
// scripted agent speaks no MCP, and real ones need a model.
//
// A prompt's lines of the form
//
//	SERVER TOOL {"argument": "value"}
//
// are the tools that it calls, one after the other; the rest of a prompt is nothing to it. It says what they answer.
package mcpagent
