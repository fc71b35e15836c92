package observe

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCanonicalNames(t *testing.T) {
	n := namer{servers: []string{"stock", "stock_eu", "my-shop", "read", "run"}}
	own := map[string]any{"part": "bolts"}
	wrapped := func(server any) map[string]any {
		return map[string]any{"server": server, "tool": "count", "arguments": own}
	}
	tests := []struct {
		name, kind string
		input      any
		want       string // empty: it is a tool of the agent's own
	}{
		{"mcp__stock__count", "other", own, "mcp__stock__count"},
		{"mcp.stock.count", "execute", own, "mcp__stock__count"},
		{"mcp_stock_count", "other", own, "mcp__stock__count"},
		{"Tool: stock/count", "", own, "mcp__stock__count"},
		{"stock_count", "other", own, "mcp__stock__count"},
		{"stock-count", "other", own, "mcp__stock__count"},
		{"stock__count", "", own, "mcp__stock__count"},
		{"mcp__stock__get_all__now", "other", own, "mcp__stock__get_all__now"},
		{"Tool: stock/count", "", wrapped("stock"), "mcp__stock__count"},
		{"call", "other", wrapped("stock"), "mcp__stock__count"},
		{"tool_call", "other", map[string]any{"name": "mcp__stock__count", "arguments": own}, "mcp__stock__count"},

		// a server's name with what separates it from the tool
		{"stock_eu_count", "other", own, "mcp__stock_eu__count"},
		{"mcp_stock_eu_count", "other", own, "mcp__stock_eu__count"},
		{"mcp__stock__eu_count", "other", own, "mcp__stock__eu_count"},
		{"mcp_my_shop_count", "other", own, "mcp__my-shop__count"},
		{"my-shop-count", "other", own, "mcp__my-shop__count"},

		// tools of the agent's own, and of servers that it was not given by us
		{"read_file", "read", own, ""},
		{"read_file", "other", own, ""},
		{"run_tests", "execute", own, ""},
		{"stock", "other", own, ""},
		{"stock_", "other", own, ""},
		{"stocktaking", "other", own, ""},
		{"stock-count of bolts", "other", own, ""},
		{"stock/ledger.go", "read", own, ""},
		{"mcp__github__search", "other", own, ""},
		{"call", "other", wrapped("github"), ""},
		{"call", "other", wrapped(7), ""},
		{"call", "other", map[string]any{"server": "stock", "tool": "count", "port": 1}, ""},
		{"tool_call", "other", map[string]any{"name": "read_file", "arguments": own}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.kind, func(t *testing.T) {
			name, input, ok := n.canonical(tt.name, tt.kind, tt.input)
			assert.Equal(t, tt.want != "", ok)
			assert.Equal(t, tt.want, name)
			if ok {
				assert.Equal(t, own, input)
			}
			again, same, ok := n.canonical(name, tt.kind, input)
			if tt.want != "" {
				assert.True(t, ok)
				assert.Equal(t, name, again, "a canonical name stays")
				assert.Equal(t, input, same)
			}
		})
	}
	_, _, ok := namer{}.canonical("mcp__stock__count", "other", own)
	assert.False(t, ok)
	n.agent = copilot
	name, _, ok := n.canonical("stock-count", "read", own)
	assert.True(t, ok, "Copilot says of tools that change nothing that they read")
	assert.Equal(t, "mcp__stock__count", name)
}

func FuzzCanonical(f *testing.F) {
	f.Add("mcp__stock__count", "other", `{"server":"stock","tool":"x"}`)
	f.Add("stock_eu_count", "", `{"name":"mcp_stock_a","arguments":null}`)
	n := namer{servers: []string{"stock", "stock_eu", "my-shop"}}
	f.Fuzz(func(t *testing.T, name, kind, input string) {
		canonical, own, ok := n.canonical(name, kind, decoded(json.RawMessage(input)))
		if !ok {
			return
		}
		server, tool, found := strings.Cut(strings.TrimPrefix(canonical, "mcp__"), "__")
		if !found || server == "" || tool == "" {
			t.Fatalf("%q became %q", name, canonical)
		}
		if again, _, ok := n.canonical(canonical, kind, own); !ok || !strings.HasPrefix(again, "mcp__") {
			t.Fatalf("%q became %q, and that %q", name, canonical, again)
		}
	})
}
