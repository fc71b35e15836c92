package baseline

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/blame"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// maxSession is the largest trajectory whose calls are compared, in bytes.
const maxSession = 32 << 20

// callsOf returns the tool calls of a unit, each as its tool's name and its arguments. What differs between sessions of
// the same behaviour is normalised in a run's trajectory, as in a cassette.
func callsOf(run *rundir.Run, id, variant string, trial int) ([]string, error) {
	dirs := run.UnitDirs(strings.TrimPrefix(id, run.Manifest().Name+"/"), variant, trial)
	did, err := run.ReadTrajectory(dirs, maxSession)
	if err != nil {
		return nil, err
	}
	calls, err := blame.Calls(did)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dirs.File(rundir.Trajectory), err)
	}
	return calls, nil
}
