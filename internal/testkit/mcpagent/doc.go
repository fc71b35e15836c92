// Package mcpagent is for tests: an agent that calls the MCP servers it is given, and a server for it to call. The
// scripted agent speaks no MCP, and real ones need a model.
//
// A prompt's lines of the form
//
//	SERVER TOOL {"argument": "value"}
//
// are the tools that it calls, one after the other; it ignores the rest. It says what they answer.
package mcpagent
