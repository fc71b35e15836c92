package acp

import "reflect"

// union is an interface of the schema with the types it can hold.
type union struct {
	key      string // the member that tells the variants apart
	variants map[string]reflect.Type
}

// variantTag is the discriminator that a type has on the wire where it stands as a variant of a union. Empty: none.
type variantTag struct {
	key, kind string
}

var unions = map[reflect.Type]union{
	reflect.TypeFor[SessionUpdate](): unionOf[SessionUpdate]("sessionUpdate", SessionUpdate.UpdateKind,
		UserMessageChunk{}, AgentMessageChunk{}, AgentThoughtChunk{}, ToolCall{}, ToolCallUpdate{}, Plan{},
		AvailableCommandsUpdate{}, CurrentModeUpdate{}, ConfigOptionUpdate{}, SessionInfoUpdate{}, UsageUpdate{},
		Notice{}, CompactionUpdate{}, CompactionSummaryChunk{}),
	reflect.TypeFor[ContentBlock](): unionOf[ContentBlock]("type", ContentBlock.BlockType,
		TextContent{}, ImageContent{}, AudioContent{}, ResourceLink{}, EmbeddedResource{}),
	reflect.TypeFor[ToolCallContent](): unionOf[ToolCallContent]("type", ToolCallContent.OutputType,
		Content{}, Diff{}, Terminal{}),
	reflect.TypeFor[McpServer](): unionOf[McpServer]("type", McpServer.Transport,
		McpServerStdio{}, McpServerHTTP{}, McpServerSSE{}),
}

func unionOf[T any](key string, kind func(T) string, variants ...T) union {
	u := union{key: key, variants: make(map[string]reflect.Type)}
	for _, v := range variants {
		u.variants[kind(v)] = reflect.TypeOf(v)
	}
	return u
}

// variantTags holds the tag of each variant. A variant without a kind (an MCP server over stdio) has no tag.
var variantTags = func() map[reflect.Type]variantTag {
	tags := make(map[reflect.Type]variantTag)
	for _, u := range unions {
		for kind, t := range u.variants {
			if kind != "" {
				tags[t] = variantTag{key: u.key, kind: kind}
			}
		}
	}
	return tags
}()
