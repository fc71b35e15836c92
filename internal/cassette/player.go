package cassette

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Player takes the place of the agent in one session: it answers prompts with the recorded turns and makes the changes
// that the agent made ([Player.Prompt]). If an agent runs, it only makes the changes ([Player.ApplyNext]).
type Player struct {
	// AnyPrompt plays the turns whatever the prompts are and allows turns to be left over, for a caller who knows that
	// the recording is stale. A prompt without a turn is still an error.
	AnyPrompt bool
	// Apply makes the changes of [Player.Prompt]; nil: they are made in the directory.
	Apply func(workspace.Delta) error

	cassette *Cassette
	dir      string
	next     int
	deferred *deferredReader // reads the contents of changed files that Open left in the file; nil until needed
}

// NewPlayer returns a player whose workspace is dir. If dir is empty, it writes no files.
func NewPlayer(c *Cassette, dir string) *Player { return &Player{cassette: c, dir: dir} }

// Prompt plays the next turn. The turn that it returns lacks the contents that [Open] left in the file. If the prompt
// differs from the recorded one, or there is no further turn, the error is a [*StaleError].
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
	var err error
	if p.Apply != nil {
		err = p.advance(p.Apply)
	} else {
		err = p.advanceIn(workspace.Delta.Apply)
	}
	if err != nil {
		return Turn{}, err
	}
	return turn, nil
}

// ApplyNext makes the changes of the next turn, whatever its prompt, in a workspace where some of them may have been
// made already. After the last turn it does nothing.
func (p *Player) ApplyNext(ctx context.Context) error {
	if p.next == len(p.cassette.Turns) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return p.advanceIn(workspace.Delta.Complete)
}

// advanceIn makes the changes of the next turn in the directory, if there is one.
func (p *Player) advanceIn(apply func(d workspace.Delta, dir string) error) error {
	if p.dir == "" {
		p.next++
		return nil
	}
	return p.advance(func(d workspace.Delta) error { return apply(d, p.dir) })
}

// advance makes the changes of the next turn, which must exist, by apply.
func (p *Player) advance(apply func(workspace.Delta) error) error {
	turn := p.cassette.Turns[p.next]
	p.next++
	delta, err := p.delta(turn)
	if err == nil {
		err = apply(delta)
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

// Close releases the cassette's file, whether or not all turns were played.
func (p *Player) Close() error {
	if p.deferred == nil {
		return nil
	}
	err := p.deferred.Close()
	p.deferred = nil
	return err
}

// End closes the player. It returns a [*StaleError] if turns are left over, unless AnyPrompt is set.
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

// deferred is the file in which [Open] left the contents of changed files, and the checksums of its lines.
type deferred struct{ file, sums string }

// deferredReader reads the changes of a cassette's turns, in order, if [Open] has left their contents in the file.
type deferredReader struct {
	source
	lines   *lineReader
	decoder *decoder
	sums    string // checksums of the lines when the cassette was opened
	path    string
	turn    int // the turn whose lines come next
}

// openDeferred opens the file of a cassette again.
func openDeferred(c *Cassette) (*deferredReader, error) {
	src, err := open(c.deferred.file)
	if err != nil {
		return nil, err
	}
	return &deferredReader{
		source: src, lines: newLineReader(src), decoder: newDecoder(),
		sums: c.deferred.sums, path: c.Path,
	}, nil
}

// delta returns the changes of a turn. It must be called for turns in order.
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

// next returns the next line, or an error if it has changed since the cassette was opened.
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
	return nil, fmt.Errorf("%s: the file changed while the cassette was replayed", r.path)
}
