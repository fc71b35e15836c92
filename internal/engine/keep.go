package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// keep writes the artifacts of a unit that is kept, and ended in failure, nil if it did not.
func (a *attempt) keep(ctx context.Context, failure error) error {
	if a.site.runDirs == nil {
		return nil
	}
	a.result.Metrics = a.measure(failure)
	ctx, cancel := closing(ctx, keepTimeout)
	defer cancel()
	changes := a.keepChanges
	if a.tape.imported() || a.site.dropped { // that there are none would not be true
		changes = func(context.Context) error { return nil }
	}
	err := errors.Join(changes(ctx), a.keepRun(), a.keepWorkspace())
	if !a.inResults() {
		err = errors.Join(err, a.keepJSON(rundir.Metrics, a.result.Metrics))
	}
	return err
}

// inResults reports whether metrics and changes are kept in the results alone.
func (a *attempt) inResults() bool { return a.site.runDirs.OfCase && !a.role.runsAgent() }

// keepChanges compares the workspace with what was prepared.
func (a *attempt) keepChanges(ctx context.Context) error {
	d, err := a.site.diff(ctx, a.session.Turns(), a.site.ownUnit())
	if err != nil {
		return err
	}
	if a.role.runsAgent() {
		if a.result.AsLeft, err = a.site.isAsLeft(ctx); err != nil {
			return err
		}
	}
	changes := &result.Changes{Files: []result.FileChange{}}
	for _, f := range d.Files {
		switch f.Op {
		case "added":
			changes.Added++
		case "modified":
			changes.Modified++
		case "deleted":
			changes.Deleted++
		}
		if f.Op != "deleted" {
			changes.Bytes += f.Size
		}
		changes.Files = append(changes.Files, result.FileChange{
			Path: f.Path, Op: string(f.Op), Kind: string(f.Kind), Bytes: f.Size, LinesAdded: f.Added,
			LinesRemoved: f.Removed,
		})
	}
	if a.result.Metrics != nil {
		a.result.Metrics.Changes = changes
	}
	err = a.keepFile(rundir.Diff, d.Text)
	if !a.inResults() {
		err = errors.Join(err, a.keepJSON(rundir.Changes, changes))
	}
	return err
}

// keepRun writes what the agent did, an event a line.
func (a *attempt) keepRun() error {
	if a.result.Run == nil {
		return nil
	}
	return a.secrets.WriteLines(filepath.Join(a.site.runDirs.Artifacts, rundir.Trajectory), 0o644,
		func(w io.Writer) error {
			if !a.role.runsAgent() {
				return writeRun(w, a.result.Run)
			}
			looks := finder{shows: func(line []byte) bool { return a.secrets.Suspect(line, false) >= 0 }}
			err := writeRun(io.MultiWriter(w, &looks), a.result.Run)
			a.result.Masked = a.result.Masked || looks.found
			return err
		})
}

// writeRun writes a run as json.Marshal does, a line at a time: that would go through each event several times, and
// hold all of them. HTML is not escaped, which would hide from the search for secrets that there is nothing to find.
func writeRun(w io.Writer, run *trajectory.Run) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(trajectory.Run{Agent: run.Agent, Cwd: run.Cwd, Events: []trajectory.Event{}}); err != nil {
		return err
	}
	line.Truncate(line.Len() - len("]}\n"))
	for i, e := range run.Events {
		if i > 0 {
			line.WriteByte(',')
		}
		line.WriteByte('\n')
		if _, err := w.Write(line.Bytes()); err != nil {
			return err
		}
		line.Reset()
		if err := encodeEvent(&line, enc, e); err != nil {
			return err
		}
	}
	line.WriteString("\n]}\n")
	_, err := w.Write(line.Bytes())
	return err
}

// encodeEvent adds to an empty line what [trajectory.Event.MarshalJSON] returns.
func encodeEvent(line *bytes.Buffer, enc *json.Encoder, e trajectory.Event) error {
	if e.Body == nil {
		return errors.New("an event without a body")
	}
	head := append(line.AvailableBuffer(), `{"event":"`...)
	head = append(append(head, e.Body.EventName()...), `","turn":`...)
	head = append(strconv.AppendInt(head, int64(e.Turn), 10), `,"at_us":`...)
	line.Write(strconv.AppendInt(head, e.At.Microseconds(), 10))
	body := line.Len()
	if err := enc.Encode(e.Body); err != nil {
		return fmt.Errorf("encode %s: %w", e.Body.EventName(), err)
	}
	line.Truncate(line.Len() - len("\n"))
	if fields := line.Bytes()[body:]; len(fields) > len("{}") {
		fields[0] = ','
	} else {
		line.Truncate(body)
		line.WriteByte('}')
	}
	return nil
}

