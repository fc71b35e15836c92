package main

import (
	_ "embed"
	"slices"
	"strings"
)

// This file and comments.txt are what package acp adds to the schema: names, comments, and how fields differ from it.

// goNames are names that Go has instead of the schema's. Definitions with the same name in Go become one struct.
var goNames = map[string]string{
	"AuthCapabilities":                 "ClientAuthCapabilities",
	"AuthMethodAgent":                  "AuthMethod",
	"AuthMethodTerminal":               "AuthMethod",
	"EmbeddedResourceResource":         "ResourceContents",
	"RequestPermissionOutcome":         "PermissionOutcome",
	"SessionConfigOption":              "ConfigOption",
	"SessionConfigOptionCategory":      "ConfigOptionCategory",
	"SessionConfigOptionsCapabilities": "ClientConfigOptionCapabilities",
	"SessionConfigSelectGroup":         "ConfigChoice",
	"SessionConfigSelectOption":        "ConfigChoice",
	"SetSessionConfigOptionRequest":    "SetConfigOptionRequest",
	"SetSessionConfigOptionResponse":   "SetConfigOptionResponse",
	"UnstructuredCommandInput":         "CommandInput",
}

// methodNames are the constants of methods that are not named after the method's params.
var methodNames = map[string]string{
	"SessionNotification":   "MethodUpdate",
	"SetSessionModeRequest": "MethodSetMode",
}

// writtenByHand has the Go types of definitions that are not translated.
var writtenByHand = map[string]string{
	"ElicitationSchema": "json.RawMessage",
	"RequestId":         "ID",
}

// interfaces are the unions that become interfaces, with the method that returns what tells the variants apart. Every
// other union becomes a struct with the fields of all variants.
var interfaces = map[string]string{
	"ContentBlock":    "BlockType",
	"McpServer":       "Transport",
	"SessionUpdate":   "UpdateKind",
	"ToolCallContent": "OutputType",
}

// enums are the strings with named values that become types, with the prefix of their constants. Every other one is a
// string, with the values as a comment.
var enums = map[string]string{
	"ConfigOptionCategory": "Category",
	"PermissionOptionKind": "",
	"StopReason":           "Stop",
	"ToolCallStatus":       "Status",
	"ToolKind":             "Kind",
}

// wireOrder has the properties that come first on the wire, for types whose order is not the schema's.
var wireOrder = map[string][]string{
	"AuthMethod":               {"id", "name", "description"},
	"ConfigChoice":             {"value", "name", "description"},
	"CreateElicitationRequest": {"mode", "message", "sessionId", "toolCallId", "requestId"},
	"InitializeResponse":       {"protocolVersion", "agentCapabilities", "agentInfo"},
	"LoadSessionRequest":       {"sessionId", "cwd", "additionalDirectories"},
	"ResourceContents":         {"uri"},
	"ResourceLink":             {"uri", "name", "title", "description", "mimeType", "size"},
	"ToolCallUpdate":           {"toolCallId", "title", "name"},
	"Usage": {
		"inputTokens", "outputTokens", "thoughtTokens", "cachedReadTokens", "cachedWriteTokens",
	},
}

// position returns where a property stands on the wire: smaller comes first, and the schema's order decides ties.
func position(typeName, property string) int {
	if i := slices.Index(wireOrder[typeName], property); i >= 0 {
		return i - len(wireOrder[typeName])
	}
	if property == "annotations" {
		return 1
	}
	return 0
}

// how says in what way a field differs from what the schema asks for.
type how int

const (
	// lenient: the schema requires it, but an object without it still means something.
	lenient how = iota + 1
	// optional: lenient, and left out if it is zero.
	optional
	// pointer: optional, and an empty string differs from none.
	pointer
	// patch: optional, and null differs from none.
	patch
)

