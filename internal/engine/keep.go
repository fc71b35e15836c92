package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// keepTimeout bounds the writing of artifacts of a unit that was interrupted.
const keepTimeout = time.Minute

// keep writes the artifacts of a unit that is kept to its place.
func (a *attempt) keep(ctx context.Context) error {
	if a.place == nil {
		return nil
	}
	a.result.Metrics = a.measure()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	changes := a.keepChanges
	if a.imported { // that there are none would not be true
		changes = func(context.Context) error { return nil }
	}
	return errors.Join(changes(ctx), a.keepJSON(rundir.Metrics, a.result.Metrics), a.keepRun())
}

// keepChanges compares the workspace with what was prepared.
func (a *attempt) keepChanges(ctx context.Context) error {
	d, err := a.diff(ctx)
	if err != nil {
		return err
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
			Path: f.Path, Op: string(f.Op), Kind: string(f.Kind), Bytes: f.Size, LinesAdded: f.Added, LinesRemoved: f.Removed,
		})
	}
	if a.result.Metrics != nil {
		a.result.Metrics.Changes = changes
	}
	return errors.Join(a.keepJSON(rundir.Changes, changes), a.keepFile(rundir.Diff, d.Text))
}

// diff compares the workspace with what was prepared. One that is our own work holds what we have put there, and of that
// only what differs is read.
func (a *attempt) diff(ctx context.Context) (workspace.Diff, error) {
	after, known := a.manifest, a.ownWork()
	turns := a.session.Turns()
	for i := 0; i < len(turns) && known; i++ {
		after, known = turns[i].Delta.ApplyTo(after)
	}
	if known {
		return a.baseline.Compare(ctx, a.dirs.workspace, after)
	}
	return a.baseline.Diff(ctx, a.dirs.workspace)
}

// keepRun writes what the agent did, an event a line.
func (a *attempt) keepRun() error {
	if a.result.Run == nil {
		return nil
	}
	return a.secrets.WriteLines(filepath.Join(a.place.Artifacts, rundir.Trajectory), 0o644, func(w io.Writer) error {
		return writeRun(w, a.result.Run)
	})
}

// writeRun writes a run as json.Marshal does, a line at a time: that would go through each event several times, and hold
// all of them. HTML is not escaped, which would hide from the search for secrets that there is nothing to find.
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
	return a.secrets.WriteFile(filepath.Join(a.place.Artifacts, name), data, 0o644)
}
