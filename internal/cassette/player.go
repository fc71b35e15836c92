package cassette

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Player stands where the agent stands: it answers prompts with the recorded turns and makes the changes that the agent
// made ([Player.Prompt]). Where the agent runs, it makes the changes only ([Player.ApplyNext]). It is for one session.
type Player struct {
	// AnyPrompt plays turns whatever the prompt is, and does not mind those that are left over, for a caller who knows
	// that the recording is stale. A prompt without a turn is still an error.
	AnyPrompt bool

	cassette *Cassette
	dir      string
	next     int
	deferred *deferredReader // of a cassette whose changes are in the file; nil: not needed so far
}

// NewPlayer returns a player whose workspace is dir; empty: the files are not needed, and none are written.
func NewPlayer(c *Cassette, dir string) *Player { return &Player{cassette: c, dir: dir} }

// Prompt plays the next turn. What [Open] left in the file it does not return. A prompt that is not the one that was
// recorded, or that is one too many, is a [*StaleError].
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
	if err := p.advance(workspace.Delta.Apply); err != nil {
		return Turn{}, err
	}
	return turn, nil
}

// ApplyNext makes the changes of the next turn, whatever was asked, in a workspace in which somebody else may have made
// some of them. After the last turn it does nothing.
func (p *Player) ApplyNext(ctx context.Context) error {
	if p.next == len(p.cassette.Turns) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return p.advance(workspace.Delta.Complete)
}

// advance makes the changes of the next turn, which there is, by apply.
func (p *Player) advance(apply func(d workspace.Delta, dir string) error) error {
	turn := p.cassette.Turns[p.next]
	p.next++
	if p.dir == "" {
		return nil
	}
	delta, err := p.delta(turn)
	if err == nil {
		err = apply(delta, p.dir)
	}
	if err != nil {
		return fmt.Errorf("replay turn %d of %s: %w", p.next, p.cassette.Path, err)
	}
	return nil
}

// delta returns the changes of the turn that is being played, with their contents.
func (p *Player) delta(turn Turn) (workspace.Delta, error) {
	if p.cassette.deferred == nil || len(turn.Delta.Changes) == 0 {
		return turn.Delta, nil
	}
	if p.deferred == nil {
		var err error
		if p.deferred, err = openDeferred(p.cassette); err != nil {
			return workspace.Delta{}, err
		}
	}
	return p.deferred.delta(p.next)
}

// Close ends the playing, whether or not all was played.
func (p *Player) Close() error {
	if p.deferred == nil {
		return nil
	}
	err := p.deferred.Close()
	if err == nil {
		p.deferred = nil
	}
	return err
}

// End ends the playing. It returns a [*StaleError] if there are turns that nobody asked for, unless any prompt is good
// enough.
func (p *Player) End() error {
	if err := p.Close(); err != nil {
		return err
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

// deferred is where the contents of changed files are that [Open] has not kept: in a file, whose lines have these
// checksums.
type deferred struct{ file, sums string }

// deferredReader reads the changes of a cassette's turns, in order, whose contents [Open] has left in the file.
type deferredReader struct {
	source
	lines   *lineReader
	decoder *decoder
	sums    string // of the lines as they were when the cassette was opened
	path    string
	turn    int // the one whose lines come next
}

// openDeferred opens the file of a cassette once more.
func openDeferred(c *Cassette) (*deferredReader, error) {
	src, err := open(c.deferred.file)
	if err != nil {
		return nil, err
	}
	return &deferredReader{source: src, lines: newLineReader(src), decoder: newDecoder(), sums: c.deferred.sums, path: c.Path}, nil
}

// delta returns what a turn changed. Turns have to be asked for in order.
func (r *deferredReader) delta(turn int) (workspace.Delta, error) {
	var d workspace.Delta
	for {
		line, err := r.next()
		if err != nil {
			return workspace.Delta{}, err
		}
		switch k := key(line); {
		case k == turnKey:
			r.turn++
		case k == changeKey && r.turn == turn:
			var l changeLine
			if err := r.decoder.decode(line, &l); err != nil {
				return workspace.Delta{}, err
			}
			change, err := l.change()
			if err != nil {
				return workspace.Delta{}, err
			}
			d.Changes = append(d.Changes, change)
		}
		if r.turn > turn || key(line) == timingsKey {
			return d, nil
		}
	}
}

// next returns the next line, which has to be the one that was there when the cassette was opened.
func (r *deferredReader) next() ([]byte, error) {
	line, err := r.lines.next()
	from := (r.lines.number - 1) * sumSize
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, explain(err, r.path)
	case from+sumSize <= len(r.sums) && string(appendSum(nil, line)) == r.sums[from:from+sumSize]:
		return line, nil
	}
	return nil, fmt.Errorf("%s: the cassette was written anew while it was played", r.path)
}
