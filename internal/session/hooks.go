package session

import (
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/hook"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// settingsFile is the file with the hooks, in the directory of what the agent is given.
const settingsFile = "settings.json"

// hooks are those of one session: what its agent is given to read, and where they write.
type hooks struct {
	program  string // the helper
	given    string // a directory of files that the agent may read and not write
	settings string // the file with the hooks
	capture  string // the file that they write
	environ  []string
}

// installHooks makes the hooks of the unit's agent.
func installHooks(c *Config) (h hooks, err error) {
	p, err := helper.Find()
	if err != nil {
		return h, err
	}
	h.program = p.Path
	if h.given, err = disk.MkdirTemp(c.TempDir); err != nil {
		return h, err
	}
	id, err := testrun.ID(c.Getenv)
	if err != nil {
		return h, err
	}
	h.settings = filepath.Join(h.given, settingsFile)
	h.capture = filepath.Join(c.Dirs.Base, "hooks", "tool-calls.jsonl")
	h.environ = hook.Target{RunID: id, Project: c.Dirs.Workspace, Capture: h.capture}.Environment()
	argv := p.Command() // to which the settings add the hook and its phase
	argv[0] = filepath.ToSlash(argv[0])
	settings := hook.Settings(hook.Handlers{Command: words.Join(argv...)})
	if err := os.Mkdir(filepath.Dir(h.capture), 0o700); err != nil {
		return h, err
	}
	return h, writeFiles(h.given, []agent.File{{Path: settingsFile, Data: settings}})
}

// paths are the directories of the hooks, with their names in recordings.
func (h hooks) paths() map[string]string {
	return map[string]string{h.given: "$HOOKS", filepath.Dir(h.capture): "$CAPTURE"}
}

// remove deletes what was made for the hooks outside of the unit's directories.
func (h hooks) remove() error {
	if h.given == "" {
		return nil
	}
	return disk.RemoveAll(h.given)
}
