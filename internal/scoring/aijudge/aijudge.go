// Package aijudge has a model score the units of a run: it sees the task and the work, but not which agent did it. A
// playbook's own judges are evaluators and do not belong here.
package aijudge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/scoring/blind"
)

// ErrNoKey is the error if there is no client to ask the judge.
var ErrNoKey = errors.New("OPENAI_API_KEY is required for AI judge")

// parallel is how many units are scored at a time.
const parallel = 4

// Config says which model judges.
type Config struct {
	Model string
	// Client asks the model. If it is nil, Judge returns [ErrNoKey].
	Client llm.Asker
	// Rejudge replaces the scores of units that have one.
	Rejudge bool
	// Progress, if not nil, is called with the progress as text, one call at a time.
	Progress func(string)
}

// Judge scores every unit that ended and has no score, except those that ended in an error or were skipped. Each score
// is stored when it is known. A reply that is not exactly what was asked for is an error, which shows the reply, and
// the other units go on. An error of the server that concerns all units stops Judge; scores that were stored stay.
func Judge(ctx context.Context, r *rundir.Run, c Config) error {
	if c.Client == nil {
		return ErrNoKey
	}
	units, err := r.Units()
	if err != nil {
		return fmt.Errorf("AI judge: %w", err)
	}
	kept, err := open(r)
	if err != nil {
		return fmt.Errorf("AI judge: %w", err)
	}
	units = slices.DeleteFunc(units, func(u result.Unit) bool {
		return !finished(u) || kept.has(u.ID) && !c.Rejudge
	})
	if len(units) == 0 {
		return nil
	}
	j := &judging{run: r, config: c, scores: kept, names: blind.NamesOf(r.Manifest()), units: units}
	return j.all(ctx)
}

// finished reports whether the unit has work to be judged.
func finished(u result.Unit) bool {
	return u.Outcome == result.Pass || u.Outcome == result.Fail || u.Outcome == result.Completed
}

// judging is one call of Judge.
type judging struct {
	run    *rundir.Run
	config Config
	scores *scores
	names  *blind.Names
	units  []result.Unit

	mu     sync.Mutex
	scored int
}

func (j *judging) all(ctx context.Context) error {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(j.units))
	var fatal error
	var once sync.Once
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, u := range j.units {
		g.Go(func() error {
			if asking.Err() != nil {
				return nil
			}
			err := j.one(asking, u)
			switch {
			case err == nil:
			case concernsUnit(err):
				errs[i] = fmt.Errorf("AI judge: unit %s: %w", u.ID, err)
			default:
				once.Do(func() { fatal = err })
				stop()
			}
			return nil
		})
	}
	_ = g.Wait() // the goroutines return nil
	if fatal != nil {
		errs = append(errs, fmt.Errorf("AI judge: %w", fatal))
	}
	err := errors.Join(errs...)
	if err == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w\n%d of %d units have no score: sdd-eval report --run %s asks for them again",
		err, len(j.units)-j.scored, len(j.units), j.run.ID())
}

// one asks about one unit and stores its score.
func (j *judging) one(ctx context.Context, u result.Unit) error {
	request, err := j.request(u)
	if err != nil {
		return &unitError{err}
	}
	reply, err := j.config.Client.Complete(ctx, request)
	if err != nil {
		return err
	}
	score, reason, err := parse(reply.Text)
	if err != nil {
		return &unitError{fmt.Errorf("%w; the reply was: %s", err, excerpt.Quote(reply.Text, maxQuoted))}
	}
	kept := Score{Unit: u.ID, Variant: u.Variant, Model: j.config.Model, Score: score, Reason: reason}
	other := llm.Another(j.config.Model, reply.Model)
	if other != "" {
		kept.Model = excerpt.Name(reply.Model, maxName)
	}
	if err := j.scores.put(kept); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.scored++
	if j.config.Progress != nil && other != "" {
		j.config.Progress(fmt.Sprintf("AI judge: warning: %s: %s", u.ID, other))
	}
	if j.config.Progress != nil {
		j.config.Progress(fmt.Sprintf("AI judge: %d of %d units scored", j.scored, len(j.units)))
	}
	return nil
}

// unitError is an error that concerns only one unit.
type unitError struct{ error }

func (e *unitError) Unwrap() error { return e.error }

// concernsUnit reports whether the error concerns one unit, so that others can still be scored.
func concernsUnit(err error) bool {
	if _, ok := errors.AsType[*unitError](err); ok {
		return true
	}
	server, ok := errors.AsType[*llm.Error](err)
	return ok && server.OfRequest()
}

// maxName is how many characters of a model's name are kept.
const maxName = 200

// maxReason is how long a reason may be, in bytes.
const maxReason = 10_000

// parse reads a reply: an object with a score from 0 to 10 and a reason, and nothing else. Any other reply is an error,
// never a score.
func parse(reply string) (score float64, reason string, err error) {
	object, err := llm.ParseObject(reply)
	if err != nil {
		return 0, "", err
	}
	var o jsonvalue.Object
	if err := json.Unmarshal(object, &o); err != nil {
		return 0, "", err
	}
	for _, err := range []error{
		o.Only("score", "reason"), o.Number("score", 10, &score), o.Decode("reason", "a string", &reason),
	} {
		if err != nil {
			return 0, "", fmt.Errorf("the reply: %w", err)
		}
	}
	if err := check(score, reason); err != nil {
		return 0, "", err
	}
	return score, reason, nil
}

// check returns an error if a score or its reason is out of range.
func check(score float64, reason string) error {
	switch {
	case !(score >= 0 && score <= 10):
		return fmt.Errorf("the score %v is outside 0..10", score)
	case strings.TrimSpace(reason) == "":
		return errors.New("the score has no reason")
	case len(reason) > maxReason:
		return fmt.Errorf("the reason has more than %d bytes", maxReason)
	}
	return nil
}

// maxQuoted is how many characters of a reply an error shows.
const maxQuoted = 2_000
