package engine

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

// missingPrograms returns why the unit is skipped for want of programs; in CI that is an error, because a suite that CI
// silently skips looks like one that passes.
func (r *Runner) missingPrograms() (reason string, err error) {
	var missing []string
	for _, name := range r.pb.Requires {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	reason = fmt.Sprintf("%s requires %s, not found in PATH", r.pb.File, strings.Join(missing, ", "))
	if testrun.InCI(r.cfg.Getenv) {
		return "", fault.Advise(fmt.Errorf("%s; CI is set, so this is an error", reason), "install "+strings.Join(missing, " "))
	}
	return reason, nil
}