// differences are the fields that differ from the schema.
var differences = map[string]how{
	"AudioContent.mimeType":                     lenient,
	"AuthMethod.name":                           lenient,
	"AvailableCommand.description":              lenient,
	"AvailableCommandsUpdate.availableCommands": lenient,
	"ClientCapabilities.auth":                   optional,
	"CommandInput.hint":                         lenient,
	"CompactionUpdate.error":                    patch,
	"CompactionUpdate.status":                   lenient,
	"CompactionUpdate.summary":                  patch,
	"ConfigChoice.name":                         lenient,
	"ConfigOption.currentValue":                 optional,
	"ConfigOption.name":                         lenient,
	"ConfigOption.type":                         lenient,
	"ConfigOptionUpdate.configOptions":          lenient,
	"Cost.currency":                             lenient,
	"CreateElicitationRequest.message":          lenient,
	"Diff.oldText":                              pointer,
	"ImageContent.mimeType":                     lenient,
	"Implementation.version":                    lenient,
	"ListSessionsResponse.sessions":             lenient,
	"LoadSessionRequest.mcpServers":             lenient,
	"McpServerHTTP.headers":                     lenient,
	"McpServerSSE.headers":                      lenient,
	"McpServerStdio.args":                       lenient,
	"McpServerStdio.env":                        lenient,
	"NewSessionRequest.mcpServers":              lenient,
	"Notice.severity":                           lenient,
	"Notice.title":                              lenient,
	"PermissionOption.kind":                     lenient,
	"PermissionOption.name":                     lenient,
	"Plan.entries":                              lenient,
	"PlanEntry.priority":                        lenient,
	"PlanEntry.status":                          lenient,
	"RequestPermissionRequest.options":          lenient,
	"ResourceContents.blob":                     pointer,
	"ResourceContents.text":                     pointer,
	"ResourceLink.name":                         lenient,
	"SessionInfo.cwd":                           lenient,
	"SessionInfoUpdate.title":                   patch,
	"SessionInfoUpdate.updatedAt":               patch,
	"SessionMode.name":                          lenient,
	"SessionModeState.availableModes":           lenient,
	"SessionModeState.currentModeId":            lenient,
	"SessionNotification.update":                optional,
	"SetConfigOptionResponse.configOptions":     lenient,
	"TerminalOutputResponse.output":             lenient,
	"TerminalOutputResponse.truncated":          lenient,
	"ToolCall.title":                            lenient,
	"ToolCallUpdate.kind":                       pointer,
	"ToolCallUpdate.name":                       pointer,
	"ToolCallUpdate.status":                     pointer,
	"ToolCallUpdate.title":                      pointer,
	"Usage.inputTokens":                         optional,
	"Usage.outputTokens":                        optional,
	"Usage.totalTokens":                         optional,
	"UsageUpdate.size":                          optional,
	"UsageUpdate.used":                          optional,
}

// comments are the comments of types, by their names, and of fields, as in "Diff.OldText".
var comments = readComments(commentsText)

//go:embed comments.txt
var commentsText string

// commentOn returns the comment of a type, or of the method of an interface, which has to have one.
func commentOn(name string) string {
	if comments[name] == "" {
		fail("%s has no comment: write one in comments.txt", name)
	}
	return comments[name]
}

// readComments returns the comments of a text like comments.txt. A paragraph is the comment of the type that it begins
// with. In it, a line after one tab is the comment of the field that it begins with; lines after two tabs continue it.
func readComments(text string) map[string]string {
	all := make(map[string]string)
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		typeName, _, _ := strings.Cut(paragraph, " ")
		paragraph = strings.ReplaceAll(paragraph, "\n\t\t", " ")
		for i, comment := range strings.Split(paragraph, "\n\t") {
			name, _, _ := strings.Cut(comment, " ")
			if i > 0 {
				name = typeName + "." + name
			}
			if _, ok := all[name]; ok {
				fail("comments.txt: duplicate comment on %s", name)
			}
			all[name] = comment
		}
	}
	return all
}
