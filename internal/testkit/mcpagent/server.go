package mcpagent

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve is the life of the server over its standard streams, up to the end of its input. It returns its exit code. The
// tool "count" counts its calls, too; "hang" never answers.
func Serve() int {
	s := mcp.NewServer(&mcp.Implementation{Name: "stock", Version: "1"}, nil)
	type goods struct {
		SKU string `json:"sku"`
	}
	var calls atomic.Int64
	mcp.AddTool(s, &mcp.Tool{Name: "count"}, func(_ context.Context, _ *mcp.CallToolRequest, of goods) (*mcp.CallToolResult, any, error) {
		text := fmt.Sprintf("%s %d", of.SKU, calls.Add(1))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ goods) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// Silent is the life of a server that never answers.
func Silent(in io.Reader) int {
	_, _ = io.Copy(io.Discard, in)
	return 0
}
