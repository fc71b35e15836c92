package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// keepAccount looks at what the agent made of its account's files, now that it has ended: agents renew tokens. What is
// new in them is secret, too. The user's files become it where the preset says so; warnings tell where they do not.
func (c *Config) keepAccount() (warnings []string, err error) {
	var errs []error
	for _, f := range c.Launch.Files {
		if f.From == "" {
			continue
		}
		data, err := c.readHome(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			warnings = append(warnings, fmt.Sprintf("the agent removed its %s; %s stays as it is", f.Path, f.From))
		case err != nil:
			errs = append(errs, fault.Advise(fmt.Errorf("look at the agent's %s: %w", f.Path, err),
				fmt.Sprintf("log in again if the agent has renewed its tokens: %s stays as it is", f.From)))
		case !bytes.Equal(data, f.Data):
			c.Secrets.AddFile(f.Path, data)
			if reason := unfit(f, data); reason != "" {
				warnings = append(warnings, reason)
				continue
			}
			warning, err := writeBack(f, data)
			if warning != "" {
				warnings = append(warnings, warning)
			}
			errs = append(errs, err)
		}
	}
	for _, w := range warnings {
		c.Log.Notef("%s", w)
	}
	return warnings, errors.Join(errs...)
}

// unfit returns why the user's file stays as it is, "" if it becomes what the agent made of its copy.
func unfit(f agent.File, data []byte) string {
	switch {
	case !f.WriteBack:
		return fmt.Sprintf("the agent changed its %s, and %s stays as it is: the preset has no `write_back = true`",
			f.Path, f.From)
	case len(bytes.TrimSpace(data)) == 0, json.Valid(f.Data) && !json.Valid(data):
		return fmt.Sprintf("the agent damaged its %s; %s stays as it is", f.Path, f.From)
	}
	return ""
}

// readHome reads a file in the agent's home.
func (c *Config) readHome(path string) (data []byte, err error) {
	if err := c.Dirs.Check(); err != nil {
		return nil, err
	}
	home, err := os.OpenRoot(c.Dirs.Home)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	f, err := disk.OpenRegularIn(home, filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return disk.ReadAll(f, agent.MaxAccountFile)
}

// writingBack lets one session at a time write files of accounts.
var writingBack sync.Mutex

// writeBack replaces the user's file by what the agent made of its copy. A file that has changed meanwhile, because the
// user has logged in again or another session was faster, stays as it is, and the warning says so.
func writeBack(f agent.File, data []byte) (warning string, err error) {
	writingBack.Lock()
	defer writingBack.Unlock()
	replaced, err := replace(f.From, f.Data, data)
	switch {
	case err == nil && !replaced:
		return fmt.Sprintf("%s has changed since the agent was given it, and stays as it is", f.From), nil
	case err != nil:
		return "", fault.Advise(fmt.Errorf("write what the agent made of its %s back: %w", f.Path, err),
			"make the file writable, and log in again: its tokens may have been renewed")
	}
	return "", nil
}

// replace gives a file other content, at once, if it still has the old one. It keeps the file's mode, and a symbolic
// link to it.
func replace(path string, old, data []byte) (replaced bool, err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	now, err := disk.ReadRegular(path, agent.MaxAccountFile)
	if err != nil || !bytes.Equal(now, old) {
		return false, err
	}
	return true, disk.Replace(path, data, info.Mode().Perm())
}
