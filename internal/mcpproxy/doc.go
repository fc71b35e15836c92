// Package mcpproxy stands between an agent and the MCP servers of a playbook: it reports what the agent asks them, and
// can answer in their place from a recording, without the servers.
//
//	proxy, err := mcpproxy.Listen(mcpproxy.Config{
//		Dir: filepath.Join(base, "mcp"), Servers: pb.MCP,
//		Start:  func(ctx context.Context, c supervise.Command) (*supervise.Process, error) { ... }, // confined
//		OnCall: func(c trajectory.MCPCall) { observer.MCP(time.Now(), c) }, OnError: interrupt,
//	})
//	...
//	servers, err := proxy.Servers()
//	session, err := client.NewSession(ctx, acp.NewSessionRequest{Cwd: workspace, McpServers: servers})
//	...
//	err = proxy.Close() // once the agent is gone
//
// In replay Config has a Replay, and Start is not called:
//
//	Replay: mcpproxy.Recorded(cassette.Turns)
//
// What the agent starts as a server is the helper, as a relay: it copies its stdin and stdout to and from a unix
// socket, to which a sandbox has to let it connect. Each relay is one connection and, if nothing is replayed, one
// process of the real server, as it would be without us. A server that cannot be started, that ends before the agent
// does, or that sends anything but MCP is reported to Config.OnError; from then on the agent gets errors as answers.
//
// Messages are passed on unchanged, read and written by the transports of the official SDK, so that agents and servers
// agree on a protocol version and its extensions by themselves. Notifications pass as well; in replay there are only
// those of changed lists. A server's own requests (sampling, elicitation, roots) are refused, since they could not be
// replayed. Agents' offers to answer them are not passed on. A request that the agent cancelled, or whose answer it did
// not wait for, has an error that says so; so does its replay.
package mcpproxy
