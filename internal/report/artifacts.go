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
	var a artifacts
	m := u.metrics()
	read := func(name string, wanted bool, use func([]byte) error) error {
		path := u.Paths.Artifacts + "/" + name
		data, err := run.ReadFile(path, maxArtifact)
		if errors.Is(err, fs.ErrNotExist) {
			if wanted {
				u.Missing = append(u.Missing, path)
			}
			return nil
		}
		if large, ok := errors.AsType[*disk.SizeError](err); ok {
			u.TooLarge = append(u.TooLarge, fmt.Sprintf("%s is too large to show (%d bytes)", path, large.Size))
			return nil
		}
		if err != nil {
			return err
		}
		if err := use(data); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(run.Dir(), filepath.FromSlash(path)), err)
		}
		return nil
	}
	err := read("trajectory.json", m != nil, func(data []byte) error {
		a.run = data
		return json.Unmarshal(data, new(trajectory.Run))
	})
	if err != nil {
		return artifacts{}, err
	}
	err = read("acp-metrics.json", m != nil, func(data []byte) error {
		var kept result.Metrics
		err := json.Unmarshal(data, &kept)
		if m == nil && err == nil {
			r := *u.Result
			r.Metrics = &kept
			u.Result, m = &r, &kept
		}
		return err
	})
	if err != nil {
		return artifacts{}, err
	}
	compared := m != nil && m.Changes != nil
	err = read("workspace-changes.json", compared, func(data []byte) error {
		var kept result.Changes
		err := json.Unmarshal(data, &kept)
		if m != nil && m.Changes == nil && err == nil {
			m.Changes = &kept
		}
		return err
	})
	if err != nil {
		return artifacts{}, err
	}
	return a, read("workspace.diff", compared, func(data []byte) error {
		a.diff = string(data)
		return nil
	})
}
