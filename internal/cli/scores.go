package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/scoring/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/scoring/human"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
)

// sendScores sends what people and the AI judge said of a run to Langfuse, if the environment names it. That affects
// nothing else: what goes wrong is a note.
func (a *App) sendScores(ctx context.Context, r *rundir.Run, note func(string)) error {
	scores, err := scoresOf(r)
	if err != nil || len(scores) == 0 {
		return err
	}
	tracer, err := tracing.Open(tracing.Config{
		Getenv: a.Getenv, RunID: r.ID(), Version: engine.Version, Secrets: a.secrets,
	})
	if err == nil {
		err = errors.Join(tracer.Scores(ctx, scores), tracer.Close())
	}
	if err != nil {
		note(fmt.Sprintf("%s%v", engine.TracingWarning, err))
	}
	return nil
}

// scoresOf returns what people and the AI judge said of the units of a run. What a person said of a variant is said of
// each of its units.
func scoresOf(r *rundir.Run) (scores []tracing.Score, err error) {
	people, peopleErr := human.Load(r)
	judged, judgedErr := aijudge.Load(r)
	if err := errors.Join(peopleErr, judgedErr); err != nil || len(people)+len(judged) == 0 {
		return nil, err
	}
	units, err := r.Units()
	byID := make(map[string]result.Unit, len(units))
	for _, u := range units {
		byID[u.ID] = u
		for _, p := range people {
			if rating, ok := p.Variants[u.Variant]; ok {
				scores = append(scores, tracing.Score{
					Unit: u, Name: "human_score", By: p.Rater, Value: rating.Score, Reason: rating.Notes,
				})
			}
			if label, ok := p.Units[fmt.Sprintf("%s/%s/%d", u.Case, u.Variant, u.Trial)]; ok {
				scores = append(scores, tracing.Score{
					Unit: u, Name: "human_solved", By: p.Rater, Value: label.Solved, Reason: label.Notes,
				})
			}
		}
	}
	for _, s := range judged {
		if u, ok := byID[s.Unit]; ok {
			scores = append(scores, tracing.Score{
				Unit: u, Name: "ai_score", By: s.Model, Value: s.Score, Reason: s.Reason,
			})
		}
	}
	return scores, err
}
