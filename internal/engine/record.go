package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// save writes the cassette of a unit that was recorded and what models said of it, unless the unit ended in error: then
// nothing is known that could be replayed, and what was recorded before stays.
func (a *attempt) save(ctx context.Context) error {
	if a.result.Outcome == result.Error {
		return nil
	}
	if err := a.saveSession(ctx); err != nil {
		return err
	}
	if a.judgments == nil || a.role == rehearses {
		return nil
	}
	return a.judgments.Save()
}

func (a *attempt) saveSession(ctx context.Context) error {
	if a.session == nil || a.role != records {
		return nil
	}
	if err := a.session.CheckReplayable(); err != nil {
		return err
	}
	if err := a.checkLeak(a.session); err != nil {
		return err
	}
	properties, err := a.properties(ctx)
	if err != nil {
		return err
	}
	header := a.tape.header(a.session.Identity(), properties.String(), a.site.manifest)
	c := &cassette.Cassette{Header: header, Turns: a.session.Turns()}
	if err := a.rehearse(ctx, c); err != nil {
		return err
	}
	if err := cassette.Write(a.tape.path, c); err != nil {
		return err
	}
	a.result.Session = a.tape.name()
	return nil
}

// rehearse replays a recording before it takes the place of another. What a cassette does not keep, such as what git
// ignores, could make its replay judge otherwise than was judged now.
func (a *attempt) rehearse(ctx context.Context, c *cassette.Cassette) error {
	path := filepath.Join(a.site.dirs.base, "rehearsal.jsonl")
	if err := cassette.Write(path, c); err != nil {
		return err
	}
	again := a.newAttempt(a.unit, rehearses, io.Discard, newUnit(a.unit, a.now(), nil))
	again.tape.path, again.judgments = path, a.judgments
	if err := again.run(ctx); err != nil {
		return fmt.Errorf("the recording does not replay, so no cassette was written: %w", err)
	}
	if d := difference(a.result, again.result); d != "" {
		return fmt.Errorf("the recording replays to another verdict, so no cassette was written: %s "+
			"(files that git ignores, and what is neither file, directory nor link, are not kept)", d)
	}
	return nil
}

// difference returns in what the verdicts on a unit differ, empty if in nothing.
func difference(live, replayed result.Unit) string {
	if l, r := len(live.Evaluations), len(replayed.Evaluations); l != r {
		return fmt.Sprintf("%d evaluations live, %d replayed: %s", l, r, replayed.Reason)
	}
	for i, e := range live.Evaluations {
		r := replayed.Evaluations[i]
		if e.Outcome != r.Outcome || e.Reason != r.Reason {
			return fmt.Sprintf("%s: %s %s live, %s %s replayed", e.Name, e.Outcome, e.Reason, r.Outcome, r.Reason)
		}
	}
	if live.Outcome != replayed.Outcome {
		return fmt.Sprintf("%s live, %s replayed", live.Outcome, replayed.Outcome)
	}
	return ""
}

// checkLeak returns an error if a recording of the session would show a secret: agents print their environment, and
// recordings are committed.
func (r *Runner) checkLeak(s *session.Session) error {
	said := []any{s.Identity().Agent} // it is called as it calls itself
	for _, t := range s.Turns() {
		for _, e := range t.Events {
			said = append(said, e.Body)
		}
		for _, c := range t.Delta.Changes {
			for _, data := range [][]byte{c.Data, []byte(c.Path), []byte(c.Target)} {
				if name, found := r.secrets.Contains(data); found {
					return leakError(name)
				}
			}
		}
	}
	for _, v := range said {
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if name, found := r.secrets.Contains(data); found {
			return leakError(name)
		}
	}
	return nil
}

func leakError(name string) error {
	return fmt.Errorf("leak: the session shows the value of %s; no cassette was written", name)
}
