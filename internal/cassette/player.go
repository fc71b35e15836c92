package cassette

import (
	"context"
	"fmt"
)

// Player stands where the agent stands: it answers prompts with the recorded turns and makes the changes that the agent
// made.
type Player struct {
	cassette *Cassette
	dir      string
	next     int
}

// NewPlayer returns a player whose workspace is dir; empty: nobody looks at the files, and none are written.
func NewPlayer(c *Cassette, dir string) *Player { return &Player{cassette: c, dir: dir} }

// Prompt plays the next turn. Whether the prompt is the recorded one is for [Cassette.Stale] to say.
func (p *Player) Prompt(ctx context.Context, _ string) (Turn, error) {
	if err := ctx.Err(); err != nil {
		return Turn{}, context.Cause(ctx)
	}
	if p.next == len(p.cassette.Turns) {
		return Turn{}, fmt.Errorf("the recording of %s has %d turns, and one more was asked for", p.cassette.Header.Unit, p.next)
	}
	turn := p.cassette.Turns[p.next]
	p.next++
	if p.dir == "" {
		return turn, nil
	}
	if err := turn.Delta.Apply(p.dir); err != nil {
		return Turn{}, fmt.Errorf("restore the workspace after turn %d: %w", p.next, err)
	}
	return turn, nil
}

// End returns an error if there are turns that nobody asked for.
func (p *Player) End() error {
	if left := len(p.cassette.Turns) - p.next; left > 0 {
		return fmt.Errorf("the recording of %s has %d turns more than were asked for", p.cassette.Header.Unit, left)
	}
	return nil
}