func (a *attempt) keepJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return a.keepFile(name, append(data, '\n'))
}

// keepFile writes a file masked, by its extension.
func (a *attempt) keepFile(name string, data []byte) error {
	return a.secrets.WriteFile(filepath.Join(a.site.runDirs.Artifacts, name), data, 0o644)
}

// sweep looks for secrets in the workspace of an agent that has run, and masks them in one that is kept. That they are
// there is an error: what an agent can write down it could have sent elsewhere. What cannot be searched is not kept.
func (a *attempt) sweep(ctx context.Context) error {
	if a.site.runDirs == nil && !a.site.live() || a.cleanByOrigin(ctx) {
		return nil
	}
	ctx, cancel := closing(ctx, keepTimeout)
	defer cancel()
	if err := a.site.materialise(ctx); err != nil {
		return err
	}
	look, kept := a.secrets.Sweep, ""
	was := &searched{secrets: a.secrets.Len(), begun: a.starters.alone(a.startsChildren(a.unit))}
	also := new(secret.Look)
	if a.site.ended == nil || a.site.live() { // else nobody asks for it
		also.File = was.seen.Add
	}
	if a.site.runDirs != nil {
		look = func(ctx context.Context, dir string) ([]secret.Finding, error) {
			return a.secrets.Scrub(ctx, dir, also)
		}
		kept = ", masked in the copy that is kept"
	}
	found, err := look(ctx, a.site.dirs.workspace)
	a.site.touched = true // what is masked is no longer what was put there
	if a.site.runDirs != nil && errors.Is(err, secret.ErrCutOff) {
		err = errors.Join(fmt.Errorf("%w; the workspace is not kept", err), a.site.drop())
		kept = ""
	}
	if was.keys = also.Keys; a.site.runDirs != nil && err == nil && len(found) == 0 && a.endures() {
		a.site.searched = was
	}
	if left := a.site.dirs.left; left != "" && err == nil && len(found) == 0 { // a step may have removed them
		found, err = a.secrets.Sweep(ctx, left)
	}
	if err != nil {
		err = fmt.Errorf("look for secrets in the workspace: %w", err)
	}
	if len(found) == 0 {
		return err
	}
	places := make([]string, len(found))
	for i, f := range found {
		places[i] = f.String()
	}
	return errors.Join(err, fmt.Errorf("leak: the workspace holds secrets%s: %s", kept, strings.Join(places, "; ")))
}

// cleanByOrigin reports whether the workspace is known to hold no secret without being read: nothing has run in it, and
// none is in what it was made of.
func (a *attempt) cleanByOrigin(ctx context.Context) bool {
	if a.site.overlay != nil {
		d, err := a.site.overlay.Delta()
		return err == nil && a.cleanTemplate(ctx) && a.cleanChanges(d)
	}
	if !a.site.ownUnit() || does(a.unit.Steps, needsFiles) || !a.cleanTemplate(ctx) {
		return false
	}
	for path, seed := range a.site.seeds {
		if a.shows([]byte(path)) || a.shows(seed.Data) {
			return false
		}
	}
	for _, t := range a.session.Turns() {
		if !a.cleanChanges(t.Delta) {
			return false
		}
	}
	return true
}

// cleanChanges reports whether no secret is in what was changed.
func (r *Runner) cleanChanges(d workspace.Delta) bool {
	return !slices.ContainsFunc(d.Changes, func(c workspace.Change) bool {
		return c.Writes() && c.Data == nil || // it is in the cassette alone
			r.shows([]byte(c.Path)) || r.shows([]byte(c.Target)) || r.shows(c.Data)
	})
}

// shows reports whether a secret is in a text.
func (r *Runner) shows(text []byte) bool {
	_, found := r.secrets.Contains(text)
	return found
}

