package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"

	"github.com/sdd-eval/sdd-eval/acp"
)

func Example() {
	stdout, stdin := startAgent()
	client := acp.NewClient(stdout, stdin, acp.ClientConfig{
		Permission: allowOnce,
		Update: func(n acp.SessionNotification) {
			switch u := n.Update.(type) {
			case acp.AgentMessageChunk:
				if text, ok := u.Content.(acp.TextContent); ok {
					fmt.Println("agent:", text.Text)
				}
			case acp.ToolCall:
				fmt.Println("tool: ", u.Title)
			}
		},
	})
	defer client.Close()

	ctx := context.Background()
	if _, err := client.Initialize(ctx); err != nil {
		log.Fatal(err)
	}
	session, err := client.NewSession(ctx, acp.NewSessionRequest{Cwd: "/workspace"})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := session.Prompt(ctx, acp.TextContent{Text: "Run the tests."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("stop: ", resp.StopReason)
	// Output:
	// tool:  go test ./...
	// agent: All tests pass.
	// stop:  end_turn
}

// allowOnce is a policy for permission requests.
func allowOnce(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	for _, o := range req.Options {
		if o.Kind == acp.AllowOnce {
			return acp.Selected(o.OptionID), nil
		}
	}
	return acp.Cancelled(), nil
}

func ExampleDecoder() {
	var decoder acp.Decoder
	for _, frame := range []acp.Frame{
		{Direction: acp.ToAgent, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":` +
			`{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}`)},
		{Direction: acp.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":` +
			`{"stopReason":"end_turn","usage":{"totalTokens":9007199254740993,"mood":"fine"}}}`)},
	} {
		view, err := decoder.View(frame)
		if err != nil {
			log.Fatal(err)
		}
		switch body := view.Body.(type) {
		case acp.PromptRequest:
			fmt.Println(view.Method, len(body.Prompt), "block")
		case acp.PromptResponse:
			fmt.Println(body.StopReason, *body.Usage.TotalTokens, string(body.Usage.Unknown["mood"]))
		}
	}
	// Output:
	// session/prompt 1 block
	// end_turn 9007199254740993 "fine"
}

// startAgent plays an agent and returns its standard output and input.
func startAgent() (io.Reader, io.WriteCloser) {
	stdout, out := io.Pipe()
	in, stdin := io.Pipe()
	go func() {
		defer out.Close()
		requests := bufio.NewScanner(in)
		for requests.Scan() {
			var m acp.Message
			if err := json.Unmarshal(requests.Bytes(), &m); err != nil {
				log.Fatal(err)
			}
			switch m.Method {
			case acp.MethodInitialize:
				reply(out, m.ID, acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersion})
			case acp.MethodNewSession:
				reply(out, m.ID, acp.NewSessionResponse{SessionID: "s1"})
			case acp.MethodPrompt:
				update(out, acp.ToolCall{ToolCallID: "1", Title: "go test ./...", Kind: acp.KindExecute})
				update(out, acp.AgentMessageChunk{Content: acp.TextContent{Text: "All tests pass."}})
				reply(out, m.ID, acp.PromptResponse{StopReason: acp.StopEndTurn})
			}
		}
	}()
	return stdout, stdin
}

func reply(w io.Writer, id acp.ID, result any) {
	write(w, acp.Message{Version: "2.0", ID: id, Result: encode(result)})
}

func update(w io.Writer, u acp.SessionUpdate) {
	params := encode(acp.SessionNotification{SessionID: "s1", Update: u})
	write(w, acp.Message{Version: "2.0", Method: acp.MethodUpdate, Params: params})
}

func write(w io.Writer, m acp.Message) {
	if _, err := w.Write(append(encode(m), '\n')); err != nil {
		log.Fatal(err)
	}
}

func encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		log.Fatal(err)
	}
	return text
}
