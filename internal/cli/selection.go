package cli

import (
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// latest is accepted in place of an id for the newest run.
const latest = "latest"

// projectRoot returns the project's root; override is the value of --root.
func (a *App) projectRoot(override string) (string, error) {
	root, err := rundir.ProjectRoot(a.Dir, override, a.Getenv)
	if err != nil {
		return "", usageError("%w", err)
	}
	return root, nil
}

// openRun opens a run of the project for reading. The id may be what findRun takes.
func (a *App) openRun(rootFlag, id string) (*rundir.Run, error) {
	root, err := a.projectRoot(rootFlag)
	if err != nil {
		return nil, err
	}
	if id, err = findRun(root, id); err != nil {
		return nil, err
	}
	return rundir.Open(root, id, a.secrets)
}

// findRun returns the id of the run that a person means by the beginning of its id, if that is the beginning of no other
// one, or by "latest".
func findRun(root, id string) (string, error) {
	runs, err := rundir.List(root)
	if err != nil {
		return "", err
	}
	var found []string
	for i, r := range runs {
		switch {
		case r.ID == id, id == latest && i == 0:
			return r.ID, nil
		case strings.HasPrefix(r.ID, id):
			found = append(found, r.ID)
		}
	}
	switch {
	case len(runs) == 0:
		return "", usageError("there are no runs below %s yet", root).hint("sdd-eval run --help")
	case len(found) == 0:
		return "", usageError("there is no run %q, the newest is %s", id, runs[0].ID).hint("sdd-eval list")
	case len(found) > 1:
		return "", usageError("%q is the beginning of %d runs, %s and %s among them", id, len(found), found[0], found[1]).
			hint("sdd-eval list")
	}
	return found[0], nil
}
