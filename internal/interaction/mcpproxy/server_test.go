package mcpproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverWord is the first argument that makes the test binary an MCP server; the second says of what kind.
const serverWord = "mcpproxy-test-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == serverWord {
		syscall.Exit(serve(os.Args[2])) // a race report at the exit would take a second
	}
	code := m.Run()
	if alive := goroutines(); code == 0 && alive != "" {
		fmt.Println("goroutines are alive:\n" + alive)
		code = 1
	}
	os.Exit(code)
}

// goroutines returns those of proxies that do not end.
func goroutines() string {
	var alive []string
	for end := time.Now().Add(waitTime); time.Now().Before(end); runtime.Gosched() {
		all := make([]byte, 1<<20)
		alive = nil
		for one := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
			if strings.Contains(one, "internal/interaction/mcpproxy.") {
				alive = append(alive, one)
			}
		}
		if len(alive) == 0 {
			break
		}
	}
	return strings.Join(alive, "\n\n")
}

// serve is the life of a server.
func serve(kind string) int {
	fmt.Fprintln(os.Stderr, "serving", kind)
	switch kind {
	case "garbage":
		fmt.Println("Listening on port 3000")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "late garbage":
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` +
			strings.Repeat("x", 3<<10) + `"}}`)
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}`)
		fmt.Println("debug: warming up")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "flood":
		fmt.Print(`{"jsonrpc":"2.0","id":1,"result":"`, strings.Repeat("x", 17<<20))
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "asker": // answers its first request with what it was answered
		in := bufio.NewScanner(os.Stdin)
		in.Scan()
		fmt.Println(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n" +
			`{"jsonrpc":"2.0","id":"a","method":"roots/list"}`)
		in.Scan()
		first := in.Text()
		in.Scan()
		fmt.Printf(`{"jsonrpc":"2.0","id":1,"result":[%s,%s]}`+"\n", first, in.Text())
		in.Scan()
	case "deaf": // answers its first request, and reads no more
		bufio.NewScanner(os.Stdin).Scan()
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		select {}
	case "echo": // answers, with the id that its argument is, what it was asked
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s,"error":null,"x":[1]}`+"\n", os.Args[3], in.Text())
		}
	case "mute":
		os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "stubborn": // serves, and stays
		signal.Ignore(syscall.SIGTERM)
		_ = shop().Run(context.Background(), &mcp.StdioTransport{})
		select {}
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "unlicensed":
		fmt.Fprintln(os.Stderr, "no licence for this machine")
		return 3
	case "shop":
		if err := shop().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			return 1
		}
	}
	return 0
}

// shop is a server with a tool of each kind that matters here.
func shop() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Title: "A shop", Version: "1.2.3"}, &mcp.ServerOptions{
		Instructions: "Sell tea.", PageSize: 3,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			completion := mcp.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "x"}}
			return &mcp.CompleteResult{Completion: completion}, nil
		},
	})
	type path struct {
		Path string `json:"path"`
	}
	var count atomic.Int64
	tool := func(name string, do func(context.Context, *mcp.CallToolRequest) (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name},
			func(ctx context.Context, r *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
				text, err := do(ctx, r)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
			})
	}
	tool("count", func(context.Context, *mcp.CallToolRequest) (string, error) { return fmt.Sprint(count.Add(1)), nil })
	tool("fail", func(context.Context, *mcp.CallToolRequest) (string, error) {
		return "", fmt.Errorf("out of <tea> & more")
	})
	tool("crash", func(context.Context, *mcp.CallToolRequest) (string, error) {
		fmt.Fprintln(os.Stderr, "panic: out of memory, key sk-"+"test-1234")
		os.Exit(7)
		return "", nil
	})
	tool("hang", func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	tool("grow", func(context.Context, *mcp.CallToolRequest) (string, error) {
		tool("grown", func(context.Context, *mcp.CallToolRequest) (string, error) { return "grown", nil })
		return "grew", nil
	})
	tool("progress", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		err := r.Session.NotifyProgress(ctx,
			&mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "half"})
		return "done", err
	})
	tool("offers", func(_ context.Context, r *mcp.CallToolRequest) (string, error) {
		if c := r.ClientCapabilities(); c != nil && c.Elicitation != nil {
			return "asks", nil
		}
		return "no", nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "read"},
		func(_ context.Context, _ *mcp.CallToolRequest, in path) (*mcp.CallToolResult, path, error) {
			data, err := os.ReadFile(in.Path)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Path + ": " +
				string(data)}}}, in, err
		})
	s.AddResource(&mcp.Resource{URI: "shop://tea", Name: "tea"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "shop://tea", Text: "green"}}}, nil
		})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "shop://{kind}", Name: "kinds"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		})
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{
			Role:    "user",
			Content: &mcp.TextContent{Text: "Hello"},
		}}}, nil
	})
	return s
}

// waitTime is how long tests wait for what comes at once.
const waitTime = time.Minute
