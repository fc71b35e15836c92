package mcpproxy

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// offers are what agents can do for servers, by its names among their capabilities.
var offers = []string{"sampling", "elicitation", "roots", "tasks"}

// withoutOffers returns a request without what the agent offers to do for the server, which nothing could replay: a server
// that knows of no offer does without.
func withoutOffers(r *jsonrpc.Request) *jsonrpc.Request {
	if len(r.Params) == 0 {
		return r
	}
	params, err := object(r.Params)
	if err != nil {
		return r
	}
	found := false
	take := func(from any, key string) {
		fields, _ := from.(map[string]any)
		capabilities, _ := fields[key].(map[string]any)
		for _, name := range offers {
			if _, ok := capabilities[name]; ok {
				delete(capabilities, name)
				found = true
			}
		}
	}
	if r.Method == methodInitialize {
		take(params, "capabilities")
	}
	take(params["_meta"], mcp.MetaKeyClientCapabilities) // of protocol versions in which each request says it
	if !found {
		return r
	}
	return &jsonrpc.Request{ID: r.ID, Method: r.Method, Params: encoded(params)}
}
