package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// maxArtifact bounds each file of a unit that is read, in bytes.
const maxArtifact = 64 << 20

// artifacts are a unit's files, as far as they are there.
type artifacts struct {
	run  json.RawMessage
	diff string
}

func places(run *rundir.Run, u *Unit) (Paths, error) {
	p := run.Place(u.Case, u.Variant, u.Trial)
	var paths Paths
	for _, x := range []struct {
		to   *string
		from string
	}{{&paths.Workspace, p.Workspace}, {&paths.Logs, p.Logs}, {&paths.Artifacts, p.Artifacts}} {
		rel, err := filepath.Rel(run.Dir(), x.from)
		if err != nil {
			return Paths{}, err
		}
		*x.to = filepath.ToSlash(rel)
	}
	return paths, nil
}

// readArtifacts reads the files of a unit that ran. Its metrics and changes are in its result; where they are not, they
// are taken from the artifacts.
func readArtifacts(run *rundir.Run, u *Unit) (artifacts, error) {
	started := u.metrics() != nil
	events, _, err := readJSON[trajectory.Run](run, u, rundir.Trajectory, started)
	if err != nil {
		return artifacts{}, err
	}
	_, metrics, err := readJSON[result.Metrics](run, u, rundir.Metrics, started)
	if err != nil {
		return artifacts{}, err
	}
	if !started && metrics != nil {
		r := *u.Result
		r.Metrics = metrics
		u.Result = &r
	}
	m := u.metrics()
	compared := m != nil && m.Changes != nil
	_, changes, err := readJSON[result.Changes](run, u, rundir.Changes, compared)
	if err != nil {
		return artifacts{}, err
	}
	if m != nil && m.Changes == nil {
		m.Changes = changes
	}
	diff, err := readArtifact(run, u, rundir.Diff, compared)
	return artifacts{run: events, diff: string(diff)}, err
}

// readJSON reads an artifact that is JSON: its text and what that says, nil if there is nothing to be shown.
func readJSON[T any](run *rundir.Run, u *Unit, name string, wanted bool) (json.RawMessage, *T, error) {
	data, err := readArtifact(run, u, name, wanted)
	if data == nil || err != nil {
		return nil, nil, err
	}
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		path := filepath.Join(run.Dir(), filepath.FromSlash(u.Paths.Artifacts), name)
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, v, nil
}

// readArtifact reads an artifact of the unit, nil if it is not there or too large. The unit then notes that, the former only
// if it was wanted.
func readArtifact(run *rundir.Run, u *Unit, name string, wanted bool) ([]byte, error) {
	path := u.Paths.Artifacts + "/" + name
	data, err := run.ReadFile(path, maxArtifact)
	if errors.Is(err, fs.ErrNotExist) {
		if wanted {
			u.Missing = append(u.Missing, path)
		}
		return nil, nil
	}
	if large, ok := errors.AsType[*disk.SizeError](err); ok {
		u.TooLarge = append(u.TooLarge, fmt.Sprintf("%s is too large to show (%d bytes)", path, large.Size))
		return nil, nil
	}
	return data, err
}
