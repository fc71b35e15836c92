package scripted_test

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

func Example() {
	agent := scripted.Start(context.Background(), scripted.Script{Turns: []scripted.Turn{
		{Actions: []scripted.Action{{Say: &scripted.Say{Text: "Hello, client."}}}},
	}})
	client := acp.NewClient(agent.Stdout, agent.Stdin, acp.ClientConfig{
		Update: func(n acp.SessionNotification) {
			fmt.Println(n.Update.(acp.AgentMessageChunk).Content.(acp.TextContent).Text)
		},
	})
	defer client.Close()
	if _, err := client.Initialize(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	session, err := client.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/workspace"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		response, err := session.Prompt(context.Background(), acp.TextContent{Text: "Hello, agent."})
		fmt.Println(response.StopReason, err)
	}
	// Output:
	// Hello, client.
	// end_turn <nil>
	//  acp: session/prompt: error -32603: prompt 2 is past the end of the script (turns: 1; "repeat" is not set)
}

func ExampleParse() {
	_, err := scripted.Parse("greet.json", []byte(`{
		"turns": [
			{"actions": [{"say": {"txt": "hello"}}]}
		]
	}`))
	fmt.Println(err)
	// Output: greet.json:3:26: turns[0].actions[0].say.txt: unknown key; known keys: chunks, text
}