// masked returns a run without secrets: what evaluators quote from it is cut if it is long, and half a secret is not
// one that could be masked. A run that shows none stays as it is.
func (r *Runner) masked(run *trajectory.Run) (*trajectory.Run, error) {
	looks := finder{shows: r.shows}
	if err := writeRun(&looks, run); err != nil {
		return nil, fmt.Errorf("look for secrets in the run: %w", err)
	}
	if !looks.found {
		return run, nil
	}
	data, err := json.Marshal(run)
	if err != nil {
		return nil, fmt.Errorf("mask the secrets in the run: %w", err)
	}
	masked := new(trajectory.Run)
	if err := json.Unmarshal(r.secrets.JSON(data), masked); err != nil {
		return nil, fmt.Errorf("mask the secrets in the run: %w", err)
	}
	return masked, nil
}

// finder looks for secrets in each of the lines that are written to it.
type finder struct {
	shows func([]byte) bool
	found bool
}

func (f *finder) Write(line []byte) (int, error) {
	f.found = f.found || f.shows(line)
	return len(line), nil
}

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
	if err := errors.Join(a.checkLeak(a.session), a.checkKeys()); err != nil {
		return err
	}
	properties, err := a.properties(ctx)
	if err != nil {
		return err
	}
	header := a.tape.header(a.session.Identity(), properties.String(), a.site.manifest)
	header.LeftOut = a.session.LeftOut()
	c := &cassette.Cassette{Header: header, Turns: a.session.Turns()}
	if err := a.rehearse(ctx, c); err != nil {
		return err
	}
	if err := cassette.Write(a.tape.tree, a.tape.path, c); err != nil {
		return err
	}
	a.result.Session, a.result.Recording = a.tape.name(), c.Sum
	return nil
}

// rehearse replays a recording before it takes the place of another. What a cassette does not keep, such as what git
// ignores, could make its replay judge otherwise than was judged now.
func (a *attempt) rehearse(ctx context.Context, c *cassette.Cassette) error {
	tree := disk.Tree(a.site.dirs.base)
	path := filepath.Join(a.site.dirs.base, "rehearsal.jsonl")
	if err := cassette.Write(tree, path, c); err != nil {
		return err
	}
	again := a.newAttempt(a.unit, rehearses, io.Discard, newUnit(a.unit, a.now(), nil))
	again.tape.path, again.tape.tree, again.judgments = path, tree, a.judgments
	if does(a.unit.Steps, startsChild) {
		a.site.searched = nil // what runs now may reach the workspace, too
	}
	if err := again.run(ctx); err != nil {
		return fmt.Errorf("no cassette was written, because it cannot be replayed: %w", err)
	}
	if d := difference(a.result, again.result); d != "" {
		err := fmt.Errorf("no cassette was written, because its replay ends differently: %s", d)
		if left := c.Header.LeftOut; len(left) > 0 {
			return fault.Advise(fmt.Errorf("%w; the cassette does not keep %s", err, left), keepAdvice)
		}
		return fault.Advise(err, "have the evaluators look at what a recording keeps: not at files that git ignores, "+
			"and at nothing but files, directories and links")
	}
	return nil
}

// keepAdvice says how to get on where an evaluator looks at what recordings leave out.
const keepAdvice = "have evaluators look elsewhere, or have recordings keep it: take it out of cassette.exclude, or " +
	"name it under workspace.include if it is left out by default"

// ending tells an outcome with its reason, if there is one.
func ending(o result.Outcome, reason string) string {
	if reason == "" {
		return string(o)
	}
	return fmt.Sprintf("%s (%s)", o, reason)
}

// difference returns in what the verdicts on a unit differ, empty if in nothing.
func difference(live, replayed result.Unit) string {
	if l, r := len(live.Evaluations), len(replayed.Evaluations); l != r {
		return fmt.Sprintf("%d evaluations live, %d in the replay: %s", l, r, replayed.Reason)
	}
	for i, e := range live.Evaluations {
		r := replayed.Evaluations[i]
		if e.Outcome != r.Outcome || e.Reason != r.Reason {
			return fmt.Sprintf("evaluator %s: live %s, in the replay %s", e.Name, ending(e.Outcome, e.Reason),
				ending(r.Outcome, r.Reason))
		}
	}
	if live.Outcome != replayed.Outcome {
		return fmt.Sprintf("live %s, in the replay %s", live.Outcome, replayed.Outcome)
	}
	return ""
}

// checkLeak returns an error if a recording of the session would show a secret: agents print their environment, and
// recordings are committed.
func (r *Runner) checkLeak(s *session.Session) error {
	said := []any{s.Identity().Agent, s.LeftOut()} // it is called as it calls itself
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
