package mcpproxy

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
)

// Recorded returns what servers answered in recorded turns.
func Recorded(turns []cassette.Turn) *Replay {
	var calls []trajectory.MCPCall
	var asked []interaction.Interaction
	for t, turn := range turns {
		for e, event := range turn.Events {
			c, ok := event.Body.(trajectory.MCPCall)
			if !ok {
				continue
			}
			calls = append(calls, c)
			if !c.IsDiscovery() {
				asked = append(asked, interaction.Interaction{
					Tool: Tool(c), Args: c.Params, Answer: c, Position: fmt.Sprintf("turn %d, event %d", t+1, e+1),
				})
			}
		}
	}
	return &Replay{Book: interaction.NewBook(asked), Calls: calls}
}
