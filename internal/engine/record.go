package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/result"
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
	if a.judgments == nil || a.rehearses {
		return nil
	}
	return a.judgments.Save()
}

func (a *attempt) saveSession(ctx context.Context) error {
	if a.session == nil || !a.records {
		return nil
	}
	if err := a.session.CheckReplayable(); err != nil {
		return err
	}
	if err := a.checkLeak(); err != nil {
		return err
	}
	held, err := a.held(ctx)
	if err != nil {
		return err
	}
	c := &cassette.Cassette{Header: a.header(held.String()), Turns: a.session.Turns()}
	if err := a.rehearse(ctx, c); err != nil {
		return err
	}
	if err := cassette.Write(a.cassettePath, c); err != nil {
		return err
	}
	a.result.Session = a.relCassettePath()
	return nil
}

// rehearse replays a recording before it takes the place of another. What a cassette does not keep, such as what git
// ignores, could make its replay judge otherwise than was judged now.
func (a *attempt) rehearse(ctx context.Context, c *cassette.Cassette) error {
	path := filepath.Join(a.dirs.base, "rehearsal.jsonl")
	if err := cassette.Write(path, c); err != nil {
		return err
	}
	again := a.newAttempt(a.unit, io.Discard, newUnit(a.unit, a.now(), nil))
	again.cassettePath, again.live, again.records = path, false, false
	again.judgments, again.rehearses = a.judgments, true
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

// checkWritable finds out whether a cassette can be written before the agent does work that would be lost.
func (a *attempt) checkWritable() error {
	if !a.records {
		return nil
	}
	dir := filepath.Dir(a.cassettePath)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if info, err := os.Lstat(a.cassettePath); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: no cassette can be written there", a.relCassettePath())
	}
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (a *attempt) header(sandbox string) cassette.Header {
	who := a.session.Identity()
	return cassette.Header{
		Unit: a.unit.ID(), Level: a.level(), Agent: who.Agent, Endpoint: who.Endpoint, ProtocolVersion: who.Protocol,
		ClientVersion: Version, RecordedAt: a.now().UTC().Truncate(time.Second), Sandbox: sandbox, Fingerprints: a.fingerprints(),
	}
}
