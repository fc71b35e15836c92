package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
)

// session is a conversation with an agent. A live one and a replayed one hand over the same turns and leave the same
// files; nothing above them can tell which it is.
type session interface {
	// Prompt runs one turn.
	Prompt(ctx context.Context, text string) (cassette.Turn, error)
	// Agent says who answers and what stands behind it, "real" or "scripted".
	Agent() (agent trajectory.Agent, endpoint string)
	// Close ends the session. A replayed one complains about turns that nobody asked for.
	Close(ctx context.Context) error
}

// stepFailure is a step that says that the agent did wrong; every other error says that we know nothing about it.
type stepFailure struct {
	reason string
}

func (f *stepFailure) Error() string { return f.reason }

// infrastructure marks an error that another attempt may not meet.
type infrastructure struct{ error }

func (e infrastructure) Unwrap() error { return e.error }

// advised is an error with the command that gets a person on.
type advised struct {
	error
	next string
}

func (e advised) Unwrap() error { return e.error }

// adviceOf returns the command that goes with an error, empty if there is none.
func adviceOf(err error) string {
	var a advised
	if errors.As(err, &a) {
		return a.next
	}
	return ""
}

// unitDirs are the directories of one unit, below one that is removed when it ends.
type unitDirs struct {
	base, workspace string
	home, tmp       string // of the agent; empty in a replay
}

func makeUnitDirs(parent string, forAgent bool) (unitDirs, error) {
	base, err := os.MkdirTemp(parent, "sdd-eval-")
	if err != nil {
		return unitDirs{}, fmt.Errorf("make the unit's directories: %w", err)
	}
	// What agents report are resolved paths.
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return unitDirs{}, fmt.Errorf("make the unit's directories: %w", err)
	}
	d := unitDirs{base: base, workspace: filepath.Join(base, "workspace")}
	dirs := []string{d.workspace}
	if forAgent {
		d.home, d.tmp = filepath.Join(base, "home"), filepath.Join(base, "tmp")
		dirs = append(dirs, d.home, d.tmp)
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return unitDirs{}, errors.Join(fmt.Errorf("make the unit's directories: %w", err), d.remove())
		}
	}
	return d, nil
}

// remove deletes the directories, also what go's module cache and the like made read-only.
func (d unitDirs) remove() error {
	err := os.RemoveAll(d.base)
	if err == nil {
		return nil
	}
	filepath.WalkDir(d.base, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(d.base)
}
