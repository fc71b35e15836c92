package cassette

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Player stands where the agent stands: it answers prompts with the recorded turns and makes the changes that the agent
// made. It is for one session.
type Player struct {
	// AnyPrompt plays turns whatever the prompt is, and does not mind those that are left over, for a caller who knows
	// that the recording is stale. A prompt without a turn is still an error.
	AnyPrompt bool

	// Complete makes the changes in a workspace in which somebody else may have made some of them.
	Complete bool

	cassette *Cassette
	dir      string
	next     int
	rest     *rest // of a cassette whose changes are in the file; nil: not needed so far
}

// NewPlayer returns a player whose workspace is dir; empty: the files are not needed, and none are written.
func NewPlayer(c *Cassette, dir string) *Player { return &Player{cassette: c, dir: dir} }

// Prompt plays the next turn. What [Open] left in the file it does not return. A prompt that is not the one that was recorded, or that is one too many, is a
// [*StaleError].
func (p *Player) Prompt(ctx context.Context, text string) (Turn, error) {
	if err := ctx.Err(); err != nil {
		return Turn{}, context.Cause(ctx)
	}
	change := Change{Input: fmt.Sprintf("prompt %d", p.next+1), Now: text}
	if p.next == len(p.cassette.Turns) {
		return Turn{}, p.stale(change)
	}
	turn := p.cassette.Turns[p.next]
	if change.Was = turn.prompt(); change.Was != text && !p.AnyPrompt {
		return Turn{}, p.stale(change)
	}
	p.next++
	if p.dir == "" {
		return turn, nil
	}
	delta, err := p.delta(turn)
	if err == nil && p.Complete {
		err = delta.Complete(p.dir)
	} else if err == nil {
		err = delta.Apply(p.dir)
	}
	if err != nil {
		return Turn{}, fmt.Errorf("replay turn %d of %s: %w", p.next, p.cassette.Path, err)
	}
	return turn, nil
}

// delta returns the changes of the turn that is being played, with their contents.
func (p *Player) delta(turn Turn) (workspace.Delta, error) {
	if p.cassette.left == nil || len(turn.Delta.Changes) == 0 {
		return turn.Delta, nil
	}
	if p.rest == nil {
		var err error
		if p.rest, err = openRest(p.cassette); err != nil {
			return workspace.Delta{}, err
		}
	}
	return p.rest.delta(p.next)
}

// End ends the playing. It returns a [*StaleError] if there are turns that nobody asked for, unless any prompt is good enough.
func (p *Player) End() error {
	if p.rest != nil {
		if err := p.rest.Close(); err != nil {
			return err
		}
		p.rest = nil
	}
	if p.next == len(p.cassette.Turns) || p.AnyPrompt {
		return nil
	}
	e := p.stale()
	for i, turn := range p.cassette.Turns[p.next:] {
		e.Changes = append(e.Changes, Change{Input: fmt.Sprintf("prompt %d", p.next+i+1), Was: turn.prompt()})
	}
	return e
}

func (p *Player) stale(changes ...Change) *StaleError {
	return &StaleError{Path: p.cassette.Path, Changes: changes}
}
