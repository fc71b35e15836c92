package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

const (
	mutantsFile = "mutants.json"
	maxMutants  = 64 << 20
)

// SetMutants keeps whether the run's evals would notice a bad agent, in place of what was kept before.
func (r *Run) SetMutants(m result.Mutants) error {
	m.Version = 1
	data, err := jsonvalue.Indent(m)
	if err != nil {
		return fmt.Errorf("run %s: write %s: %w", r.ID(), mutantsFile, err)
	}
	return r.WriteFile(mutantsFile, data)
}

// Mutants returns what [Run.SetMutants] has kept; nil: nothing.
func (r *Run) Mutants() (*result.Mutants, error) {
	var m result.Mutants
	err := r.ReadJSON(mutantsFile, maxMutants, &m)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && m.Version != 1 {
		err = fmt.Errorf("read %s: unsupported version %d", filepath.Join(r.dir, mutantsFile), m.Version)
	}
	if err != nil {
		return nil, err
	}
	return &m, nil
}
